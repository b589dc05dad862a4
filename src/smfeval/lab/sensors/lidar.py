"""A LiDAR: each ray is cast from the exact pose at its own instant, so motion distorts the scans.

A measured range is (1 + scale) range + bias of the ring + white noise, and the point is put where
the beam is said to look, at the time that the LiDAR's clock shows.
"""

from dataclasses import dataclass, field

import numpy as np

from smfeval.io.progress import report
from smfeval.lab.motion.curve import Motion
from smfeval.lab.recording import Scans
from smfeval.lab.scene import Scene, cast
from smfeval.lab.sensors.faults import Truth
from smfeval.lab.sensors.pattern import Pattern, Rosette, Spinning, directions
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

TOGETHER = 2**15  # rays that are cast together


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
    motion: Motion
    model: LidarModel
    truth: Truth


def scanned(rig: Rig, *, start: int, rng: np.random.Generator) -> Scans:
    """All scans of a motion; the first begins one period after its start."""
    model, motion = rig.model, rig.motion
    period = NANOSECONDS // model.rate_hz
    count = int(np.floor(motion.duration_s * model.rate_hz + 1e-6)) - 1
    since = period * np.arange(1, count + 1)
    together = max(1, TOGETHER // (model.pattern.firings * model.pattern.rings))
    parts = []
    for first in range(0, count, together):
        chosen = slice(first, first + together)
        parts.append(_part(rig, first, since[chosen], rng))
        report(min(first + together, count), count)
    point, time, ring, size = (np.concatenate(each) for each in zip(*parts, strict=True))
    offset = np.concatenate([[0], np.cumsum(size)])
    return Scans(start + since, start + since + period, offset, point, time, ring)


def _part(
    rig: Rig, first: int, since: Ints, rng: np.random.Generator
) -> tuple[Floats, Ints, Ints, Ints]:
    """Points, times, rings and number of points of some scans that follow each other."""
    model, truth, pattern = rig.model, rig.truth, rig.model.pattern
    looks = [pattern.angles(first + i) for i in range(len(since))]
    azimuth, elevation = (np.stack(each) for each in zip(*looks, strict=True))
    after = firing_times(model)
    taken = (since[:, None] + after) / NANOSECONDS + truth.clock_s

    beam = directions(azimuth, elevation + truth.elevation_rad)
    origin, ray = _cast_from(rig, taken.ravel(), beam.reshape(-1, pattern.rings, 3))
    distance = cast(rig.scene, origin, ray, model.farthest_m).reshape(azimuth.shape)
    kept, distance = _measured(distance, rig, rng)

    point = (distance[kept][:, None] * directions(azimuth[kept], elevation[kept])).astype("f4")
    time = np.broadcast_to(after[:, None], azimuth.shape)[kept].astype("i4")
    ring = np.broadcast_to(np.arange(pattern.rings), azimuth.shape)[kept].astype("u2")
    return point, time, ring, kept.sum(axis=(1, 2))


def firing_times(model: LidarModel) -> Ints:
    """Times in ns since the start of a scan; the last is its end. (firings,)."""
    period = NANOSECONDS // model.rate_hz
    return np.arange(1, model.pattern.firings + 1) * period // model.pattern.firings


def _cast_from(rig: Rig, time: Floats, beam: Floats) -> tuple[Floats, Floats]:
    """Origins and directions of all rays in the world. (f,), (f, r, 3) -> (f r, 3) each."""
    shift, turn = rig.truth.imu_T_lidar
    world_R_imu = rig.motion.rotation(time)
    origin = rig.motion.position(time) + world_R_imu @ shift
    ray = beam @ np.swapaxes(world_R_imu @ so3.matrix(turn), 1, 2)
    return np.repeat(origin, beam.shape[1], axis=0), ray.reshape(-1, 3)


def _measured(distance: Floats, rig: Rig, rng: np.random.Generator) -> tuple[Bools, Floats]:
    """Which rays come back, and the ranges that are reported."""
    model, truth = rig.model, rig.truth
    noise = model.range_sigma_m * rng.standard_normal(distance.shape)
    lost = rng.random(distance.shape) < model.dropout
    met = np.isfinite(distance) & (distance >= model.nearest_m) & ~lost
    reported = (1 + truth.range_scale) * distance + truth.range_bias_m + noise
    return met & (reported > 0), reported
