"""A LiDAR: each ray is cast from the exact pose at its own instant, so motion distorts the scans.

A measured range is (1 + scale) range + bias of the ring + white noise, and the point is put where
the beam is said to look, at the time that the LiDAR's clock shows.
"""

from dataclasses import dataclass, field

import numpy as np

from smfeval.io.progress import report
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval_lab.motion import SimulatedMotion
from smfeval_lab.recording import Scans
from smfeval_lab.scene import Scene, cast
from smfeval_lab.sensors.faults import TrueSensor


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
        shape = (self.firings, self.rings)
        return np.broadcast_to(turn[:, None], shape), np.broadcast_to(rise, shape)


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
        spread = elevation[:, None] + beside
        return np.broadcast_to(azimuth[:, None], spread.shape), spread


Pattern = Spinning | Rosette


def directions(azimuth: Floats, elevation: Floats) -> Floats:
    """Unit vectors: x ahead, y left, z up. (...), (...) -> (..., 3)."""
    level = np.cos(elevation)
    parts = [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)]
    return np.stack(parts, axis=-1)


RAYS_PER_BATCH = 2**15  # rays that are cast together


@dataclass(frozen=True)
class LidarModel:
    """What a LiDAR is said to be."""

    pattern: Pattern = field(default_factory=Spinning)
    rate_hz: int = 10
    nearest_m: float = 0.7
    farthest_m: float = 60.0
    range_sigma_m: float = 0.02
    dropout: float = 0.01  # share of the points that are lost by chance


LIDARS = {
    "spinning": LidarModel(),  # some 5,000 points in a scan
    "dense": LidarModel(Spinning(rings=32, firings=512)),  # 16,000, as in the campaign
    "rosette": LidarModel(Rosette()),
}


@dataclass(frozen=True)
class Rig:
    """A LiDAR on its way through a scene."""

    scene: Scene
    motion: SimulatedMotion
    model: LidarModel
    truth: TrueSensor


def simulate_scans(rig: Rig, *, start: int, rng: np.random.Generator) -> Scans:
    """All scans of a motion; the first begins one period after its start."""
    model, motion = rig.model, rig.motion
    period = NANOSECONDS // model.rate_hz
    count = int(np.floor(motion.duration_s * model.rate_hz + 1e-6)) - 1
    since = period * np.arange(1, count + 1)
    together = max(1, RAYS_PER_BATCH // (model.pattern.firings * model.pattern.rings))
    parts = []
    for first in range(0, count, together):
        chosen = slice(first, first + together)
        parts.append(_simulate_batch(rig, first, since[chosen], rng))
        report(min(first + together, count), count)
    point, time, ring, size = (np.concatenate(each) for each in zip(*parts, strict=True))
    offset = np.concatenate([[0], np.cumsum(size)])
    return Scans(start + since, start + since + period, offset, point, time, ring)


def _simulate_batch(
    rig: Rig, first: int, since: Ints, rng: np.random.Generator
) -> tuple[Floats, Ints, Ints, Ints]:
    """Points, times, rings and number of points of some scans that follow each other."""
    model, truth, pattern = rig.model, rig.truth, rig.model.pattern
    # one scan stands for all if they repeat: (scans or 1, firings, rings)
    scans = range(first, first + (1 if isinstance(pattern, Spinning) else len(since)))
    angles = zip(*(pattern.angles(i) for i in scans), strict=True)
    azimuth, elevation = (np.stack(each) for each in angles)
    after = firing_times(model)
    taken = (since[:, None] + after) / NANOSECONDS + truth.clock_s

    shape = (len(since), pattern.firings, pattern.rings)
    beam = directions(azimuth, elevation + truth.elevation_rad)
    nominal = directions(azimuth, elevation) if truth.elevation_rad.any() else beam
    beam = np.broadcast_to(beam, (*shape, 3)).reshape(-1, pattern.rings, 3)

    shift, turn = truth.imu_T_lidar
    world_R_imu = rig.motion.rotation(taken.ravel())
    origin = rig.motion.position(taken.ravel()) + world_R_imu @ shift
    ray = beam @ np.swapaxes(world_R_imu @ so3.matrix(turn), 1, 2)
    origin, sent = (np.repeat(each, pattern.rings, axis=0) for each in (origin, taken.ravel()))
    reach = model.farthest_m
    distance = cast(rig.scene, origin, ray.reshape(-1, 3), reach, time=sent).reshape(shape)

    noise = model.range_sigma_m * rng.standard_normal(shape)
    lost = rng.random(shape) < model.dropout
    returned = np.isfinite(distance) & (distance >= model.nearest_m) & ~lost
    distance = (1 + truth.range_scale) * distance + truth.range_bias_m + noise
    kept = returned & (distance > 0)

    point = (distance[kept][:, None] * np.broadcast_to(nominal, (*shape, 3))[kept]).astype("f4")
    time = np.broadcast_to(after[:, None], shape)[kept].astype("i4")
    ring = np.broadcast_to(np.arange(pattern.rings), shape)[kept].astype("u2")
    return point, time, ring, kept.sum(axis=(1, 2))


def firing_times(model: LidarModel) -> Ints:
    """Times in ns since the start of a scan; the last is its end. (firings,)."""
    period = NANOSECONDS // model.rate_hz
    return np.arange(1, model.pattern.firings + 1) * period // model.pattern.firings
