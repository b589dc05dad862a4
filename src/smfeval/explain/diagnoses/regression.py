"""Which effect is in a dependent series, and could it be chance? Least squares, honest p-values.

With y = G b + r over the scans, b_hat is the mean of its influence series

    psi_t = b_hat + H^-1 G_t^T r_t,   H = mean of G_t^T G_t,

so what is known of means of dependent series holds for coefficients too. The mean over the root
mean square of its q lowest cosines, which are as large as the memory of the series makes them, is
Student-t with q degrees of freedom (U. Mueller, HAC corrections for strongly autocorrelated time
series, 2014); q follows the number of independent scans, so that only cosines slower than the
memory are used.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.cosines import cosines
from smfeval.maths.mean_posterior import effective_samples, mean_posterior

SCANS_PER_COSINE = 4.0  # independent scans per cosine: faster ones are smaller than the mean varies
WIDEST = 48  # cosines: more degrees of freedom hardly move a quantile
NOTHING = 1e-150  # a constant series has no cosines, and no division by zero
BLIND = 1e-2  # of a column's square left beside the others: less, and the motion does not show it


@dataclass(frozen=True)
class Effect:
    """Coefficients of some columns: value, p-value against zero, independent scans. (p,) each.

    `explained` is how much of the response's sum of squares they take away.
    """

    value: Floats
    probability: Floats
    n_effective: Floats
    explained: float


@dataclass(frozen=True)
class Mean:
    """Mean of a series, p-value against a truth that is not above zero, independent scans."""

    value: float
    probability: float
    n_effective: float


def independent_scans(values: Floats) -> float:
    """How many independent scans the slowest column is worth. (n, d)."""
    rows = np.ascontiguousarray(values.T)
    rows = rows[rows.var(axis=-1) > 0]
    if len(rows) == 0:
        return 1.0
    return float(effective_samples(rows.var(axis=-1), mean_posterior(rows).variance).min())


def mean_of(series: Floats, *, most: float) -> Mean:
    """The mean of a dependent series against zero, worth `most` independent scans. (n,)."""
    value, below, effective = _means(series[None], most)
    return Mean(float(value[0]), float(below[0]), float(effective[0]))


def evenness(weight: Floats) -> float:
    """Part of the scans that would tell as much, were all weighed the same (Kish). (n,)."""
    return float(np.mean(weight) ** 2 / np.mean(weight**2))


def _means(series: Floats, most: float) -> tuple[Floats, Floats, Floats]:
    """Means, one-sided p-values of "not above zero", effective samples. (p, n) -> (p,) thrice."""
    n = series.shape[-1]
    mean = series.mean(axis=-1)
    own = effective_samples(series.var(axis=-1), mean_posterior(series).variance)
    effective = np.minimum(own, most)
    band = np.clip(effective / SCANS_PER_COSINE, 1, min(WIDEST, n // 2)).astype(np.int64)
    power = np.cumsum(cosines(series, int(band.max())) ** 2, axis=-1)
    size = np.sqrt(np.take_along_axis(power, band[:, None] - 1, axis=-1)[:, 0] / band / n)
    t = -mean / np.maximum(size, NOTHING)
    return mean, np.asarray(stdtr(band, t), dtype=np.float64), effective


def effect_of(response: Floats, columns: Floats, *, most: float) -> Effect:
    """Coefficients of least squares. (n, d), (n, d, p).

    `most` is the number of independent scans that the response is worth: a product with the motion
    may look less dependent than it is.
    """
    moment = np.einsum("ndp,ndq->pq", columns, columns) / len(columns)
    value = np.linalg.solve(moment, np.einsum("ndp,nd->p", columns, response) / len(columns))
    left = response - columns @ value
    influence = value[:, None] + np.linalg.solve(moment, np.einsum("ndp,nd->pn", columns, left))
    _, below, effective = _means(influence, most)
    explained = float(np.sum(response**2) - np.sum(left**2))
    return Effect(value, 2 * np.minimum(below, 1 - below), effective, explained)


def coefficients(response: Floats, base: Floats) -> Floats:
    """Least squares of one or many responses on `base`. (n, d, ...), (n, d, q) -> (q, ...).

    Columns that others make up share one effect evenly.
    """
    flat = base.reshape(base.shape[0] * base.shape[1], base.shape[2])
    many = response.reshape(len(flat), -1)
    size = np.sqrt(np.einsum("np,np->p", flat, flat))
    size = np.where(size > 0, size, 1.0)
    unit = flat / size
    found = np.linalg.lstsq(unit.T @ unit, unit.T @ many, rcond=1e-10)[0] / size[:, None]
    return found.reshape(base.shape[-1], *response.shape[2:])


def without(response: Floats, base: Floats) -> Floats:
    """What least squares on `base` leaves of one or many responses. (n, d, ...), (n, d, q)."""
    return response - np.tensordot(base, coefficients(response, base), axes=1)


def seen(left: Floats, columns: Floats) -> Bools:
    """Which columns are not made of the base and of those before them. (n, d, p) twice -> (p,).

    `left` is what the base leaves of the columns.
    """
    gram = np.einsum("ndp,ndq->pq", left, left)
    size = np.einsum("ndp,ndp->p", columns, columns)
    found: list[int] = []
    for j in range(len(size)):
        cross = gram[j, found]
        own = gram[j, j] - cross @ np.linalg.solve(gram[np.ix_(found, found)], cross)
        if own > BLIND * size[j] > 0:
            found.append(j)
    return np.isin(np.arange(len(size)), found)
