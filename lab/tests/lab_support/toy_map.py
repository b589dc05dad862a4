"""Linear worlds in which a filter matches scans with a map that it built from its own poses.

Marks stand along a route; each row of a scan measures the distance to a mark along a normal. A mark
enters the map where the filter believes it to be when it is first seen, with the noise of that
measurement. The filter takes the map as exact. All is linear and the gain does not depend on the
data, so many runs are simulated at once and the true covariance is that of their errors.
"""

from dataclasses import dataclass

import numpy as np

from smfeval_lab.filters.births import levers
from smfeval_lab.filters.carried import CarriedCovariance
from smfeval_lab.filters.scan_sums import Matches, Motion, Prediction, ScanRecorder


class FixedNoise:
    """Noise that is known, in units of the filter's own."""

    def __init__(self, scan, patch):
        self.scan, self.patch = scan * np.eye(6), patch * np.eye(6)

    def observe(self, square, pair):
        """Learn nothing."""


@dataclass(frozen=True)
class ToyWorld:
    """Where the body is, and the rows of all marks."""

    position: np.ndarray  # (n, 3)
    place: np.ndarray  # (m, 3) of the rows' marks
    normal: np.ndarray  # (m, 6) rows about the origin of lever arms
    reach_m: float
    arms: bool  # whether rows have lever arms, and turns displace

    def rows(self, scan):
        """Rows that are seen (indices), and h."""
        away = self.place - self.position[scan]
        seen = np.flatnonzero(np.linalg.norm(away, axis=1) < self.reach_m)
        H = self.normal[seen].copy()
        if self.arms:
            H[:, 3:] = np.cross(away[seen], H[:, :3])
        return seen, H


STEP_M, REACH_M = 0.1, 2.0


def route(kind, scans):
    """Distance from the start along a line."""
    t = np.arange(scans) * STEP_M
    half = t[scans // 2]
    return {
        "explore": t,
        "stay": 0.5 * np.sin(t),
        "return": np.where(t <= half, t, 2 * half - t),
    }[kind]


def line_world(kind, scans=300, spacing_m=0.1):
    """Six worlds of one dimension side by side: rows along each axis, no lever arms."""
    x = route(kind, scans)
    marks = np.arange(-REACH_M, x.max() + REACH_M, spacing_m)
    place = np.zeros((len(marks), 3))
    place[:, 0] = marks
    position = np.zeros((scans, 3))
    position[:, 0] = x
    return ToyWorld(
        position, np.repeat(place, 6, axis=0), np.tile(np.eye(6), (len(marks), 1)), REACH_M, False
    )


def planar_world(kind, rng, scans=300, density=6.0):
    """Walls at random places beside a route in the plane; floor marks hold height and tilt."""
    if kind == "loop":
        turn = 2 * np.pi * np.arange(scans) / (scans * 0.8)
        radius = scans * 0.8 * STEP_M / (2 * np.pi)
        path = radius * np.stack([np.sin(turn), 1 - np.cos(turn)], axis=1)
    else:
        path = np.stack([route(kind, scans), np.zeros(scans)], axis=1)
    low, high = path.min(axis=0) - REACH_M, path.max(axis=0) + REACH_M
    count = int(density * np.prod(high - low))
    flat = rng.uniform(low, high, size=(count, 2))
    flat = flat[np.min(np.linalg.norm(flat[:, None] - path[::5], axis=2), axis=1) < REACH_M]
    angle = rng.uniform(0, 2 * np.pi, size=len(flat))
    normal = np.zeros((len(flat), 6))
    normal[:, 0], normal[:, 1] = np.cos(angle), np.sin(angle)
    normal[::3] = [0, 0, 1, 0, 0, 0]
    pad = np.zeros((len(flat), 1))
    position = np.concatenate([path, np.zeros((scans, 1))], axis=1)
    return ToyWorld(position, np.concatenate([flat, pad], axis=1), normal, REACH_M, True)


@dataclass(frozen=True)
class ToyResult:
    """Per scan: covariance of the pose by the runs, as carried, and as the filter has it."""

    true: np.ndarray  # (n, 6, 6)
    carried: np.ndarray
    filter: np.ndarray
    past: np.ndarray  # (6, 6) carried Cov(e_last, e_middle)
    past_true: np.ndarray


def follow(
    world,
    rng,
    *,
    runs=4000,
    q=1e-4,
    variance=1e-2,
    patch=1.0,
    classes=16,
):
    """Simulate many runs of the filter and carry the covariance beside it."""
    scans, rows = len(world.position), len(world.place)
    Q = np.diag([q, q, q, *(([q] * 3) if not world.arms else [0.01 * q] * 3)])
    e = np.zeros((runs, 6))
    error = np.zeros((runs, rows))  # of the marks in the map, along their normals
    born = np.full(rows, -1)
    P = np.zeros((6, 6))
    carried = CarriedCovariance(P, classes=classes, noise=FixedNoise(1.0, patch))
    recorder = ScanRecorder(classes)
    out = [[], [], []]
    middle = None
    for t in range(scans):
        step = world.position[t] - world.position[max(t - 1, 0)]
        F = levers(step[None])[0] if world.arms else np.eye(6)
        e = e @ F.T + rng.standard_normal((runs, 6)) * np.sqrt(np.diag(Q))
        P = F @ P @ F.T + Q
        still = np.zeros(3)
        motion = Motion(world.position[t], still, still, np.zeros((6, 6)))
        matches = None
        seen, H = world.rows(t)
        old = born[seen] >= 0
        if old.any():
            h, at = H[old], seen[old]
            residual = error[:, at] - e @ h.T
            residual += np.sqrt(variance) * rng.standard_normal(residual.shape)
            A = h.T @ h / variance
            after = np.linalg.inv(np.linalg.inv(P) + A)
            matches = Matches(
                H=h,
                weight=np.full(len(h), 1 / variance),
                residual=residual[0],
                birth=born[at][:, None],
                gain=after,
                place=world.place[at],
            )
            e = e + residual @ h @ matches.gain.T / variance
            P = after
        new = seen[~old]
        error[:, new] = e @ H[~old].T
        error[:, new] += np.sqrt(patch * variance) * rng.standard_normal((runs, len(new)))
        born[new] = t
        place = world.position[t] if world.arms else np.zeros(3)
        prediction = Prediction(F, Q, motion)
        sums = recorder.record(prediction, matches, place, np.eye(3), len(new))
        covariance = carried.follow(sums)
        for series, value in zip(out, (np.cov(e.T), covariance, P), strict=True):
            series.append(value)
        if t == scans // 2:
            carried.remember(10**6)
            middle = e.copy()
    past_true = e.T @ middle / runs
    return ToyResult(*(np.array(series) for series in out), carried.past[:6], past_true)
