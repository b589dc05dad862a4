"""Percentile intervals by two block bootstraps, exact and without copying the series.

- circular (Politis and Romano 1992): blocks of one length, the series is a ring. The paper's;
- stationary (Politis and Romano 1994): geometric lengths on the ring. That of the authors' program.

A replicate is a bag of blocks that together are as long as the series. A block covers the scans
start, start + 1, .., start + length - 1, counted round the end of the series. The interval is from
the low to the high order statistic of the replicates.

No sum over a replicate asks for the order of its blocks, so they are drawn in the order of the
series: first how many blocks start in each segment of it, a multinomial, then where in the segment.
What is looked up for one segment stays in the cache, for all replicates.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.autocovariance import block_length
from smfeval.maths.special import normal_quantile

SEGMENT = 1 << 16  # starts: two random bytes choose one, and their sums stay in the cache
CHUNK = 1 << 15  # blocks drawn at once
SPARE_SIGMAS = 8.0  # standard deviations left for the tail: 1 replicate in 1e14 is a block too long
GUESS_MARGIN = 0.25  # standard errors to either side of the guess; three times its own error
PILOTS = 16  # replicates whose blocks tell the standard error well enough for a guess


def choose_block_length(series: Floats, asked: float | None, scheme: str) -> float:
    """Block length in scans: as asked, or after Politis and White."""
    n = len(series)
    if asked is None:
        best = block_length(series)
        return max(1.0, best.geometric if scheme == "stationary" else np.ceil(best.fixed))
    if asked > n:
        raise SeriesError(f"a block of {words.exact(asked)} scans is longer than the series of {n}")
    if asked < 1 or (scheme != "stationary" and asked != int(asked)):
        raise OptionError(
            f"a block of {words.exact(asked)} scans; {scheme} blocks need a whole number from 1"
        )
    return float(asked)


def percentile_ends(
    series: Floats, share: float | None, level: float, plan: "BootstrapPlan"
) -> Floats:
    """Ends of the interval of the mean, or of the quantile of a share. (n,) -> (2,).

    Order statistics of the replicates, the outer of two where the level falls between.
    """
    rank = max(1, int(np.floor((1 - level) / 2 * plan.replicates)))
    ranks = (rank, plan.replicates + 1 - rank)
    if share is not None:
        return replicate_quantile_ends(series, share, plan, ranks)
    return np.sort(replicate_means(series, plan))[[rank - 1 for rank in ranks]]


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

    def of_replicates(self, wanted: Bools) -> "Blocks":
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


def circular_blocks(
    n: int, length: float, replicates: int, rng: "np.random.Generator"
) -> Iterator[Blocks]:
    """Blocks of one length on the ring, the last of each replicate cut to make it n long."""
    whole = whole_length(n, length)
    count = -(-n // whole) - 1
    for blocks in _draw_starts(count, n, replicates, rng):
        yield replace(blocks, length=whole)
    last = rng.integers(0, n, replicates)
    each = np.ones(replicates, dtype=np.int64)
    yield Blocks(np.arange(replicates), each, 0, last, n - count * whole)


def stationary_blocks(
    n: int, length: float, replicates: int, rng: "np.random.Generator"
) -> Iterator[Blocks]:
    """Blocks of geometric length on the ring: most of them, and then a tail to make them n long."""
    rest = np.full(replicates, n)
    count = max(0, int(n / length - SPARE_SIGMAS * np.sqrt(n / length)))
    for started in _draw_starts(count, n, replicates, rng):
        sizes = _draw_geometric(length, started.offset.shape, rng)
        rest[started.replicate] -= started.totals(sizes)
        yield replace(started, length=sizes)

    rows = max(1, int(CHUNK * length / rest.max()))
    for first in range(0, replicates, rows):
        number = np.arange(first, min(first + rows, replicates))
        sizes = _draw_tail_lengths(np.maximum(rest[number], 0), length, rng)
        each = np.full(len(number), sizes.shape[1])
        yield Blocks(number, each, 0, rng.integers(0, n, sizes.size), sizes.ravel())


def _draw_starts(
    count: int, starts: int, replicates: int, rng: "np.random.Generator"
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


def _draw_tail_lengths(rest: Ints, length: float, rng: "np.random.Generator") -> Ints:
    """Geometric lengths that add up to the rest of each replicate, then zeros. (B,) -> (B, k)."""
    expected = rest.max() / length
    shape = len(rest), int(expected + 4 * np.sqrt(expected)) + 4
    end = np.cumsum(_draw_geometric(length, shape, rng), axis=-1)
    while (end[:, -1] < rest).any():
        more = np.cumsum(_draw_geometric(length, shape, rng), axis=-1)
        end = np.hstack([end, end[:, -1:] + more])
    return np.diff(np.minimum(end, rest[:, None]), axis=-1, prepend=0)


def _draw_geometric(mean: float, shape: tuple[int, ...], rng: "np.random.Generator") -> Ints:
    """Draw whole numbers from 1 with a geometric law: exponential ones, rounded up."""
    if mean == 1:
        return np.ones(shape, dtype=np.int64)
    scale = -1 / np.log1p(-1 / mean)
    return 1 + (rng.standard_exponential(shape) * scale).astype(np.int64)


def whole_length(n: int, length: float) -> int:
    """Length in scans of blocks that all have one."""
    return min(n, max(1, int(np.ceil(length))))


Draw = Callable[[int, float, int, "np.random.Generator"], Iterator[Blocks]]


SCHEMES: dict[str, Draw] = {
    "circular": circular_blocks,
    "stationary": stationary_blocks,
}


@dataclass(frozen=True)
class BootstrapPlan:
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


def plan_bootstrap(
    n: int, length: float, *, scheme: str, replicates: int, rng: "np.random.Generator"
) -> BootstrapPlan:
    """Plan the replicates of a series of n scans with the given (mean) block length."""
    seed = int.from_bytes(rng.bytes(16), "little")
    return BootstrapPlan(SCHEMES[scheme], n, length, replicates, seed)


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


def replicate_means(series: Floats, plan: BootstrapPlan) -> Floats:
    """Means of all replicates of a series. (n,) -> (B,)."""
    centre = float(series.mean())
    sums_of = block_sums(series - centre, plan.length)
    total = np.zeros(plan.replicates)
    for blocks in plan.blocks():
        total[blocks.replicate] += blocks.totals(sums_of(blocks))
    return total / len(series) + centre


def replicate_quantile_ends(
    series: Floats, share: float, plan: BootstrapPlan, ranks: tuple[int, ...]
) -> Floats:
    """Order statistics, at the given ranks (1 .. B), of the replicate quantiles. -> (len(ranks),).

    A replicate quantile is the smallest value that at least share * n of its scans do not exceed.
    """
    search = _QuantileSearch(series, np.sort(series), max(1, _ceil(share * len(series))), plan)
    brackets = [search.full_bracket(rank) for rank in ranks]
    brackets = search.narrow(brackets, search.guesses(share, ranks))
    while wide := [bracket for bracket in brackets if search.is_wide(bracket)]:
        brackets = search.narrow(brackets, [(b.low + b.high) // 2 for b in wide])
    return search.order_statistics(brackets)


def _ceil(number: float) -> int:
    return int(np.ceil(number * (1 - 1e-12)))


@dataclass(frozen=True)
class _Bracket:
    """Two places among the sorted values that hold an order statistic: it is in (low, high]."""

    rank: int
    low: int
    high: int
    count_low: Ints  # scans of each replicate that do not exceed the value at the low place, (B,)
    count_high: Ints  # and at the high place
    need: int

    @property
    def is_undecided(self) -> Bools:
        """Which replicates have their quantile in the bracket? (B,)."""
        return (self.count_low < self.need) & (self.need <= self.count_high)

    def pick(self, replicate: Ints, value: Floats) -> float:
        """Read the order statistic off all values in the bracket of the undecided replicates."""
        value = value[np.lexsort((value, replicate))]
        under, size = (
            self.count_low[self.is_undecided],
            (self.count_high - self.count_low)[self.is_undecided],
        )
        quantile = value[np.cumsum(size) - size + self.need - under - 1]
        return float(np.sort(quantile)[self.rank - np.sum(self.count_low >= self.need) - 1])


@dataclass(frozen=True)
class _QuantileSearch:
    """A series, its sorted values, and the replicates whose quantiles are searched among them."""

    series: Floats
    ordered: Floats
    need: int  # scans that must not exceed the quantile
    plan: BootstrapPlan

    def full_bracket(self, rank: int) -> _Bracket:
        """Return the bracket that holds all values."""
        n, none = len(self.series), np.zeros(self.plan.replicates, dtype=np.int64)
        return _Bracket(rank, -1, n - 1, none, none + n, self.need)

    def guesses(self, share: float, ranks: tuple[int, ...]) -> list[int]:
        """Two places for each rank that most likely hold it, by the normal approximation."""
        n = len(self.series)
        middle = normal_quantile(np.array(ranks) / (self.plan.replicates + 1))
        margin = np.array([[-GUESS_MARGIN], [GUESS_MARGIN]])
        guess = share + (middle + margin) * self._standard_error(share)
        return [int(place) for place in np.clip(guess * n, 0, n - 1).flat]

    def _standard_error(self, share: float) -> float:
        """Standard error, from a few replicates, of the fraction of scans up to the quantile."""
        few = replace(self.plan, replicates=PILOTS)
        sums_of = block_sums(self.series <= self.ordered[self.need - 1], few.length)
        square = sum(np.sum((sums_of(b) - share * b.length) ** 2) for b in few.blocks())
        return float(np.sqrt(square / PILOTS)) / len(self.series)

    def narrow(self, brackets: list[_Bracket], places: list[int]) -> list[_Bracket]:
        """Count the scans up to the values at some places, and move the ends of the brackets."""
        for value, count in zip(*self._count_at(places), strict=True):
            brackets = [self._move_end(bracket, value, count) for bracket in brackets]
        return brackets

    def _count_at(self, places: list[int]) -> tuple[Floats, Ints]:
        values = np.unique(self.ordered[places])
        tables = [block_sums(self.series <= value, self.plan.length) for value in values]
        counts = np.zeros((len(values), self.plan.replicates), dtype=np.int64)
        for blocks in self.plan.blocks():
            for count, sums_of in zip(counts, tables, strict=True):
                count[blocks.replicate] += blocks.totals(sums_of(blocks))
        return values, counts

    def _move_end(self, bracket: _Bracket, value: float, count: Ints) -> _Bracket:
        """Move an end to a value; of equal values the first is the high, the last the low end."""
        if np.sum(count >= self.need) >= bracket.rank:
            high = int(np.searchsorted(self.ordered, value))
            return replace(bracket, high=high, count_high=count) if high < bracket.high else bracket
        low = int(np.searchsorted(self.ordered, value, side="right")) - 1
        return replace(bracket, low=low, count_low=count) if low > bracket.low else bracket

    def is_wide(self, bracket: _Bracket) -> bool:
        """Would the list be longer than the series?"""
        size = np.sum((bracket.count_high - bracket.count_low)[bracket.is_undecided])
        return bool(bracket.high - bracket.low > 1 and size > len(self.series))

    def order_statistics(self, brackets: list[_Bracket]) -> Floats:
        """List the scans in all brackets at once, and read the order statistics off the lists."""
        edges = np.append(self.ordered, -np.inf)  # the place -1 is below all values
        inside = [(edges[b.low] < self.series) & (self.series <= edges[b.high]) for b in brackets]
        tables = [block_sums(member, self.plan.length) for member in inside]
        found: list[list[tuple[Ints, Ints]]] = [[] for _ in brackets]
        for blocks in self.plan.blocks():
            for bracket, sums_of, pieces in zip(brackets, tables, found, strict=True):
                if bracket.high - bracket.low > 1:
                    pieces.append(_members(blocks.of_replicates(bracket.is_undecided), sums_of))
        return np.array(
            [
                self._order_statistic(bracket, np.flatnonzero(member), pieces)
                for bracket, member, pieces in zip(brackets, inside, found, strict=True)
            ]
        )

    def _order_statistic(
        self, bracket: _Bracket, scan: Ints, pieces: list[tuple[Ints, Ints]]
    ) -> float:
        if not pieces:
            return float(self.ordered[bracket.high])
        replicate, member = (np.concatenate(column) for column in zip(*pieces, strict=True))
        return bracket.pick(replicate, self.series[scan[member % len(scan)]])


def _members(blocks: Blocks, sums_of: BlockSums) -> tuple[Ints, Ints]:
    """Replicate and number, counted round the ring, of each member scan that the blocks hold."""
    first, last = (edge.astype(np.int64) for edge in sums_of.edges(blocks))
    some = np.flatnonzero(last > first)
    size = (last - first)[some]
    shift = np.repeat(first[some] - (np.cumsum(size) - size), size)
    replicate = np.repeat(np.repeat(blocks.replicate, blocks.count)[some], size)
    return replicate, np.arange(len(shift)) + shift
