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
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.dependence import cosines, effective_samples, mean_posterior
from smfeval.maths.special import t_tail
from smfeval.why.diagnoses.case import ENOUGH_SCANS, Untested, too_few

SCANS_PER_COSINE = 4.0  # independent scans per cosine: faster ones are smaller than the mean varies
WIDEST = 48  # cosines: more degrees of freedom hardly move a quantile
TINY = 1e-150  # a constant series has no cosines, and no division by zero
BLIND = 1e-2  # of a column's square left beside the others: less, and the motion does not show it


@dataclass(frozen=True)
class ColumnEffect:
    """Coefficients of some columns: value, p-value against zero, independent scans. (p,) each."""

    value: Floats
    probability: Floats
    n_effective: Floats


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
    tail = np.array([t_tail(*each) for each in zip(band.tolist(), np.abs(t).tolist(), strict=True)])
    return mean, np.where(t < 0, tail, 1 - tail), effective


def effect_of(response: Floats, columns: Floats, *, most: float) -> ColumnEffect:
    """Coefficients of least squares. (n, d), (n, d, p).

    `most` is the number of independent scans that the response is worth: a product with the motion
    may look less dependent than it is.
    """
    rows, scans = columns.T, len(columns)
    flat, measured = rows.reshape(len(rows), -1), response.T.reshape(-1)
    moment = flat @ flat.T / scans
    value = np.asarray(np.linalg.solve(moment, flat @ measured / scans), np.float64)
    left = (measured - value @ flat).reshape(rows.shape[1:])
    influence: Floats = np.linalg.inv(moment) @ np.einsum("pdn,dn->pn", rows, left)
    influence += value[:, None]
    _, below, effective = _means(influence, most)
    return ColumnEffect(value, 2 * np.minimum(below, 1 - below), effective)


def _solve_normal(moment: Floats, cross: Floats) -> Floats:
    """Solution of the normal equations; columns that others make up share one effect evenly."""
    size = np.sqrt(np.diagonal(moment))
    size = np.where(size > 0, size, 1.0)
    scaled = moment / np.outer(size, size), cross / size[:, None]
    return np.linalg.lstsq(*scaled, rcond=1e-10)[0] / size[:, None]


@dataclass(frozen=True)
class Cause:
    """A possible cause: its name and the response per unit of each of its coefficients."""

    name: str
    columns: Floats  # (n, d, p)


RESPONSE = [0]  # its place among the columns of a design


@dataclass(frozen=True)
class Design:
    """The response, the base and the causes, column by column. (c, d, n).

    What least squares on some columns leaves of others is a combination of columns, whose weights
    and squares follow from the products of all columns with all: only a series of scans needs the
    scans.
    """

    rows: Floats
    base: list[int]  # places of its columns
    causes: dict[str, list[int]]

    @cached_property
    def products(self) -> Floats:
        """Sums over all scans of columns times columns. (c, c)."""
        flat = self.rows.reshape(len(self.rows), -1)
        return flat @ flat.T

    def combine(self, weights: Floats) -> Floats:
        """Columns that are weighted sums of these. (c, p) -> (n, d, p)."""
        flat = weights.T @ self.rows.reshape(len(self.rows), -1)
        return flat.reshape(-1, *self.rows.shape[1:]).T

    def fit(self, weights: Floats, on: list[int]) -> Floats:
        """Least squares of weighted sums on some of the columns, as weights. (c, p) -> (c, p)."""
        fitted = np.zeros_like(weights)
        fitted[on] = _solve_normal(self.products[np.ix_(on, on)], self.products[on] @ weights)
        return fitted

    def left(self, chosen: list[int], beside: list[int]) -> Floats:
        """What least squares on other columns leaves of the chosen ones, as weights. (c, p)."""
        weights = np.eye(len(self.rows))[:, chosen]
        return weights - self.fit(weights, beside)

    @property
    def remainder(self) -> Floats:
        """What all other columns leave of the response. (n, d)."""
        return self.combine(self.left(RESPONSE, list(range(1, len(self.rows)))))[..., 0]

    def explained_share(self, chosen: list[int], beside: list[int]) -> float:
        """Share of the response's square that columns take away beyond those beside them."""
        weights = self.left(chosen + RESPONSE, beside)
        left = weights.T @ self.products @ weights
        explained = left[-1, :-1] @ _solve_normal(left[:-1, :-1], left[:-1, -1:])
        return float(explained[0]) / max(float(self.products[0, 0]), np.finfo(np.float64).tiny)

    def is_identifiable(self, chosen: list[int], beside: list[int]) -> Bools:
        """Which of the columns are not made of those beside them, nor of those before. (p,)."""
        weights, size = self.left(chosen, beside), np.diagonal(self.products)[chosen]
        left = weights.T @ self.products @ weights
        found: list[int] = []
        for j in range(len(size)):
            cross = left[j, found]
            own = left[j, j] - cross @ np.linalg.solve(left[np.ix_(found, found)], cross)
            if own > BLIND * size[j] > 0:
                found.append(j)
        return np.isin(np.arange(len(size)), found)


def design_of(response: Floats, base: Floats, causes: list[Cause]) -> Design:
    """The columns of a regression. (n, d), (n, d, q)."""
    blocks = [response[..., None], base, *(cause.columns for cause in causes)]
    stops = np.cumsum([block.shape[-1] for block in blocks]).tolist()
    places = [list(range(*ends)) for ends in pairwise(stops)]
    names = [cause.name for cause in causes]
    rows = np.empty((stops[-1], *response.T.shape))  # in C's order, as columns are read
    for block, stop in zip(blocks, stops, strict=True):
        rows[stop - block.shape[-1] : stop] = block.T
    return Design(rows, places[0], dict(zip(names, places[1:], strict=True)))


@dataclass(frozen=True)
class Finding:
    """A cause measured beside other columns of a design.

    `is_identifiable` are its coefficients that the motion can show, `columns` their places in the
    design; `most` is the number of independent scans that the response is worth.
    """

    name: str
    is_identifiable: Bools
    columns: list[int]
    beside: list[int]
    design: Design
    most: float

    @cached_property
    def share(self) -> float:
        """Of the response's mean square that is explained beside the others."""
        return self.design.explained_share(self.columns, self.beside)

    @cached_property
    def effect(self) -> ColumnEffect:
        """Coefficients beside the others."""
        left = self.design.combine(self.design.left(RESPONSE + self.columns, self.beside))
        return effect_of(left[..., 0], left[..., 1:], most=self.most)

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


@dataclass(frozen=True)
class Selection:
    """Causes found, the strongest first, and each cause by itself."""

    found: tuple[Finding, ...]
    alone: dict[str, Finding]
    design: Design

    @property
    def columns(self) -> list[int]:
        """Places of all columns that were found."""
        return [place for each in self.found for place in each.columns]

    @property
    def share(self) -> float:
        """Of the response's mean square that all of them explain together."""
        return self.design.explained_share(self.columns, self.design.base)

    @property
    def remainder(self) -> Floats:
        """What the base and all that was found leave of the response. (n, d)."""
        left = self.design.left(RESPONSE, self.design.base + self.columns)
        return self.design.combine(left)[..., 0]

    @property
    def untested(self) -> tuple[Untested, ...]:
        """Causes that too few independent scans can speak of."""
        found = {each.name for each in self.found}
        return tuple(
            too_few(name, each.n_effective)
            for name, each in self.alone.items()
            if each.n_effective < ENOUGH_SCANS and name not in found
        )


def select_causes(design: Design, *, accept: Accept, most: float) -> Selection:
    """Add causes, one or two at a time, while they are accepted beside those before them.

    The next is the cause that explains most; else the pair whose both parts are accepted.
    """
    found: list[Finding] = []
    names, beside = list(design.causes), design.base
    alone = single = _measure_each(design, names, beside, most)
    while True:
        added = [each for each in single.values() if accept(each)]
        if added:
            added = [max(added, key=lambda each: each.share)]
        else:
            pairs = (
                _measure_pair(single[one], other, beside)
                for one, other in combinations(names, 2)
                if one in single
            )
            good = [pair for pair in pairs if pair and all(accept(each) for each in pair)]
            added = max(good, key=lambda pair: min(each.share for each in pair), default=[])
        if not added:
            found.sort(key=lambda each: -each.share)
            return Selection(tuple(found), alone, design)

        names = [name for name in names if name not in {each.name for each in added}]
        found = refit_jointly([*found, *added], design.base)
        found = refit_jointly([each for each in found if accept(each)], design.base)
        beside = _extend_base(design.base, found)
        single = _measure_each(design, names, beside, most)


def _measure_each(
    design: Design, names: list[str], beside: list[int], most: float
) -> dict[str, Finding]:
    """Each cause beside some columns; without those of which nothing can be seen."""
    found = {}
    for name in names:
        kept = design.is_identifiable(design.causes[name], beside)
        if kept.any():
            columns = np.array(design.causes[name])[kept].tolist()
            found[name] = Finding(name, kept, columns, beside, design, most)
    return found


def refit_jointly(found: list[Finding], base: list[int]) -> list[Finding]:
    """The causes, each measured beside the base and all others: as in the joint fit."""
    return [
        replace(each, beside=_extend_base(base, [other for other in found if other is not each]))
        for each in found
    ]


def _measure_pair(first: Finding, other: str, base: list[int]) -> list[Finding]:
    """Two causes measured beside each other; empty where the motion cannot tell them apart."""
    second = _measure_each(first.design, [other], _extend_base(base, [first]), first.most)
    return refit_jointly([first, *second.values()], base) if second else []


def _extend_base(base: list[int], found: list[Finding]) -> list[int]:
    return base + [place for each in found for place in each.columns]
