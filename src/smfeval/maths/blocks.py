"""Which stretches of the series make up a replicate? Moving, circular and stationary blocks.

A replicate is a row of blocks, laid end to end until it is as long as the series. A block covers
the scans start, start + 1, .., start + length - 1, counted round the end of the series.

- moving (Kuensch 1989): one length, no block runs over the end;
- circular (Politis and Romano 1992): one length, the series is a ring;
- stationary (Politis and Romano 1994): geometric lengths on the ring.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Ints

CHUNK = 1 << 15  # blocks drawn at once: they stay in the cache, and a redraw is not wasteful


@dataclass(frozen=True)
class Blocks:
    """The blocks of some replicates: starts (B, k), lengths (k,) or (B, k); every row sums to n.

    Lengths of shape (k,) are alike but for the last, which is cut to make the row n long.
    """

    start: Ints
    length: Ints

    def rows(self, chosen: Bools) -> "Blocks":
        """Return the blocks of the chosen replicates only."""
        length = self.length if self.length.ndim == 1 else self.length[chosen]
        return Blocks(self.start[chosen], length)


Draw = Callable[[int, float, int, np.random.Generator], Blocks]


def moving(n: int, length: float, replicates: int, rng: np.random.Generator) -> Blocks:
    """Blocks of one length inside the series."""
    fixed = _fixed_lengths(n, length)
    return Blocks(rng.integers(0, n - int(fixed[0]) + 1, (replicates, len(fixed))), fixed)


def circular(n: int, length: float, replicates: int, rng: np.random.Generator) -> Blocks:
    """Blocks of one length on the ring."""
    fixed = _fixed_lengths(n, length)
    return Blocks(rng.integers(0, n, (replicates, len(fixed))), fixed)


def stationary(n: int, length: float, replicates: int, rng: np.random.Generator) -> Blocks:
    """Blocks of geometric length on the ring; of length zero once the row is n long."""
    count = int(n / length + 4 * np.sqrt(n / length)) + 4
    end = np.cumsum(_geometric(length, (replicates, count), rng), axis=-1)
    while end[:, -1].min() < n:
        more = np.cumsum(_geometric(length, (replicates, count), rng), axis=-1)
        end = np.hstack([end, end[:, -1:] + more])
    np.minimum(end, n, out=end)
    return Blocks(rng.integers(0, n, end.shape), np.diff(end, axis=-1, prepend=0))


def _geometric(mean: float, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
    """Draw whole numbers from 1 with a geometric law: exponential ones, rounded up."""
    if mean == 1:
        return np.ones(shape, dtype=np.int64)
    rate = -np.log1p(-1 / mean)
    return 1 + (rng.standard_exponential(shape) / rate).astype(np.int64)


SCHEMES: dict[str, Draw] = {"moving": moving, "circular": circular, "stationary": stationary}


def _fixed_lengths(n: int, length: float) -> Ints:
    whole = min(n, max(1, int(np.ceil(length))))
    count = -(-n // whole)
    lengths = np.full(count, whole, dtype=np.int64)
    lengths[-1] = n - (count - 1) * whole
    return lengths


@dataclass(frozen=True)
class Plan:
    """All replicates, drawn chunk by chunk and drawn again alike whenever they are needed.

    Only the seeds are kept, so the memory is bounded whatever the number of replicates.
    """

    draw: Draw
    n: int
    length: float
    seeds: tuple[np.random.SeedSequence, ...]
    rows: int  # replicates of a chunk
    replicates: int

    def chunks(self, wanted: Bools | None = None) -> Iterator[tuple[Ints, Blocks]]:
        """Replicate numbers and their blocks, for the wanted replicates, a chunk at a time."""
        for first, seed in zip(range(0, self.replicates, self.rows), self.seeds, strict=True):
            number = np.arange(first, min(first + self.rows, self.replicates))
            chosen = np.ones(len(number), dtype=bool) if wanted is None else wanted[number]
            if chosen.any():
                rng = np.random.default_rng(seed)
                blocks = self.draw(self.n, self.length, len(number), rng)
                yield number[chosen], blocks if chosen.all() else blocks.rows(chosen)


def plan(n: int, length: float, *, scheme: str, replicates: int, rng: np.random.Generator) -> Plan:
    """Plan the replicates of a series of n scans with the given (mean) block length."""
    rows = max(1, int(CHUNK * length / n))
    count = -(-replicates // rows)
    entropy = [int(word) for word in rng.integers(0, 1 << 32, 4)]
    seeds = tuple(np.random.SeedSequence(entropy).spawn(count))
    return Plan(SCHEMES[scheme], n, length, seeds, rows, replicates)
