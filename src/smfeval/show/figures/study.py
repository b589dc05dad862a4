"""Figures of a study: k of every estimator and track, ANEES of repeats, mean ranks, a sweep.

A sweep is drawn with what it would show if the covariance were right, or only shrank: with S scaled
by c in d dimensions the precision P = -log det S grows by d log(1/c). A consistent belief's error
shrinks along: |e| ~ sqrt(c) = exp(-P / 2d), and NEES stays. If the error does not change at all,
NEES ~ 1/c = exp(P / d).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.compare.across import median_number
from smfeval.compare.duels import Ranks
from smfeval.compare.monte_carlo import BAND, MonteCarlo
from smfeval.compare.slopes import Quantity
from smfeval.compare.sweep import SweepLine
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.style import (
    BAND_GREY,
    GREY,
    MARKERS,
    colour,
    draw_band,
    draw_series,
    escape_name,
    finish,
    line_style,
    marker_style,
    name_rows,
)
from smfeval.show.series import check_positive, time_series
from smfeval.show.sweep import PREDICTIONS, predicted_ends, predicted_slopes
from smfeval.summarise.inflation import median_chi_squared

ForestRow = tuple[str, float, float | None, float | None]  # track, value, low, high
ROW_SHARE = 0.6  # part of a row that its marks share
LEVEL = 0.95  # of the interval of a median
GOLDEN = 0.618  # marks that follow each other lie apart


def forest(axes: Axes, study: Mapping[str, Sequence[ForestRow]]) -> None:
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
    axes.axvline(1, color=GREY, ls="--", label="k if consistent")
    if any(None in row for rows in study.values() for row in rows):
        axes.plot([], [], ls="none", label="hollow: no CI")
    name_rows(axes, list(map(escape_name, tracks)))
    finish(axes, "k", "", log="x")


def forest_height_in(study: Mapping[str, Sequence[ForestRow]], width: float) -> float:
    """As high as its tracks and estimators need."""
    del width
    tracks = {row[0] for rows in study.values() for row in rows}
    return 0.5 + (0.12 + 0.1 * len(study)) * len(tracks)


def spread(axes: Axes, study: Mapping[str, Sequence[ForestRow]]) -> None:
    """A mark for each track of an estimator, and their median with its interval."""
    for number, (name, rows) in enumerate(study.items()):
        values = check_positive([row[1] for row in rows], f"value of {name}")
        median = median_number(values, "1", LEVEL)
        aside = number + ROW_SHARE * ((np.arange(len(values)) * GOLDEN) % 1 - 0.5)
        axes.plot(values, aside, **marker_style(number), ls="none", ms=3.5, mfc="white")
        if median.low is not None and median.high is not None:
            axes.hlines(number, median.low, median.high, color="black", lw=0.8)
        named = "median over tracks, 95 % CI" if number == 0 else None
        axes.plot(median.value, number, "|", color="black", ms=14, mew=1.6, label=named)
    axes.axvline(1, color=GREY, ls="--", label="k if consistent")
    name_rows(axes, list(map(escape_name, study)))
    finish(axes, "k of each track", "", log="x")


def anees_over_time(axes: Axes, repeats: Sequence[MonteCarlo]) -> None:
    """Mean over runs of NEES / d at each time, over the band of a consistent belief."""
    start = min(int(each.stamp[0]) for each in repeats)
    bands: set[tuple[int, float, float]] = set()
    for number, each in enumerate(repeats):
        series = check_positive(each.anees, f"ANEES of {each.estimator}"), each.low, each.high
        time, drawn, low, high = time_series(each.stamp, *series, origin_ns=start)
        name = escape_name(f"{each.estimator} on {each.track}, {words.count(each.runs, 'run')}")
        legend = f"{name}, {words.share(each.outside)} outside"
        draw_series(axes, time, drawn, **line_style(number), label=legend)
        band = (each.runs, float(each.low[0]), float(each.high[0]))
        if band not in bands:
            label = None if bands else f"{words.level(BAND)} if consistent"
            draw_band(axes, time, low[1], high[1], color=BAND_GREY, label=label)
            bands.add(band)
    axes.axhline(1, color=GREY, lw=0.8, zorder=1)
    axes.margins(x=0.01)
    finish(axes, "time (s)", "ANEES", log="y")


AXIS_HEIGHT = 0.0  # height of the axis of ranks; names hang below it
GROUP_STEP, NAME_STEP = 0.35, 0.6  # between bars of groups, and between names
LETTER_SHARE, MAX_SHARE = 0.0175, 0.4  # of the width: a letter, and all names on one side
OVERHANG = 0.06  # by which a bar reaches beyond the ranks it joins


def rank_diagrams(axes: Sequence[Axes], ranked: Mapping[str, Ranks]) -> None:
    """A diagram for each title: mean ranks on a line, best on the left.

    Bars join names that the tests do not separate, those that marks rest on.
    """
    for panel, (title, ranks) in zip(axes, ranked.items(), strict=True):
        panel.set_title(title)
        _draw_ranks(panel, ranks)


def _draw_ranks(axes: Axes, ranks: Ranks) -> None:
    names, rank = ranks.names, np.asarray(ranks.mean_rank, dtype=np.float64)
    groups = [clique for clique in ranks.cliques if len(clique) > 1]
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
        axes.text(tick, AXIS_HEIGHT + 0.22, str(tick), ha="center", va="bottom")

    height = AXIS_HEIGHT - GROUP_STEP
    for group in groups:
        joined = [place[name] for name in group]
        ends = [min(joined) - OVERHANG, max(joined) + OVERHANG]
        axes.plot(ends, [height, height], color=colour(1), lw=2.5, solid_capstyle="butt")
        height -= GROUP_STEP

    lowest = _draw_names(axes, place, (1.0, last), height)
    letters = max(len(escape_name(name)) for name in names) + len(" (1.00)  ")
    share = min(LETTER_SHARE * letters, MAX_SHARE)
    room = share / (1 - 2 * share) * (last - 1)
    axes.set(xlim=(1 - room, last + room), ylim=(lowest - 0.3, 0.9))
    axes.set_axis_off()


def _draw_names(
    axes: Axes, place: dict[str, float], ends: tuple[float, float], height: float
) -> float:
    """Names beside the line, the better half on the left; returns the height of the lowest."""
    order = sorted(place, key=place.__getitem__)
    half = (len(order) + 1) // 2
    gap = 0.03 * (ends[1] - ends[0])
    sides = (order[:half], ends[0] - gap, "right"), (order[half:][::-1], ends[1] + gap, "left")
    for side, edge, align in sides:
        beside = edge + (-0.5 if align == "right" else 0.5) * gap
        for row, name in enumerate(side):
            rank, y = place[name], height - NAME_STEP * row
            axes.plot([rank, rank, edge], [AXIS_HEIGHT, y, y], color=colour(0), lw=0.7)
            legend = f"{escape_name(name)} ({words.fixed(rank, 2)})"
            axes.text(beside, y, legend, ha=align, va="center")
    return height - NAME_STEP * (half - 1)


DASHES = ("--", ":")  # of the predictions
CREDIT_DASHES = (0, (5, 1, 1, 1))
PRECISION = r"precision $-\log\,\det\,\Sigma$ (nat)"


def sweep(axes: Sequence[Axes], lines: Sequence[SweepLine], *, dimension: int = 3) -> None:
    """Median NEES and mean error over the precision of all runs, with both predictions.

    Where telemetry tells the credit of the points, a panel above has reported precision and credit
    over the setting. Colours are estimators, markers settings; each of both has lines by track. The
    ends of the longest line have their values. If errors shrink as reported, NEES stays and the
    error falls by log10(e) / 2d per nat; if they stay, NEES rises by log10(e) / d per nat.
    """
    if not lines:
        raise SeriesError("no setting moves the precision: the sweep has nothing to draw")
    *first, above, below = axes
    for panel in first:
        _draw_credit(panel, lines)
    below.sharex(above)
    above.axhline(median_chi_squared(dimension), color=GREY, lw=0.8, label="median if consistent")
    for panel, of in zip((above, below), predicted_slopes(dimension).items(), strict=True):
        _draw_runs(panel, lines, *of)
    _name_ends(above, lines)
    finish(above, "", "median NEES", log="y")
    finish(below, PRECISION, "mean error (m)", log="y")


def panel_count(lines: Sequence[SweepLine]) -> int:
    """Two, and one for the credit where it is known."""
    return 2 + any(_relative_values(each) is not None for each in lines)


def _draw_runs(
    axes: Axes, lines: Sequence[SweepLine], quantity: Quantity, slopes: tuple[float, float]
) -> None:
    """Marks of every run, and of each estimator both predictions through the middle of its runs."""
    estimators, knobs = _names(lines)
    for each in lines:
        look = _look(each, lines)
        order = np.argsort(each.line.precision)
        drawn = 10 ** getattr(each.line, quantity)[order]
        axes.plot(each.line.precision[order], drawn, **look)
    for number, estimator in enumerate(estimators):
        own = [each.line for each in lines if each.estimator == estimator]
        axes.plot([], [], color=colour(number), label=escape_name(estimator))
        for dashes, slope in zip(DASHES, slopes, strict=True):
            ends = predicted_ends(own, quantity, slope)
            axes.plot(*ends, color=colour(number), ls=dashes, lw=0.8)
    for knob, marker in zip(knobs, MARKERS, strict=False):
        axes.plot([], [], color=GREY, marker=marker, ls="", ms=3.5, label=escape_name(knob))
    for legend, dashes in zip(PREDICTIONS, DASHES, strict=True):
        axes.plot([], [], color=GREY, ls=dashes, lw=0.8, label=legend)
    axes.margins(x=0.08, y=0.12)


def _name_ends(axes: Axes, lines: Sequence[SweepLine]) -> None:
    """The values at both ends of each estimator's longest line, below and above."""
    for number, estimator in enumerate(_names(lines)[0]):
        own = [each.line for each in lines if each.estimator == estimator]
        line = max(own, key=lambda line: line.reach_nats)
        for at, beside in ((line.precision.argmin(), -10), (line.precision.argmax(), 4)):
            axes.annotate(
                escape_name(line.values[at]),
                (line.precision[at], 10 ** line.log_nees[at]),
                (0, beside),  # points
                textcoords="offset points",
                ha="center",
                color=colour(number),
            )


def _draw_credit(axes: Axes, lines: Sequence[SweepLine]) -> None:
    """Reported precision, and the credit of the points, over each setting."""
    for each in lines:
        x, credit = _relative_values(each), each.line.credit
        if x is None or credit is None:
            continue
        order, look = np.argsort(x), _look(each, lines)
        axes.plot(x[order], each.line.precision[order], **look)
        axes.plot(x[order], credit[order], color=look["color"], ls=CREDIT_DASHES, lw=0.8)
    axes.plot([], [], color=GREY, ls=CREDIT_DASHES, lw=0.8, label="credit of the points")
    finish(axes, "setting, relative to the usual one", "precision (nat)", log="x")


def _relative_values(of: SweepLine) -> Floats | None:
    """Values of a knob over the usual one; None where they have no logarithm, or no credit."""
    if of.line.credit is None:
        return None
    try:
        values, usual = np.array([float(value) for value in of.line.values]), float(of.usual)
    except ValueError:  # words
        return None
    return values / usual if (values > 0).all() else None


def _look(each: SweepLine, lines: Sequence[SweepLine]) -> dict[str, Any]:
    """The colour of its estimator, the marker of its knob."""
    estimators, knobs = _names(lines)
    marker = MARKERS[knobs.index(each.knob) % len(MARKERS)]
    tint = colour(estimators.index(each.estimator))
    return {"color": tint, "marker": marker, "ms": 3.5, "lw": 0.6}


def _names(lines: Sequence[SweepLine]) -> tuple[list[str], list[str]]:
    """Estimators and knobs, each once."""
    estimators = dict.fromkeys(each.estimator for each in lines)
    return list(estimators), list(dict.fromkeys(each.knob for each in lines))
