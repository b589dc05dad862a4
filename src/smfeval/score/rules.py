"""The table of rules. A new rule is one file and one entry."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.score.ape import ape
from smfeval.score.energy import energy
from smfeval.score.interval import LEVEL, interval_score
from smfeval.score.log import consistency, kernel_log_score, log_score, sharpness
from smfeval.score.pit import pit
from smfeval.score.residuals import Residuals

LEAST_BETA = 0.001  # closer to 0 or 2 the score is a constant or a difference of rounding errors


@dataclass(frozen=True)
class RuleSettings:
    """What a user may choose about the rules."""

    beta: float = 1.0  # energy score
    unbiased: bool = False  # energy score of particles
    kernel_density: bool = False  # log score of particles
    interval_level: float = LEVEL

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
    """A number per scan: its name, unit, formula, and for which beliefs it exists."""

    name: str
    unit: str
    formula: Callable[[Residuals, RuleSettings], Floats]
    exists: Callable[[Residuals, RuleSettings], bool] = lambda residuals, settings: True
    proper: bool = True


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
    return log_score(residuals) if residuals.ensemble is None else kernel_log_score(residuals)


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("ape", "m", lambda r, s: ape(r.error), proper=False),
        Rule("energy", "m^beta", lambda r, s: energy(r, beta=s.beta, unbiased=s.unbiased)),
        Rule("log", "nat", _log_formula, _has_density),
        Rule("log_consistency", "nat", lambda r, s: consistency(r), _is_gaussian, proper=False),
        Rule("log_sharpness", "nat", lambda r, s: sharpness(r), _is_gaussian, proper=False),
        Rule("crps", "m", lambda r, s: r.crps_by_axis.mean(axis=1)),
        Rule(
            "interval",
            "m",
            lambda r, s: interval_score(r, level=s.interval_level).mean(axis=1),
            _has_uncertainty,
        ),
        Rule("nees", "1", lambda r, s: r.likelihood_terms.nees, _has_uncertainty, proper=False),
        Rule("pit", "1", lambda r, s: pit(r), _has_uncertainty, proper=False),
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
