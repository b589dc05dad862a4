"""The table of rules. A new rule is one file and one entry."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.score.ape import ape
from smfeval.score.energy import energy
from smfeval.score.interval import LEVEL, interval_score_of_axes
from smfeval.score.log import consistency, gaussian_log_score, kernel_log_score, sharpness
from smfeval.score.pit import pit
from smfeval.score.residuals import Residuals

POWER = "m^beta"
LEAST_BETA = 0.001  # closer to 0 or 2 the score is a constant or a difference of rounding errors


@dataclass(frozen=True)
class RuleSettings:
    """What a user may choose about the rules."""

    beta: float = 1.0  # energy score
    unbiased: bool = False  # energy score of particles
    kernel_density: bool = False  # log score of particles
    interval_level: float = LEVEL
    seed: int = 0  # chance that spreads the ranks of particles

    def __post_init__(self) -> None:
        if not LEAST_BETA <= self.beta <= 2 - LEAST_BETA:
            room = f"{words.exact(LEAST_BETA)} to {words.exact(2 - LEAST_BETA)}"
            raise OptionError(
                f"beta must be between 0 and 2 ({room}), not {words.exact(self.beta)}"
            )
        if not 0 < self.interval_level < 1:
            raise OptionError(f"a level is between 0 and 1, not {words.exact(self.interval_level)}")


@dataclass(frozen=True)
class Rule:
    """A number per scan, and its row in the table of numbers (`summarise.numbers`).

    Attributes
    ----------
    name
        Its key in `--rules`, JSON, `--fail-if` and studies.
    unit
        Unit of the score.
    formula
        Residuals and settings in, one number per scan out. (n,).
    title
        What people call its mean over the scans; None: the mean is not reported.
    exists
        For which beliefs it is defined.
    proper
        Whether the honest belief has the best expected score.
    label
        The line of the text that shows the mean; None is not shown there.
    metric
        Whether studies compare estimators by it.
    short
        What it is called where room is short; "": its title.
    overview
        Whether it is a column of the table of several estimates.
    """

    name: str
    unit: str
    formula: Callable[[Residuals, RuleSettings], Floats]
    title: str | None = None
    exists: Callable[[Residuals, RuleSettings], bool] = lambda residuals, settings: True
    proper: bool = True
    label: str | None = None
    metric: bool = False
    short: str = ""
    overview: bool = False

    def unit_for(self, settings: RuleSettings) -> str:
        """The unit; that of the energy score depends on beta."""
        if self.unit != POWER:
            return self.unit
        return "m" if settings.beta == 1 else f"m^{settings.beta:g}"


def _has_uncertainty(residuals: Residuals, settings: RuleSettings) -> bool:
    del settings
    return residuals.covariance is not None


def _is_gaussian(residuals: Residuals, settings: RuleSettings) -> bool:
    return _has_uncertainty(residuals, settings) and residuals.ensemble is None


def _has_density(residuals: Residuals, settings: RuleSettings) -> bool:
    return _is_gaussian(residuals, settings) or (
        residuals.ensemble is not None and settings.kernel_density
    )


def _log_formula(residuals: Residuals, settings: RuleSettings) -> Floats:
    del settings
    return (
        gaussian_log_score(residuals) if residuals.ensemble is None else kernel_log_score(residuals)
    )


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("ape", "m", lambda r, s: ape(r.error), proper=False),
        Rule(
            "energy",
            POWER,
            lambda r, s: energy(r, beta=s.beta, unbiased=s.unbiased),
            title="energy score",
            label="energy",
            metric=True,
            short="energy",
            overview=True,
        ),
        Rule(
            "log",
            "nat",
            _log_formula,
            title="log score",
            exists=_has_density,
            label="log score",
            metric=True,
            short="log",
            overview=True,
        ),
        Rule(
            "log_consistency",
            "nat",
            lambda r, s: consistency(r),
            title="consistency",
            exists=_is_gaussian,
            proper=False,
        ),
        Rule(
            "log_sharpness",
            "nat",
            lambda r, s: sharpness(r),
            title="sharpness",
            exists=_is_gaussian,
            proper=False,
        ),
        Rule(
            "crps",
            "m",
            lambda r, s: r.crps_by_axis.mean(axis=1),
            title="CRPS",
            label="CRPS",
            metric=True,
        ),
        Rule(
            "interval",
            "m",
            lambda r, s: interval_score_of_axes(r, level=s.interval_level).mean(axis=1),
            title="interval score",
            exists=_has_uncertainty,
            label="interval",
        ),
        Rule(
            "nees",
            "1",
            lambda r, s: r.likelihood_terms.nees,
            exists=_has_uncertainty,
            proper=False,
        ),
        Rule(
            "pit",
            "1",
            lambda r, s: pit(r, rng=np.random.default_rng(s.seed)),
            exists=_has_uncertainty,
            proper=False,
        ),
    )
}


def scores(
    residuals: Residuals, settings: RuleSettings, names: Iterable[str] = tuple(RULES)
) -> dict[str, Floats]:
    """The named rules that exist for this kind of belief, one number per scan. (n,) each."""
    chosen = {rule_named(name).name for name in names}
    return {
        rule.name: rule.formula(residuals, settings)
        for rule in RULES.values()
        if rule.name in chosen and rule.exists(residuals, settings)
    }


def rule_named(name: str) -> Rule:
    """A rule by its name, or an OptionError that lists the known ones."""
    if name not in RULES:
        raise OptionError(f"rule {name!r} is unknown; it is one of {', '.join(RULES)}")
    return RULES[name]
