"""Honest beliefs about a turning path, and what was done to the measurement of them."""

import re

import numpy as np

from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.track import About, GaussianTrack, Track
from smfeval.track.beliefs import Provenance
from smfeval.why.explanations import other_explanations
from support.beliefs import stamps

SIGMA = np.array([2e-3, 3e-3, 1.5e-3])  # m, world axes
S = np.diag(SIGMA**2)
WIDE = 1.1  # reported over true variance: honest, and k = 1 is reached for sure
N = 600


def path(time):
    """Positions (n, 3): a figure of eight that climbs and falls; 1.5 to 4.5 m/s."""
    angle = 2 * np.pi * time / 40
    return np.stack([20 * np.sin(angle), 10 * np.sin(2 * angle), np.sin(3 * angle)], axis=1)


def velocity(time):
    angle, rate = 2 * np.pi * time / 40, 2 * np.pi / 40
    columns = [20 * np.cos(angle), 20 * np.cos(2 * angle), 3 * np.cos(3 * angle)]
    return rate * np.stack(columns, axis=1)


def heading(time):
    """Rotations (n, 4) that look along the path and sway."""
    x, y, _ = velocity(time).T
    yaw = np.stack([0 * x, 0 * x, np.arctan2(y, x)], axis=1)
    sway = np.stack([0.3 * np.sin(time), 0.3 * np.cos(0.7 * time), 0 * x], axis=1)
    return so3.compose(so3.exp(yaw), so3.exp(sway))


def times(n=N):
    return np.arange(n) / 10


def belief(error, covariance=WIDE * S, *, gauge="fixed", late_s=0.0, oriented=True, of=None):
    """Off by `error` in the world; its clock is `late_s` late; `covariance` in world axes."""
    n = len(error)
    time = times(n) - late_s
    rotation = heading(time)
    full = np.zeros((n, 6, 6))
    world = np.broadcast_to(covariance, (n, 3, 3))
    full[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), world)
    full[:, 3:, 3:] = 1e-6 * np.eye(3)
    position = path(time) + error if of is None else of
    about = About(body="imu", world="world", gauge=gauge, oriented=oriented)
    name = Provenance(name="made")
    return GaussianTrack(stamps(n), position, rotation, full, about=about, provenance=name)


def reference(n=N, *, moved=0.0, **words):
    """The true poses; `moved` is added to the positions."""
    time = times(n)
    about = About(body="imu", world="world", **words)
    return Track(stamps(n), path(time) + moved, heading(time), about=about)


def noise(rng, n=N, covariance=S):
    return rng.normal(size=(n, 3)) @ np.linalg.cholesky(covariance).T


def remembering(rng, n, sigma, rho=0.9):
    """AR(1) errors, alike in every axis."""
    kick = sigma * rng.normal(size=(n, 3))
    out = kick.copy()
    for i in range(1, n):
        out[i] = rho * out[i - 1] + np.sqrt(1 - rho**2) * kick[i]
    return out


def explanations_of(estimate, truth, **options):
    return other_explanations(evaluate(estimate, truth, options=Options(**options)))


def rows(found):
    """Rows of the position by name; of several of one name what is assumed is added."""
    named = {}
    for row in (row for row in found.rows if row.scored.facts.space == "position"):
        several = row.name in ("alignment", "reference noise")
        named[f"{row.name} {re.split(' [(]', row.assumed)[0]}" if several else row.name] = row
    return named


def ending(found):
    """Names of the rows that explain the verdict of the position."""
    return {name for name, row in rows(found).items() if row.outcome == "explains it"}
