"""Nearest stamp, one to one: no reference pose serves two scans."""

from dataclasses import dataclass

import numpy as np

from smfeval.associate.strangers import why_apart
from smfeval.errors import PairingError
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

TOLERANCE_S = 0.005
LONGEST_S = 3.2e9  # a century; what is longer is in another unit and would overflow the stamps
TOO_FEW = 0.02  # of the shorter track: fewer matches than this are an accident, not a pairing


@dataclass(frozen=True)
class Pairs:
    """Scan `estimate[i]` meets pose `reference[i]`. `gap_s` is reference minus estimate stamp."""

    estimate: Ints
    reference: Ints
    gap_s: Floats
    scans: int  # of the estimate, matched or not
    poses: int  # of the reference
    tolerance_s: float
    offset_s: float  # was added to the stamps of the estimate

    def __len__(self) -> int:
        return len(self.estimate)


def nearest(
    estimate: Ints, reference: Ints, *, tolerance_s: float = TOLERANCE_S, offset_s: float = 0.0
) -> Pairs:
    """Pair two increasing series of stamps (ns).

    Each scan looks for the nearest pose; of several scans with the same nearest pose the closest
    keeps it and the others stay unmatched. Linear in the number of stamps.
    """
    if not (0 <= tolerance_s <= LONGEST_S and abs(offset_s) <= LONGEST_S):
        raise PairingError(
            f"tolerance {tolerance_s} s and offset {offset_s} s must be times of at most 100 years"
        )
    shifted = estimate + np.int64(round(offset_s * NANOSECONDS))
    closest = _closest(shifted, reference)
    gap = reference[closest] - shifted
    near = np.flatnonzero(np.abs(gap) <= round(tolerance_s * NANOSECONDS))
    kept = near[_best_of_each(closest[near], np.abs(gap[near]))]
    if len(kept) < TOO_FEW * min(len(estimate), len(reference)) or len(kept) == 0:
        raise PairingError(why_apart(shifted, reference, len(kept), tolerance_s))
    return Pairs(
        kept,
        closest[kept],
        gap[kept] / NANOSECONDS,
        len(estimate),
        len(reference),
        tolerance_s,
        offset_s,
    )


def _closest(stamp: Ints, among: Ints) -> Ints:
    """Index of the nearest element of an increasing series; the earlier one on a tie."""
    after = np.searchsorted(among, stamp).clip(1, max(len(among) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(among) - 1)
    return np.where(stamp - among[before] <= among[after] - stamp, before, after)


def _best_of_each(group: Ints, gap: Ints) -> Ints:
    """Of the entries with equal (never decreasing) group, the one with the smallest gap."""
    if (np.diff(group) > 0).all():
        return np.arange(len(group))
    order = np.lexsort((gap, group))
    first = np.concatenate([[True], np.diff(group[order]) > 0]) if len(group) else order > 0
    return np.sort(order[first])
