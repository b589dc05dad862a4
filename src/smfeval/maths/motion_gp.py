"""A curve in R^d under a motion prior: its posterior between the instants at which it was seen.

The curve is a Gaussian process whose m-th derivative is white noise of spectral density `density`
(d, d); it is seen at n instants, each time with independent noise. Where the noise is `ratio`
times the density, one scalar smoother serves all axes: mean weights and variance are scalars, and
the covariance is that variance times the density. Where each observation has a covariance of its
own, all axes are smoothed together. Both are exact and O(n). Time is counted in median steps
inside, so that all numbers of a state are of one size.

The first state: the position is known from the first observation alone; the derivatives are those
of the polynomial through the first m observations, with a variance of WEAK times what one step of
motion and noise would give.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.kalman import Chain, Smoothed, smoothed
from smfeval.maths.motion_prior import bridge, process_covariance, transition

WEAK = 1e6  # times the variance of one step: changes the first states by a millionth
STILL = 1e-12  # of the largest eigenvalue of the density: an axis with less does not move


@dataclass(frozen=True)
class Motion:
    """Hyperparameters of a motion prior.

    Parameters
    ----------
    order
        Number m of derivatives in the state: 2 for white noise on acceleration, 3 on jerk.
    density
        Power spectral density of the m-th derivative, unit^2 / s^(2m-1). (d, d).
    ratio
        Observation noise = ratio * density, in s^(2m-1).
    """

    order: int
    density: Floats
    ratio: float

    @property
    def noise(self) -> Floats:
        """Covariance of one observation's noise. (d, d)."""
        return self.ratio * self.density


@dataclass(frozen=True)
class Instants:
    """Instants between observations: after observation `left`, by `before` s, `after` s to go."""

    left: Ints
    before: Floats
    after: Floats

    def in_units(self, unit: float) -> "Instants":
        """The same instants with time counted in units of so many seconds."""
        return Instants(self.left, self.before / unit, self.after / unit)


def interpolated(
    step: Floats, observed: Floats, motion: Motion, at: Instants, *, noise: Floats | None = None
) -> tuple[Floats, Floats]:
    """Posterior mean and covariance of the curve at instants between its observations.

    Parameters
    ----------
    step
        Seconds between neighbouring observations, positive. (n - 1,).
    observed
        The curve as it was seen. (n, d).
    motion
        Prior, and noise unless `noise` is given.
    at
        Instants. (q,).
    noise
        Covariance of each observation, instead of the noise of `motion`. (n, d, d).

    Returns
    -------
    mean, covariance
        (q, d), (q, d, d).
    """
    if noise is not None:
        return _coupled(step, observed, motion, at, noise)
    mean, variance = separable(step, observed, motion, at)
    return mean, variance[:, None, None] * motion.density


def separable(
    step: Floats, observed: Floats, motion: Motion, at: Instants
) -> tuple[Floats, Floats]:
    """Posterior mean, and variance in units of the density. Batch axes follow time.

    (n - 1, ...), (n, ..., d), instants (q, ...) with `left` (q,) -> (q, ..., d), (q, ...).
    """
    unit, power = float(np.median(step)), 2 * motion.order - 1
    ratio = np.array(motion.ratio / unit**power)
    chain = separable_chain(step / unit, observed, motion.order, ratio)
    mean, variance = _between(smoothed(chain), at.in_units(unit), motion.order, np.eye(1))
    return mean[..., 0, :], unit**power * variance[..., 0, 0]


def separable_chain(step: Floats, observed: Floats, order: int, ratio: Floats) -> Chain:
    """One scalar chain for all axes, in units of the density.

    Batch axes follow time: (n - 1, ...), (n, ..., d) and ratio (...).
    """
    batch = np.broadcast_shapes(step.shape[1:], np.shape(ratio))
    step = np.broadcast_to(step, (len(step), *batch))
    dimension = observed.shape[-1]
    seen = np.broadcast_to(observed, (len(observed), *batch, dimension))
    noise = np.broadcast_to(ratio, (len(observed), *batch))[..., None, None]
    return _chain(step, seen[..., None, :], order, np.eye(1), noise)


def coupled_chain(
    step: Floats, observed: Floats, order: int, density: Floats, noise: Floats
) -> Chain:
    """All axes in one state (position of all, velocity of all, ...), each observation's own noise.

    Batch axes follow time: (n - 1, ...), (n, ..., d), (d, d), (n, ..., d, d).
    """
    return _chain(step, observed[..., None], order, density, noise)


def _chain(step: Floats, seen: Floats, order: int, density: Floats, noise: Floats) -> Chain:
    """The chain of observations (n, ..., p, c) with density (p, p), noise (n, ..., p, p)."""
    axes = density.shape[-1]
    phi = _kron(transition(step, order), np.eye(axes))
    process = _kron(process_covariance(step, order), density)
    mean = _first_derivatives(step[: order - 1], seen[:order])
    reach = step[0][..., None, None]
    scatter = process[0, ..., :axes, :axes] + noise[0]
    covariance = np.zeros(phi.shape[1:])
    covariance[..., :axes, :axes] = noise[0]
    for i in range(1, order):
        block = slice(i * axes, (i + 1) * axes)
        covariance[..., block, block] = WEAK * scatter / reach ** (2 * i)
    return Chain(mean, covariance, phi, process, seen, noise)


def _first_derivatives(step: Floats, seen: Floats) -> Floats:
    """State of the polynomial through the first m observations. (m-1, ...), (m, ..., p, c)."""
    order = len(seen)
    time = np.concatenate([np.zeros((1, *step.shape[1:])), np.cumsum(step, axis=0)])
    taylor = transition(time, order)[..., 0, :]  # row k: 1, t_k, t_k^2 / 2
    values = np.moveaxis(seen, 0, -3)
    flat = values.reshape(*values.shape[:-2], -1)
    derivatives = np.linalg.solve(np.moveaxis(taylor, 0, -2), flat)
    return np.asarray(derivatives, dtype=np.float64).reshape(
        *values.shape[:-3], -1, values.shape[-1]
    )


def _between(states: Smoothed, at: Instants, order: int, density: Floats) -> tuple[Floats, Floats]:
    """Position between neighbouring smoothed states. -> (q, p, c), (q, p, p)."""
    eye = np.eye(len(density))
    left, right, rest = bridge(at.before, at.after, order)
    left, right = _kron(left[..., None, :], eye), _kron(right[..., None, :], eye)
    i, j = at.left, at.left + 1
    mean = left @ states.mean[i] + right @ states.mean[j]
    mixed = left @ states.cross[i] @ np.swapaxes(right, -1, -2)
    covariance = left @ states.covariance[i] @ np.swapaxes(left, -1, -2)
    covariance += right @ states.covariance[j] @ np.swapaxes(right, -1, -2)
    covariance += mixed + np.swapaxes(mixed, -1, -2) + rest[..., None, None] * density
    return mean, 0.5 * (covariance + np.swapaxes(covariance, -1, -2))


def _coupled(
    step: Floats, observed: Floats, motion: Motion, at: Instants, noise: Floats
) -> tuple[Floats, Floats]:
    """Smooth the axes that move together; an axis that never moves keeps its noise as it is."""
    moving, still = principal_axes(motion.density)
    mean = observed[at.left] @ still @ still.T
    covariance = still @ (still.T @ noise[at.left] @ still) @ still.T
    if moving.shape[1]:
        unit = float(np.median(step))
        density = unit ** (2 * motion.order - 1) * (moving.T @ motion.density @ moving)
        seen, spread = observed @ moving, moving.T @ noise @ moving
        chain = coupled_chain(step / unit, seen, motion.order, density, spread)
        part, spread = _between(smoothed(chain), at.in_units(unit), motion.order, density)
        mean = mean + part[..., 0] @ moving.T
        covariance = covariance + moving @ spread @ moving.T
    return mean, covariance


def principal_axes(density: Floats) -> tuple[Floats, Floats]:
    """Orthonormal axes that move and axes that do not. (d, d) -> (d, r), (d, d - r)."""
    variance, axes = np.linalg.eigh(density)
    moves = variance > STILL * variance[-1]
    return axes[:, moves], axes[:, ~moves]


def _kron(matrix: Floats, block: Floats) -> Floats:
    """Kronecker product over leading axes. (..., a, b), (p, p) -> (..., a p, b p)."""
    if block.shape == (1, 1):
        return matrix * block[0, 0]
    product = matrix[..., :, None, :, None] * block[:, None, :]
    rows, columns = matrix.shape[-2] * block.shape[0], matrix.shape[-1] * block.shape[1]
    return product.reshape(*matrix.shape[:-2], rows, columns)
