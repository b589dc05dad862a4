"""Which rays of a batch can meet a surface: those whose azimuth points at its footprint.

Rays that start within r of a point c and meet something at distance >= g from c have an azimuth
within asin(r / g) of that seen from c itself.
"""

from collections.abc import Iterator

import numpy as np

from smfeval.lab.scene.footprint import Footprints
from smfeval.maths.arrays import Floats, Ints


def candidates(
    prints: Footprints, centre: Floats, spread: float, azimuth: Floats, farthest: float
) -> Iterator[tuple[int, slice]]:
    """Surfaces within reach and the rays that may meet them, as slices of sorted azimuths."""
    gap = prints.gap(centre)
    low, width = _views(prints, centre, gap, spread)
    first = np.searchsorted(azimuth, low, side="left")
    last = np.searchsorted(azimuth, low + width, side="right")
    again = np.searchsorted(azimuth, low + width - 2 * np.pi, side="right")
    near: Ints = np.flatnonzero(gap <= farthest + spread)
    for i in near[np.argsort(gap[near], kind="stable")]:
        if width[i] >= 2 * np.pi:
            yield int(i), slice(0, len(azimuth))
            continue
        if last[i] > first[i]:
            yield int(i), slice(int(first[i]), int(last[i]))
        if again[i] > 0:  # the view goes on beyond pi, at the start of the azimuths
            yield int(i), slice(0, int(again[i]))


def _views(prints: Footprints, centre: Floats, gap: Floats, spread: float) -> tuple[Floats, Floats]:
    """First azimuth in [-pi, pi) and width of what each footprint covers, seen from the batch."""
    to_corner = prints.corner - centre
    bearing = np.arctan2(to_corner[..., 1], to_corner[..., 0])
    turn = np.mod(bearing - bearing[:, :1] + np.pi, 2 * np.pi) - np.pi
    around = gap <= spread
    margin = np.arcsin(np.where(around, 1.0, spread / np.where(around, 1.0, gap))) + 1e-9
    low = bearing[:, 0] + turn.min(axis=1) - margin
    width = np.where(around, 2 * np.pi, np.ptp(turn, axis=1) + 2 * margin)
    return np.mod(low + np.pi, 2 * np.pi) - np.pi, width
