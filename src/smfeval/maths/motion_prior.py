"""Motion priors: the integrated Wiener process, in closed form.

The state of one axis is x = (p, p', ..., p^(m-1)) and its m-th derivative is white noise of power
spectral density q: m = 2 is white noise on acceleration, m = 3 white noise on jerk. Between two
instants that are dt apart,

    x(t + dt) = Phi(dt) x(t) + w,    w ~ N(0, q Q(dt)),

    Phi_ij = dt^(j-i) / (j-i)!,
    Q_ij = dt^(2m-1-i-j) / ((2m-1-i-j) (m-1-i)! (m-1-j)!).

Source: Barfoot, State Estimation for Robotics, 2nd ed., section 11.1; Tang, Yoon and Barfoot,
A White-Noise-on-Jerk Motion Prior for Continuous-Time Trajectory Estimation on SE(3), 2019.
"""

from math import comb, factorial

import numpy as np

from smfeval.maths.arrays import Floats


def transition(step: Floats, order: int) -> Floats:
    """Phi(dt): Taylor's polynomial of the state. (...) -> (..., m, m)."""
    phi = np.zeros((*np.shape(step), order, order))
    for i in range(order):
        for j in range(i, order):
            phi[..., i, j] = step ** (j - i) / factorial(j - i)
    return phi


def process_covariance(step: Floats, order: int) -> Floats:
    """Q(dt): what white noise of density one adds to the state. (...) -> (..., m, m)."""
    covariance = np.empty((*np.shape(step), order, order))
    top = order - 1
    for i in range(order):
        for j in range(order):
            power = 2 * order - 1 - i - j
            below = power * factorial(top - i) * factorial(top - j)
            covariance[..., i, j] = step**power / below
    return covariance


def bridge(before: Floats, after: Floats, order: int) -> tuple[Floats, Floats, Floats]:
    """Position between two known states: p = left . x_left + right . x_right + N(0, q rest).

    The mean is the polynomial of degree 2m-1 that meets both states (two-point Hermite), the
    variance rest = (before after)^(2m-1) / (gap^(2m-1) (2m-1) (m-1)!^2) with gap = before + after.

    Parameters
    ----------
    before, after
        Time since the left state and until the right one, not both zero. (...) each.
    order
        Number m of derivatives in the state.

    Returns
    -------
    left, right
        Weights of the two states. (..., m) each.
    rest
        Variance for density one. (...).
    """
    gap = before + after
    left = _hermite(before / gap, gap, order)
    right = _hermite(after / gap, -gap, order)
    power = 2 * order - 1
    rest = (before * (after / gap)) ** power / (power * factorial(order - 1) ** 2)
    return left, right, rest


def _hermite(fraction: Floats, gap: Floats, order: int) -> Floats:
    """Weights of the near state: gap^i u^i/i! (1-u)^m sum_(j<m-i) C(m-1+j, j) u^j. -> (..., m)."""
    weight = np.empty((*np.shape(fraction), order))
    for i in range(order):
        series = sum(comb(order - 1 + j, j) * fraction**j for j in range(order - i))
        weight[..., i] = (gap * fraction) ** i / factorial(i) * (1 - fraction) ** order * series
    return weight
