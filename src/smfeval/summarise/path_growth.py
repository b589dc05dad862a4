"""k over path length: a floor and a growth, from disjoint blocks of a track.

The NEES of relative motion over windows of several lengths, each under what the claim says of that
motion (J given or implied), is fitted by k(s) = floor + growth s, s the metres of a window.
Windows of different lengths share errors, and prefixes of a track share all of them; so the track
is cut into disjoint blocks as long as the longest window, a line is fitted in each (the same linear
weights for all), and the spread of floors and growths between the blocks gives their intervals
(Student's t). An honest belief has a
floor of 1 and no growth.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from smfeval import words
from smfeval.align.joint import Joint
from smfeval.dataclass import dataclass
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import t_quantile
from smfeval.summarise.motion import SeenMotion
from smfeval.summarise.number import Number
from smfeval.summarise.windows import (
    FEWEST_SCANS_APART,
    FEWEST_WINDOWS,
    GUARD,
    given_horizons,
    halves,
    is_thin,
    path_length,
)

MOST_LENGTHS = 6  # each twice the one before
DOUBT = 0.0125  # on either side of floor and of growth: both intervals hold with 95 %


@dataclass(frozen=True)
class PathGrowth:
    """k over the length of disjoint stretches of the path.

    Attributes
    ----------
    floor
        k over vanishing length, with its interval.
    growth
        Change of k per metre, with its interval; both hold together with 95 %.
    longest
        k over the longest stretches, by the line, with its interval.
    metres, k
        Mean lengths of the stretches, and k over each.
    blocks
        Disjoint blocks of the track that the intervals rest on.
    """

    floor: Number
    growth: Number
    longest: Number
    metres: tuple[float, ...]
    k: tuple[float, ...]
    blocks: int

    @property
    def has_floor(self) -> bool:
        """Whether k is above 1 already over the shortest stretches."""
        return self.floor.low is not None and self.floor.low > 1

    @property
    def has_growth(self) -> bool:
        """Whether k rises with length and is above 1 at the longest: drift that is not reported."""
        rises = self.growth.low is not None and self.growth.low > 0
        return rises and self.longest.low is not None and self.longest.low > 1

    @property
    def sentence(self) -> str:
        """Where k belongs, as far as it is shown."""
        floor = words.quantity(self.floor.value, "1", self.floor.low, self.floor.high)
        longest = words.quantity(self.longest.value, "1", self.longest.low, self.longest.high)
        size = f"{floor} at the shortest, {longest} over {words.length(self.metres[-1])}"
        if self.has_floor and self.has_growth:
            shown = "k is above 1 over short stretches of the path and grows with their length"
        elif self.has_floor:
            shown = (
                "k is above 1 over short stretches already, which is the filter's own, or noise "
                "of the reference; growth is not shown"
            )
        elif self.has_growth:
            shown = "k grows with the length of the path: drift that the covariance does not have"
        else:
            shown = "neither k above 1 over short stretches nor growth with their length is shown"
        return f"{shown} ({size}; {words.count(self.blocks, 'block')})"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        numbers = {name: getattr(self, name).to_dict() for name in ("floor", "growth", "longest")}
        shown = {"has_floor": self.has_floor, "has_growth": self.has_growth}
        return asdict(self) | numbers | shown | {"metres": list(self.metres), "k": list(self.k)}


def path_growth(seen: SeenMotion) -> PathGrowth | None:
    """Floor and growth of k; None for too few scans, J unknown, or a body that hardly moves."""
    scans, joint = len(seen.claim), seen.joint
    lengths = [] if joint.kind == "unknown" else _lengths(joint, scans)
    if len(lengths) < 2:
        return None
    path_m, block, low = path_length(seen.reference[0]), lengths[-1], 1.0
    k, metres = [], []
    for length in lengths:
        found = seen.windows(length)
        if found is None or is_thin(found):
            return None
        if found.assumed:  # as of a row of windows: how wrong an implied J may be
            every = found.covariance if found.every is None else found.every[0]
            low = min(low, halves(every)[0] ** GUARD)
        nees = normal.nees(found.error, found.covariance) / 3
        k.append(_block_means(nees, found.first // block, scans // block))
        metres.append(float(np.mean(path_m[found.second] - path_m[found.first])))
    table = np.array(k)
    table = table[:, ~np.isnan(table).any(axis=0)]
    if table.shape[1] < FEWEST_WINDOWS or not metres[-1] > metres[0] > 0:
        return None
    return _fit(table, np.array(metres), np.array(lengths), low)


def _lengths(joint: Joint, scans: int) -> list[int]:
    """Scans in windows, ascending; the longest leaves enough blocks."""
    longest = (scans - 1) // FEWEST_WINDOWS
    if joint.kind == "given":
        return [each for each in given_horizons(joint) if each <= longest][-MOST_LENGTHS:]
    halvings = int(np.log2(longest / FEWEST_SCANS_APART)) if longest >= FEWEST_SCANS_APART else -1
    halvings = min(halvings, MOST_LENGTHS - 1)
    return [(longest >> halvings) << power for power in range(halvings + 1)]


def _block_means(values: Floats, block: Ints, count: int) -> Floats:
    """Mean of the values in each block, NaN where there is none. (m,), (m,) -> (count,)."""
    inside = block < count
    total = np.bincount(block[inside], values[inside], count)
    number = np.bincount(block[inside], minlength=count)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _fit(table: Floats, metres: Floats, lengths: Ints, guard: float) -> PathGrowth:
    """A line in every block, weighted by the windows of each length, and the spread of the lines.

    `table` (lengths, blocks) holds the mean NEES over 3; low ends of k are `guard` times theirs.
    """
    weight = lengths[-1] / lengths
    design = np.stack([np.ones_like(metres), metres], axis=1)
    lines = np.linalg.solve(design.T @ (weight[:, None] * design), (design * weight[:, None]).T)
    blocks = table.shape[1]
    reach = t_quantile(blocks - 1, 1 - DOUBT) / np.sqrt(blocks)

    def number(each: Floats, unit: str) -> Number:
        middle, half = float(each.mean()), float(reach * each.std(ddof=1))
        low, high = middle - half, middle + half
        if unit == "1":  # no k is below zero
            low, middle, high = guard * max(low, 0.0), max(middle, 0.0), max(high, 0.0)
        return Number(middle, unit, low, high, n_effective=float(blocks))

    floor, growth = lines @ table
    return PathGrowth(
        number(floor, "1"),
        number(growth, "1/m"),
        number(floor + growth * metres[-1], "1"),
        tuple(metres.tolist()),
        tuple(table.mean(axis=1).tolist()),
        blocks,
    )
