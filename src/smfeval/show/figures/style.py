"""One look for all figures: sizes, fonts and colours for print, safe for the colour-blind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.show.series import COLOURS

COLUMN_IN, WIDE_IN = 3.4, 7.0  # one and two columns of a paper

DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HONEST_GREY = "0.45"  # the grey of references: what an honest belief, or the truth, looks like
BAND_GREY = "0.88"  # the grey of bands around them
COLOUR_MAP = "viridis"

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
    "image.cmap": COLOUR_MAP,
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
def paper_style() -> Iterator[None]:
    """The house style for as long as the block runs; the backend is left alone."""
    with mpl.rc_context(STYLE):
        yield


def stacked_axes(figure: Figure, rows: int, size_in: tuple[float, float]) -> list[Axes]:
    """Axes one above the other on an empty figure; they share their horizontal axis."""
    figure.set_layout_engine("constrained")
    figure.set_size_inches(size_in)
    grid = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return list(grid[:, 0])


def colour(number: int) -> str:
    """Colour of the n-th estimator; they repeat after seven, `line` tells the rest apart."""
    return COLOURS[number % len(COLOURS)]


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of the n-th estimator's line: solid for the first seven."""
    return {"color": colour(number), "ls": DASHES[number // len(COLOURS) % len(DASHES)]}


def band_style(opacity: float) -> dict[str, Any]:
    """Look of a band that a belief reports."""
    return {"color": HONEST_GREY, "alpha": opacity, "lw": 0}


def marker_style(number: int) -> dict[str, Any]:
    """Colour and marker of the n-th estimator's points."""
    return {"color": colour(number), "marker": MARKERS[number % len(MARKERS)]}


SIGMA = "\N{GREEK SMALL LETTER SIGMA}"  # a letter, for labels that also hold names
SIGMA_MEANING = "RMS of |e| if honest"  # of sigma = sqrt(tr S)
MAX_NAME_LETTERS = 32  # letters of a name; a longer one loses its middle
LETTER_EM = 0.56  # mean width of a letter, in font sizes
LEGEND_POINTS = STYLE["legend.fontsize"]
HANDLE_LETTERS = 6  # room that the line beside a legend's text takes


def escape_name(name: str) -> str:
    """The name as text that is drawn letter by letter; a long one loses its middle.

    Two `$` would start mathematics, and a legend leaves out what starts with `_`.
    """
    half = (MAX_NAME_LETTERS - 1) // 2
    shown = name if len(name) <= MAX_NAME_LETTERS else f"{name[:half]}…{name[-half:]}"
    plain = shown.replace("$", r"\$")
    return f" {plain}" if plain.startswith("_") else plain


def estimator_names(evaluations: Sequence[Evaluation]) -> list[str]:
    """What each estimate is called in a legend, escaped."""
    names = [evaluation.estimate.provenance.name for evaluation in evaluations]
    return [escape_name(name) for name in words.names(names)]


def legend_above(axes: Axes) -> None:
    """The legend outside, above the axes, where it hides no data."""
    handles, texts = axes.get_legend_handles_labels()
    if not handles:
        return
    figure = axes.get_figure(root=True)
    width_in = 0.8 * figure.get_figwidth() if figure is not None else 3.0
    letters = width_in * 72 / (LETTER_EM * LEGEND_POINTS)
    widest = max(len(text) for text in texts) + HANDLE_LETTERS
    columns = max(1, min(len(texts), int(letters // widest)))
    above = {"bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    axes.legend(handles, texts, loc="lower left", ncols=columns, **above)


def finish(axes: Axes, x: str, y: str, *, log: str = "") -> None:
    """Labels, logarithmic axes ("x", "y" or "xy") with their ticks, and the legend above.

    Logarithmic at last: until all is drawn, a zero has no place on such an axis.
    """
    for letter in log:
        axes.set(**{f"{letter}scale": "log"})
        set_log_ticks(getattr(axes, f"{letter}axis"))
    axes.set(xlabel=x, ylabel=y)
    legend_above(axes)


def error_label(evaluation: Evaluation) -> str:
    """'position error (m)', with the axes where not all are scored."""
    axes = evaluation.options.axes
    return "position error (m)" if len(axes) == 3 else f"error on {axes} (m)"


MIN_TICKS = 3  # labelled: with fewer, nobody can tell how far a decade reaches


def draw_series(axes: Axes, time: Floats, values: Floats, **look: Any) -> None:
    """A line that breaks at NaN; a scan alone between two breaks is a dot."""
    (line,) = axes.plot(time, values, **look)
    alone = isolated_points(values)
    if alone.any():
        axes.plot(time[alone], values[alone], ".", ms=3, color=line.get_color())


def draw_band(axes: Axes, time: Floats, low: Floats, high: Floats, **look: Any) -> None:
    """A band that breaks at NaN; a scan alone between two breaks has a bar one step wide."""
    alone = np.flatnonzero(isolated_points(high))
    step = np.diff(time[~np.isnan(high)])
    half = 0.5 * float(np.median(step)) if len(step) else 0.5
    wide = np.insert(time, alone + 1, time[alone] + half)
    wide[alone + np.arange(len(alone))] -= half
    below, above = (np.insert(each, alone + 1, each[alone]) for each in (low, high))
    axes.fill_between(wide, below, above, **look)


def isolated_points(values: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Numbers with NaN, or nothing, on either side. (n,) -> (n,)."""
    missing = np.concatenate([[True], np.isnan(values), [True]])
    return missing[:-2] & ~missing[1:-1] & missing[2:]


def set_log_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis: at 1, 2 and 5 where it is short, and evenly where it is shorter.

    At least MIN_TICKS are labelled, and none that crowd.
    """
    low, high = sorted(axis.get_view_interval())
    axis.set_minor_formatter(NullFormatter())
    if _tick_count(LogLocator(), low, high) >= MIN_TICKS:
        return
    finer: Locator = LogLocator(subs=(1, 2, 5))
    if _tick_count(finer, low, high) < MIN_TICKS:
        finer = MaxNLocator(nbins=5, min_n_ticks=MIN_TICKS)
        axis.set_minor_locator(NullLocator())
    axis.set_major_locator(finer)
    axis.set_major_formatter(FuncFormatter(lambda value, position: words.exact(value)))


def _tick_count(locator: Locator, low: float, high: float) -> int:
    """Ticks between the ends of the axis."""
    ticks = np.asarray(locator.tick_values(low, high))
    return int(np.count_nonzero((ticks >= low) & (ticks <= high)))
