r"""Tables in LaTeX: booktabs, intervals aligned in columns of their own.

The file can be read by a paper that loads booktabs (``\input``), and compiles by itself.
"""

import re

from smfeval.show.study.layout import Grid, TableCell, TableRow, column_blocks, grids
from smfeval.show.study.remarks import (
    BEST_MEANING,
    NumberStyle,
    Remark,
    meaning,
    study_remarks,
    study_title,
)
from smfeval.study.result import Study

NAMED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",  # a command where babel speaks German
}
NAMED |= {sign: f"\\{sign}" for sign in "_&%#${}"}

DASHES = re.compile("-(?=-)")  # two hyphens would become a dash
LATIN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")


def escape_latex(text: str) -> str:
    """The same text; letters that pdflatex does not have are named by their code."""
    return DASHES.sub("-{}", "".join(map(_sign, text)))


def _sign(sign: str) -> str:
    if sign in NAMED:
        return NAMED[sign]
    return sign if sign.isascii() or sign in LATIN else rf"\texttt{{U+{ord(sign):04X}}}"


WIDTH = 80  # characters of \footnotesize in a line of `article`
APART = 3  # characters that the space between two columns takes
DASH = "--"
PENDING = 10  # floats; LaTeX gives up when many more wait for a page
FLUSH = r"\clearpage"

STYLE = NumberStyle(
    power=lambda exponent: rf" \times 10^{{{exponent}}}" if exponent else "", infinity=r"\infty"
)
READ = NumberStyle(power=lambda exponent: f" x 10{exponent}" if exponent else "", infinity="8")

HEAD = r"""% A paper needs \usepackage{booktabs}; with no paper around it, this file is a document.
\makeatletter
\ifx\@nodocument\relax
  \let\smfevalend\relax
\else
  \documentclass{article}
  \usepackage{booktabs}
  \begin{document}
  \def\smfevalend{\end{document}}
\fi
\makeatother"""
FOOT = r"\smfevalend"


def text(study: Study) -> str:
    """One float for each grid, then what is to be said about the whole study."""
    tables = [table(grid, meaning(study)) for grid in grids(study)]
    tables[PENDING::PENDING] = [f"{FLUSH}\n\n{each}" for each in tables[PENDING::PENDING]]
    said = [Remark("study", study_title(study)), *study_remarks(study)]
    return "\n\n".join([HEAD, *tables, _below(said), FOOT]) + "\n"


def table(grid: Grid, meaning: str, *, width: int = WIDTH) -> str:
    """One grid: blocks of columns below each other, then footnotes; remarks follow in the text."""
    split = column_blocks(_name_width(grid), _widths(grid), limit=width)
    bold = f"; bold: {BEST_MEANING}" if grid.bold else ""
    marked = [Remark(f"({mark})", sentence) for mark, sentence in grid.footnotes]
    lines = [
        r"\begin{table}[htbp]",
        r"\centering\footnotesize",
        rf"\caption{{{escape_latex(f'{grid.title}: {meaning}{bold}.')}}}\par\smallskip",
        "\n\\par\\medskip\n".join(_tabular(grid, block) for block in split),
        _below(marked),
        r"\end{table}",
        _below([Remark(grid.title, ""), *grid.remarks] if grid.remarks else []),
    ]
    return "\n".join(line for line in lines if line)


def _tabular(grid: Grid, block: list[int]) -> str:
    """Some columns of a grid; the first of the numbered ones may be that of lost tracks."""
    heads, rows = _heads(grid), [_cells(row, grid) for row in grid.rows]
    shape = "".join("r" if grid.counts_diverged and at == 0 else "r@{ }l" for at in block)
    lines = [
        rf"\begin{{tabular}}{{@{{}}l{shape}@{{}}}}",
        r"\toprule",
        _line([grid.of, *(heads[at] for at in block)]),
        r"\midrule",
        *(
            _line([escape_latex(str(row)) + _marks(row.marks), *(cells[at] for at in block)])
            for row, cells in zip(grid.rows, rows, strict=True)
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _heads(grid: Grid) -> list[str]:
    lost = ["diverged"] if grid.counts_diverged else []
    return lost + [rf"\multicolumn{{2}}{{l}}{{{escape_latex(str(head))}}}" for head in grid.columns]


def _cells(row: TableRow, grid: Grid) -> list[str]:
    return ([row.diverged] if grid.counts_diverged else []) + [_cell(cell) for cell in row.cells]


def _cell(cell: TableCell) -> str:
    """Value and interval, each in its column; marks stand behind them and take no room."""
    value = DASH if cell.value is None else f"${cell.value_in(STYLE)}$"
    value = rf"\textbf{{\boldmath{value}}}" if cell.bold else value
    interval, marks = cell.interval_in(STYLE), _marks(cell.marks)
    if interval:
        return f"{value} & ${interval}${marks}"
    return rf"{value}\rlap{{{marks}}} &" if marks else f"{value} &"


def _name_width(grid: Grid) -> int:
    return max((len(str(row)) + len(row.marks) for row in grid.rows), default=0)


def _widths(grid: Grid) -> list[int]:
    """Characters that each column takes, about."""
    lost = [len("diverged") + APART] if grid.counts_diverged else []
    return lost + [
        APART + max(len(str(head)), _width([row.cells[at] for row in grid.rows]))
        for at, head in enumerate(grid.columns)
    ]


def _width(cells: list[TableCell]) -> int:
    """Of the values and, beside them, of the intervals with their marks."""
    values = max((len(cell.value_in(READ)) for cell in cells), default=0)
    behind = max((len(cell.interval_in(READ)) + len(cell.marks) for cell in cells), default=0)
    return values + 1 + behind


def _line(cells: list[str]) -> str:
    """A row; a bracket or a star at its start would be an argument of the line before."""
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return rf"{guard}{' & '.join(cells)} \\"


def _marks(marks: tuple[str, ...]) -> str:
    return rf"\textsuperscript{{{','.join(marks)}}}" if marks else ""


def _below(remarks: list[Remark]) -> str:
    """A paragraph each, in small type."""
    if not remarks:
        return ""
    lines = [
        rf"\emph{{{escape_latex(each.label)}}} {escape_latex(each.text)}\par" for each in remarks
    ]
    return "\n".join([r"\par\medskip{\raggedright\scriptsize\noindent", *lines, "}"])
