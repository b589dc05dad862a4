"""Tracks to learn a correction from: honest worlds whose claim is made too tight, or else wrong."""

from dataclasses import replace

import numpy as np

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


def unclaimed_drift(sigma_m):
    """A random walk of the position, per root metre, that the claim knows nothing of."""

    def change(world, rng):
        step = np.linalg.norm(np.diff(world.truth_position, axis=0, prepend=0), axis=1)
        step[0] = 0.0
        walk = np.cumsum(sigma_m * np.sqrt(step)[:, None] * rng.normal(size=(len(step), 3)), axis=0)
        return replace(world, position=world.position + walk)

    return change
