"""What the NEES of an honest belief looks like."""

import numpy as np
from scipy.special import chdtri, fdtri

from smfeval.maths.arrays import Floats
from smfeval.score import Residuals
from smfeval.score.pit import effective_particles


def honest_quantile(residuals: Residuals, share: float) -> Floats:
    """The NEES below which an honest belief stays with probability `share`. (n,).

    Chi-squared for Gaussians; (K + 1) d / (K - d) F(d, K - d) for K effective particles.
    """
    d, particles = residuals.dimension, effective_particles(residuals)
    if particles is None:
        return np.full(len(residuals), chdtri(d, 1 - share))
    stretch = (particles + 1) * d / (particles - d)
    return stretch * np.asarray(fdtri(d, particles - d, share), dtype=np.float64)
