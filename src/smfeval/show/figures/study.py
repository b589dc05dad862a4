"""Forest plot of a study: k of every estimator on every track, with its interval."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import SeriesError
from smfeval.show.figures.inputs import positive
from smfeval.show.figures.style import (
    COLUMN_IN,
    HONEST,
    colour,
    escaped,
    legend_above,
    mark,
    read_well,
)

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


RAIL = 0.0  # height of the axis of ranks; names hang below it
GROUP, ROW = 0.35, 0.6  # between bars of groups, and between names
NAMES = 0.35  # room for names on either side, in lengths of the line
OVERHANG = 0.06  # by which a bar reaches beyond the ranks it joins


def ranks(
    axes: Axes,
    names: Sequence[str],
    mean_ranks: Sequence[float],
    *,
    critical_difference: float | None = None,
    groups: Sequence[Sequence[str]] = (),
) -> None:
    """Mean ranks on a line, best on the left; bars join names that are not told apart.

    Two mean ranks are told apart if they differ by more than the critical difference, which is
    drawn as a measure above the line.
    """
    rank = _checked(names, mean_ranks, groups)
    place = dict(zip(names, rank, strict=True))
    last = max(len(names), float(np.ceil(rank.max())))
    _rail(axes, last)
    if critical_difference is not None:
        _measure(axes, critical_difference)
    depth = _bars(axes, [[place[name] for name in group] for group in groups])
    lowest = _names(axes, place, (1.0, last), depth)
    room = 0.1 + NAMES * (last - 1)
    axes.set(xlim=(1 - room, last + room), ylim=(lowest - 0.3, 1.4))
    axes.set_axis_off()


def _checked(
    names: Sequence[str], mean_ranks: Sequence[float], groups: Sequence[Sequence[str]]
) -> np.ndarray:
    rank = np.asarray(mean_ranks, dtype=np.float64)
    if len(names) < 2 or len(rank) != len(names):
        raise SeriesError(f"{len(names)} names and {len(rank)} mean ranks; two or more are ranked")
    if not (rank >= 1).all():
        raise SeriesError("a mean rank is at least 1")
    unknown = [name for group in groups for name in group if name not in names]
    if unknown:
        raise SeriesError(f"{unknown[0]} is in a group but has no rank")
    return rank


def _rail(axes: Axes, last: float) -> None:
    axes.plot([1, last], [RAIL, RAIL], color="black", lw=0.8, solid_capstyle="butt")
    for tick in range(1, int(last) + 1):
        axes.plot([tick, tick], [RAIL, RAIL + 0.15], color="black", lw=0.8)
        axes.text(tick, RAIL + 0.22, str(tick), ha="center", va="bottom", size=7)


def _measure(axes: Axes, difference: float) -> None:
    height = RAIL + 1.0
    axes.plot([1, 1 + difference], [height, height], "|-", color=HONEST, lw=0.8, ms=5)
    words = f"critical difference {difference:.3g}"
    axes.text(1 + difference + 0.08, height, words, ha="left", va="center", size=7, color=HONEST)


def _bars(axes: Axes, groups: Sequence[Sequence[float]]) -> float:
    """Bars of the groups under the line; returns the height below them."""
    height = RAIL - GROUP
    for group in groups:
        ends = [min(group) - OVERHANG, max(group) + OVERHANG]
        axes.plot(ends, [height, height], color=colour(1), lw=2.5, solid_capstyle="butt")
        height -= GROUP
    return height


def _names(axes: Axes, place: dict[str, float], ends: tuple[float, float], height: float) -> float:
    """Names beside the line, the better half on the left; returns the height of the lowest."""
    order = sorted(place, key=place.__getitem__)
    half = (len(order) + 1) // 2
    sides = (order[:half], ends[0] - 0.1, "right"), (order[half:][::-1], ends[1] + 0.1, "left")
    for side, edge, align in sides:
        for row, name in enumerate(side):
            y = height - ROW * row
            axes.plot([place[name], place[name], edge], [RAIL, y, y], color=colour(0), lw=0.7)
            words = f"{escaped(name)} ({place[name]:.2f})"
            gap = -0.05 if align == "right" else 0.05
            axes.text(edge + gap, y, words, ha=align, va="center", size=7)
    return height - ROW * (half - 1)
