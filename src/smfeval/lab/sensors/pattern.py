"""Where a LiDAR looks, and when: a firing is a moment at which all its rings look at once."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats


@dataclass(frozen=True)
class Spinning:
    """Rings at fixed elevations that turn once in a scan."""

    rings: int = 24
    firings: int = 240  # in a turn
    lowest_deg: float = -25.0
    highest_deg: float = 15.0

    def angles(self, scan: int) -> tuple[Floats, Floats]:
        """Azimuth and elevation in radians, the same in each scan. -> (firings, rings) each."""
        del scan
        turn = -2 * np.pi * np.arange(self.firings) / self.firings
        rise = np.radians(np.linspace(self.lowest_deg, self.highest_deg, self.rings))
        return _over_rings(turn, np.broadcast_to(rise, (self.firings, self.rings)))


@dataclass(frozen=True)
class Rosette:
    """A narrow view that two turning prisms fill with petals; no scan repeats another.

    The line of sight is the sum of two circles of equal size, turning at rates whose ratio is
    not rational; the rings stand beside each other across it.
    """

    rings: int = 6
    firings: int = 1000  # in a scan
    half_view_deg: float = 35.0
    ring_gap_deg: float = 0.9
    turns: float = 17.0  # of the first prism in a scan
    ratio: float = -0.6180339887498949  # of the second to the first

    def angles(self, scan: int) -> tuple[Floats, Floats]:
        """Azimuth and elevation in radians. -> (firings, rings) each."""
        time = scan + np.arange(self.firings) / self.firings
        first = 2 * np.pi * np.mod(self.turns * time, 1.0)
        second = 2 * np.pi * np.mod(self.ratio * self.turns * time, 1.0)
        radius = np.radians(self.half_view_deg) / 2
        azimuth = radius * (np.cos(first) + np.cos(second))
        elevation = radius * (np.sin(first) + np.sin(second))
        beside = np.radians(self.ring_gap_deg) * (np.arange(self.rings) - (self.rings - 1) / 2)
        return _over_rings(azimuth, elevation[:, None] + beside)


Pattern = Spinning | Rosette


def _over_rings(azimuth: Floats, elevation: Floats) -> tuple[Floats, Floats]:
    """(f,), (f, r) -> (f, r) each."""
    return np.broadcast_to(azimuth[:, None], elevation.shape), elevation


def directions(azimuth: Floats, elevation: Floats) -> Floats:
    """Unit vectors: x ahead, y left, z up. (...), (...) -> (..., 3)."""
    level = np.cos(elevation)
    parts = [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)]
    return np.stack(parts, axis=-1)
