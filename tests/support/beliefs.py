"""Belief tracks made on the spot."""

import numpy as np

from smfeval.track import About, CrossCovariance, GaussianTrack, ParticleTrack, Track

ABOUT = About(body="imu", world="world", gauge="se3", algorithm="made", version="1")


def rotations(n: int, rng: np.random.Generator) -> np.ndarray:
    quaternion = rng.normal(size=(n, 4))
    return quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)


def covariances(n: int, rng: np.random.Generator, d: int = 6, scale: float = 1e-2) -> np.ndarray:
    root = scale * rng.normal(size=(n, d, 2 * d))
    product = root @ root.swapaxes(1, 2)
    return 0.5 * (product + product.swapaxes(1, 2))


def stamps(n: int, rate_hz: float = 10.0, start_s: int = 1_700_000_000) -> np.ndarray:
    return start_s * 10**9 + (np.arange(n) * (1e9 / rate_hz)).astype(np.int64)


def poses(n: int, rng: np.random.Generator) -> Track:
    position = np.cumsum(0.1 * rng.normal(size=(n, 3)), axis=0)
    return Track(stamps(n), position, rotations(n, rng), about=ABOUT)


def gaussian(n: int, rng: np.random.Generator) -> GaussianTrack:
    plain = poses(n, rng)
    return GaussianTrack(
        plain.stamp, plain.position, plain.rotation, covariances(n, rng), about=ABOUT
    )


def particles(
    n: int, rng: np.random.Generator, *, log_weight: bool = False, weighted: bool = True
) -> ParticleTrack:
    count = rng.integers(3, 9, size=n)
    m = int(count.sum())
    weight = rng.uniform(0.1, 1.0, size=m)
    weight = np.log(weight) if log_weight else weight
    return ParticleTrack(
        stamps(n),
        np.concatenate([[0], np.cumsum(count)]),
        rng.normal(size=(m, 3)),
        rotations(m, rng),
        weight if weighted else np.ones(m),
        log_weight=log_weight,
        weighted=weighted,
        about=ABOUT,
    )


def circuit(n: int = 400, rate_hz: float = 10.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps, positions and headings of a vehicle that drives forward along a figure of eight."""
    time = np.arange(n) / rate_hz
    angle = 2 * np.pi * time / 40
    position = np.stack([20 * np.sin(angle), 10 * np.sin(2 * angle), 0 * angle], axis=1)
    velocity = np.stack([20 * np.cos(angle), 20 * np.cos(2 * angle), 0 * angle], axis=1)
    heading = np.arctan2(velocity[:, 1], velocity[:, 0])
    rotation = np.zeros((n, 4))
    rotation[:, 2], rotation[:, 3] = np.sin(heading / 2), np.cos(heading / 2)
    return stamps(n, rate_hz), position, rotation


def with_cross(
    track: GaussianTrack, rng: np.random.Generator, *, lags: int = 2
) -> tuple[GaussianTrack, np.ndarray]:
    """The track with covariances of errors that all scans share in part, and their joint root.

    xi = root z with z standard normal. (n, 6, m): Cov(xi_i, xi_j) = root_i root_j^T.
    """
    n = len(track)
    root = 1e-2 * rng.normal(size=(n, 6, 12))
    root[1:] = 0.6 * root[:-1] + 0.8 * root[1:]
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, min(n, i + lags + 1))])
    block = root[pairs[:, 0]] @ root[pairs[:, 1]].swapaxes(1, 2)
    covariance = root @ root.swapaxes(1, 2)
    covariance = 0.5 * (covariance + covariance.swapaxes(1, 2))
    track = track.with_arrays({"covariance": covariance})
    return track.with_cross(CrossCovariance(pairs, block)), root
