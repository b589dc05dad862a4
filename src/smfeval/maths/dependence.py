"""How far may the mean of a dependent series be from the truth? A mixture of t distributions.

Each model of `spectra` gives, from the low cosines y, a scale (q degrees of freedom, with the usual
1 / sigma^2 weight on it) and hence a t distribution for the mean; its likelihood says how much the
model counts. The mixture carries the doubt about the memory into the interval, which a single
estimate of the long-run variance does not (compare Mueller and Watson, "Measuring uncertainty about
long-run predictions", Review of Economic Studies 83, 2016).
"""

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats, quantile_of, read_only
from smfeval.maths.special import t_cdf, t_density, t_quantile
from smfeval.maths.symmetric import CHUNK

MEMORY_MIN = 2.2  # memory times in the series; fewer cannot be told from a random walk
MEMORY_MAX = 1000.0  # all longer series look like white noise in the band
MEMORY_STEPS = 26
MEMORY_TILT = 0.3  # weight ~ c^-tilt: a long memory is doubted less than the data alone would
MEMORY_FLAT = 60.0  # beyond this the band is flat ..
FLAT_SHARE = 0.5  # .. and this is the share of all fading memories that are flat
NOISE = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # of the spectrum at zero frequency
NOISE_WEIGHT = np.array([1, 1, 1, 1, 1, 0.5, 0.2])

DRIFT_SHARE = 0.1
DRIFT = np.geomspace(2, 60, 7)  # c, as above
DRIFT_NOISE = np.array([0.0, 1e-4, 1e-3, 1e-2])

RESONANCE_SHARE = 0.25
RESONANCE_STEPS = 14
RESONANCE_FIRST = 4  # half waves over the series; a slower oscillation is a drift
DAMPING = np.array([0.05, 0.1, 0.2, 0.35])
RESONANCE_NOISE = np.array([0.0, 0.3, 1.0, 3.0])


@dataclass(frozen=True)
class Spectra:
    """Covariances of the q cosines y and of the mean's error e, for G models up to their scale.

    The covariance of y is diag(spectrum) - sum over parities of tilt_p v_p v_p^T. Kept is what the
    likelihood and the regression of e on y need.

    Attributes
    ----------
    precision
        1 / spectrum, (G, q).
    pull
        v_p / spectrum for the even and for the odd cosines, zero elsewhere, (2, G, q).
    gain
        tilt_p / (1 - tilt_p v_p^T diag(spectrum)^-1 v_p), (2, G).
    log_determinant
        Of the covariance of y, (G,).
    regression
        Cov(e, y) Cov(y)^-1, (G, q).
    residual
        Variance of e given y, (G,).
    variance
        Variance of e: what the mean of the series varies by, times n, (G,).
    log_weight
        Logarithm of the weight before the data are seen, (G,).
    """

    precision: Floats
    pull: Floats
    gain: Floats
    log_determinant: Floats
    regression: Floats
    residual: Floats
    variance: Floats
    log_weight: Floats


@lru_cache(maxsize=32)
def spectra(count: int) -> Spectra:
    """All models for a band of `count` cosines."""
    kinds = _fading_models(count), _drift_models(count), _resonance_models(count)
    axis = {"pull": 1, "gain": 1}
    parts = {
        name: np.concatenate([getattr(kind, name) for kind in kinds], axis.get(name, 0))
        for name in Spectra.__dataclass_fields__
    }
    return Spectra(**parts)


def _fading_models(count: int) -> Spectra:
    """Every memory with every noise."""
    steps = np.geomspace(MEMORY_MIN, MEMORY_MAX, MEMORY_STEPS)
    c, relative = (a.ravel() for a in np.meshgrid(steps, NOISE, indexing="ij"))
    mean = 2 / c  # k_0, the spectrum at zero frequency
    signal = 2 * c[:, None] / (c[:, None] ** 2 + (np.pi * np.arange(1, count + 1)) ** 2)
    noise = relative * mean
    spectrum = signal + noise[:, None]

    tilt = 0.5 * (1 - np.array([[1.0], [-1.0]]) * np.exp(-c))  # even, odd
    odd = np.arange(1, count + 1) % 2 == 1
    v = np.sqrt(2) * signal * np.stack([~odd, odd])[:, None, :]
    pull = v / spectrum
    loss = 1 - tilt * np.einsum("pgq,pgq->pg", pull, v)
    gain = tilt / loss

    variance = mean - tilt[0] * mean**2 + noise  # the mean has the parity of the even cosines
    explained = tilt[0] * mean**2 * gain[0] * np.einsum("gq,gq->g", pull[0], v[0])

    weight = np.minimum(c, MEMORY_FLAT) ** -MEMORY_TILT
    weight = weight * NOISE_WEIGHT[np.searchsorted(NOISE, relative)]
    flat = c >= MEMORY_FLAT
    weight[flat] *= FLAT_SHARE / weight[flat].sum()
    weight[~flat] *= (1 - FLAT_SHARE) / weight[~flat].sum()
    return Spectra(
        precision=1 / spectrum,
        pull=pull,
        gain=gain,
        log_determinant=np.log(spectrum).sum(axis=-1) + np.log(loss).sum(axis=0),
        regression=-(mean * gain[0])[:, None] * pull[0],
        residual=variance - explained,
        variance=variance,
        log_weight=np.log(weight * (1 - DRIFT_SHARE - RESONANCE_SHARE)),
    )


def _drift_models(count: int) -> Spectra:
    """Every drift with every noise, relative to the spectrum at zero frequency."""
    c, noise = (a.reshape(-1, 1) for a in np.meshgrid(DRIFT, DRIFT_NOISE, indexing="ij"))
    ratio = np.pi * np.arange(1, count + 1) / c
    return _independent_models(1 / (1 + ratio**2) ** 2 + noise, 1 + noise[:, 0], DRIFT_SHARE)


def _resonance_models(count: int) -> Spectra:
    """Every resonance with every damping and noise, relative to the spectrum at zero frequency."""
    steps = np.geomspace(RESONANCE_FIRST, max(1.2 * count, RESONANCE_FIRST), RESONANCE_STEPS)
    grid = np.meshgrid(steps, DAMPING, RESONANCE_NOISE, indexing="ij")
    peak, damping, noise = (a.reshape(-1, 1) for a in grid)
    ratio = np.arange(1, count + 1) / peak
    spectrum = 1 / ((1 - ratio**2) ** 2 + (2 * damping * ratio) ** 2) + noise
    return _independent_models(spectrum, 1 + noise[:, 0], RESONANCE_SHARE)


def _independent_models(spectrum: Floats, at_zero: Floats, share: float) -> Spectra:
    """Models whose cosines are taken as independent, of equal weights that sum to a share."""
    models, count = spectrum.shape
    return Spectra(
        precision=1 / spectrum,
        pull=np.zeros((2, models, count)),
        gain=np.zeros((2, models)),
        log_determinant=np.log(spectrum).sum(axis=-1),
        regression=np.zeros((models, count)),
        residual=at_zero,
        variance=at_zero,
        log_weight=np.full(models, np.log(share / models)),
    )


FINEST = (
    8192  # sums of neighbours replace scans beyond this; for 24 cosines the change is below 1e-5
)


def cosines(series: Floats | Bools, count: int) -> Floats:
    """Lowest cosine coefficients, without the mean. (..., n) -> (..., count)."""
    return cosines_of_sums(neighbour_sums(series), series.shape[-1], count)


def cosines_of_sums(sums: Floats, n: int, count: int) -> Floats:
    """The same from the sums over neighbours of a series of n scans. (..., m) -> (..., count)."""
    return sums @ _basis(n, stretch_width(n), count)


def stretch_width(n: int) -> int:
    """How many neighbours are summed in a series of n scans."""
    return -(-n // FINEST)


def neighbour_sums(series: Floats | Bools) -> Floats:
    """Sums over so many neighbours each, and over what remains. (..., n) -> (..., m).

    Of numbers the mean is taken off first: far from zero they would drown what varies.
    """
    n, width = series.shape[-1], stretch_width(series.shape[-1])
    if series.dtype == bool and width == 1:
        return series.astype(float)
    if series.dtype == bool:
        ones = series.view(np.uint8)  # narrow sums are quicker, as long as they hold the count
        enough = width <= np.iinfo(np.uint8).max
        return _sum_neighbours(ones if enough else ones.astype(np.uint32), width).astype(float)
    mean = series.mean(axis=-1, keepdims=True)
    if width == 1:
        return series - mean
    sums = np.empty((*series.shape[:-1], -(-n // width)))
    step = -(-CHUNK // width)  # stretches at once
    for first in range(0, sums.shape[-1], step):
        part = series[..., first * width : (first + step) * width] - mean
        sums[..., first : first + step] = _sum_neighbours(part, width)
    return sums


def _sum_neighbours(series: NDArray[Any], width: int) -> NDArray[Any]:
    """Sums over `width` neighbours each, and over what remains. (..., n) -> (..., m)."""
    whole = series.shape[-1] // width * width
    grouped = series[..., :whole].reshape(*series.shape[:-1], -1, width)
    sums = np.einsum("...w->...", grouped)  # over few neighbours, much faster than `sum`
    if whole == series.shape[-1]:
        return sums
    rest = np.einsum("...w->...", series[..., whole:])
    return np.concatenate([sums, rest[..., None]], axis=-1)


@lru_cache(maxsize=8)
def _basis(n: int, width: int, count: int) -> Floats:
    """Cosines at the centre of each stretch, (m, count), blind to the mean of the series."""
    edge = np.append(np.arange(0, n, width), n)
    centre = (edge[1:] + edge[:-1]) / (2 * n)
    basis = np.sqrt(2 / n) * np.cos(np.pi * np.outer(centre, np.arange(1, count + 1)))
    weight = np.diff(edge) / n
    return read_only(basis - weight @ basis)


BAND = 24  # cosines; fewer lose the memory in their own noise, more meet what is not slow
PRECISION = 1e-8  # of the standard error; a step of Newton's after it squares that
MOST_STEPS = 60  # halving alone would need 40
TINY = 1e-200  # a constant series gets a distribution of no width, and no division by zero


@dataclass(frozen=True)
class MeanPosterior:
    """Distribution of (true mean - series mean): weights, centres and scales, (..., G).

    `variances` (..., G) are those of the series mean.
    """

    weight: Floats
    centre: Floats
    scale: Floats
    degrees: int
    variances: Floats

    @cached_property
    def variance(self) -> Floats:
        """The typical (geometric mean) variance of the series mean. (...)."""
        each = np.einsum("...g,...g->...", self.weight, np.log(self.variances))
        typical: Floats = np.exp(each)
        return typical

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
        tail = min(min(p, 1 - p) for p in probabilities)  # less is left beyond low and high
        reach = -t_quantile(self.degrees, tail) + 1
        low = np.min(self.centre - reach * self.scale, axis=-1)
        high = np.max(self.centre + reach * self.scale, axis=-1)

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
    square = np.maximum(square, TINY)

    log_weight = models.log_weight - models.log_determinant / 2 - degrees / 2 * np.log(square)
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)

    size = square / degrees / n
    return MeanPosterior(
        weight=weight,
        centre=-(y @ models.regression.T) / np.sqrt(n),
        scale=np.sqrt(size * models.residual),
        degrees=degrees,
        variances=size * models.variance,
    )


def effective_samples(variance: Floats, mean_variance: Floats) -> Floats:
    """Independent samples whose mean would vary as much. (...), (...) -> (...).

    The sample variance of a dependent series misses the variance of its own mean; it is added back:
    (variance + mean_variance) / mean_variance.
    """
    return 1 + variance / mean_variance


NORMAL_DECILE = 1.2815515655446004  # the 90th percentile of the standard normal
SHAPE_MAX = 2.0  # skewness 400; nothing can be learnt about the mean of such a series
GROWTH_MAX = 3.0  # an end is moved out by a factor of at most (exp(3) - 1) / 3 = 6.4


def skew_rate(series: Floats, deviation: Floats | None = None) -> Floats:
    """Rate, per unit of the series, at which its logarithm-like scale bends. (..., n) -> (...).

    1 / (mean - a) of the shifted log-normal with the same shape s and standard deviation, negative
    if the long tail is on the left, zero for a symmetric series. `deviation` is the standard
    deviation, where it is known already.
    """
    low, middle, high = quantile_of(series, (0.1, 0.5, 0.9), axis=-1)
    tiny = np.finfo(float).tiny
    ratio = np.log(np.maximum(high - middle, tiny)) - np.log(np.maximum(middle - low, tiny))
    shape = np.clip(ratio / NORMAL_DECILE, -SHAPE_MAX, SHAPE_MAX)
    deviation = series.std(axis=-1) if deviation is None else deviation
    return np.sign(shape) * np.sqrt(np.expm1(shape**2)) / deviation


def stretch_offset(offset: Floats, rate: Floats) -> Floats:
    """Offset on a scale that bends at the rate: (exp(rate * offset) - 1) / rate. (...) -> (...)."""
    growth = np.clip(rate * offset, -GROWTH_MAX, GROWTH_MAX)
    straight = np.abs(growth) < 1e-9
    return offset * np.where(straight, 1.0, np.expm1(growth) / np.where(straight, 1.0, growth))


WANDER_MEMORY = 20.0  # memory times in a series that a random walk is tested against
WANDERS_BELOW = 0.52  # of nine in ten random walks in space; of AR(0.98), 600 scans, one in fifty
SLOW = 3  # half waves over the series, with half of the power at least: an oscillation has less
FEWEST_TO_WANDER = 50  # scans: a shorter series is refused for its few effective samples


def wanders(error: Floats) -> bool:
    """Whether errors wander as a random walk does: their mean does not exist. (n, d) -> bool.

    The point-optimal ratio of the low cosines y_j, of all axes together, between a random walk,
    whose power falls as 1 / j^2, and a series of 20 memory times, 1 / (j^2 + (20 / pi)^2):
    sum y^2 j^2 / sum y^2 (j^2 + (20 / pi)^2). What is slower still (drift that is integrated, a
    trend, one long outage) has a smaller ratio. Compare Mueller and Watson, "Testing models of
    low-frequency variability", Econometrica 76, 2008.
    """
    if len(error) < FEWEST_TO_WANDER:
        return False
    power = np.sum(cosines(np.ascontiguousarray(error.T), BAND) ** 2, axis=0)
    square = np.arange(1, BAND + 1) ** 2.0
    total = float(power.sum())
    if total < TINY or power[:SLOW].sum() < 0.5 * total:
        return False
    faded = power @ (square + (WANDER_MEMORY / np.pi) ** 2)
    return bool(power @ square < WANDERS_BELOW * faded)


LEAST_RATIO = 1.1  # largest over smallest sigma: less moves no mean by more than a tenth
ROUNDS = 4  # of two means; levels that are apart are found in two or three
SETTLED = 0.4  # of the distance of the levels, from their middle: nearer, a scan is on its way
SHORTEST_VISIT = 0.01  # of the scans: the start of a filter, or an outlier, is no regime
FEW_CHANGES = 6  # fewer, and either level was seen three times at most, as long as luck had it


def few_changes(log_sigma: Floats) -> int:
    """How often a sigma rises or falls between two levels, if seldom; 0 if often. (n,) -> int.

    The levels are the means of the scans on either side of their own middle (two means). 0 also
    where sigma hardly varies, or is at one of the levels for a moment only. A memory estimated
    from the scores themselves does not see how few the regimes are: where one of them was short,
    that looks like a short memory.
    """
    least, most = log_sigma.min(), log_sigma.max()
    varies = -np.inf < least + np.log(LEAST_RATIO) < most < np.inf
    if len(log_sigma) < FEWEST_TO_WANDER or not varies:
        return 0
    middle = log_sigma.mean()
    for _ in range(ROUNDS):
        above = log_sigma > middle
        low, high = log_sigma[~above].mean(), log_sigma[above].mean()
        middle = (low + high) / 2
    is_high = log_sigma[np.abs(log_sigma - middle) > SETTLED * (high - low)] > middle
    changes, share = int(np.count_nonzero(np.diff(is_high))), float(is_high.mean())
    return changes if changes < FEW_CHANGES and min(share, 1 - share) >= SHORTEST_VISIT else 0
