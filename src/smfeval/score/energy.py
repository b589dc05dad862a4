"""Energy score: E|X - t|^beta - 1/2 E|X - X'|^beta, in metres for beta = 1.

Strictly proper for 0 < beta < 2 (Gneiting and Raftery 2007, section 4.3). A pose without
uncertainty scores its distance: the energy score recovers APE. Exact for Gaussians
(`maths.normal_distance`) and for weighted particles. With an uncertain reference, both terms are
those of the prediction for the reference: N(mean, S + S_ref), or the particles each with a kernel
N(0, S_ref). (S_ref in the first term only would be lowest at S + 2 S_ref, so not proper.)
"""

from collections.abc import Iterator
from math import isqrt, prod

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats, Ints, distinct
from smfeval.maths.chord_distance import expected_length
from smfeval.maths.normal_distance import central_distance, energy_score, expected_distance
from smfeval.maths.special import erf
from smfeval.score.ape import ape
from smfeval.score.residuals import Ensemble, Residuals

PAIRS_AT_ONCE = 131_072  # distances held at a time: 1 MB, which stays in the cache
SPACE = 3  # dimensions up to which expected distances are exact to 1e-9; beyond, to 3e-5
ALONE = 1e-300  # weight of all other pairs below this: one particle holds everything


def energy(residuals: Residuals, *, beta: float = 1.0, unbiased: bool = False) -> Floats:
    """Energy score of any belief. (n,)."""
    if not 0 < beta < 2:
        raise OptionError(f"beta must be between 0 and 2, not {words.exact(beta)}")
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
        others = sorted_spread(ensemble, ensemble.difference[:, 0])
    else:
        others = _distances_between(ensemble, noise, beta)
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
    """Sum over i and j != i of p_i p_j E|x_i - x_j|^beta, in blocks of bounded size. (n,).

    Scans with equally many particles go together; of a scan with many, block by block.
    """
    total = np.zeros(len(ensemble.count))
    for scans, size in _groups_by_count(ensemble.count):
        row = ensemble.offset[scans][:, None] + np.arange(size)
        x, p = ensemble.difference[row], ensemble.probability[row]
        both = None if noise is None else 2 * noise[scans]
        room = pair_room(len(scans), size)
        for i, j in pair_blocks(size):
            distance = _block_distances(x[:, i], x[:, j], both, beta, room)
            if i == j:  # kernels keep a particle from itself, and only other pairs count
                distance[:, np.arange(distance.shape[1]), np.arange(distance.shape[1])] = 0.0
            part = np.einsum("ni,ni->n", p[:, i], (distance @ p[:, j, None])[..., 0])
            total[scans] += part if i == j else 2 * part
    return total


def _block_distances(
    one: Floats, other: Floats, noise: Floats | None, beta: float, room: Floats
) -> Floats:
    """E|x_i - x_j + noise|^beta. (n, a, d), (n, b, d), (n, d, d) -> (n, a, b)."""
    if noise is not None:
        apart = one[:, :, None, :] - other[:, None, :, :]
        both = np.broadcast_to(noise[:, None, None], (*apart.shape, apart.shape[-1]))
        return _distance(apart, both, beta)
    square = squares_apart(one, other, room)
    return np.sqrt(square, out=square) if beta == 1 else square ** (beta / 2)


def pair_room(scans: int, size: int) -> Floats:
    """Memory for the squares of a block of pairs, asked for once and not with every block."""
    return np.empty((2, scans * _block_size(size) ** 2))


def squares_apart(one: Floats, other: Floats, room: Floats) -> Floats:
    """|x_i - x_j|^2 in the memory given (`pair_room`). (n, a, d), (n, b, d) -> (n, a, b)."""
    shape = len(one), one.shape[1], other.shape[1]
    square, apart = (each[: prod(shape)].reshape(shape) for each in room)
    square[...] = 0.0
    for axis in range(one.shape[-1]):
        np.subtract(one[:, :, None, axis], other[:, None, :, axis], out=apart)
        square += np.multiply(apart, apart, out=apart)
    return square


def _groups_by_count(count: Ints) -> Iterator[tuple[Ints, int]]:
    """Scans with equally many particles, in groups that fit in memory."""
    for size in distinct(count):
        scans = np.flatnonzero(count == size)
        step = max(1, PAIRS_AT_ONCE // int(size) ** 2)
        for start in range(0, len(scans), step):
            yield scans[start : start + step], int(size)


def _block_size(size: int) -> int:
    """Particles on either side of a block."""
    return min(size, max(1, isqrt(PAIRS_AT_ONCE)))


def pair_blocks(size: int) -> Iterator[tuple[slice, slice]]:
    """Pairs of slices that together hold each pair of particles once, the diagonal ones first."""
    step = _block_size(size)
    parts = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    for at, part in enumerate(parts):
        for other in parts[at:]:
            yield part, other


def sorted_spread(ensemble: Ensemble, x: Floats) -> Floats:
    """sum p_i p_j |x_i - x_j| = 2 sum over gaps of (x_k+1 - x_k) F_k (1 - F_k). (n,)."""
    scan = np.repeat(np.arange(len(ensemble.count)), ensemble.count)
    order: Ints = np.lexsort((x, scan))
    x, p = x[order], ensemble.probability[order]
    below = np.cumsum(p)
    below -= np.repeat(below[ensemble.offset[:-1]] - p[ensemble.offset[:-1]], ensemble.count)
    gap = np.append(np.diff(x), 0.0)
    gap[ensemble.offset[1:] - 1] = 0.0
    return 2 * ensemble.sum(gap * below * (1 - below))
