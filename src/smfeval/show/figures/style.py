"""One look for all figures: sizes, fonts and colours for print, safe for the colour-blind."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMN_IN, WIDE_IN = 3.4, 7.0  # one and two columns of a paper

# Okabe and Ito (2008), without the yellow that vanishes on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HONEST = "0.45"  # the grey of references: what an honest belief, or the truth, looks like
PALE = "0.88"  # the grey of bands around them
MAP = "viridis"

STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so figures look alike everywhere
    "mathtext.fontset": "dejavusans",
    "text.usetex": False,
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "image.cmap": MAP,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 300,
    "savefig.bbox": None,  # the page has the size that was asked for
    "pdf.fonttype": 42,  # TrueType: publishers refuse the Type 3 fonts of the default
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "smfeval",  # the same figure gives the same file
}


@contextmanager
def styled() -> Iterator[None]:
    """The house style for as long as the block runs; the backend is left alone."""
    with mpl.rc_context(STYLE):
        yield


def stacked(figure: Figure, rows: int, size_in: tuple[float, float]) -> list[Axes]:
    """Axes one above the other on an empty figure; they share their horizontal axis."""
    figure.set_layout_engine("constrained")
    figure.set_size_inches(size_in)
    grid = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return list(grid[:, 0])


def colour(number: int) -> str:
    """Colour of the n-th estimator; they repeat after seven, `line` tells the rest apart."""
    return COLOURS[number % len(COLOURS)]


def line(number: int) -> dict[str, Any]:
    """Colour and dashes of the n-th estimator's line: solid for the first seven."""
    return {"color": colour(number), "ls": DASHES[number // len(COLOURS) % len(DASHES)]}


def shade(opacity: float) -> dict[str, Any]:
    """Look of a band that a belief reports."""
    return {"color": HONEST, "alpha": opacity, "lw": 0}


def mark(number: int) -> dict[str, Any]:
    """Colour and marker of the n-th estimator's points."""
    return {"color": colour(number), "marker": MARKERS[number % len(MARKERS)]}
