"""The table of figures, and how one is composed. A new figure is a function and a row."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.show.figures import calibration, errors, nees, sensitivity, study, track
from smfeval.show.figures.style import COLUMN_IN, LINE_IN, WIDE_IN, legend_below, paper_style
from smfeval.show.series import evaluation_list, origin_ns


@dataclass(frozen=True)
class FigureKind:
    """A figure: its name, what it is drawn from, how, the height of a panel, and its title.

    `height_in` may depend on the subject and the width of the panel. `rows` gives the number of
    stacked axes for a subject; None: `draw` takes a single Axes. With `grid`, it takes one for
    each estimate. `over_time`: it takes the origin of time. `shares`: panels have the same scales.
    """

    name: str
    needs: str  # "evaluation": a panel for each, "evaluations": together; track, study, ...
    draw: Callable[..., None]
    height_in: float | Callable[[Any, float], float]
    title: str = ""
    rows: Callable[[Any], int] | None = None
    grid: bool = False
    over_time: bool = False
    shares: bool = True


TIME_IN, SQUARE_IN = 1.9, 2.3  # heights of panels

KINDS = (
    FigureKind(
        "error", "evaluation", errors.position_error, TIME_IN, "Position error", over_time=True
    ),
    FigureKind(
        "nees",
        "evaluations",
        nees.nees_over_time,
        lambda found, _: TIME_IN if nees.space_count(found) == 1 else 1.3,
        "NEES",
        nees.space_count,
    ),
    FigureKind("coverage", "evaluations", calibration.coverage, 2.9, "Coverage of the position"),
    FigureKind(
        "boxes",
        "evaluations",
        errors.boxes,
        lambda found, _: 0.45 + 0.2 * len(evaluation_list(found)),
        "Errors and NEES",
        lambda subject: 2,
        shares=False,
    ),
    FigureKind("log", "evaluations", calibration.log_score, 1.4, "Log score", lambda subject: 2),
    FigureKind(
        "track",
        "evaluations",
        track.tracks_from_above,
        lambda subject, width: track.path_height_in(
            evaluation_list(subject)[0].position.reference, width
        ),
        "Path and position error",
        grid=True,
    ),
    FigureKind(
        "rotation", "evaluation", errors.rotation_error, TIME_IN, "Rotation error", over_time=True
    ),
    FigureKind(
        "axes",
        "evaluation",
        errors.axis_errors,
        1.0,
        "Position error by axis",
        lambda subject: subject.options.space.dimension,
        over_time=True,
    ),
    FigureKind("pit", "evaluation", calibration.pit_histogram, TIME_IN, "PIT", shares=False),
    FigureKind("autocorrelation", "evaluation", nees.autocorrelation, TIME_IN, "Autocorrelation"),
    FigureKind("k_over_horizon", "evaluation", nees.k_over_horizon, TIME_IN),
    FigureKind(
        "stanford",
        "evaluation",
        calibration.stanford,
        2.7,
        "Stanford diagram",
        calibration.diagram_count,
        shares=False,
    ),
    FigureKind("path", "track", track.path_from_above, track.path_height_in),
    FigureKind("sigma", "track", errors.reported_sigma, TIME_IN),
    FigureKind("pairs", "comparison", sensitivity.pair_matrix, 2.8),
    FigureKind("alignment", "pairs", sensitivity.alignment_sensitivity, SQUARE_IN),
    FigureKind("time_offset", "pairs", sensitivity.time_offset_sensitivity, SQUARE_IN),
    FigureKind("forest", "study", study.forest, study.forest_height_in),
    FigureKind("spread", "study", study.spread, lambda estimators, _: 0.5 + 0.25 * len(estimators)),
    FigureKind("anees", "repeats", study.anees_over_time, TIME_IN),
    FigureKind(
        "ranks",
        "ranks",
        study.rank_diagrams,
        lambda ranked, _: 1.0 + 0.11 * max(len(each.names) for each in ranked.values()),
        rows=len,
        shares=False,
    ),
    FigureKind("sweep", "sweep", study.sweep, 1.7, rows=study.panel_count, shares=False),
    FigureKind("degeneracy", "arrays", nees.degeneracy, SQUARE_IN),
)
FIGURES = {kind.name: kind for kind in KINDS}


def draw(
    name: str,
    subject: Any,
    *more: Any,
    make: Callable[[], Figure] = Figure,
    title: str = "",
    **options: Any,
) -> Figure:
    """A figure of the table in the house style: panels, one legend below, the alignment as title.

    `subject`, `more` and `options` are what the figure's function takes after its Axes. `make`
    gives an empty figure: the default belongs to no window, that of `pyplot.figure` to one. A
    `title` replaces that of the table.
    """
    if name not in FIGURES:
        raise OptionError(f"figure {name!r} is unknown; it is one of {', '.join(FIGURES)}")
    kind = FIGURES[name]
    found = evaluation_list(subject) if kind.needs.startswith("evaluation") else []
    subjects = found if kind.needs == "evaluation" else [subject]
    rows = 1 if kind.rows is None else kind.rows(subjects[0])
    count = len(found) if kind.grid else len(subjects)
    columns = {1: 1, 2: 2, 4: 2}.get(count, 3)
    width = COLUMN_IN if columns == 1 else WIDE_IN
    if kind.over_time:
        options["origin_ns"] = origin_ns(found)
    with paper_style():
        figure = make()
        figure.set_layout_engine("compressed" if kind.grid else "constrained")
        blocks = -(-count // columns)
        sharey: bool | Literal["row"] = "row" if rows > 1 and kind.shares else kind.shares
        grid = figure.subplots(
            blocks * rows, columns, sharex=kind.shares, sharey=sharey, squeeze=False
        )
        stacks = [grid[i // columns * rows :][:rows, i % columns] for i in range(blocks * columns)]
        panels: list[Any] = [grid.ravel()[:count]] if kind.grid else stacks[:count]
        for axes, each in zip(panels, subjects, strict=True):
            kind.draw(list(axes) if kind.rows or kind.grid else axes[0], each, *more, **options)
        _label_outer(grid, stacks[count:])
        figure.align_ylabels(grid[:, 0])

        height = kind.height_in
        each_in = height if isinstance(height, float) else height(subjects[0], width / columns)
        total = blocks * rows * each_in + legend_below(figure, width)
        if kind.title:
            kinds = dict.fromkeys(words.aligned(each.alignment.kind) for each in found)
            title = title or f"{kind.title} {words.join(kinds)}"
        if title:
            figure.suptitle(title)
            total += LINE_IN
        figure.set_size_inches(width, total)
    return figure


def _label_outer(grid: Any, unused: Sequence[Any]) -> None:
    """Axes are labelled at the left and at the bottom of the grid; slots without one are hidden."""
    for stack in unused:
        for axes in stack:
            axes.set_visible(False)
    for row, column in np.ndindex(grid.shape):
        axes, below = grid[row, column], grid[row + 1 :, column]
        last = not any(each.get_visible() for each in below)
        if below.size and last:
            axes.tick_params(labelbottom=True)
        if column:
            axes.set_ylabel("")
        if not last and axes.get_shared_x_axes().joined(axes, below[0]):
            axes.set_xlabel("")
