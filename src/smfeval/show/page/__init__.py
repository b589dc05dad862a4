"""One HTML file that opens anywhere, without a network; returned as text, never written.

::

    page = score([evaluate(estimate, reference)], command="smfeval score ...")

Markup, styles and scripts are the templates of `show/templates`; the modules here prepare what
they show.
"""

from smfeval.show.page.pairs import pairs
from smfeval.show.page.scores import score
from smfeval.show.page.study import study

__all__ = ["pairs", "score", "study"]
