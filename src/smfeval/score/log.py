"""Logarithmic score: minus the log density of the reference under the belief, in nats.

LS = 1/2 e^T S^-1 e  +  1/2 log det S  +  d/2 log 2 pi
     consistency        sharpness

Strictly proper (Good 1952; Gneiting and Raftery 2007). Particles have no density; theirs is the
log score of a weighted Gaussian kernel density with Silverman's bandwidth, only where asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.score.residuals import Ensemble, Residuals


def log_score(error: ArrayLike, covariance: ArrayLike) -> Floats:
    """Log score of the belief N(t + error, S): minus its log density at the reference t.

    Parameters
    ----------
    error : (..., d)
        Mean of the belief minus reference; d = 1 to 6.
    covariance : (..., d, d)
        S, positive definite. With an uncertain reference pass S + S_ref.

    Returns
    -------
    (...)
        In nats; lower is better.
    """
    terms = normal.likelihood_terms(error, covariance)
    return -normal.log_density(terms, np.shape(error)[-1])


def log_score_of(residuals: Residuals) -> Floats:
    """Log score of any belief: of normal ones, or of a kernel density of particles. (n,)."""
    if residuals.ensemble is not None:
        return kernel_log_score(residuals)
    return -normal.log_density(residuals.likelihood_terms, residuals.dimension)


def consistency(residuals: Residuals) -> Floats:
    """The part of the log score that the error decides: NEES / 2. (n,)."""
    return 0.5 * residuals.likelihood_terms.nees


def sharpness(residuals: Residuals) -> Floats:
    """The part that the covariance alone decides: log det S / 2. (n,)."""
    return 0.5 * residuals.likelihood_terms.logdet


def kernel_log_score(residuals: Residuals) -> Floats:
    """Log score of a kernel density of the particles. (n,).

    Kernels N(x_i, h^2 S + S_ref) with S the sample covariance and Silverman's factor
    h = (4 / ((d + 2) n_eff))^(1 / (d + 4)), n_eff = 1 / sum p^2.
    """
    ensemble = residuals.ensemble
    if ensemble is None or residuals.covariance is None:
        raise ValueError("a kernel density needs particles")
    d = residuals.dimension
    kernel = bandwidth(ensemble, d)[:, None, None] ** 2 * residuals.covariance
    kernel = kernel if residuals.noise is None else kernel + residuals.noise
    fit = normal.likelihood_terms(ensemble.difference, np.repeat(kernel, ensemble.count, axis=0))
    with np.errstate(divide="ignore"):  # a particle of weight zero has log weight -inf
        term = np.log(ensemble.probability) + normal.log_density(fit, d)
    largest = np.maximum.reduceat(term, ensemble.offset[:-1])
    total = ensemble.sum(np.exp(term - np.repeat(largest, ensemble.count)))
    return -(largest + np.log(total))


def bandwidth(ensemble: Ensemble, dimension: int) -> Floats:
    """Silverman's factor for each scan, with Kish's effective number of particles. (n,)."""
    effective = 1 / ensemble.sum(ensemble.probability**2)
    return (4 / ((dimension + 2) * effective)) ** (1 / (dimension + 4))
