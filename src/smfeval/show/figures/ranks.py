"""Rank diagram: which estimators can a study tell apart? After Demsar (2006)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import SeriesError
from smfeval.show.figures.labels import escaped
from smfeval.show.figures.style import HONEST, colour

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
