"""One metric over all estimators: medians over tracks, duels, ranks.

The interval of a median is from the bootstrap distribution of the median of tracks, which is known
exactly. For ranks the contenders are ordered within each track by their loss, ties sharing a
midrank. Which of them are not separated is told by the tests that marks rest on, not by a test of
mean ranks, for that depends on who else competes (Benavoli, Corani and Mangili, JMLR 17, 2016).
Only tracks on which every contender has a value count; contenders that have too few for a test stay
out, and are named.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import ceil, lgamma, log2

import numpy as np

from smfeval import words
from smfeval.compare import duels
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.special import t_quantile
from smfeval.summarise.number import Number

FARTHEST = 6.0  # a resampled median this many times sqrt(n) tracks off the middle never happens
NEVER = 1e-18  # probability that is left out
NO_SHARED_TRACK = "no track has values of all contenders"

Loss = Callable[[float], float]


@dataclass(frozen=True)
class Entrants:
    """Who is compared on what: estimators (those that compete marked) and tracks."""

    names: tuple[str, ...]
    competes: tuple[bool, ...]
    tracks: tuple[str, ...]
    routes: tuple[str, ...] = ()  # of the tracks, which share them; empty: each has its own

    @property
    def route_numbers(self) -> Ints | None:
        """A number for the route of each track, (n,); None where no two share one."""
        if len(set(self.routes)) == len(self.routes):
            return None
        return np.unique(self.routes, return_inverse=True)[1]


def metric_column(
    metric: str,
    entrants: Entrants,
    values: Floats,
    *,
    unit: str,
    loss: Loss | None,
    level: float,
    comparable: Bools | None = None,
    why: str | None = None,
) -> duels.Column:
    """Compare estimators by one value per track.

    Parameters
    ----------
    values
        (estimators, tracks); NaN where there is none.
    loss
        What is better, lower is; None: nobody wins.
    level
        Of the intervals; the tests have their own (`duels.LEVEL`).
    comparable
        Tracks on which all may be compared (n,); others, for the reason `why`, are shown and count
        in no test, rank or mark. None: all.
    """
    present, competing = ~np.isnan(values), np.array(entrants.competes, dtype=np.bool_)
    tried = np.ones(values.shape[1], dtype=np.bool_) if comparable is None else comparable
    fought, ranked, marks = _compare(entrants, values, tried, loss, why)
    notes: tuple[str, ...] = ()
    if why is not None and tried.any() and not tried.all():
        notes = (f"compared on {words.count_of(int(tried.sum()), len(tried), 'track')}: {why}",)
    shared = shared_tracks(values[competing] if competing.any() else values)
    is_uneven, routes = _is_uneven(values, shared), entrants.route_numbers

    def median(row: Floats, where: Bools) -> Number:
        of_route = None if routes is None else routes[where]
        return median_number(row[where], unit, level, of_route)

    cells = tuple(
        duels.MetricCell(
            name,
            median(row, has) if has.any() else None,
            tuple((entrants.tracks[i], float(row[i])) for i in np.flatnonzero(has)),
            name in marks.best,
            marks.reasons.get(name),
            median(row, shared) if is_uneven and has[shared].all() else None,
        )
        for name, row, has in zip(entrants.names, values, present, strict=True)
    )
    return duels.Column(
        metric,
        cells,
        fought,
        ranked,
        notes=notes,
        shared_tracks=int(shared.sum()) if is_uneven else None,
        unmarked=marks.unmarked,
        detail=marks.detail,
    )


def _is_uneven(values: Floats, shared: Bools) -> bool:
    """Whether a median over the tracks of all is another than over an estimator's own.

    Who fails on hard tracks has a lower median over its own tracks.
    """
    return bool(shared.any()) and any(
        np.median(row[~np.isnan(row)]) != np.median(row[shared])
        for row in values
        if not np.isnan(row[shared]).any()
    )


def _compare(
    entrants: Entrants, values: Floats, tried: Bools, loss: Loss | None, why: str | None
) -> tuple[tuple[duels.Duel, ...], duels.Ranks | None, duels.Marks]:
    """Duels, ranks and marks of the contenders on the tracks that are `tried`."""
    competing = np.flatnonzero(entrants.competes)
    if loss is None or not len(competing):
        return (), None, duels.Marks()
    if not tried.any():
        return (), None, duels.Marks(unmarked=duels.TOO_FEW_TRACKS, detail=why)
    names = tuple(entrants.names[row] for row in competing)
    losses = losses_of(np.where(tried, values, np.nan)[competing], loss)
    tests = duels.all_tests(losses, entrants.route_numbers)
    fought = duels.duels(names, losses, tests)
    found = {name: row[~np.isnan(row)] for name, row in zip(entrants.names, values, strict=True)}
    medians = {name: loss(float(np.median(row))) for name, row in found.items() if len(row)}
    return fought, ranks(names, losses, tests), duels.marks_of(fought, medians)


def shared_tracks(values: Floats) -> Bools:
    """Tracks on which every row has a value that has one on half of the tracks or more. (k, n).

    One that ran on a few tracks only would leave no more for the others.
    """
    present = np.logical_not(np.isnan(values))
    often = 2 * present.sum(axis=1) >= present.any(axis=0).sum()
    asked = present[often & present.any(axis=1)]
    return asked.all(axis=0) if len(asked) else np.zeros(values.shape[1], dtype=np.bool_)


def losses_of(values: Floats, loss: Loss) -> Floats:
    """Loss of each value, NaN where there is none. (k, n)."""
    flat = [value if np.isnan(value) else loss(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


# Median over tracks


def median_number(values: Floats, unit: str, level: float, routes: Ints | None = None) -> Number:
    """Median of one value per track with its interval at a level. (n,), n > 0, no NaN.

    Tracks of one of the `routes` (n,) are resampled together: they are not independent.
    """
    count = len(values) if routes is None else len(np.unique(routes))
    value, kind = float(np.median(values)), "tracks" if routes is None else "routes"
    if count < fewest_for_median(level):
        reason = f"{kind}: {count}; an interval needs at least {fewest_for_median(level)}"
    elif values.min() == values.max():
        reason = f"all {len(values)} tracks have the same value: no spread, no interval"
    else:
        tail = expanded_tail(count, (1 - level) / 2)
        ends = median_ends(values, tail) if routes is None else route_ends(values, routes, tail)
        if np.isfinite(ends).all():
            return Number(value, unit, *ends, n_effective=count)
        reason = "an end of the interval is not finite"
    return Number(value, unit, n_effective=count, reason=reason)


def median_over_tracks(runs: Iterable[tuple[str, Number]], level: float) -> Number:
    """Median over tracks, each the median of its runs: (track, number) of one unit."""
    values: dict[str, list[float]] = {}
    for track, number in runs:
        values.setdefault(track, []).append(number.value)
    medians = np.array([np.median(each) for each in values.values()])
    return median_number(medians, number.unit, level)


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
    lower, upper, gap = ordered[first], ordered[second], np.zeros(len(first))
    np.subtract(upper, lower, out=gap, where=lower != upper)  # 0 where both are infinite
    middle = lower + 0.5 * gap
    order = np.argsort(middle, kind="stable")
    middle, weight = middle[order], weight[order]
    low = middle[np.searchsorted(np.cumsum(weight), tail)]
    high = middle[::-1][np.searchsorted(np.cumsum(weight[::-1]), tail)]
    return float(low), float(high)


def route_ends(values: Floats, routes: Ints, tail: float) -> tuple[float, float]:
    """The same where whole routes are drawn, as many as there are, with all their tracks. (n,).

    The median of a resample is at most x where sum (2 below - size) >= 0 over the routes drawn, of
    whose `size` values so many are `below` or at x. The law of that sum is exact: that of one
    route, convolved with itself.
    """
    _, place, sizes = np.unique(routes, return_inverse=True, return_counts=True)
    count, most, ordered = len(sizes), int(sizes.max()), np.unique(values)
    length, zero = 2 * most * count + 1, most * count
    lower, upper = np.empty((2, len(ordered)))  # P(lower, upper median <= x)
    for at, x in enumerate(ordered):
        step = 2 * np.bincount(place, weights=values <= x).astype(np.int64) - sizes
        chance = np.bincount(step + most, minlength=2 * most + 1) / count
        law = np.fft.irfft(np.fft.rfft(chance, length) ** count, length)
        lower[at], upper[at] = law[zero:].sum(), law[zero + 1 :].sum()
    low, high = int(np.searchsorted(lower, tail)), int(np.searchsorted(upper, 1 - tail))
    return float(ordered[low]), float(ordered[min(high, len(ordered) - 1)])


@lru_cache(maxsize=64)
def middle_draws(count: int) -> tuple[Ints, Ints, Floats]:
    """Sorted tracks i <= j on which the middle draws of a resample fall, with probability.

    i = j throughout for an odd count. (p,) each; the probabilities sum to 1.
    """
    from scipy.special import betainc  # noqa: PLC0415  slow to import

    reach, rank = ceil(FARTHEST * count**0.5), (count + 1) // 2
    near = np.arange(max(0, count // 2 - reach), min(count, count // 2 + reach + 1))
    below, upto = (betainc(rank, count - rank + 1, (near + i) / count) for i in (0, 1))
    alone = upto - below  # that the lower middle draw is a track
    if count % 2:
        return near, near, alone / alone.sum()

    half = count // 2
    ways = lgamma(count + 1) - 2 * lgamma(half + 1)
    lower, upper = (_log_power_step(place, half, count) for place in (near + 1, count - near))
    rising = near[:, None] < near[None, :]
    both = np.exp(np.where(rising, ways + lower[:, None] + upper[None, :], -np.inf))
    np.fill_diagonal(both, np.maximum(alone - both.sum(axis=1), 0.0))
    i, j = np.nonzero(both > NEVER)
    return near[i], near[j], both[i, j] / both[i, j].sum()


def _log_power_step(i: Ints, power: int, count: int) -> Floats:
    """log[(i^m - (i-1)^m) / n^m], i from 1 on."""
    with np.errstate(divide="ignore"):  # log1p(-1): nothing is below the first
        step = np.log(-np.expm1(power * np.log1p(-1.0 / i)))
    return power * np.log(i / count) + step


# Ranks


def ranks(names: tuple[str, ...], losses: Floats, tests: duels.Tests) -> duels.Ranks:
    """Mean ranks, best first. (k,), (k, n).

    Of those with enough tracks for a test; where fewer than two have, of all with a value.
    """
    tracks = (~np.isnan(losses)).sum(axis=1)
    rows = np.flatnonzero(tracks >= duels.FEWEST)
    rows = rows if len(rows) > 1 else np.flatnonzero(tracks > 0)
    out = [names[row] for row in np.flatnonzero(tracks) if row not in rows]
    left_out = f"left out, on fewer than {duels.FEWEST} tracks: {', '.join(out)}" if out else None
    shared = losses[rows][:, ~np.isnan(losses[rows]).any(axis=0)].T
    count = len(shared)
    if count == 0 or len(rows) < 2:
        few = "fewer than two contenders have values"
        return duels.Ranks((), (), count, reason=few if len(rows) < 2 else NO_SHARED_TRACK)

    mean = track_ranks(shared).mean(axis=0)
    order = np.argsort(mean, kind="stable")
    best_first, mean = rows[order].tolist(), mean[order]
    apart = {pair for pair, test in tests.items() if test.is_significant}
    joined = cliques([[(min(a, b), max(a, b)) in apart for b in best_first] for a in best_first])
    return duels.Ranks(
        tuple(names[row] for row in best_first),
        tuple(mean.tolist()),
        count,
        tuple(tuple(names[row] for row in best_first[a:b]) for a, b in joined),
        left_out,
    )


def track_ranks(losses: Floats) -> Floats:
    """Midranks within each track, 1 is best. (n, k) -> (n, k)."""
    size = np.clip(losses, -duels.HUGE, duels.HUGE)
    mine, others = size[:, :, None], size[:, None, :]
    tied = np.abs(others - mine) <= 10.0**-duels.DIGITS * np.maximum(np.abs(others), np.abs(mine))
    below = (others < mine) & ~tied
    return 0.5 + below.sum(axis=2) + 0.5 * tied.sum(axis=2)


def cliques(apart: Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Longest runs [a, b) of two or more, in order, no two of which are separated."""
    found: list[tuple[int, int]] = []
    for a in range(len(apart)):
        b = a + 1
        while b < len(apart) and not any(apart[i][b] for i in range(a, b)):
            b += 1
        if b - a > 1 and not (found and found[-1][1] >= b):
            found.append((a, b))
    return found
