"""The table of figures. A new figure is a function and a row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.figure import Figure

from smfeval.errors import OptionError
from smfeval.show.figures.calibration import coverage, log_score, pit_histogram
from smfeval.show.figures.errors import (
    axis_errors,
    divergence,
    error_and_sigma,
    error_panels,
    error_size_in,
    reported_sigma,
    rotation_error,
)
from smfeval.show.figures.nees import (
    autocorrelation,
    degeneracy,
    k_over_horizon,
    nees_of_spaces,
    nees_over_time,
)
from smfeval.show.figures.sensitivity import clock_sensitivity, gauge_sensitivity, pair_matrix
from smfeval.show.figures.study import anees_over_time, forest, forest_size_in, rank_diagram
from smfeval.show.figures.style import COLUMN_IN, WIDE_IN, paper_style, stacked_axes
from smfeval.show.figures.sweep import sweep_error, sweep_nees
from smfeval.show.figures.track import (
    path_from_above,
    path_size_in,
    track_from_above,
    track_size_in,
    tracks_from_above,
    tracks_size_in,
)

# "evaluations" are drawn into one figure, for an "evaluation" each estimate has its own.
Needs = Literal[
    "track",
    "evaluations",
    "evaluation",
    "comparison",
    "pairs",
    "study",
    "repeats",
    "ranks",
    "sweep",
    "arrays",
]


@dataclass(frozen=True)
class FigureKind:
    """A figure: its name, what it is drawn from, how, and its size in inches.

    `panels` gives the number of stacked axes for a subject; None: `draw` takes a single Axes.
    `size_in` gives the size of the figure, or of each panel.
    """

    name: str
    needs: Needs
    draw: Callable[..., None]
    size_in: Callable[[Any], tuple[float, float]]
    panels: Callable[[Any], int] | None = None


def fixed_size(width: float, height: float) -> Callable[[Any], tuple[float, float]]:
    """The same size for every subject."""
    return lambda subject: (width, height)


LINE_SIZE = fixed_size(WIDE_IN, 2.4)
SMALL_SIZE = fixed_size(COLUMN_IN, 2.7)

FIGURES: dict[str, FigureKind] = {
    kind.name: kind
    for kind in (
        FigureKind("error", "evaluations", error_and_sigma, error_size_in, error_panels),
        FigureKind("nees", "evaluations", nees_over_time, LINE_SIZE),
        FigureKind("coverage", "evaluations", coverage, fixed_size(COLUMN_IN, 3.4)),
        FigureKind("log", "evaluations", log_score, fixed_size(WIDE_IN, 1.6), lambda subject: 2),
        FigureKind("tracks", "evaluations", tracks_from_above, tracks_size_in),
        FigureKind("rotation", "evaluation", rotation_error, LINE_SIZE),
        FigureKind("nees_of_spaces", "evaluation", nees_of_spaces, LINE_SIZE),
        FigureKind("divergence", "evaluation", divergence, LINE_SIZE),
        FigureKind("track", "evaluation", track_from_above, track_size_in),
        FigureKind(
            "axes",
            "evaluation",
            axis_errors,
            fixed_size(WIDE_IN, 1.3),
            lambda subject: subject.options.space.dimension,
        ),
        FigureKind("pit", "evaluation", pit_histogram, SMALL_SIZE),
        FigureKind("autocorrelation", "evaluation", autocorrelation, SMALL_SIZE),
        FigureKind("k_over_horizon", "evaluation", k_over_horizon, SMALL_SIZE),
        FigureKind("path", "track", path_from_above, path_size_in),
        FigureKind("sigma", "track", reported_sigma, LINE_SIZE),
        FigureKind("pairs", "comparison", pair_matrix, fixed_size(COLUMN_IN, 3.0)),
        FigureKind("gauge", "pairs", gauge_sensitivity, fixed_size(COLUMN_IN, 3.2)),
        FigureKind("clock", "pairs", clock_sensitivity, SMALL_SIZE),
        FigureKind("forest", "study", forest, forest_size_in),
        FigureKind("anees", "repeats", anees_over_time, LINE_SIZE),
        FigureKind("ranks", "ranks", rank_diagram, fixed_size(WIDE_IN, 1.8)),
        FigureKind("sweep_nees", "sweep", sweep_nees, SMALL_SIZE),
        FigureKind("sweep_error", "sweep", sweep_error, SMALL_SIZE),
        FigureKind("degeneracy", "arrays", degeneracy, SMALL_SIZE),
    )
}


def draw(
    name: str, subject: Any, *more: Any, make: Callable[[], Figure] = Figure, **options: Any
) -> Figure:
    """A figure of the table in the house style.

    `subject`, `more` and `options` are what the figure's function takes after its Axes. `make`
    gives an empty figure: the default belongs to no window, that of `pyplot.figure` to one.
    """
    kind = figure_kind(name)
    panels = 1 if kind.panels is None else kind.panels(subject)
    width, height = kind.size_in(subject)
    with paper_style():
        figure = make()
        axes = stacked_axes(figure, panels, (width, height * panels))
        kind.draw(axes[0] if kind.panels is None else axes, subject, *more, **options)
        figure.align_ylabels(axes)
    return figure


def figure_kind(name: str) -> FigureKind:
    """An entry of the table, or an OptionError that lists the known ones."""
    if name not in FIGURES:
        raise OptionError(f"figure {name!r} is unknown; it is one of {', '.join(FIGURES)}")
    return FIGURES[name]
