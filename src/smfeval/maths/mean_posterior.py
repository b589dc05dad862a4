"""How far may the mean of a dependent series be from the truth? A mixture of t distributions.

Each model of `spectra` gives, from the low cosines y, a scale (q degrees of freedom, with the usual
1 / sigma^2 weight on it) and hence a t distribution for the mean; its likelihood says how much the
model counts. The mixture carries the doubt about the memory into the interval, which a single estimate
of the long-run variance does not (Mueller and Watson 2017 build on the same likelihood).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.cosines import cosines
from smfeval.maths.spectra import spectra

BAND = 24  # cosines; fewer lose the memory in their own noise, more meet what is not slow
BISECTIONS = 40  # of a bracket of a few standard errors: to the last digits that matter


@dataclass(frozen=True)
class MeanPosterior:
    """Distribution of (true mean - series mean): weights, centres and scales, (..., G).

    `variance` (...) is the typical (geometric mean) variance of the series mean.
    """

    weight: Floats
    centre: Floats
    scale: Floats
    degrees: int
    variance: Floats

    def cdf(self, offset: Floats) -> Floats:
        """Probability that true mean - series mean is at most `offset`. (...) -> (...)."""
        t = (offset[..., None] - self.centre) / self.scale
        return np.einsum("...g,...g->...", self.weight, stdtr(self.degrees, t))

    def quantile(self, probability: float) -> Floats:
        """Offset with the given probability below it, by bisection. -> (...)."""
        reach = np.max(np.abs(self.centre) + self.scale, axis=-1) * _furthest(
            min(probability, 1 - probability), self.degrees
        )
        low, high = -reach, reach
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            under = self.cdf(middle) < probability
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return (low + high) / 2


def mean_posterior(series: Floats | Bools) -> MeanPosterior:
    """Posterior of the mean of a stationary series that is not constant. (..., n) -> (...)."""
    n = series.shape[-1]
    degrees = min(BAND, n // 2)
    y, models = cosines(series, degrees), spectra(degrees)

    square = y**2 @ models.precision.T
    for pull, gain in zip(models.pull, models.gain, strict=True):
        square += gain * (y @ pull.T) ** 2

    log_weight = models.log_weight - models.log_determinant / 2 - degrees / 2 * np.log(square)
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)

    size = square / degrees / n
    log_variance = np.log(size * models.variance)
    return MeanPosterior(
        weight=weight,
        centre=-(y @ models.regression.T) / np.sqrt(n),
        scale=np.sqrt(size * models.residual),
        degrees=degrees,
        variance=np.exp(np.einsum("...g,...g->...", weight, log_variance)),
    )


def _furthest(tail: float, degrees: int) -> float:
    """A t value, a power of two, beyond which less than the tail probability is left."""
    reach = 2.0
    while stdtr(degrees, -reach) > tail / 2:
        reach *= 2
    return reach


def effective_samples(variance: Floats, mean_variance: Floats) -> Floats:
    """Independent samples whose mean would vary as much. (...), (...) -> (...).

    The sample variance of a dependent series misses the variance of its own mean; it is added back:
    (variance + mean_variance) / mean_variance.
    """
    return 1 + variance / mean_variance
