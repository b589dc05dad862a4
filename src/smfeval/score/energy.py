"""Energy score: E|X - t|^beta - 1/2 E|X - X'|^beta, in metres for beta = 1.

Strictly proper for 0 < beta < 2 (Gneiting and Raftery 2007, section 4.3). A pose without
uncertainty scores its distance: the energy score recovers APE. Exact for Gaussians
(`maths.normal_distance`) and for weighted particles. With an uncertain reference, both terms are
those of the prediction for the reference: N(mean, S + S_ref), or the particles each with a kernel
N(0, S_ref). (S_ref in the first term only would be lowest at S + 2 S_ref, so not proper.)
"""

from collections.abc import Iterator

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.normal_distance import energy_score, expected_distance
from smfeval.maths.special import erf
from smfeval.score.ape import ape
from smfeval.score.residuals import Ensemble, Residuals

PAIRS_AT_ONCE = 2_000_000  # distances between particles held at a time
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
    return expected_distance(difference, covariance, beta=beta)


def _folded_normal_mean(mean: Floats, sigma: Floats) -> Floats:
    """E|Y| of Y ~ N(mean, sigma^2) in one dimension: the folded normal distribution."""
    z = mean / sigma
    return sigma * np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z) + mean * erf(z / np.sqrt(2))


def _spread(ensemble: Ensemble, noise: Floats | None, beta: float, *, with_itself: bool) -> Floats:
    """Mean of |x_i - x_j|^beta over pairs of particles of a scan, by their weights. (n,)."""
    spread = np.empty(len(ensemble.count))
    for scans, size in _groups_by_count(ensemble.count):
        row = ensemble.offset[scans][:, None] + np.arange(size)
        x, p = ensemble.difference[row], ensemble.probability[row]
        apart = x[:, :, None, :] - x[:, None, :, :]
        both = None if noise is None else 2 * noise[scans][:, None, None]
        both = None if both is None else np.broadcast_to(both, (*apart.shape, apart.shape[-1]))
        weight = p[:, :, None] * p[:, None, :]
        if not with_itself:
            weight = _distinct_pair_weights(weight)
        spread[scans] = np.einsum("nij,nij->n", weight, _distance(apart, both, beta))
    return spread


def _distinct_pair_weights(weight: Floats) -> Floats:
    """Weights of pairs without those of a particle with itself, summing to one. (n, m, m).

    Where one particle holds all the weight there is no other pair; its own is kept.
    """
    others = weight * ~np.eye(weight.shape[-1], dtype=np.bool_)
    total = others.sum(axis=(1, 2), keepdims=True)
    alone = total < ALONE
    return np.where(alone, weight, others / np.where(alone, 1.0, total))


def _groups_by_count(count: Ints) -> Iterator[tuple[Ints, int]]:
    """Scans with equally many particles, in groups that fit in memory."""
    for size in np.unique(count):
        scans = np.flatnonzero(count == size)
        step = max(1, PAIRS_AT_ONCE // int(size) ** 2)
        for start in range(0, len(scans), step):
            yield scans[start : start + step], int(size)
