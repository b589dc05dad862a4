"""A case study as text, as Markdown, as a JSON document and as figures.

::

    sheet      a table with a title and remarks; printed as text or as Markdown
    scored     the sheet of errors, sigma and k
    turned     the sheets of knobs and of variants
    because    the sheets of credit, degeneracy and shared displacement
    report     all sheets in order, and the closing sentences
    document   the same as strict JSON data
    figures    sweeps, degeneracy, the forest of k, errors over time (matplotlib)
"""

from smfeval.show.casestudy.document import document
from smfeval.show.casestudy.report import last_line, markdown, text

__all__ = ["document", "last_line", "markdown", "text"]
