"""The tables of a study: laid out once, then written in six formats.

::

    digits     value and interval as people write them: one power of ten, as many digits as count
    layout     the sections of a study as grids of cells that know no format
    footnotes  what is to be said about a cell, a row or the whole grid
    remarks    what stands below a grid: ranks, power, notes, failures
    terminal, markdown, csv, document (JSON), html, latex
    formats    the table of formats
"""
