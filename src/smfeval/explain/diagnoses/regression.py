"""Which effect is in a dependent series, and could it be chance? Least squares, honest p-values.

With y = G b + r over the scans, b_hat is the mean of its influence series

    psi_t = b_hat + H^-1 G_t^T r_t,   H = mean of G_t^T G_t,

so what is known of means of dependent series holds for coefficients too. The mean over the root
mean square of its q lowest cosines, which are as large as the memory of the series makes them, is
Student-t with q degrees of freedom (U. Mueller, HAC corrections for strongly autocorrelated time
series, 2014); q follows the number of independent scans, so that only cosines slower than the
memory are used.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import stdtr

from smfeval.explain.diagnoses.case import ENOUGH_SCANS, too_few_reason
from smfeval.explain.diagnoses.result import Untested
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.dependence import cosines, effective_samples, mean_posterior

SCANS_PER_COSINE = 4.0  # independent scans per cosine: faster ones are smaller than the mean varies
WIDEST = 48  # cosines: more degrees of freedom hardly move a quantile
TINY = 1e-150  # a constant series has no cosines, and no division by zero
BLIND = 1e-2  # of a column's square left beside the others: less, and the motion does not show it


@dataclass(frozen=True)
class ColumnEffect:
    """Coefficients of some columns: value, p-value against zero, independent scans. (p,) each.

    `explained` is how much of the response's sum of squares they take away.
    """

    value: Floats
    probability: Floats
    n_effective: Floats
    explained: float


@dataclass(frozen=True)
class MeanTest:
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


def mean_of(series: Floats, *, most: float) -> MeanTest:
    """The mean of a dependent series against zero, worth `most` independent scans. (n,)."""
    value, below, effective = _means(series[None], most)
    return MeanTest(float(value[0]), float(below[0]), float(effective[0]))


def effective_share(weight: Floats) -> float:
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
    t = -mean / np.maximum(size, TINY)
    return mean, np.asarray(stdtr(band, t), dtype=np.float64), effective


def effect_of(response: Floats, columns: Floats, *, most: float) -> ColumnEffect:
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
    return ColumnEffect(value, 2 * np.minimum(below, 1 - below), effective, explained)


def coefficients(response: Floats, base: Floats) -> Floats:
    """Least squares of one or many responses on `base`. (n, d, ...), (n, d, q) -> (q, ...).

    Columns that others make up share one effect evenly.
    """
    flat = base.reshape(base.shape[0] * base.shape[1], base.shape[2])
    many = response.reshape(len(flat), -1)
    moment = flat.T @ flat
    size = np.sqrt(np.diagonal(moment))
    size = np.where(size > 0, size, 1.0)
    scaled = moment / np.outer(size, size), flat.T @ many / size[:, None]
    found = np.linalg.lstsq(*scaled, rcond=1e-10)[0] / size[:, None]
    return found.reshape(base.shape[-1], *response.shape[2:])


def regression_residual(response: Floats, base: Floats) -> Floats:
    """What least squares on `base` leaves of one or many responses. (n, d, ...), (n, d, q)."""
    return response - np.tensordot(base, coefficients(response, base), axes=1)


def is_identifiable(left: Floats, columns: Floats) -> Bools:
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


@dataclass(frozen=True)
class Cause:
    """A possible cause: its name and the response per unit of each of its coefficients."""

    name: str
    columns: Floats  # (n, d, p)


@dataclass(frozen=True)
class Finding:
    """What was found of a cause; `kept` are the coefficients that the motion can show."""

    name: str
    columns: Floats
    is_identifiable: Bools
    effect: ColumnEffect
    share: float  # of the response's mean square that is explained beside the others

    @property
    def clearest(self) -> int:
        """The coefficient that speaks most clearly; those of too few independent scans do not."""
        mute = self.effect.n_effective < ENOUGH_SCANS
        return int(np.argmin(self.effect.probability + mute))

    @property
    def probability(self) -> float:
        """p-value of the whole cause: that of its clearest coefficient, times their number."""
        count = len(self.effect.probability)
        return float(min(1.0, self.effect.probability[self.clearest] * count))

    @property
    def n_effective(self) -> float:
        """Independent scans behind the clearest coefficient."""
        return float(self.effect.n_effective[self.clearest])


Accept = Callable[[Finding], bool]


def measure_cause(response: Floats, base: Floats, cause: Cause, *, most: float) -> Finding | None:
    """One cause beside the base; None where nothing of it can be seen. (n, d), (n, d, q).

    `most` is the number of independent scans that the response is worth.
    """
    left = regression_residual(cause.columns, base)
    kept = is_identifiable(left, cause.columns)
    if not kept.any():
        return None
    effect = effect_of(regression_residual(response, base), left[..., kept], most=most)
    share = _share(effect.explained, response)
    return Finding(cause.name, cause.columns[..., kept], kept, effect, share)


@dataclass(frozen=True)
class Selection:
    """Causes found, the strongest first; each cause by itself; the base with all found."""

    found: tuple[Finding, ...]
    alone: dict[str, Finding]
    base: Floats
    share: float  # of the response's mean square that all of them explain together


def select_causes(
    response: Floats, base: Floats, causes: list[Cause], *, accept: Accept, most: float
) -> Selection:
    """Add causes, one or two at a time, while they are accepted beside those before them."""
    found: list[Finding] = []
    alone = single = _findings(response, base, causes, most)
    whole = base
    while added := _next_cause(response, whole, causes, single, accept=accept, most=most):
        names = {each.name for each in added}
        causes = [cause for cause in causes if cause.name not in names]
        found = refit_jointly(response, base, [*found, *added], most=most)
        found = refit_jointly(response, base, [each for each in found if accept(each)], most=most)
        whole = _extend_base(base, found)
        single = _findings(response, whole, causes, most)
    found.sort(key=lambda each: -each.share)
    whole = _extend_base(base, found)
    return Selection(tuple(found), alone, whole, _gain(response, base, whole))


def refit_jointly(
    response: Floats, base: Floats, found: list[Finding], *, most: float
) -> list[Finding]:
    """The same causes, each measured beside all others: coefficients of the joint fit."""
    again = []
    for each in found:
        others = _extend_base(base, [other for other in found if other is not each])
        left = regression_residual(each.columns, others)
        effect = effect_of(regression_residual(response, others), left, most=most)
        again.append(replace(each, effect=effect, share=_share(effect.explained, response)))
    return again


def _next_cause(
    response: Floats,
    base: Floats,
    causes: list[Cause],
    single: dict[str, Finding],
    *,
    accept: Accept,
    most: float,
) -> list[Finding]:
    """The cause that explains most beside the base; else the pair whose both parts are accepted.

    `single` is what each cause alone explains beside the base.
    """
    accepted = [each for each in single.values() if accept(each)]
    if accepted:
        return [max(accepted, key=lambda each: each.share)]
    pairs = (
        _measure_pair(response, base, single[one.name], other, most=most)
        for one, other in combinations(causes, 2)
        if one.name in single
    )
    good = [pair for pair in pairs if pair and all(accept(each) for each in pair)]
    return max(good, key=lambda pair: min(each.share for each in pair), default=[])


def _measure_pair(
    response: Floats, base: Floats, first: Finding, other: Cause, *, most: float
) -> list[Finding]:
    """Two causes measured beside each other; empty where the motion cannot tell them apart."""
    second = measure_cause(response, _extend_base(base, [first]), other, most=most)
    return [] if second is None else refit_jointly(response, base, [first, second], most=most)


def _extend_base(base: Floats, found: list[Finding]) -> Floats:
    return np.concatenate([base, *(each.columns for each in found)], axis=-1)


def _gain(response: Floats, base: Floats, whole: Floats) -> float:
    """Share of the mean square that `whole` takes away beyond `base`."""
    left = (float(np.sum(regression_residual(response, each) ** 2)) for each in (base, whole))
    return _share(next(left) - next(left), response)


def _share(explained: float, response: Floats) -> float:
    return explained / max(float(np.sum(response**2)), np.finfo(np.float64).tiny)


def untested_causes(selection: Selection) -> tuple[Untested, ...]:
    """Causes that too few independent scans can speak of."""
    found = {each.name for each in selection.found}
    return tuple(
        Untested(name, too_few_reason(each.n_effective))
        for name, each in selection.alone.items()
        if each.n_effective < ENOUGH_SCANS and name not in found
    )


def _findings(
    response: Floats, base: Floats, causes: list[Cause], most: float
) -> dict[str, Finding]:
    each = (measure_cause(response, base, cause, most=most) for cause in causes)
    return {one.name: one for one in each if one is not None}
