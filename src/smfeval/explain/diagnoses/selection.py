"""Several possible causes: the one that explains most comes first, the others must add to it."""

from collections.abc import Callable
from dataclasses import dataclass

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
    share: float  # of the response's mean square that is explained

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
    share = effect.explained / max(float(np.sum(response**2)), np.finfo(np.float64).tiny)
    return Finding(cause.name, cause.columns[..., kept], kept, effect, share)


@dataclass(frozen=True)
class Selection:
    """Causes found, the strongest first; each cause by itself; the base with all found."""

    found: tuple[Finding, ...]
    alone: dict[str, Finding]
    base: Floats


def select(
    response: Floats, base: Floats, causes: list[Cause], *, accept: Accept, most: float
) -> Selection:
    """Add causes while one is accepted: most explained first, each beside those before it."""
    found: list[Finding] = []
    alone = current = _findings(response, base, causes, most)
    while accepted := [each for each in current.values() if accept(each)]:
        best = max(accepted, key=lambda each: each.share)
        found.append(best)
        base = np.concatenate([base, best.columns], axis=-1)
        causes = [cause for cause in causes if cause.name != best.name]
        current = _findings(response, base, causes, most)
    return Selection(tuple(found), alone, base)


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
