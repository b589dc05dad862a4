"""Tracks to learn a correction from: honest worlds whose claim is made too tight, or else wrong."""

from dataclasses import replace

import numpy as np

from smfeval.calibration.correction import LearntOn
from smfeval.calibration.law import GrowthLaw, TypicalMotion, step_sizes, turned_axes
from smfeval.maths import se3, so3
from smfeval.track import About, Track
from support import drifting
from support.drifting import steady_filter


def tracks(seed, count=6, *, scans=160, world=steady_filter, change=lambda w, rng: w.scaled(0.1)):
    """(estimate, reference) pairs, seeded; `change` makes the claim of a world wrong."""
    found = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        estimate, reference = change(world(rng, scans), rng).tracks()
        named = estimate.with_about(gauge="fixed", body="imu", algorithm="simulated")
        found.append((named, reference.with_about(body="imu")))
    return found


def tight_by(*factors):
    """A claim whose variances along body axes are divided, rotation by the last of four."""
    root = 1 / np.sqrt([*factors[:3], *[factors[-1]] * 3])

    def change(world, rng):
        return replace(world, covariance=world.covariance * root[:, None] * root)

    return change


def unclaimed_noise(sigma_m):
    """White noise on the position that the claim knows nothing of."""

    def change(world, rng):
        noise = sigma_m * rng.normal(size=world.position.shape)
        return replace(world, position=world.position + noise)

    return change


def grown_pair(rng, law, scans=400, *, step_m=0.3, step_ns=100_000_000):
    """An odometry whose errors grow by a law, without covariances, and its reference."""
    truth = drifting.path(rng, scans, step_m)
    stamp = step_ns * np.arange(scans)
    steps = step_sizes(Track(stamp, *truth))
    shift, turn = (np.sqrt(steps @ np.array(rates)) for rates in (law.position, law.rotation))
    turned = (turn[:, None] * rng.normal(size=(scans, 3))) @ turned_axes(law.level)
    noise = np.concatenate(
        [shift[:, None] * rng.normal(size=(scans, 3)), so3.rotate_back(truth[1], turned)], axis=1
    )
    before, after = (tuple(part[cut] for part in truth) for cut in (slice(-1), slice(1, None)))
    moved = se3.compose(se3.inverse(before), after)
    moved = [np.concatenate([all_[:1], each]) for all_, each in zip(truth, moved, strict=True)]
    pose = drifting.accumulate(se3.compose(tuple(moved), se3.exp(noise)))
    white = np.sqrt(np.repeat([law.floor_m2, law.floor_rad2], 3)) * rng.normal(size=(scans, 6))
    about = About(body="lidar", gauge="se3", algorithm="simulated")
    estimate = Track(stamp, *se3.compose(pose, se3.exp(white)), about=about)
    return estimate, Track(stamp, *truth).with_about(body="lidar")


def growth_law(level=6, **changes):
    """A law of 1 cm and 0.06 deg per root metre, and white noise of 1 cm and 0.06 deg."""
    rotation = (0.0, 0.0, 0.0) if level == 3 else (1e-6, 0.0, 0.0)
    plain = GrowthLaw(
        level=level,
        position=(1e-4, 0.0, 0.0),
        rotation=rotation,
        floor_m2=1e-4,
        floor_rad2=1e-6,
        factor=1.0,
        motion=TypicalMotion(120.0, 3.0, 0.05),
        learnt=LearntOn("simulated", None, "lidar", "se3", "xyz", (), ("made",), ()),
    )
    return replace(plain, **changes)
