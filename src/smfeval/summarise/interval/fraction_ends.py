"""The fraction of scans that belong to a set: the low-frequency posterior on the logit scale."""

import numpy as np

from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.cosines import neighbour_sums
from smfeval.maths.mean_posterior import MeanPosterior, effective_samples, posterior_of_sums
from smfeval.maths.special import normal_quantile
from smfeval.summarise.interval.ends import Ends


def members(series: Floats, value: Floats) -> Bools:
    """Scans at most a value, or below it where that would be all of them.

    (..., n), (..., 1) -> (..., n).
    """
    at_most = series <= value
    return np.where(at_most.all(axis=-1, keepdims=True), series < value, at_most)


def fraction_ends(member: Bools, level: float) -> Ends:
    """Interval of the fraction of members; not all scans may be alike. (..., n) -> (...)."""
    n = member.shape[-1]
    sums = neighbour_sums(member)
    fraction, posterior = sums.sum(axis=-1) / n, posterior_of_sums(sums, n)
    spread = fraction * (1 - fraction)
    down, up = posterior.quantiles((1 - level) / 2, (1 + level) / 2)
    down, up = np.minimum(down, 0) / spread, np.maximum(up, 0) / spread

    centre = np.log(fraction / (1 - fraction))
    n_effective, n_rare = fraction_samples(fraction, posterior)
    beyond = np.zeros(np.shape(fraction), dtype=bool)
    return Ends(_share(centre + down), _share(centre + up), n_effective, n_rare, beyond)


def _share(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), without overflow."""
    return np.exp(-np.logaddexp(0, -logit))


def fraction_samples(fraction: Floats, posterior: MeanPosterior) -> tuple[Floats, Floats]:
    """Effective samples in all, and on the rarer side. (...) -> (...), (...)."""
    n_effective = effective_samples(fraction * (1 - fraction), posterior.variance)
    return n_effective, n_effective * np.minimum(fraction, 1 - fraction)


def probability_below(share: float, sums: Floats, n: int) -> Floats:
    """Posterior probability that the true fraction is below a share. (..., m) -> (...).

    `sums` counts the members among neighbours, n scans in all. On the probit scale, which is as
    safe as the logit scale for a test and gives quantiles a tenth less width. Zero where all scans
    are members, one where none is.
    """
    fraction = sums.sum(axis=-1) / n
    mixed = (fraction > 0) & (fraction < 1)
    z = normal_quantile(np.where(mixed, fraction, 0.5))
    offset = (normal_quantile(share) - z) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.where(mixed, posterior_of_sums(sums, n).cdf(offset), fraction == 0)


def one_sided_ends(all_members: bool, n_effective: float, level: float) -> tuple[float, float]:
    """Clopper-Pearson bound for a fraction that was 0 or 1 in n_effective independent samples."""
    bound = float((1 - level) ** (1 / n_effective))  # quantile of Beta(n_effective, 1)
    return (bound, 1.0) if all_members else (0.0, 1 - bound)
