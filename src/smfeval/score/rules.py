"""The table of rules. A new rule is one file and one entry."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats
from smfeval.schema import unknown_word
from smfeval.score.crps import crps_of_axes
from smfeval.score.energy import ape, energy
from smfeval.score.interval import LEVEL, interval_score_of_axes
from smfeval.score.log import consistency, log_score_of, sharpness
from smfeval.score.pit import pit
from smfeval.score.pose import AXES, ROTATION, energy_body, energy_particles, log_pose
from smfeval.score.residuals import Residuals, SpaceName
from smfeval.score.rotation import energy_rotation, log_rotation

POWER, ANGLE_POWER = "m^beta", "rad^beta"
LARGEST_BODY_M = 1e6  # as far as two bodies that move together may be apart
LEAST_BETA = 0.001  # closer to 0 or 2 the score is a constant or a difference of rounding errors


@dataclass(frozen=True)
class RuleSettings:
    """What a user may choose about the rules."""

    beta: float = 1.0  # energy score
    unbiased: bool = False  # energy score of particles
    kernel_density: bool = False  # log score of particles
    interval_level: float = LEVEL
    seed: int = 0  # chance that spreads the ranks of particles
    body_size_m: float | None = None  # radius of gyration of the body: energy of a pose

    def __post_init__(self) -> None:
        if not LEAST_BETA <= self.beta <= 2 - LEAST_BETA:
            room = f"{words.exact(LEAST_BETA)} to {words.exact(2 - LEAST_BETA)}"
            raise OptionError(
                f"beta must be between 0 and 2 ({room}), not {words.exact(self.beta)}"
            )
        if not 0 < self.interval_level < 1:
            raise OptionError(f"a level is between 0 and 1, not {words.exact(self.interval_level)}")
        if self.body_size_m is not None and not 0 < self.body_size_m <= LARGEST_BODY_M:
            raise OptionError(
                f"a body size is in metres, from 0 to {words.exact(LARGEST_BODY_M)}, not "
                f"{words.exact(self.body_size_m)}"
            )


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
    metric
        Whether studies compare estimators by it.
    short
        What it is called where room is short; "": its title.
    overview
        Whether it is a column of the table of several estimates.
    brief
        Whether the short report rests on its mean.
    space
        Where it scores; None: in every space.
    needs_body_size
        Whether it turns rotations into metres by the size of the body.
    """

    name: str
    unit: str
    formula: Callable[[Residuals, RuleSettings], Floats]
    title: str | None = None
    exists: Callable[[Residuals, RuleSettings], bool] = lambda residuals, settings: True
    proper: bool = True
    metric: bool = False
    short: str = ""
    overview: bool = False
    brief: bool = False
    space: SpaceName | None = "position"
    needs_body_size: bool = False

    def unit_for(self, settings: RuleSettings) -> str:
        """The unit; that of the energy score depends on beta."""
        base, power, _ = self.unit.partition("^beta")
        return base if not power or settings.beta == 1 else f"{base}^{settings.beta:g}"


def _has_uncertainty(residuals: Residuals, settings: RuleSettings) -> bool:
    del settings
    return residuals.covariance is not None


def _is_gaussian(residuals: Residuals, settings: RuleSettings) -> bool:
    return _has_uncertainty(residuals, settings) and residuals.ensemble is None


def _has_density(residuals: Residuals, settings: RuleSettings) -> bool:
    return _is_gaussian(residuals, settings) or (
        residuals.ensemble is not None and settings.kernel_density
    )


def _energy_of_rotation(residuals: Residuals, settings: RuleSettings) -> Floats:
    whole = _whole(residuals, ROTATION)
    if whole.ensemble is None:
        return energy_rotation(whole.error, whole.predicted_covariance, beta=settings.beta)
    return energy_particles(
        whole.ensemble, whole.noise, beta=settings.beta, unbiased=settings.unbiased
    )


def _has_body(residuals: Residuals, settings: RuleSettings) -> bool:
    return _has_uncertainty(residuals, settings) and settings.body_size_m is not None


def _energy_of_body(residuals: Residuals, settings: RuleSettings) -> Floats:
    size, beta = settings.body_size_m, settings.beta
    assert size is not None
    whole = _whole(residuals, tuple(range(len(AXES))))
    if whole.ensemble is None:
        return energy_body(whole.error, whole.predicted_covariance, size, beta)
    return energy_particles(
        whole.ensemble, whole.noise, body_size=size, beta=beta, unbiased=settings.unbiased
    )


def _whole(residuals: Residuals, rows: tuple[int, ...]) -> Residuals:
    """The residuals on these rows of a pose error, zero where nothing is claimed."""
    if residuals.rows == rows:
        return residuals
    place, d = [rows.index(row) for row in residuals.rows], len(rows)

    def vectors(some: Floats) -> Floats:
        every = np.zeros((len(some), d))
        every[:, place] = some
        return every

    def matrices(some: Floats | None) -> Floats | None:
        if some is None:
            return None
        every = np.zeros((len(some), d, d))
        every[:, np.array(place)[:, None], place] = some
        return every

    seen = residuals.ensemble
    return replace(
        residuals,
        error=vectors(residuals.error),
        covariance=matrices(residuals.covariance),
        noise=matrices(residuals.noise),
        ensemble=None if seen is None else replace(seen, difference=vectors(seen.difference)),
        reported=None,
        rows=rows,
    )


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("ape", "m", lambda r, s: ape(r.error), proper=False, brief=True),
        Rule(
            "energy",
            POWER,
            lambda r, s: energy(r, beta=s.beta, unbiased=s.unbiased),
            title="energy score",
            metric=True,
            short="energy",
            overview=True,
            brief=True,
        ),
        Rule(
            "log",
            "nat",
            lambda r, s: log_score_of(r),
            title="log score",
            exists=_has_density,
            metric=True,
            short="log",
            overview=True,
            brief=True,
        ),
        Rule(
            "log_consistency",
            "nat",
            lambda r, s: consistency(r),
            title="consistency",
            exists=_is_gaussian,
            proper=False,
            metric=True,
            brief=True,
        ),
        Rule(
            "log_sharpness",
            "nat",
            lambda r, s: sharpness(r),
            title="sharpness",
            exists=_is_gaussian,
            proper=False,
            metric=True,
            brief=True,
        ),
        Rule(
            "crps",
            "m",
            lambda r, s: crps_of_axes(r).mean(axis=1),
            title="CRPS",
            metric=True,
        ),
        Rule(
            "interval",
            "m",
            lambda r, s: interval_score_of_axes(r, level=s.interval_level).mean(axis=1),
            title="interval score",
            exists=_has_uncertainty,
        ),
        Rule(
            "nees",
            "1",
            lambda r, s: r.likelihood_terms.nees,
            exists=_has_uncertainty,
            proper=False,
            space=None,
        ),
        Rule(
            "pit",
            "1",
            lambda r, s: pit(r, seed=s.seed),
            exists=_has_uncertainty,
            proper=False,
            space=None,
        ),
        Rule(
            "energy_rotation",
            ANGLE_POWER,
            _energy_of_rotation,
            title="energy score",
            exists=_has_uncertainty,
            metric=True,
            short="rot. energy",
            space="rotation",
        ),
        Rule(
            "log_rotation",
            "nat",
            lambda r, s: log_rotation(r.error, r.predicted_covariance),
            title="log score",
            exists=_is_gaussian,
            metric=True,
            short="rot. log",
            space="rotation",
        ),
        Rule(
            "energy_body",
            POWER,
            _energy_of_body,
            title="energy score of the body",
            exists=_has_body,
            metric=True,
            short="body energy",
            space="pose",
            needs_body_size=True,
        ),
        Rule(
            "log_pose",
            "nat",
            lambda r, s: log_pose(r.error, r.predicted_covariance, axes=r.rows),
            title="log score",
            exists=_is_gaussian,
            metric=True,
            short="pose log",
            space="pose",
        ),
    )
}


def scores(
    residuals: Residuals, settings: RuleSettings, names: Iterable[str] = tuple(RULES)
) -> dict[str, Floats]:
    """One number per scan by each of the named rules that exist for this kind of belief. (n,)."""
    chosen = {rule_named(name).name for name in names}
    return {
        rule.name: rule.formula(residuals, settings)
        for rule in RULES.values()
        if rule.name in chosen
        and rule.space in (None, residuals.space)
        and rule.exists(residuals, settings)
    }


def rule_named(name: str) -> Rule:
    """A rule by its name, or an OptionError that lists the known ones."""
    if name not in RULES:
        raise unknown_word("rule", name, RULES)
    return RULES[name]
