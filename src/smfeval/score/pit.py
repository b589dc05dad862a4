"""Probability integral transform: which probability an honest belief gives to errors this small.

Gaussians: the chi-squared distribution of the NEES. Particles: the rank of the reference among them
(`score.ranks`), whatever the shape of the cloud. Uniform on (0, 1) if honest; the share of scans at
or below p is the coverage at level p.

The NEES of particles, by their second moments, is shown beside it. Their sample covariance is
itself uncertain, so the NEES of K honest Gaussian particles in d dimensions is not chi-squared but
(K + 1) d / (K - d) F(d, K - d) (Hotelling 1931); K is Kish's effective number, 1 / sum p^2. With an
uncertain reference, the chi-squared distribution is used, under S + S_ref.
"""

import numpy as np

from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.score.ranks import density_ranks
from smfeval.score.residuals import Residuals

FEWEST_MORE = 4  # than axes, must the particles be for a mean NEES that means something


def pit(residuals: Residuals, *, seed: int) -> Floats:
    """How far out the reference lies in the belief: 0 at its centre, 1 far outside. (n,).

    Chance, of the seed, spreads the ranks of particles.
    """
    if residuals.ensemble is not None:
        rng = np.random.default_rng(seed)
        return density_ranks(residuals.ensemble, residuals.noise, rng=rng)
    return normal.probability_within(residuals.likelihood_terms.nees, residuals.dimension)


def relative_nees(residuals: Residuals, nees: Floats, pit: Floats) -> Floats:
    """NEES over the median of an honest belief; its median over the scans is k. (n,).

    Of particles, the NEES with which a Gaussian would have the reference as far out: the
    chi-squared quantile of the rank.
    """
    median = chi_squared_tail_quantile(residuals.dimension, 0.5)
    if residuals.ensemble is None:
        return nees / median
    from scipy.special import gammaincinv  # noqa: PLC0415  slow to import, for particles only

    return np.asarray(2 * gammaincinv(residuals.dimension / 2, pit) / median, dtype=np.float64)


def honest_quantile(residuals: Residuals, share: float) -> Floats:
    """The NEES below which an honest belief of this kind stays with probability `share`. (n,)."""
    d, particles = residuals.dimension, effective_particles(residuals)
    if particles is None:
        return np.broadcast_to(chi_squared_tail_quantile(d, 1 - share), len(residuals))
    from scipy.special import fdtri  # noqa: PLC0415

    return _hotelling_factor(particles, d) * fdtri(d, particles - d, share)


def honest_median(residuals: Residuals) -> Floats:
    """The median NEES of an honest belief of this kind; 2.366 for Gaussians in space. (n,)."""
    return honest_quantile(residuals, 0.5)


def effective_particles(residuals: Residuals) -> Floats | None:
    """Kish's number of particles, at least d + 1; None where the law is chi-squared. (n,)."""
    ensemble = residuals.ensemble
    if ensemble is None or residuals.noise is not None:
        return None
    return np.maximum(1 / ensemble.sum(ensemble.probability**2), residuals.dimension + 1.0)


def mean_of_sampled(particles: Floats, d: int) -> Floats:
    """The mean NEES of honest particles over d: 1 where they are many. (n,).

    (K + 1) / (K - d - 2), that of the law above; its variance exists for K > d + `FEWEST_MORE`.
    """
    return (particles + 1) / (particles - d - 2)


def _hotelling_factor(particles: Floats, d: int) -> Floats:
    return (particles + 1) * d / (particles - d)
