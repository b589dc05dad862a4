"""A room of six walls, a body that wanders in it, and exactly the noise that a filter is told."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths import so3
from smfeval.track import About, Track
from smfeval_lab.filters.ieskf.planes import Planes
from smfeval_lab.recording import GRAVITY_M_S2, Imu, ImuNoise, Recording, Scans

NS = 1_000_000_000
START = 1_700_000_000 * NS
HALF = np.array([6.0, 5.0, 2.0])  # m from the middle to the walls
CORNER_M = 0.3  # no point is seen nearer to a corner, so that the nearest wall is the right one
STANDING_S = 2.0
NOISE = ImuNoise(gyro=1e-3, acceleration=1e-2, gyro_bias=1e-5, acceleration_bias=1e-4)
MOUNTING = (np.array([0.1, 0.0, 0.2]), so3.exp(np.array([0.1, -0.2, 0.3])))


def pose(time):
    """Where the body truly is, s -> (n, 3), (n, 4)."""
    t = np.maximum(np.asarray(time, dtype=float) - STANDING_S, 0.0)
    soft = t**3 / (t**3 + 1)
    phase = np.stack([0.5 * t, 0.37 * t, 0.9 * t], axis=-1)
    position = soft[:, None] * np.array([2.0, 1.5, 0.5]) * np.sin(phase)
    turn = soft[:, None] * np.array([0.1, 0.15, 1.0]) * np.sin(phase[:, ::-1] + 0.2)
    return position, so3.exp(turn)


def imu_values(time, h=1e-3):
    """Rates and specific forces of the true motion, by central differences of the poses."""
    before, now, after = (pose(time + shift) for shift in (-h, 0.0, h))
    rate = so3.log(so3.compose(so3.inverse(before[1]), after[1])) / (2 * h)
    pull = (after[0] - 2 * now[0] + before[0]) / h**2 + np.array([0.0, 0.0, GRAVITY_M_S2])
    return rate, so3.rotate(so3.inverse(now[1]), pull)


def imu(duration_s, rng, noise=NOISE, rate_hz=200, start_bias=(1e-3, 2e-2)):
    """Samples with white noise, biases that start somewhere and walk."""
    time = np.arange(round(duration_s * rate_hz) + 1) / rate_hz
    gyro, force = imu_values(time)
    h = 1 / rate_hz
    gyro = disturbed(gyro, noise.gyro, noise.gyro_bias, start_bias[0], h, rng)
    force = disturbed(force, noise.acceleration, noise.acceleration_bias, start_bias[1], h, rng)
    return Imu(START + np.round(time * NS).astype(np.int64), gyro, force)


def disturbed(value, white, walk, first, h, rng):
    """Values with a bias that starts at N(0, first^2) and walks, and white noise."""
    steps = rng.normal(0, walk * np.sqrt(h), value.shape)
    bias = rng.normal(0, first, 3) + np.cumsum(steps, axis=0)
    return value + bias + rng.normal(0, white / np.sqrt(h), value.shape)


def seen(origin, direction):
    """Distance along rays to the walls, and whether the hit is away from the corners."""
    with np.errstate(divide="ignore"):
        way = (np.sign(direction) * HALF - origin) / direction
    distance = way.min(axis=-1)
    hit = origin + distance[:, None] * direction
    inside = np.sort(np.abs(hit) - HALF, axis=-1)[:, 1] < -CORNER_M
    return hit, inside


def scans(duration_s, rng, sigma_m, count=400, sweep=False, rate_hz=10):
    """Points drawn on the walls with noise in all directions; at the end of the scan, or swept."""
    points, times, offset = [], [], [0]
    ends = np.arange(1, round(duration_s * rate_hz) + 1) / rate_hz
    for end in ends:
        since = (
            np.sort(rng.uniform(0, 1 / rate_hz, count)) if sweep else np.full(count, 1 / rate_hz)
        )
        position, rotation = pose(end - 1 / rate_hz + since)
        direction = rng.normal(size=(count, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        origin = position + so3.rotate(rotation, np.tile(MOUNTING[0], (count, 1)))
        hit, inside = seen(origin, direction)
        hit = hit + rng.normal(0, sigma_m, hit.shape)
        body = so3.rotate(so3.inverse(rotation), hit - position)
        lidar = (body - MOUNTING[0]) @ so3.matrix(MOUNTING[1])
        points.append(lidar[inside])
        times.append(np.round(since[inside] * NS).astype(np.int64))
        offset.append(offset[-1] + int(inside.sum()))
    stamp = START + np.round(ends * NS).astype(np.int64)
    return Scans(
        stamp - NS // rate_hz,
        stamp,
        np.array(offset),
        np.concatenate(points),
        np.concatenate(times),
    )


def recording(seed, duration_s=12.0, sigma_m=0.02, count=400, sweep=False, noise=NOISE):
    rng = np.random.default_rng(seed)
    samples = imu(duration_s, rng, noise)
    since = (samples.stamp - START) / NS
    reference = Track(samples.stamp, *pose(since), about=About(body="imu", gauge="fixed"))
    return Recording(
        f"room_{seed}",
        samples,
        scans(duration_s, rng, sigma_m, count, sweep),
        MOUNTING,
        noise,
        sigma_m,
        reference,
    )


@dataclass(frozen=True)
class Walls:
    """The true walls as a map: the nearest one to each place."""

    def planes(self, point):
        wall = np.argmin(np.abs(np.abs(point) - HALF), axis=1)
        rows = np.arange(len(point))
        normal = np.zeros((len(point), 3))
        normal[rows, wall] = np.sign(point[rows, wall])
        return Planes(normal, -HALF[wall], np.ones(len(point), dtype=bool))

    def add(self, point, seen_from):
        pass


def errors(run):
    """Position error of each scan, without any alignment. (n, 3)."""
    since = (run.belief.stamp - START) / NS
    return run.belief.position - pose(since)[0]


def nees(run):
    error = errors(run)
    return np.einsum("ni,nij,nj->n", error, np.linalg.inv(run.belief.position_covariance), error)
