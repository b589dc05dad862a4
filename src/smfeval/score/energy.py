"""Energy score: E|X - t|^beta - 1/2 E|X - X'|^beta, in metres for beta = 1.

Strictly proper for 0 < beta < 2 (Gneiting and Raftery 2007, section 4.3). A pose without
uncertainty scores its distance: the energy score recovers APE. Exact for Gaussians
(`maths.normal_distance`) and for weighted particles. With an uncertain reference, both terms are
those of the prediction for the reference: N(mean, S + S_ref), or the particles each with a kernel
N(0, S_ref). (S_ref in the first term only would be lowest at S + 2 S_ref, so not proper.)
"""

from collections.abc import Iterator
from math import prod

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.chord_distance import expected_length
from smfeval.maths.normal_distance import central_distance, energy_score, expected_distance
from smfeval.maths.special import erf
from smfeval.score.residuals import Ensemble, Residuals

PAIRS_AT_ONCE = 65_536  # distances held at a time: 0.5 MB, which stays in the cache
ROWS_AT_ONCE = 64  # particles of a strip; among themselves they are paired twice
NEAR = 1e-3  # of |x_i|^2 + |x_j|^2: the Gram identity has three digits less for nearer pairs
FEW = 1 / 16  # share of near pairs up to which they are looked up one by one
SPACE = 3  # dimensions up to which expected distances are exact to 1e-9; beyond, to 3e-5
ALONE = 1e-300  # weight of all other pairs below this: one particle holds everything


def ape(error: Floats) -> Floats:
    """Absolute position error |e|, what trajectory tools report. (..., d) -> (...)."""
    return np.sqrt(np.einsum("...i,...i->...", error, error))


def check_beta(beta: float) -> None:
    """Refuse powers for which the energy score is not strictly proper."""
    if not 0 < beta < 2:
        raise OptionError(f"beta must be between 0 and 2, not {words.exact(beta)}")


def energy(residuals: Residuals, *, beta: float = 1.0, unbiased: bool = False) -> Floats:
    """Energy score of any belief. (n,)."""
    check_beta(beta)
    if residuals.ensemble is not None:
        return _particles(residuals.ensemble, residuals.noise, beta, unbiased=unbiased)
    if residuals.covariance is None:
        return ape(residuals.error) ** beta
    return energy_score(residuals.error, residuals.predicted_covariance, beta=beta)


def _particles(ensemble: Ensemble, noise: Floats | None, beta: float, *, unbiased: bool) -> Floats:
    """sum p_i |x_i - t|^beta - 1/2 sum p_i p_j |x_i - x_j|^beta.

    The second term counts each particle's pair with itself. The unbiased form leaves those out and
    divides by the weight of the others, so that a small sample of the true belief scores as the
    belief does, on average.
    """
    spread = _spread(ensemble, noise, beta, with_itself=not unbiased)
    own = None if noise is None else np.repeat(noise, ensemble.count, axis=0)
    distance = _distance(ensemble.difference, own, beta)
    return ensemble.sum(ensemble.probability * distance) - 0.5 * spread


def _distance(difference: Floats, covariance: Floats | None, beta: float) -> Floats:
    if covariance is None:
        return ape(difference) ** beta
    if difference.shape[-1] == 1 and beta == 1:
        return _folded_normal_mean(difference[..., 0], np.sqrt(covariance[..., 0, 0]))
    if difference.shape[-1] > SPACE:
        d = difference.shape[-1]
        flat = expected_length(difference.reshape(-1, d), covariance.reshape(-1, d, d), beta=beta)
        return flat.reshape(difference.shape[:-1])
    return expected_distance(difference, covariance, beta=beta)


def _folded_normal_mean(mean: Floats, sigma: Floats) -> Floats:
    """E|Y| of Y ~ N(mean, sigma^2) in one dimension: the folded normal distribution."""
    z = mean / sigma
    return sigma * np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z) + mean * erf(z / np.sqrt(2))


def _spread(ensemble: Ensemble, noise: Floats | None, beta: float, *, with_itself: bool) -> Floats:
    """Mean of |x_i - x_j|^beta over pairs of particles of a scan, by their weights. (n,).

    Where one particle holds all the weight there is no other pair; its own is kept.
    """
    if ensemble.difference.shape[1] == 1 and beta == 1 and noise is None:
        others = sorted_spread(ensemble, 0)
    else:
        apart = ensemble.distinct if noise is None else ensemble
        others = _distances_between(apart, noise, beta)
    itself = 0.0 if noise is None else _distance_of_noise(2 * noise, beta)
    if with_itself:
        return others + itself * ensemble.sum(ensemble.probability**2)
    weight = _weight_of_others(ensemble)
    alone = weight < ALONE
    return np.where(alone, itself, others / np.where(alone, 1.0, weight))


def _distance_of_noise(covariance: Floats, beta: float) -> Floats:
    """E|Z|^beta of Z ~ N(0, covariance). (n, d, d) -> (n,)."""
    if covariance.shape[-1] > SPACE:
        return expected_length(None, covariance, beta=beta)
    return central_distance(covariance, beta=beta)


def _weight_of_others(ensemble: Ensemble) -> Floats:
    """sum over i and j != i of p_i p_j = 1 - sum p^2, without cancellation. (n,)."""
    p, start = ensemble.probability, ensemble.offset[:-1]
    order = np.lexsort((p, np.repeat(np.arange(len(start)), ensemble.count)))
    p = p[order]
    largest = p[ensemble.offset[1:] - 1]
    p[ensemble.offset[1:] - 1] = 0.0
    rest = ensemble.sum(p)
    return 2 * largest * rest + (rest**2 - ensemble.sum(p**2))


def _distances_between(ensemble: Ensemble, noise: Floats | None, beta: float) -> Floats:
    """Sum over i and j != i of p_i p_j E|x_i - x_j|^beta, in strips of bounded size. (n,).

    Scans with equally many particles go together; of a scan with many, strip by strip.
    """
    total = np.empty(len(ensemble.count))
    for scans, row in ensemble.groups_by_count(scans_at_once):
        x, p = ensemble.difference[row], ensemble.probability[row]
        if noise is None:
            x, p, about_mean = _outermost_first(x, p)
            strips = _distances(x, about_mean, beta)
        else:
            strips = _blurred_distances(x, 2 * noise[scans], beta)
        part = np.zeros(len(scans))
        for i, j, distance in strips:
            weight = 2 * p[:, j, None]
            weight[:, : i.stop - i.start] /= 2  # of these, (i, j) and (j, i) are both there
            part += (p[:, None, i] @ (distance @ weight))[:, 0, 0]
        total[scans] = part
    return total


def scans_at_once(size: int) -> int:
    """Scans of so many particles whose longest strips of pairs fit in memory together."""
    return max(1, PAIRS_AT_ONCE // (size * min(size, ROWS_AT_ONCE)))


def pair_strips(size: int) -> Iterator[tuple[slice, slice]]:
    """Some particles, i, with those from the first of them on, j: all pairs in few strips.

    Pairs among the first few are there as (i, j) and (j, i), all others once.
    """
    start = 0
    while start < size:
        rows = max(1, min(ROWS_AT_ONCE, PAIRS_AT_ONCE // (size - start)))
        stop = min(start + rows, size)
        yield slice(start, stop), slice(start, size)
        start = stop


def _outermost_first(x: Floats, p: Floats) -> tuple[Floats, Floats, Floats]:
    """Particles by falling distance from the mean: x, p, x - mean. (n, m, d), (n, m), (n, m, d)."""
    about_mean = x - p[:, None, :] @ x
    order = np.argsort(-np.einsum("nid,nid->ni", about_mean, about_mean), axis=1)
    rows = np.arange(len(x))[:, None], order
    return x[rows], p[rows], about_mean[rows]


def _distances(x: Floats, about_mean: Floats, beta: float) -> Iterator[tuple[slice, slice, Floats]]:
    """|x_i - x_j|^beta, strip by strip in the same memory. (n, m, d) -> (n, a, b) each.

    The squares are |x_i|^2 + |x_j|^2 - 2 x_i . x_j about the mean, and where these cancel (`NEAR`)
    sums of squared differences. The outermost come first, so no j is farther out than the first i.
    """
    left, right = gram_factors(about_mean)
    room, other_room = strip_room(x.shape[1]), strip_room(x.shape[1])
    for i, j in pair_strips(x.shape[1]):
        square = multiply_strip(left[:, i], right[:, :, j], room)
        itself = np.einsum("nii->ni", square[:, :, : square.shape[1]])
        itself[...] = np.inf
        near = square < 2 * NEAR * left[:, i.start, -2, None, None]
        if near.any():
            _measure(square, near, x[:, i], x[:, j], other_room)
        itself[...] = 0.0
        yield i, j, np.sqrt(square, out=square) if beta == 1 else square ** (beta / 2)


def gram_factors(x: Floats) -> tuple[Floats, Floats]:
    """(x_i, |x_i|^2, 1) and (-2 x_j, 1, |x_j|^2), whose product is |x_i - x_j|^2.

    (n, m, d) -> (n, m, d + 2), (n, d + 2, m).
    """
    square = np.einsum("nid,nid->ni", x, x)[..., None]
    left = np.concatenate([x, square, np.ones_like(square)], axis=2)
    right = np.concatenate([-2 * x, np.ones_like(square), square], axis=2)
    return left, np.ascontiguousarray(right.swapaxes(1, 2))


def strip_room(size: int) -> Floats:
    """Memory for a strip of pairs, asked for once and not with every strip."""
    return np.empty(max(PAIRS_AT_ONCE, size))


def multiply_strip(left: Floats, right: Floats, room: Floats) -> Floats:
    """Their product in the memory given (`strip_room`). (n, a, k), (n, k, b) -> (n, a, b)."""
    shape = len(left), left.shape[1], right.shape[2]
    return np.matmul(left, right, out=room[: prod(shape)].reshape(shape))


def _measure(square: Floats, near: Bools, one: Floats, other: Floats, room: Floats) -> None:
    """Sums of squared differences where pairs are near: of the whole strip if many are."""
    if np.count_nonzero(near) > FEW * near.size:
        square[...] = 0.0
        apart = room[: square.size].reshape(square.shape)
        for axis in range(one.shape[-1]):
            np.subtract(one[:, :, None, axis], other[:, None, :, axis], out=apart)
            square += np.multiply(apart, apart, out=apart)
    else:
        pair = np.flatnonzero(near)
        scan, i, j = np.unravel_index(pair, near.shape)
        apart = one[scan, i] - other[scan, j]
        square.reshape(-1)[pair] = np.einsum("pd,pd->p", apart, apart)


def _blurred_distances(
    x: Floats, noise: Floats, beta: float
) -> Iterator[tuple[slice, slice, Floats]]:
    """E|x_i - x_j + e|^beta, e ~ N(0, noise), zero for i = j: kernels keep none from itself."""
    for i, j in pair_strips(x.shape[1]):
        apart = x[:, i, None, :] - x[:, None, j, :]
        both = np.broadcast_to(noise[:, None, None], (*apart.shape, apart.shape[-1]))
        distance = _distance(apart, both, beta)
        distance[:, np.arange(apart.shape[1]), np.arange(apart.shape[1])] = 0.0
        yield i, j, distance


def sorted_spread(ensemble: Ensemble, axis: int) -> Floats:
    """sum p_i p_j |x_i - x_j| = 2 sum over gaps of (x_k+1 - x_k) F_k (1 - F_k) on an axis. (n,)."""
    order = ensemble.ascending_by_axis[axis]
    x, p = ensemble.difference[order, axis], ensemble.probability[order]
    below = np.cumsum(p)
    below -= np.repeat(below[ensemble.offset[:-1]] - p[ensemble.offset[:-1]], ensemble.count)
    gap = np.append(np.diff(x), 0.0)
    gap[ensemble.offset[1:] - 1] = 0.0
    return 2 * ensemble.sum(gap * below * (1 - below))
