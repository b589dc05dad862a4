"""One metric over all estimators: cells, duels, ranks."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil, lgamma, log2

import numpy as np

from smfeval.compare.duels import Column, Duel, MetricCell, duels
from smfeval.compare.ranks import ranks
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.special import t_quantile
from smfeval.summarise.number import Number

FARTHEST = 6.0  # a resampled median this many times sqrt(n) tracks off the middle never happens
NEVER = 1e-18  # probability that is left out


def median_number(values: Floats, unit: str, level: float) -> Number:
    """Median of one value per track with its interval at a level. (n,), n > 0, no NaN."""
    count, value = len(values), float(np.median(values))
    if count < fewest_for_median(level):
        reason = f"tracks: {count}; an interval needs at least {fewest_for_median(level)}"
        return Number(value, unit, n_effective=count, reason=reason)
    if values.min() == values.max():
        reason = f"all {count} tracks have the same value: no spread, no interval"
        return Number(value, unit, n_effective=count, reason=reason)
    low, high = median_ends(values, expanded_tail(count, (1 - level) / 2))
    if not np.isfinite([low, high]).all():
        reason = "an end of the interval is not finite"
        return Number(value, unit, n_effective=count, reason=reason)
    return Number(value, unit, low, high, n_effective=count)


def fewest_for_median(level: float) -> int:
    """Least number of tracks whose range holds the median with that probability: 6 for 95 %."""
    return ceil(log2(2 / (1 - level)))


def expanded_tail(count: int, tail: float) -> float:
    """The percentile that makes up for the narrowness of the bootstrap of a few tracks."""
    from scipy.special import ndtr  # noqa: PLC0415  slow to import

    return float(ndtr(np.sqrt(count / (count - 1)) * t_quantile(count - 1, tail)))


def median_ends(values: Floats, tail: float) -> tuple[float, float]:
    """Percentiles `tail` and 1 - `tail` of the bootstrap distribution of the median. (n,)."""
    ordered = np.sort(values)
    first, second, weight = middle_draws(len(values))
    middle = ordered[first] + 0.5 * _gap(ordered[first], ordered[second])
    order = np.argsort(middle, kind="stable")
    middle, weight = middle[order], weight[order]
    low = middle[np.searchsorted(np.cumsum(weight), tail)]
    high = middle[::-1][np.searchsorted(np.cumsum(weight[::-1]), tail)]
    return float(low), float(high)


@lru_cache(maxsize=64)
def middle_draws(count: int) -> tuple[Ints, Ints, Floats]:
    """Sorted tracks i <= j on which the middle draws of a resample fall, with probability.

    i = j throughout for an odd count. (p,) each; the probabilities sum to 1.
    """
    reach = ceil(FARTHEST * count**0.5)
    near = np.arange(max(0, count // 2 - reach), min(count, count // 2 + reach + 1))
    alone = _at_track(near, count)
    if count % 2:
        return near, near, alone / alone.sum()
    both = _two_tracks(near, count)
    np.fill_diagonal(both, np.maximum(alone - both.sum(axis=1), 0.0))
    i, j = np.nonzero(both > NEVER)
    return near[i], near[j], both[i, j] / both[i, j].sum()


def _at_track(place: Ints, count: int) -> Floats:
    """Probability that the lower middle draw is the track at a place (from 0)."""
    from scipy.special import betainc  # noqa: PLC0415  slow to import

    rank = (count + 1) // 2
    below, upto = (betainc(rank, count - rank + 1, (place + i) / count) for i in (0, 1))
    return upto - below


def _two_tracks(place: Ints, count: int) -> Floats:
    """Probability that the middle draws of an even count are at places i < j. (p, p)."""
    half = count // 2
    ways = lgamma(count + 1) - 2 * lgamma(half + 1)
    lower, upper = (_log_power_step(p, half, count) for p in (place + 1, count - place))
    rising = place[:, None] < place[None, :]
    return np.exp(np.where(rising, ways + lower[:, None] + upper[None, :], -np.inf))


def _log_power_step(i: Ints, power: int, count: int) -> Floats:
    """log[(i^m - (i-1)^m) / n^m], i from 1 on."""
    with np.errstate(divide="ignore"):  # log1p(-1): nothing is below the first
        step = np.log(-np.expm1(power * np.log1p(-1.0 / i)))
    return power * np.log(i / count) + step


def _gap(first: Floats, second: Floats) -> Floats:
    """Difference of sorted numbers, 0 where both are infinite."""
    gap = np.zeros_like(first)
    return np.subtract(second, first, out=gap, where=first != second)


Loss = Callable[[float], float]


@dataclass(frozen=True)
class Entrants:
    """Who is compared on what: estimators (those that compete marked) and tracks."""

    names: tuple[str, ...]
    competes: tuple[bool, ...]
    tracks: tuple[str, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the contenders."""
        return tuple(row for row, competes in enumerate(self.competes) if competes)


@dataclass(frozen=True)
class Marks:
    """Contenders that are marked, and why others were not tested."""

    best: Collection[str] = ()
    untested: Mapping[str, str | None] = field(default_factory=dict)


def metric_column(
    metric: str,
    entrants: Entrants,
    values: Floats,
    *,
    unit: str,
    loss: Loss | None,
    level: float,
    left_out: Bools | None = None,
    why: str | None = None,
) -> Column:
    """Compare estimators by one value per track.

    Parameters
    ----------
    values
        (estimators, tracks); NaN where there is none.
    loss
        What is better, lower is; None: nobody wins.
    level
        Of the intervals; the tests have their own (`duels.LEVEL`).
    left_out
        Values that are shown and count in no test, rank or mark, (estimators, tracks); `why`.
    """
    rows = list(entrants.rows)
    names = tuple(entrants.names[row] for row in rows)
    shared = shared_tracks(values[rows] if rows else values)
    if loss is None or not rows:
        cells = _cells(entrants, values, Marks(), unit, level)
        return _with_shared(Column(metric, cells, (), None), values, shared, unit, level)

    counted = values if left_out is None else np.where(left_out, np.nan, values)
    losses = losses_of(counted[rows], loss)
    fought = duels(names, losses)
    cells = _cells(entrants, values, marks_of(fought), unit, level)
    if left_out is not None:
        cells = _without_tests(cells, entrants, left_out, why)
    column = Column(metric=metric, cells=cells, duels=fought, ranks=ranks(names, losses))
    return _with_shared(column, values, shared, unit, level)


def shared_tracks(values: Floats) -> Bools:
    """Tracks on which every row has a value that has one on half of the tracks or more. (k, n).

    One that ran on a few tracks only would leave no more for the others.
    """
    present = np.logical_not(np.isnan(values))
    often = 2 * present.sum(axis=1) >= present.any(axis=0).sum()
    asked = present[often & present.any(axis=1)]
    return asked.all(axis=0) if len(asked) else np.zeros(values.shape[1], dtype=np.bool_)


def _with_shared(column: Column, values: Floats, shared: Bools, unit: str, level: float) -> Column:
    """The column with medians over the shared tracks, where somebody has others besides.

    Who fails on hard tracks has a lower median over its own tracks than over those of all.
    """
    present = ~np.isnan(values)
    some = present[present.any(axis=1)]
    if not shared.any() or (some == shared).all():
        return column
    cells = tuple(
        replace(cell, shared=median_number(row[shared], unit, level))
        if not np.isnan(row[shared]).any()
        else cell
        for cell, row in zip(column.cells, values, strict=True)
    )
    return replace(column, cells=cells, shared_tracks=int(shared.sum()))


def losses_of(values: Floats, loss: Loss) -> Floats:
    """Loss of each value, NaN where there is none. (k, n)."""
    flat = [value if np.isnan(value) else loss(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def marks_of(fought: tuple[Duel, ...]) -> Marks:
    """Who is marked, by the duels of the best; where none could be tested, nobody is."""
    tested = [duel for duel in fought if duel.is_tested]
    if not tested:
        return Marks()
    best = {tested[0].best, *(duel.other for duel in tested if not duel.beaten)}
    return Marks(best, {duel.other: duel.reason for duel in fought if not duel.is_tested})


def _cells(
    entrants: Entrants, values: Floats, marks: Marks, unit: str, level: float
) -> tuple[MetricCell, ...]:
    return tuple(
        _cell(name, entrants.tracks, row, marks, unit=unit, level=level)
        for name, row in zip(entrants.names, values, strict=True)
    )


def _without_tests(
    cells: tuple[MetricCell, ...], entrants: Entrants, left_out: Bools, why: str | None
) -> tuple[MetricCell, ...]:
    """The cells with the tracks that were left out, of contenders."""
    found = []
    for cell, row, competes in zip(cells, left_out, entrants.competes, strict=True):
        tracks = tuple(entrants.tracks[i] for i in np.flatnonzero(row)) if competes else ()
        found.append(replace(cell, left_out=tracks, why_left_out=why) if tracks else cell)
    return tuple(found)


def _cell(
    name: str, tracks: tuple[str, ...], row: Floats, marks: Marks, *, unit: str, level: float
) -> MetricCell:
    present = np.flatnonzero(~np.isnan(row))
    found = median_number(row[present], unit, level) if len(present) else None
    values = tuple((tracks[i], float(row[i])) for i in present)
    return MetricCell(name, found, values, name in marks.best, marks.untested.get(name))
