"""How far may the mean of a dependent series be from the truth? A mixture of t distributions.

Each model of `spectra` gives, from the low cosines y, a scale (q degrees of freedom, with the usual
1 / sigma^2 weight on it) and hence a t distribution for the mean; its likelihood says how much the
model counts. The mixture carries the doubt about the memory into the interval, which a single
estimate of the long-run variance does not (compare Mueller and Watson, "Measuring uncertainty about
long-run predictions", Review of Economic Studies 83, 2016).
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.cosines import cosines_of_sums, neighbour_sums
from smfeval.maths.special import t_quantile
from smfeval.maths.spectra import spectra
from smfeval.maths.student import t_cdf, t_density

BAND = 24  # cosines; fewer lose the memory in their own noise, more meet what is not slow
PRECISION = 1e-8  # of the standard error; a step of Newton's after it squares that
MOST_STEPS = 60  # halving alone would need 40
NOTHING = 1e-200  # a constant series gets a distribution of no width, and no division by zero


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
        return np.einsum("...g,...g->...", self.weight, t_cdf(self.degrees, t))

    def density(self, offset: Floats) -> Floats:
        """Derivative of the cdf. (...) -> (...)."""
        t = (offset[..., None] - self.centre) / self.scale
        each = t_density(self.degrees, t) / self.scale
        return np.einsum("...g,...g->...", self.weight, each)

    def quantile(self, probability: float) -> Floats:
        """Offset with the given probability below it. -> (...)."""
        return self.quantiles(probability)[0]

    def quantiles(self, *probabilities: float) -> Floats:
        """Offsets for some probabilities: Newton's steps, halving where they leave.

        -> (probabilities, ...). The start is the mean of the quantiles of the single distributions.
        """
        low, high = _bracket(self, min(min(p, 1 - p) for p in probabilities))
        upright = (len(probabilities),) + (1,) * self.variance.ndim
        probability = np.reshape(probabilities, upright)
        single = np.reshape([t_quantile(self.degrees, p) for p in probabilities], (*upright, 1))
        each = self.centre + self.scale * single
        offset = np.einsum("...g,...g->...", self.weight, each)
        enough = PRECISION * np.sqrt(self.variance)
        for _ in range(MOST_STEPS):
            above = self.cdf(offset) - probability
            low, high = np.where(above < 0, offset, low), np.where(above < 0, high, offset)
            next_offset = offset - above / self.density(offset)
            inside = (low <= next_offset) & (next_offset <= high)
            next_offset = np.where(inside, next_offset, (low + high) / 2)
            moved, offset = np.abs(next_offset - offset), next_offset
            if (moved <= enough).all():
                break
        return offset


def mean_posterior(series: Floats | Bools) -> MeanPosterior:
    """Posterior of the mean of a stationary series. (..., n) -> (...)."""
    return posterior_of_sums(neighbour_sums(series), series.shape[-1])


def posterior_of_sums(sums: Floats, n: int) -> MeanPosterior:
    """The same from the sums over neighbours of a series of n scans. (..., m) -> (...)."""
    degrees = min(BAND, n // 2)
    y, models = cosines_of_sums(sums, n, degrees), spectra(degrees)

    square = y**2 @ models.precision.T
    for pull, gain in zip(models.pull, models.gain, strict=True):
        square += gain * (y @ pull.T) ** 2
    square = np.maximum(square, NOTHING)

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


def _bracket(posterior: MeanPosterior, tail: float) -> tuple[Floats, Floats]:
    """Two offsets, beyond either of which less than the tail probability is left."""
    reach = -t_quantile(posterior.degrees, tail) + 1
    low = np.min(posterior.centre - reach * posterior.scale, axis=-1)
    return low, np.max(posterior.centre + reach * posterior.scale, axis=-1)


def effective_samples(variance: Floats, mean_variance: Floats) -> Floats:
    """Independent samples whose mean would vary as much. (...), (...) -> (...).

    The sample variance of a dependent series misses the variance of its own mean; it is added back:
    (variance + mean_variance) / mean_variance.
    """
    return 1 + variance / mean_variance
