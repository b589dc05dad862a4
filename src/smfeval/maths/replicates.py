"""Bootstrap replicates without resampling: prefix sums instead of copies of the series.

The sum over a block is the difference of two prefix sums, so a replicate mean costs one step per block
and not one per scan. A replicate quantile is below v exactly if enough of its scans are, which is again
a sum over blocks, of an indicator; the percentile ends are found by bisection over the sorted values.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.blocks import Plan


@dataclass(frozen=True)
class ReplicateMeans:
    """Replicate means (B,) and the standard error that each replicate gives itself (B,)."""

    mean: Floats
    error: Floats


def replicate_means(series: Floats, plan: Plan) -> ReplicateMeans:
    """Means of all replicates, and sqrt(sum over blocks of (sum - length * mean)^2) / n of each."""
    n, centre = len(series), float(series.mean())
    prefix = _ring(series - centre)
    mean, error = np.empty(plan.replicates), np.empty(plan.replicates)
    for number, blocks in plan.chunks():
        sums = blocks.sums(prefix)
        mean[number] = sums.sum(axis=-1) / n
        residual = sums - blocks.length * mean[number][:, None]
        error[number] = np.sqrt(np.einsum("bk,bk->b", residual, residual)) / n
    return ReplicateMeans(mean + centre, error)


def replicate_quantile_ends(
    series: Floats, quantile: float, plan: Plan, ranks: tuple[int, ...]
) -> Floats:
    """Order statistics, at the given ranks (1 .. B), of the replicate quantiles. -> (len(ranks),).

    A replicate quantile is the smallest value that at least quantile * n of its scans do not exceed.
    The place of each replicate quantile among the sorted values is known to lie in (below, above]; a
    candidate is tried only on the replicates that it can still decide, about half as many each time.
    """
    ordered = np.sort(series)
    need = max(1, int(np.ceil(quantile * len(series) * (1 - 1e-12))))
    below = np.full(plan.replicates, -1)
    above = np.full(plan.replicates, len(series) - 1)
    return np.array(
        [ordered[_place(series, ordered, need, plan, below, above, rank)] for rank in ranks]
    )


def _place(
    series: Floats,
    ordered: Floats,
    need: int,
    plan: Plan,
    below: Ints,
    above: Ints,
    rank: int,
) -> int:
    """Narrow the brackets, in place, until the quantile of the given rank has one place left."""
    while True:
        low, high = (int(np.partition(b, rank - 1)[rank - 1]) for b in (below, above))
        if high - low <= 1:
            return high
        candidate = (low + high) // 2
        open_ = (below < candidate) & (candidate < above)
        reached = _reaches(series <= ordered[candidate], need, plan, open_)
        above[open_ & reached] = candidate
        below[open_ & ~reached] = candidate


def _reaches(member: Bools, need: int, plan: Plan, wanted: Bools) -> Bools:
    """Whether each wanted replicate holds at least `need` scans of the member set. -> (B,)."""
    prefix = _ring(member)
    reached = np.zeros(plan.replicates, dtype=bool)
    for number, blocks in plan.chunks(wanted):
        reached[number] = blocks.sums(prefix).sum(axis=-1) >= need
    return reached


def _ring(series: Floats | Bools) -> Floats | Ints:
    """Prefix sums of the series written twice, so that a block may run round the end."""
    kind = np.int32 if series.dtype == bool else np.float64
    once = np.cumsum(series, dtype=kind)
    return np.concatenate([np.zeros(1, kind), once, once[-1] + once])
