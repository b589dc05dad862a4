"""The tables of a study: laid out once, then written in six formats.

::

    digits     value and interval as people write them: one power of ten, as many digits as count
    layout     the sections of a study as grids of cells that know no format
    footnotes  what is to be said about a cell, a row or the whole grid
    outcomes   what the tests say, in words
    remarks    what stands below a grid: outcomes, notes, failures, gaps
    terminal, markdown, csv, document (JSON), html, latex
    formats    the table of formats
"""
