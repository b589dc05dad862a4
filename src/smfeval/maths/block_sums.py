"""The sum of a series over any block in one step, from prefix sums on the ring."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.blocks import Blocks


@dataclass(frozen=True)
class BlockSums:
    """Prefix sums of a series written twice, and the sums over all blocks of one common length."""

    prefix: Floats | Ints
    whole: Floats | Ints

    def __call__(self, blocks: Blocks) -> Floats | Ints:
        """Sum over each block. -> (B, k)."""
        if blocks.length.ndim > 1:
            return self.prefix[blocks.start + blocks.length] - self.prefix[blocks.start]
        sums = self.whole[blocks.start]
        last = blocks.start[:, -1]
        sums[:, -1] = self.prefix[last + blocks.length[-1]] - self.prefix[last]
        return sums


def block_sums(series: Floats | Bools, length: float) -> BlockSums:
    """Prepare the sums of one series (n,) for blocks of a (mean) length in scans."""
    count = series.dtype == bool
    once = np.cumsum(series, dtype=np.int32 if count else np.float64)
    prefix = np.concatenate([np.zeros(1, once.dtype), once, once[-1] + once])
    n, size = len(series), min(len(series), max(1, int(np.ceil(length))))
    whole = prefix[size : size + n] - prefix[:n]
    narrow = count and size < 1 << 16  # a table of two bytes a scan stays in the cache
    return BlockSums(prefix, whole.astype(np.uint16) if narrow else whole)
