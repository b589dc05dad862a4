"""PAGE: one HTML file that opens anywhere, without a network. Returns strings, writes nothing.

::

    of_scores, of_pairs, of_study   the three pages
    verdicts, numbers, causes       their parts: verdict, numbers, alibis and diagnoses
    drawn, embed                    what the scripts draw: thinned tracks as base64 of float32
    terms                           every word explained, once
    markup, tables, document        HTML that escapes by itself, tables, the page around it all
    page.css, *.js                  looks, and what moves: one idea per script

::

    page = score([evaluate(estimate, reference)], command="smfeval score ...")
"""

from smfeval.show.page.pairs import pairs
from smfeval.show.page.scores import score
from smfeval.show.page.study import study

__all__ = ["pairs", "score", "study"]
