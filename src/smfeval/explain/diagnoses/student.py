"""Would a heavier-tailed belief predict the errors better? Student-t against Gaussian, both scaled.

Both have the reported covariance up to one factor c. With q the NEES and d axes,

    log N   = -q / (2 c) - d/2 log c + const
    log t   = log Gamma((nu + d)/2) / (Gamma(nu/2) (nu/2)^(d/2)) - (nu + d)/2 log(1 + q / (c nu))
              - d/2 log c + const

with the same constant. c and nu are fitted on training scans (c by the EM step of the t scale, nu
on a grid) and judged on a fold of contiguous scans, a guard of neighbours left out between them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from smfeval.maths.arrays import Floats

FOLDS = 5
NU = np.array([1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 200.0])
STEPS = 30
MOST = 4000  # training scans, evenly spaced: more do not move two parameters
TINY = 1e-12


@dataclass(frozen=True)
class Gain:
    """Log score gained by the t belief in each scan (n,), in nats, and nu of the folds (median)."""

    series: Floats
    nu: float


def t_log_density(nees: Floats, scale: Floats | float, nu: Floats | float, d: int) -> Floats:
    """Log density of the t belief relative to the constant of the Gaussian. (...)."""
    nu = np.asarray(nu, dtype=np.float64)
    norm = gammaln((nu + d) / 2) - gammaln(nu / 2) - d / 2 * np.log(nu / 2)
    return norm - (nu + d) / 2 * np.log1p(nees / (scale * nu)) - d / 2 * np.log(scale)


def gaussian_log_density(nees: Floats, scale: float, d: int) -> Floats:
    """Log density of the scaled Gaussian relative to the same constant. (n,)."""
    return -nees / (2 * scale) - d / 2 * np.log(scale)


def fitted_t(nees: Floats, d: int) -> tuple[float, float]:
    """Scale and nu of greatest likelihood. (n,)."""
    nu = NU[:, None]
    scale = np.full((len(NU), 1), max(float(np.median(nees)) / d, TINY))
    for _ in range(STEPS):
        weight = (nu + d) / (nu + nees / scale)
        scale = np.maximum((weight * nees).mean(axis=-1, keepdims=True) / d, TINY)
    best = int(np.argmax(t_log_density(nees, scale, nu, d).mean(axis=-1)))
    return float(scale[best, 0]), float(NU[best])


def cross_validated_gain(nees: Floats, d: int, *, guard: int) -> Gain:
    """Out-of-sample gain of the t over the Gaussian. (n,) -> (n,)."""
    n = len(nees)
    gain, chosen = np.empty(n), []
    for fold in range(FOLDS):
        low, high = fold * n // FOLDS, (fold + 1) * n // FOLDS
        training = np.concatenate([nees[: max(0, low - guard)], nees[high + guard :]])
        training = training[:: -(-len(training) // MOST)]
        scale, nu = fitted_t(training, d)
        held = nees[low:high]
        gaussian = gaussian_log_density(held, max(float(training.mean()) / d, TINY), d)
        gain[low:high] = t_log_density(held, scale, nu, d) - gaussian
        chosen.append(nu)
    return Gain(gain, float(np.median(chosen)))
