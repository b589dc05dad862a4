"""The sum of a series over any block in one step, from prefix sums on the ring."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.blocks import Blocks, whole_length


@dataclass(frozen=True)
class BlockSums:
    """Prefix sums of a series written twice, and the sums over all blocks of one common length."""

    prefix: Floats | Ints
    length: int
    whole: Floats | Ints

    def __call__(self, blocks: Blocks) -> Floats | Ints:
        """Sum over each block. -> (m,)."""
        if isinstance(blocks.length, int) and blocks.length == self.length:
            return self.whole[blocks.origin :].take(blocks.offset)
        first, last = self.edges(blocks)
        return last - first

    def edges(self, blocks: Blocks) -> tuple[Floats | Ints, Floats | Ints]:
        """Sum of all scans before each block, and of all up to its end. -> (m,), (m,)."""
        here = self.prefix[blocks.origin :]
        return here.take(blocks.offset), here.take(blocks.offset + blocks.length)


def block_sums(series: Floats | Bools, length: float) -> BlockSums:
    """Prepare the sums of one series (n,) for blocks of a (mean) length in scans."""
    count = series.dtype == bool
    once = np.cumsum(series, dtype=np.int32 if count else np.float64)
    prefix = np.concatenate([np.zeros(1, once.dtype), once, once[-1] + once])
    n, size = len(series), whole_length(len(series), length)
    whole = prefix[size : size + n] - prefix[:n]
    narrow = count and size < 1 << 16  # two bytes a scan take less of the cache
    return BlockSums(prefix, size, whole.astype(np.uint16) if narrow else whole)
