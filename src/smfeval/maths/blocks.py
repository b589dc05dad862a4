"""Which stretches of the series make up a replicate? Moving, circular and stationary blocks.

A replicate is a bag of blocks that together are as long as the series. A block covers the scans
start, start + 1, .., start + length - 1, counted round the end of the series.

- moving (Kuensch 1989): one length, no block runs over the end;
- circular (Politis and Romano 1992): one length, the series is a ring;
- stationary (Politis and Romano 1994): geometric lengths on the ring.

No sum over a replicate asks for the order of its blocks, so they are drawn in the order of the
series: first how many blocks start in each segment of it, a multinomial, then where in the segment.
What is looked up for one segment stays in the cache, for all replicates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfeval.maths.arrays import Bools, Floats, Ints

SEGMENT = 1 << 16  # starts: two random bytes choose one, and their sums stay in the cache
CHUNK = 1 << 15  # blocks drawn at once
SPARE = 8.0  # standard deviations left for the tail: 1 replicate in 1e14 is a block too long


@dataclass(frozen=True)
class Blocks:
    """Blocks of some replicates, one replicate after the other.

    Attributes
    ----------
    replicate, count
        Numbers of the replicates, (B,), and how many of the blocks belong to each, (B,).
    origin, offset
        The blocks start at the scans origin + offset, (m,).
    length
        In scans, one for all or (m,).
    """

    replicate: Ints
    count: Ints
    origin: int
    offset: Ints
    length: int | Ints

    def of(self, wanted: Bools) -> "Blocks":
        """Return the blocks of the wanted replicates only, given for all replicates."""
        chosen = wanted[self.replicate]
        keep = np.repeat(chosen, self.count)
        length = self.length if isinstance(self.length, int) else self.length[keep]
        return Blocks(
            self.replicate[chosen], self.count[chosen], self.origin, self.offset[keep], length
        )

    def totals(self, number: Floats | Ints) -> NDArray[Any]:
        """Add up, for each replicate, a number given for each of its blocks. (m,) -> (B,)."""
        total = np.zeros(len(self.count), dtype=np.result_type(number, np.int64))
        some = self.count > 0
        if some.any():
            first = (np.cumsum(self.count) - self.count)[some]
            total[some] = np.add.reduceat(number, first, dtype=total.dtype)
        return total


Draw = Callable[[int, float, int, np.random.Generator], Iterator[Blocks]]


def moving(n: int, length: float, replicates: int, rng: np.random.Generator) -> Iterator[Blocks]:
    """Blocks of one length inside the series."""
    return _fixed(n, length, n - whole_length(n, length) + 1, replicates, rng)


def circular(n: int, length: float, replicates: int, rng: np.random.Generator) -> Iterator[Blocks]:
    """Blocks of one length on the ring."""
    return _fixed(n, length, n, replicates, rng)


def _fixed(
    n: int, length: float, starts: int, replicates: int, rng: np.random.Generator
) -> Iterator[Blocks]:
    """Blocks of one length, and for each replicate one that is cut to make it n long."""
    whole = whole_length(n, length)
    count = -(-n // whole) - 1
    for blocks in _started(count, starts, replicates, rng):
        yield replace(blocks, length=whole)
    last = rng.integers(0, starts, replicates)
    each = np.ones(replicates, dtype=np.int64)
    yield Blocks(np.arange(replicates), each, 0, last, n - count * whole)


def stationary(
    n: int, length: float, replicates: int, rng: np.random.Generator
) -> Iterator[Blocks]:
    """Blocks of geometric length on the ring: most of them, and then a tail to make them n long."""
    rest = np.full(replicates, n)
    count = max(0, int(n / length - SPARE * np.sqrt(n / length)))
    for started in _started(count, n, replicates, rng):
        sizes = _geometric(length, started.offset.shape, rng)
        rest[started.replicate] -= started.totals(sizes)
        yield replace(started, length=sizes)

    rows = max(1, int(CHUNK * length / rest.max()))
    for first in range(0, replicates, rows):
        number = np.arange(first, min(first + rows, replicates))
        sizes = _filling(np.maximum(rest[number], 0), length, rng)
        each = np.full(len(number), sizes.shape[1])
        yield Blocks(number, each, 0, rng.integers(0, n, sizes.size), sizes.ravel())


def _started(
    count: int, starts: int, replicates: int, rng: np.random.Generator
) -> Iterator[Blocks]:
    """Draw the starts of `count` blocks for each replicate, segment by segment, yet no lengths."""
    if count == 0:
        return
    sizes = np.diff(np.append(np.arange(0, starts, SEGMENT), starts))
    counts = rng.multinomial(count, sizes / starts, size=replicates)
    rows = max(1, CHUNK * len(sizes) // count)
    for segment, size in enumerate(sizes):
        for first in range(0, replicates, rows):
            here = counts[first : first + rows, segment]
            offset = rng.integers(0, size, here.sum(), dtype=np.uint16).astype(np.intp)
            yield Blocks(np.arange(first, first + len(here)), here, segment * SEGMENT, offset, 0)


def _filling(rest: Ints, length: float, rng: np.random.Generator) -> Ints:
    """Geometric lengths that add up to the rest of each replicate, then zeros. (B,) -> (B, k)."""
    expected = rest.max() / length
    shape = len(rest), int(expected + 4 * np.sqrt(expected)) + 4
    end = np.cumsum(_geometric(length, shape, rng), axis=-1)
    while (end[:, -1] < rest).any():
        more = np.cumsum(_geometric(length, shape, rng), axis=-1)
        end = np.hstack([end, end[:, -1:] + more])
    return np.diff(np.minimum(end, rest[:, None]), axis=-1, prepend=0)


def _geometric(mean: float, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Draw whole numbers from 1 with a geometric law: exponential ones, rounded up."""
    if mean == 1:
        return np.ones(shape, dtype=np.int64)
    scale = -1 / np.log1p(-1 / mean)
    return 1 + (rng.standard_exponential(shape) * scale).astype(np.int64)


def whole_length(n: int, length: float) -> int:
    """Length in scans of blocks that all have one."""
    return min(n, max(1, int(np.ceil(length))))


SCHEMES: dict[str, Draw] = {"moving": moving, "circular": circular, "stationary": stationary}


@dataclass(frozen=True)
class Plan:
    """All replicates, drawn chunk by chunk and drawn again alike whenever they are needed.

    Only the seed is kept, so the memory is bounded whatever the number of replicates.
    """

    draw: Draw
    n: int
    length: float
    replicates: int
    seed: int

    def blocks(self) -> Iterator[Blocks]:
        """Draw all blocks of all replicates, a chunk at a time."""
        return self.draw(self.n, self.length, self.replicates, np.random.default_rng(self.seed))


def plan(n: int, length: float, *, scheme: str, replicates: int, rng: np.random.Generator) -> Plan:
    """Plan the replicates of a series of n scans with the given (mean) block length."""
    seed = int.from_bytes(rng.bytes(16), "little")
    return Plan(SCHEMES[scheme], n, length, replicates, seed)
