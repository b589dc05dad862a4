"""Bootstrap replicates without resampling: sums over blocks instead of copies of the series.

A replicate mean costs one step per block and not one per scan. A replicate quantile is at most v
exactly if enough of its scans are, which is again a sum over blocks, of an indicator; so the
percentile ends are found by trying values v, and no replicate is ever sorted.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.block_sums import block_sums
from smfeval.maths.blocks import Plan
from smfeval.maths.special import normal_quantile

GUESS_MARGIN = 0.25  # standard errors to either side of the guess; three times its own error


def replicate_means(series: Floats, plan: Plan) -> Floats:
    """Means of all replicates of a series. (n,) -> (B,)."""
    centre = float(series.mean())
    sums_of = block_sums(series - centre, plan.length)
    mean = np.empty(plan.replicates)
    for number, blocks in plan.chunks():
        mean[number] = sums_of(blocks).sum(axis=-1) / len(series)
    return mean + centre


def replicate_errors(series: Floats, mean: Floats, plan: Plan) -> Floats:
    """Standard error that each replicate gives its own mean. (n,), (B,) -> (B,).

    sqrt(sum over its blocks of (sum - length * mean)^2) / n.
    """
    centre = float(series.mean())
    sums_of = block_sums(series - centre, plan.length)
    error = np.empty(plan.replicates)
    for number, blocks in plan.chunks():
        residual = sums_of(blocks) - blocks.length * (mean[number] - centre)[:, None]
        error[number] = np.sqrt(np.einsum("bk,bk->b", residual, residual)) / len(series)
    return error


def replicate_quantile_ends(
    series: Floats, share: float, plan: Plan, ranks: tuple[int, ...]
) -> Floats:
    """Order statistics, at the given ranks (1 .. B), of the replicate quantiles. -> (len(ranks),).

    A replicate quantile is the smallest value that at least share * n of its scans do not exceed.
    """
    search = _search(series, share, plan)
    for rank in ranks:
        for place in _guess(search, share, rank):
            search.try_place(place)
    return np.array([search.ordered[search.place(rank)] for rank in ranks])


@dataclass(frozen=True)
class _Search:
    """Where each replicate quantile is among the sorted values: in (below, above].

    The brackets are narrowed in place. A value is tried only on the replicates that it can still
    decide, about half as many each time.
    """

    series: Floats
    ordered: Floats
    need: int  # scans that must not exceed the quantile
    plan: Plan
    below: Ints
    above: Ints

    def place(self, rank: int) -> int:
        """Bisect until the replicate quantile of the given rank has one place left."""
        while True:
            low, high = (int(np.partition(b, rank - 1)[rank - 1]) for b in (self.below, self.above))
            if high - low <= 1:
                return high
            self.try_place((low + high) // 2)

    def try_place(self, place: int) -> None:
        """Decide for each replicate whether its quantile is at most the value at this place."""
        undecided = (self.below < place) & (place < self.above)
        reached = self._reached(self.series <= self.ordered[place], undecided)
        self.above[undecided & reached] = place
        self.below[undecided & ~reached] = place

    def _reached(self, member: Bools, wanted: Bools) -> Bools:
        sums_of = block_sums(member, self.plan.length)
        reached = np.zeros(self.plan.replicates, dtype=bool)
        for number, blocks in self.plan.chunks(wanted):
            reached[number] = sums_of(blocks).sum(axis=-1, dtype=np.int64) >= self.need
        return reached


def _search(series: Floats, share: float, plan: Plan) -> _Search:
    need = max(1, int(np.ceil(share * len(series) * (1 - 1e-12))))
    below, above = np.full(plan.replicates, -1), np.full(plan.replicates, len(series) - 1)
    return _Search(series, np.sort(series), need, plan, below, above)


def _guess(search: _Search, share: float, rank: int) -> tuple[int, int]:
    """Two places that the order statistic most likely lies between, by the normal approximation."""
    n, plan = len(search.series), search.plan
    sums = block_sums(search.series <= search.ordered[search.need - 1], plan.length).whole
    error = float(np.std(sums, dtype=float)) / np.sqrt(n * np.ceil(plan.length))
    middle = float(normal_quantile(rank / (plan.replicates + 1)))
    first, last = (share + (middle + side) * error for side in (-GUESS_MARGIN, GUESS_MARGIN))
    return int(np.clip(first * n, 0, n - 2)), int(np.clip(last * n, 0, n - 2))
