"""Forest plot of a study: k of every estimator on every track, with its interval."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import SeriesError
from smfeval.show.figures.inputs import positive
from smfeval.show.figures.labels import escaped, legend_above
from smfeval.show.figures.lines import read_well
from smfeval.show.figures.style import COLUMN_IN, HONEST, colour, mark

Row = tuple[str, float, float | None, float | None]  # track, value, low, high
SPREAD = 0.6  # part of a track's row that its estimators share


def forest(axes: Axes, study: Mapping[str, Sequence[Row]], *, label: str = "inflation $k$") -> None:
    """A row for each track, a mark for each estimator; hollow where there is no interval."""
    tracks = list(dict.fromkeys(row[0] for rows in study.values() for row in rows))
    if not tracks:
        raise SeriesError("the study has no track to draw")
    for number, (name, rows) in enumerate(study.items()):
        aside = SPREAD * ((number + 0.5) / len(study) - 0.5)
        _estimator(axes, name, rows, [tracks.index(row[0]) + aside for row in rows], number)
    axes.set_xscale("log")
    axes.axvline(1, color=HONEST, ls="--", label="if honest")
    axes.set_yticks(range(len(tracks)), [escaped(track) for track in tracks])
    axes.set_ylim(len(tracks) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    read_well(axes.xaxis)
    axes.set_xlabel(label)
    legend_above(axes)


def forest_size_in(study: Mapping[str, Sequence[Row]]) -> tuple[float, float]:
    """As high as its tracks need."""
    tracks = {row[0] for rows in study.values() for row in rows}
    return COLUMN_IN, 1.0 + 0.33 * len(tracks)


def _estimator(
    axes: Axes, name: str, rows: Sequence[Row], height: Sequence[float], number: int
) -> None:
    value = positive([row[1] for row in rows], f"value of {name}")
    known = np.array([row[2] is not None and row[3] is not None for row in rows], dtype=np.bool_)
    low, high = (np.array([np.nan if r[i] is None else r[i] for r in rows], float) for i in (2, 3))
    y, shown = np.array(height), mark(number) | {"ls": "none"}
    axes.hlines(y[known], low[known], high[known], color=colour(number), lw=1.0)
    axes.plot(value[known], y[known], **shown, label=escaped(name))
    label = None if known.any() else escaped(name)
    axes.plot(value[~known], y[~known], **shown, markerfacecolor="white", label=label)
