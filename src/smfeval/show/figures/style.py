"""One look for all figures: sizes, fonts and colours for print, safe for the colour-blind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
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

COLUMN_IN, WIDE_IN = 3.5, 7.16  # one and two columns of an IEEE paper
POINTS = 8  # of every letter: the smallest that a paper prints

# Dashes differ beside the colours, for print in grey; five of them, seven colours: 35 lines.
DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.2)),
    (0, (1, 1)),
    (0, (5, 1, 1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "0.4"  # the grey of references: what a consistent belief, or the truth, looks like
BAND_GREY = "0.88"  # the grey of bands around them
RANGE_OPACITY = 0.25  # of the range of many scans around their median
COLOUR_MAP = "viridis"

LETTERS = (
    *("font.size", "axes.labelsize", "axes.titlesize", "figure.titlesize"),
    *("xtick.labelsize", "ytick.labelsize", "legend.fontsize"),
)
STYLE: dict[Any, Any] = dict.fromkeys(LETTERS, POINTS) | {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so figures look alike everywhere
    "mathtext.fontset": "dejavusans",
    "text.usetex": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 4,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.3,
    "legend.borderpad": 0.1,
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


def colour(number: int) -> str:
    """Colour of the n-th estimator; they repeat after seven, with other dashes."""
    return COLOURS[number % len(COLOURS)]


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of the n-th estimator's line."""
    return {"color": colour(number), "ls": DASHES[number % len(DASHES)]}


def marker_style(number: int) -> dict[str, Any]:
    """Colour and marker of the n-th estimator's points."""
    return {"color": colour(number), "marker": MARKERS[number % len(MARKERS)]}


SIGMA = "\N{GREEK SMALL LETTER SIGMA}"  # a letter, for labels that also hold names
MAX_NAME_LETTERS = 32  # letters of a name; a longer one loses its middle
LETTER_EM = 0.56  # mean width of a letter, in font sizes
HANDLE_LETTERS = 6  # room that the line beside a legend's text takes
LINE_IN = 1.5 * POINTS / 72  # height of a line of text


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


def legend_below(figure: Figure, width_in: float) -> float:
    """One legend below all axes, where it hides no data; returns its height in inches.

    Lines come first, then bands; in as many columns as are not wider than the figure.
    """
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        if axes.get_legend() is None:
            for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(text, handle)
    texts = sorted(entries, key=lambda text: not isinstance(entries[text], Line2D))
    if not texts:
        return 0.0
    letters = width_in * 72 / (LETTER_EM * POINTS)
    for rows in range(1, len(texts) + 1):
        columns = [texts[i : i + rows] for i in range(0, len(texts), rows)]
        if sum(max(map(len, column)) + HANDLE_LETTERS for column in columns) <= letters:
            break
    handles = [entries[text] for text in texts]
    figure.legend(handles, texts, loc="outside lower center", ncols=len(columns))
    return LINE_IN * rows


def finish(axes: Axes, x: str, y: str, *, log: str = "") -> None:
    """Labels, and logarithmic axes ("x", "y" or "xy") with their ticks, if anything is positive.

    Logarithmic at last: until all is drawn, a zero has no place on such an axis.
    """
    for letter in log:
        if np.isfinite(getattr(axes.dataLim, f"minpos{letter}")):
            axes.set(**{f"{letter}scale": "log"})
            set_log_ticks(getattr(axes, f"{letter}axis"))
    axes.set(xlabel=x, ylabel=y)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """A row for each name, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def error_label(evaluation: Evaluation) -> str:
    """'position error (m)', with the axes where not all are scored."""
    axes = evaluation.options.axes
    return "position error (m)" if len(axes) == 3 else f"error on {axes} (m)"


def draw_series(axes: Axes, time: Floats, curve: Floats, **look: Any) -> None:
    """Medians as a line and their range as a light band; a scan alone between breaks is a dot.

    (m,), (3, m): least, median and greatest value (`time_series`); NaN where the line breaks.
    """
    low, middle, high = curve
    (line,) = axes.plot(time, middle, **look)
    if (high > low).any():
        label = f"range over {words.duration(float(np.nanmedian(np.diff(time))))}"
        band = axes.fill_between(time, low, high, color=line.get_color(), label=label)
        band.set(alpha=RANGE_OPACITY, lw=0, zorder=1.5)
    alone = isolated_points(middle)
    if alone.any():
        axes.plot(time[alone], middle[alone], ".", ms=3, color=line.get_color())


def draw_band(axes: Axes, time: Floats, low: Floats, high: Floats, **look: Any) -> None:
    """A band that breaks at NaN; a scan alone between two breaks has a bar one step wide."""
    alone = np.flatnonzero(isolated_points(high))
    step = np.diff(time[~np.isnan(high)])
    half = 0.5 * float(np.median(step)) if len(step) else 0.5
    wide = np.insert(time, alone + 1, time[alone] + half)
    wide[alone + np.arange(len(alone))] -= half
    below, above = (np.insert(each, alone + 1, each[alone]) for each in (low, high))
    axes.fill_between(wide, below, above, **({"lw": 0, "zorder": 1} | look))


def isolated_points(values: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Numbers with NaN, or nothing, on either side. (n,) -> (n,)."""
    missing = np.concatenate([[True], np.isnan(values), [True]])
    return missing[:-2] & ~missing[1:-1] & missing[2:]


MIN_TICKS = 3  # labelled: with fewer, nobody can tell how far a decade reaches
TICK_STEPS = (1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)  # of a decade, the coarsest that has them


def set_log_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis: at decades, at round numbers where it is short, else evenly.

    At least MIN_TICKS are labelled, and none that crowd.
    """
    low, high = sorted(axis.get_view_interval())
    axis.set_minor_formatter(NullFormatter())
    finer: Locator = MaxNLocator(nbins=5, min_n_ticks=MIN_TICKS)
    for subs in TICK_STEPS:
        ticks = np.asarray(LogLocator(subs=subs).tick_values(low, high))
        if np.count_nonzero((ticks >= low) & (ticks <= high)) >= MIN_TICKS:
            if subs == (1,):
                return
            finer = LogLocator(subs=subs)
            break
    else:
        axis.set_minor_locator(NullLocator())
    axis.set_major_locator(finer)
    axis.set_major_formatter(FuncFormatter(lambda value, position: words.exact(value)))
