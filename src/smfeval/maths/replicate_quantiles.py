"""Order statistics of the replicate quantiles; no replicate is ever copied or sorted.

A replicate quantile is at most v exactly if enough of its scans are: a sum over blocks, of an
indicator. So the wanted order statistic is first bracketed by two values. Few replicates have their
quantile between the two, and few of their scans lie there; those scans are listed.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.block_sums import BlockSums, block_sums
from smfeval.maths.blocks import Blocks, Plan
from smfeval.maths.special import normal_quantile

GUESS_MARGIN = 0.25  # standard errors to either side of the guess; three times its own error
PILOTS = 16  # replicates whose blocks tell the standard error well enough for a guess


def replicate_quantile_ends(
    series: Floats, share: float, plan: Plan, ranks: tuple[int, ...]
) -> Floats:
    """Order statistics, at the given ranks (1 .. B), of the replicate quantiles. -> (len(ranks),).

    A replicate quantile is the smallest value that at least share * n of its scans do not exceed.
    """
    search = _Search(series, np.sort(series), max(1, _ceil(share * len(series))), plan)
    brackets = [search.everything(rank) for rank in ranks]
    brackets = search.narrowed(brackets, search.guesses(share, ranks))
    while wide := [bracket for bracket in brackets if search.is_wide(bracket)]:
        brackets = search.narrowed(brackets, [(b.low + b.high) // 2 for b in wide])
    return search.listed(brackets)


def _ceil(number: float) -> int:
    return int(np.ceil(number * (1 - 1e-12)))


@dataclass(frozen=True)
class _Bracket:
    """Two places among the sorted values that hold an order statistic: it is in (low, high]."""

    rank: int
    low: int
    high: int
    under: Ints  # scans of each replicate that do not exceed the value at the low place, (B,)
    upto: Ints  # and at the high place
    need: int

    @property
    def undecided(self) -> Bools:
        """Which replicates have their quantile in the bracket? (B,)."""
        return (self.under < self.need) & (self.need <= self.upto)

    def pick(self, replicate: Ints, value: Floats) -> float:
        """Read the order statistic off all values in the bracket of the undecided replicates."""
        value = value[np.lexsort((value, replicate))]
        under, size = self.under[self.undecided], (self.upto - self.under)[self.undecided]
        quantile = value[np.cumsum(size) - size + self.need - under - 1]
        return float(np.sort(quantile)[self.rank - np.sum(self.under >= self.need) - 1])


@dataclass(frozen=True)
class _Search:
    """A series, its sorted values, and the replicates whose quantiles are searched among them."""

    series: Floats
    ordered: Floats
    need: int  # scans that must not exceed the quantile
    plan: Plan

    def everything(self, rank: int) -> _Bracket:
        """Return the bracket that holds all values."""
        n, none = len(self.series), np.zeros(self.plan.replicates, dtype=np.int64)
        return _Bracket(rank, -1, n - 1, none, none + n, self.need)

    def guesses(self, share: float, ranks: tuple[int, ...]) -> list[int]:
        """Two places for each rank that most likely hold it, by the normal approximation."""
        n = len(self.series)
        middle = normal_quantile(np.array(ranks) / (self.plan.replicates + 1))
        margin = np.array([[-GUESS_MARGIN], [GUESS_MARGIN]])
        guess = share + (middle + margin) * self._error(share)
        return [int(place) for place in np.clip(guess * n, 0, n - 1).flat]

    def _error(self, share: float) -> float:
        """Standard error, from a few replicates, of the fraction of scans up to the quantile."""
        few = replace(self.plan, replicates=PILOTS)
        sums_of = block_sums(self.series <= self.ordered[self.need - 1], few.length)
        square = sum(np.sum((sums_of(b) - share * b.length) ** 2) for b in few.blocks())
        return float(np.sqrt(square / PILOTS)) / len(self.series)

    def narrowed(self, brackets: list[_Bracket], places: list[int]) -> list[_Bracket]:
        """Count the scans up to the values at some places, and move the ends of the brackets."""
        for value, count in zip(*self._counted(places), strict=True):
            brackets = [self._moved(bracket, value, count) for bracket in brackets]
        return brackets

    def _counted(self, places: list[int]) -> tuple[Floats, Ints]:
        values = np.unique(self.ordered[places])
        tables = [block_sums(self.series <= value, self.plan.length) for value in values]
        counts = np.zeros((len(values), self.plan.replicates), dtype=np.int64)
        for blocks in self.plan.blocks():
            for count, sums_of in zip(counts, tables, strict=True):
                count[blocks.replicate] += blocks.totals(sums_of(blocks))
        return values, counts

    def _moved(self, bracket: _Bracket, value: float, count: Ints) -> _Bracket:
        """Move an end to a value; of equal values the first is the high, the last the low end."""
        if np.sum(count >= self.need) >= bracket.rank:
            high = int(np.searchsorted(self.ordered, value))
            return replace(bracket, high=high, upto=count) if high < bracket.high else bracket
        low = int(np.searchsorted(self.ordered, value, side="right")) - 1
        return replace(bracket, low=low, under=count) if low > bracket.low else bracket

    def is_wide(self, bracket: _Bracket) -> bool:
        """Would the list be longer than the series?"""
        size = np.sum((bracket.upto - bracket.under)[bracket.undecided])
        return bool(bracket.high - bracket.low > 1 and size > len(self.series))

    def listed(self, brackets: list[_Bracket]) -> Floats:
        """List the scans in all brackets at once, and read the order statistics off the lists."""
        edges = np.append(self.ordered, -np.inf)  # the place -1 is below all values
        inside = [(edges[b.low] < self.series) & (self.series <= edges[b.high]) for b in brackets]
        tables = [block_sums(member, self.plan.length) for member in inside]
        found: list[list[tuple[Ints, Ints]]] = [[] for _ in brackets]
        for blocks in self.plan.blocks():
            for bracket, sums_of, pieces in zip(brackets, tables, found, strict=True):
                if bracket.high - bracket.low > 1:
                    pieces.append(_members(blocks.of(bracket.undecided), sums_of))
        return np.array(
            [
                self._picked(bracket, np.flatnonzero(member), pieces)
                for bracket, member, pieces in zip(brackets, inside, found, strict=True)
            ]
        )

    def _picked(self, bracket: _Bracket, scan: Ints, pieces: list[tuple[Ints, Ints]]) -> float:
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
