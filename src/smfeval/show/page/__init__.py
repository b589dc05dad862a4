"""One HTML file that opens anywhere, without a network; returned as text, never written.

::

    page = score_page([evaluate(estimate, reference)], command="smfeval score ...")

Markup, styles and scripts are the templates of `show/templates`; the modules here prepare what
they show. Each is imported when its page is asked for: the page of `score` needs no comparisons.
"""
