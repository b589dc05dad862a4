"""Hyperparameters of a motion prior by maximum likelihood, from the observed curve itself.

The exact innovations of the Kalman filter give the likelihood. With noise = ratio * density the
density has a closed form for every ratio (the mean of the whitened innovations' outer products),
so one number is searched for. Windows of the curve, spread over its length, stand for the whole.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.kalman import innovations
from smfeval.maths.motion_gp import Motion, coupled_chain, principal_axes, separable_chain

WINDOWS = 16
WINDOW = 129  # observations; 16 windows of it are filtered in some 10 ms
SKIPPED = 3  # innovations that the weak prior of the first state dominates, for any order
LEAST_OBSERVATIONS = 12  # fewer cannot tell motion from noise

# Noise over the motion of one step, both as variances: below the lowest, noise does not show;
# above the highest, hundreds of observations are averaged and motion does not show.
LOG10_RATIOS = np.arange(-8.0, 10.1, 2.0)
TOLERANCE = 0.04  # in log10: a tenth of the ratio, less than its error from 2000 observations
LOG10_SCALES = np.arange(-8.0, 8.1, 2.0)  # of the density, about that of the free fit


@dataclass(frozen=True)
class Fit:
    """A motion prior, its log likelihood per observation (0 for a curve that does not move at all).

    `excess` is the mean squared innovation over what the prior expects, per axis; one where the
    density was fitted freely, far below one where the reported noise is larger than the scatter.
    """

    motion: Motion
    log_likelihood: float
    excess: float


def windows(count: int, most: int = WINDOWS) -> Ints:
    """Index of the observations in windows spread over a curve. -> (length, windows)."""
    length = min(count, WINDOW)
    many = min(most, max(1, count // length))
    start = np.linspace(0, count - length, many).round().astype(np.int64)
    return np.arange(length)[:, None] + start


def fit(step: Floats, observed: Floats, order: int) -> Fit:
    """Density and noise ratio of a curve. (n - 1,), (n, d)."""
    index = windows(len(observed))
    unit = float(np.median(step))  # time in steps, so that numbers are near one
    steps, seen = step[index[:-1]] / unit, observed[index]
    axes = moving_axes(seen)
    if axes.shape[1] == 0:
        return Fit(Motion(order, np.zeros((observed.shape[1],) * 2), 0.0), 0.0, 1.0)

    def cost(log10_ratio: Floats) -> Floats:
        return _profile(steps, seen @ axes, order, 10.0**log10_ratio)[0]

    ratio = 10.0 ** _least(cost, LOG10_RATIOS)
    least, density = _profile(steps, seen @ axes, order, np.array([ratio]))
    power = 2 * order - 1
    whole = axes @ density[0] @ axes.T / unit**power
    motion = Motion(order, 0.5 * (whole + whole.T), ratio * unit**power)
    return Fit(motion, -0.5 * float(least[0]), 1.0)


def fit_given_noise(step: Floats, observed: Floats, noise: Floats, free: Motion) -> Fit:
    """Density of a curve whose noise is known: its size, in the shape of a free fit's density.

    (n - 1,), (n, d), (n, d, d).
    """
    if not free.density.any():
        return Fit(Motion(free.order, free.density, 0.0), 0.0, 1.0)
    index, axes = windows(len(observed)), principal_axes(free.density)[0]
    unit = float(np.median(step))
    shape = unit ** (2 * free.order - 1) * (axes.T @ free.density @ axes)
    steps, seen, spread = step[index[:-1]] / unit, observed[index] @ axes, axes.T @ noise @ axes

    def terms(log10_scale: float) -> tuple[float, float]:
        density = 10.0**log10_scale * shape
        chain = coupled_chain(steps, seen, free.order, density, spread[index])
        return _gaussian_terms(*innovations(chain))

    def cost(log10_scales: Floats) -> Floats:
        return np.array([sum(terms(scale)) for scale in log10_scales])

    scale = _least(cost, LOG10_SCALES)
    square, logarithm = terms(scale)
    motion = Motion(free.order, 10.0**scale * free.density, 0.0)
    return Fit(motion, -0.5 * (square + logarithm), square / axes.shape[1])


def moving_axes(seen: Floats) -> Floats:
    """Orthonormal axes along which the curve moves at all. (..., d) -> (d, r)."""
    away = np.diff(seen, axis=0).reshape(-1, seen.shape[-1])
    return principal_axes(away.T @ away)[0] if away.any() else np.empty((seen.shape[-1], 0))


def _profile(step: Floats, seen: Floats, order: int, ratio: Floats) -> tuple[Floats, Floats]:
    """-2 log likelihood per observation at the best density, and that density. (g,), (g, r, r)."""
    chain = separable_chain(step[..., None], seen[..., None, :], order, ratio)
    innovation, variance = innovations(chain)
    whitened = innovation[SKIPPED - 1 :, ..., 0, :] / np.sqrt(variance[SKIPPED - 1 :, ..., 0, :])
    count, axes = whitened.shape[0] * whitened.shape[1], seen.shape[-1]
    density = np.einsum("nwgi,nwgj->gij", whitened, whitened) / count
    logarithm = np.log(variance[SKIPPED - 1 :, ..., 0, 0]).mean(axis=(0, 1))
    size = np.linalg.slogdet(density)[1]
    return axes * (logarithm + 1 + np.log(2 * np.pi)) + size, density


def _gaussian_terms(innovation: Floats, covariance: Floats) -> tuple[float, float]:
    """Mean squared whitened innovation, and mean log determinant with its constant."""
    error, spread = innovation[SKIPPED - 1 :, ..., 0], covariance[SKIPPED - 1 :]
    square = np.einsum("...i,...i->...", error, np.linalg.solve(spread, error[..., None])[..., 0])
    logarithm = np.linalg.slogdet(spread)[1] + error.shape[-1] * np.log(2 * np.pi)
    return float(square.mean()), float(logarithm.mean())


def _least(cost: Callable[[Floats], Floats], grid: Floats) -> float:
    """Where a function of one number is least: the best of a grid, refined between neighbours."""
    best = int(np.argmin(cost(grid)))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda x: float(cost(np.array([x]))[0]),
        bounds=(low, high),
        method="bounded",
        options={"xatol": TOLERANCE},
    )
    return float(found.x)
