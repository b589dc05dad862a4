"""Several possible causes: the one that explains most comes first, the others must add to it.

All that are found are fitted together, so that each is measured beside the others; one that the
others replace is dropped again. Two causes can hide each other (a lever arm forwards and a late
clock): where no single one adds anything, pairs are tried.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from smfeval.explain.diagnoses.limits import ENOUGH, too_few
from smfeval.explain.diagnoses.regression import Effect, effect_of, seen, without
from smfeval.explain.diagnoses.result import Untested
from smfeval.maths.arrays import Bools, Floats


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
    kept: Bools
    effect: Effect
    share: float  # of the response's mean square that is explained beside the others

    @property
    def clearest(self) -> int:
        """The coefficient that speaks most clearly; those of too few independent scans do not."""
        mute = self.effect.n_effective < ENOUGH
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


def finding(response: Floats, base: Floats, cause: Cause, *, most: float) -> Finding | None:
    """One cause beside the base; None where nothing of it can be seen. (n, d), (n, d, q).

    `most` is the number of independent scans that the response is worth.
    """
    left = without(cause.columns, base)
    kept = seen(left, cause.columns)
    if not kept.any():
        return None
    effect = effect_of(without(response, base), left[..., kept], most=most)
    share = _share(effect.explained, response)
    return Finding(cause.name, cause.columns[..., kept], kept, effect, share)


@dataclass(frozen=True)
class Selection:
    """Causes found, the strongest first; each cause by itself; the base with all found."""

    found: tuple[Finding, ...]
    alone: dict[str, Finding]
    base: Floats
    share: float  # of the response's mean square that all of them explain together


def select(
    response: Floats, base: Floats, causes: list[Cause], *, accept: Accept, most: float
) -> Selection:
    """Add causes, one or two at a time, while they are accepted beside those before them."""
    found: list[Finding] = []
    alone = _findings(response, base, causes, most)
    while added := _next(response, _beside(base, found), causes, accept=accept, most=most):
        names = {each.name for each in added}
        causes = [cause for cause in causes if cause.name not in names]
        found = together(response, base, [*found, *added], most=most)
        found = together(response, base, [each for each in found if accept(each)], most=most)
    found.sort(key=lambda each: -each.share)
    whole = _beside(base, found)
    return Selection(tuple(found), alone, whole, _gain(response, base, whole))


def together(response: Floats, base: Floats, found: list[Finding], *, most: float) -> list[Finding]:
    """The same causes, each measured beside all others: coefficients of the joint fit."""
    again = []
    for each in found:
        others = _beside(base, [other for other in found if other is not each])
        left = without(each.columns, others)
        effect = effect_of(without(response, others), left, most=most)
        again.append(replace(each, effect=effect, share=_share(effect.explained, response)))
    return again


def _next(
    response: Floats, base: Floats, causes: list[Cause], *, accept: Accept, most: float
) -> list[Finding]:
    """The cause that explains most beside the base; else the pair whose both parts are accepted."""
    single = _findings(response, base, causes, most).values()
    accepted = [each for each in single if accept(each)]
    if accepted:
        return [max(accepted, key=lambda each: each.share)]
    pairs = (_pair(response, base, *two, most=most) for two in combinations(causes, 2))
    good = [pair for pair in pairs if pair and all(accept(each) for each in pair)]
    return max(good, key=lambda pair: min(each.share for each in pair), default=[])


def _pair(
    response: Floats, base: Floats, one: Cause, other: Cause, *, most: float
) -> list[Finding]:
    """Two causes measured beside each other; empty where the motion cannot tell them apart."""
    first = finding(response, base, one, most=most)
    if first is None:
        return []
    second = finding(response, _beside(base, [first]), other, most=most)
    return [] if second is None else together(response, base, [first, second], most=most)


def _beside(base: Floats, found: list[Finding]) -> Floats:
    return np.concatenate([base, *(each.columns for each in found)], axis=-1)


def _gain(response: Floats, base: Floats, whole: Floats) -> float:
    """Share of the mean square that `whole` takes away beyond `base`."""
    left = (float(np.sum(without(response, each) ** 2)) for each in (base, whole))
    return _share(next(left) - next(left), response)


def _share(explained: float, response: Floats) -> float:
    return explained / max(float(np.sum(response**2)), np.finfo(np.float64).tiny)


def untested(selection: Selection) -> tuple[Untested, ...]:
    """Causes that too few independent scans can speak of."""
    found = {each.name for each in selection.found}
    return tuple(
        Untested(name, too_few(each.n_effective))
        for name, each in selection.alone.items()
        if each.n_effective < ENOUGH and name not in found
    )


def _findings(
    response: Floats, base: Floats, causes: list[Cause], most: float
) -> dict[str, Finding]:
    each = (finding(response, base, cause, most=most) for cause in causes)
    return {one.name: one for one in each if one is not None}
