"""Bootstrap replicates without resampling: sums over blocks instead of copies of the series.

A replicate mean costs one step per block and not one per scan.
"""

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.maths.block_sums import block_sums
from smfeval.maths.blocks import Plan


def replicate_means(series: Floats, plan: Plan) -> Floats:
    """Means of all replicates of a series. (n,) -> (B,)."""
    centre = float(series.mean())
    sums_of = block_sums(series - centre, plan.length)
    total = np.zeros(plan.replicates)
    for blocks in plan.blocks():
        total[blocks.replicate] += blocks.totals(sums_of(blocks))
    return total / len(series) + centre


def replicate_errors(series: Floats, mean: Floats, plan: Plan) -> Floats:
    """Standard error that each replicate gives its own mean. (n,), (B,) -> (B,).

    sqrt(sum over its blocks of (sum - length * mean)^2) / n.
    """
    centre = float(series.mean())
    sums_of = block_sums(series - centre, plan.length)
    square = np.zeros(plan.replicates)
    for blocks in plan.blocks():
        expected = np.repeat(mean[blocks.replicate] - centre, blocks.count)
        residual = sums_of(blocks) - blocks.length * expected
        square[blocks.replicate] += blocks.totals(residual**2)
    return np.sqrt(square) / len(series)
