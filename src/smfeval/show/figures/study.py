"""Figures of a study: k of every estimator and track, ANEES of repeats, mean ranks."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.compare.monte_carlo import BAND, MonteCarlo
from smfeval.errors import SeriesError
from smfeval.maths.stamps import NANOSECONDS
from smfeval.show.figures.style import (
    BAND_GREY,
    COLUMN_IN,
    HONEST_GREY,
    colour,
    escape_name,
    legend_above,
    line_style,
    marker_style,
    set_log_ticks,
)
from smfeval.show.series import check_positive

ForestRow = tuple[str, float, float | None, float | None]  # track, value, low, high
ROW_SHARE = 0.6  # part of a track's row that its estimators share


def forest(
    axes: Axes, study: Mapping[str, Sequence[ForestRow]], *, label: str = "inflation $k$"
) -> None:
    """A row for each track, a mark for each estimator; hollow where there is no interval."""
    tracks = list(dict.fromkeys(row[0] for rows in study.values() for row in rows))
    if not tracks:
        raise SeriesError("the study has no track to draw")
    for number, (name, rows) in enumerate(study.items()):
        aside = ROW_SHARE * ((number + 0.5) / len(study) - 0.5)
        y = np.array([tracks.index(row[0]) + aside for row in rows])
        value = check_positive([row[1] for row in rows], f"value of {name}")
        low, high = (np.array([row[end] for row in rows], dtype=np.float64) for end in (2, 3))
        known = ~(np.isnan(low) | np.isnan(high))
        axes.hlines(y[known], low[known], high[known], color=colour(number), lw=1.0)
        labels = escape_name(name), None
        full, hollow = labels if known.any() else labels[::-1]
        shown = marker_style(number) | {"ls": "none"}
        axes.plot(value[known], y[known], **shown, label=full)
        axes.plot(value[~known], y[~known], **shown, markerfacecolor="white", label=hollow)
    axes.set_xscale("log")
    axes.axvline(1, color=HONEST_GREY, ls="--", label="if honest")
    if any(None in row for rows in study.values() for row in rows):
        axes.plot([], [], ls="none", label="hollow: no interval")
    axes.set_yticks(range(len(tracks)), [escape_name(track) for track in tracks])
    axes.set_ylim(len(tracks) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    set_log_ticks(axes.xaxis)
    axes.set_xlabel(label)
    legend_above(axes)


def forest_size_in(study: Mapping[str, Sequence[ForestRow]]) -> tuple[float, float]:
    """As high as its tracks need."""
    tracks = {row[0] for rows in study.values() for row in rows}
    return COLUMN_IN, 1.0 + 0.33 * len(tracks)


def anees_over_time(axes: Axes, repeats: Sequence[MonteCarlo]) -> None:
    """Mean over runs of NEES / d at each time, over the band of an honest belief."""
    start = min(int(each.stamp[0]) for each in repeats)
    bands: set[tuple[int, float, float]] = set()
    for number, each in enumerate(repeats):
        time = (each.stamp - start) / NANOSECONDS
        name = f"{each.estimator} on {each.track}, {words.count(each.runs, 'run')}"
        outside = f"{words.share(each.outside)} outside"
        shown = check_positive(each.anees, f"ANEES of {each.estimator}")
        axes.plot(
            time, shown, **line_style(number), lw=0.8, label=f"{escape_name(name)} ({outside})"
        )
        band = (each.runs, float(each.low[0]), float(each.high[0]))
        if band not in bands:
            label = None if bands else f"if honest: {words.level(BAND)}"
            axes.fill_between(
                time, each.low, each.high, color=BAND_GREY, lw=0, zorder=0, label=label
            )
            bands.add(band)
    axes.axhline(1, color=HONEST_GREY, ls="--", lw=0.8)
    axes.set_yscale("log")
    axes.margins(x=0.01)
    set_log_ticks(axes.yaxis)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("ANEES")
    legend_above(axes)


AXIS_HEIGHT = 0.0  # height of the axis of ranks; names hang below it
GROUP_STEP, NAME_STEP = 0.35, 0.6  # between bars of groups, and between names
NAME_MARGIN = 0.35  # room for names on either side, in lengths of the line
OVERHANG = 0.06  # by which a bar reaches beyond the ranks it joins


def rank_diagram(
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
    rank = np.asarray(mean_ranks, dtype=np.float64)
    if len(names) < 2 or len(rank) != len(names):
        raise SeriesError(f"{len(names)} names and {len(rank)} mean ranks; two or more are ranked")
    if not (rank >= 1).all():
        raise SeriesError("a mean rank is at least 1")
    unknown = [name for group in groups for name in group if name not in names]
    if unknown:
        raise SeriesError(f"{unknown[0]} is in a group but has no rank")

    place = dict(zip(names, rank, strict=True))
    last = max(len(names), float(np.ceil(rank.max())))
    axes.plot([1, last], [AXIS_HEIGHT, AXIS_HEIGHT], color="black", lw=0.8, solid_capstyle="butt")
    for tick in range(1, int(last) + 1):
        axes.plot([tick, tick], [AXIS_HEIGHT, AXIS_HEIGHT + 0.15], color="black", lw=0.8)
        axes.text(tick, AXIS_HEIGHT + 0.22, str(tick), ha="center", va="bottom", size=7)

    if critical_difference is not None:
        height, end = AXIS_HEIGHT + 1.0, 1 + critical_difference
        axes.plot([1, end], [height, height], "|-", color=HONEST_GREY, lw=0.8, ms=5)
        legend = f"critical difference {words.number(critical_difference)}"
        axes.text(end + 0.08, height, legend, ha="left", va="center", size=7, color=HONEST_GREY)

    height = AXIS_HEIGHT - GROUP_STEP
    for group in groups:
        ranks = [place[name] for name in group]
        ends = [min(ranks) - OVERHANG, max(ranks) + OVERHANG]
        axes.plot(ends, [height, height], color=colour(1), lw=2.5, solid_capstyle="butt")
        height -= GROUP_STEP

    lowest = _draw_names(axes, place, (1.0, last), height)
    room = 0.1 + NAME_MARGIN * (last - 1)
    axes.set(xlim=(1 - room, last + room), ylim=(lowest - 0.3, 1.4))
    axes.set_axis_off()


def _draw_names(
    axes: Axes, place: dict[str, float], ends: tuple[float, float], height: float
) -> float:
    """Names beside the line, the better half on the left; returns the height of the lowest."""
    order = sorted(place, key=place.__getitem__)
    half = (len(order) + 1) // 2
    sides = (order[:half], ends[0] - 0.1, "right"), (order[half:][::-1], ends[1] + 0.1, "left")
    for side, edge, align in sides:
        for row, name in enumerate(side):
            y = height - NAME_STEP * row
            axes.plot(
                [place[name], place[name], edge], [AXIS_HEIGHT, y, y], color=colour(0), lw=0.7
            )
            legend = f"{escape_name(name)} ({words.fixed(place[name], 2)})"
            gap = -0.05 if align == "right" else 0.05
            axes.text(edge + gap, y, legend, ha=align, va="center", size=7)
    return height - NAME_STEP * (half - 1)
