"""What the diagnoses look at: errors, covariances and motion of the scored scans, as arrays."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import SpaceScores
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import Residuals
from smfeval.score.pit import effective_particles, honest_median
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals
from smfeval.why.causes import DIAGNOSES

TINY = 1e-6  # of an honest median: a NEES below it is as good as zero, and has no logarithm
UNFITTED = ("none", "first-pose")  # alignments that no scored scan had a say in
STANDING_M_S = 0.05
TURNING_RAD_S = 0.02  # a degree per second: below, nothing turns
REGIME_RATIO = 1.3  # mean of the upper third over that of the rest: less is one regime
MIN_REGIME_SHARE = 0.02  # share of the scans that a regime must have, and leave
# Half of what is promised: p-values from few independent scans are rather too small.
FAMILY_LEVEL = 0.025
# The p-value below which a diagnosis is named (Bonferroni: they depend on each other).
TEST_LEVEL = FAMILY_LEVEL / len(DIAGNOSES)
ENOUGH_SCANS = 20.0  # independent scans that a p-value needs: below, slow errors pass for faults
SHORTEST = 60  # scans: with fewer, no diagnosis is tried
RELEVANT_SHARE = 0.01  # of the mean square, that a bias must explain to be worth a name
TIGHTER_RATIO = 1.5  # times the NEES of the other scans that a regime or stretch must have


@dataclass(frozen=True)
class Bodies:
    """The bodies as a sentence calls them, and how the reference's is turned in the estimate's."""

    reference: str  # whose axes the scored errors can be turned into
    estimate: str  # that the estimate was about before an extrinsic moved it
    turn: Floats | None  # (3, 3): rotation of the extrinsic; None without one


@dataclass(frozen=True)
class DiagnosisCase:
    """Scored scans of one track.

    `covariance` is what the belief predicts for the reference; where the alignment was fitted on
    the scored scans and the error is what a fit leaves, it holds that fit's own (`freedoms`).
    """

    time_s: Floats  # (n,) from the first scored scan
    position: Floats  # (n, 3) of the reference
    axes: list[int]  # columns that are scored
    alignment: str
    residuals: Residuals
    rotation: Floats | None  # (n, 4) of the estimate; None without orientation
    heading: Floats | None  # (n, 4) of the best orientation there is, for the turn rate
    fitted: bool  # the alignment was fitted on the scored scans
    bodies: Bodies
    intervals: Intervals  # as asked for
    alignment_covariance: Floats | None = None  # (n, d, d) of the alignment

    def __len__(self) -> int:
        return len(self.time_s)

    def with_error(self, error: Floats, alignment_covariance: Floats | None) -> "DiagnosisCase":
        """The same scans with another error (n, d): a fitted part of that covariance is removed."""
        residuals = replace(self.residuals, error=error)
        return replace(self, residuals=residuals, alignment_covariance=alignment_covariance)

    @property
    def dimension(self) -> int:
        """Number of scored axes."""
        return self.residuals.dimension

    @property
    def error(self) -> Floats:
        """Mean minus reference. (n, d)."""
        return self.residuals.error

    @property
    def has_belief(self) -> bool:
        """Whether there is a covariance."""
        return self.residuals.covariance is not None

    @cached_property
    def covariance(self) -> Floats:
        """Predicted covariance, with the doubt about the alignment. (n, d, d)."""
        predicted, more = self.residuals.predicted_covariance, self.alignment_covariance
        return predicted if more is None else predicted + more

    @cached_property
    def honest_median(self) -> Floats:
        """Median NEES of an honest belief of this kind. (n,)."""
        return honest_median(self.residuals)

    @cached_property
    def particles(self) -> Floats | None:
        """Effective particles behind each covariance; None for Gaussians. (n,)."""
        return effective_particles(self.residuals)

    @cached_property
    def white(self) -> Floats:
        """The error in sigmas: S^(-1/2) e. (n, d)."""
        return normal.whiten(self.error, self.covariance)

    @cached_property
    def nees(self) -> Floats:
        """NEES under `covariance`, put on the chi-squared scale for particles. (n,)."""
        return normal.likelihood_terms(self.error, self.covariance).nees * (
            self.gaussian_median / self.honest_median
        )

    @property
    def gaussian_median(self) -> float:
        """Median NEES of an honest Gaussian belief."""
        return median_chi_squared(self.dimension)

    @cached_property
    def log_nees(self) -> Floats:
        """Logarithm of the NEES over its honest median. (n,)."""
        return np.log(np.maximum(self.nees / self.gaussian_median, TINY))

    @cached_property
    def relative_nees(self) -> Floats:
        """NEES as reported over its honest median: the median of this is k. (n,)."""
        return self.residuals.likelihood_terms.nees / self.honest_median

    def k(self, scans: Bools | slice) -> float:
        """Inflation of some of the scans."""
        return float(np.median(self.relative_nees[scans]))

    @cached_property
    def fewest_particles(self) -> float:
        """The least number of particles behind a covariance; infinite for Gaussians."""
        return float("inf") if self.particles is None else float(self.particles.min())

    @cached_property
    def velocity(self) -> Floats:
        """Of the reference, by central differences, in m/s. (n, 3)."""
        return np.gradient(self.position, self.time_s, axis=0)

    @cached_property
    def speed(self) -> Floats:
        """In m/s. (n,)."""
        return np.linalg.norm(self.velocity, axis=1)

    @cached_property
    def turn_rate(self) -> Floats | None:
        """Angular rate by central differences, in rad/s; None without orientation. (n,)."""
        if self.heading is None:
            return None
        last = len(self) - 1
        before, after = np.maximum(np.arange(-1, last), 0), np.minimum(np.arange(1, last + 2), last)
        turn = so3.log(so3.compose(so3.inverse(self.heading[before]), self.heading[after]))
        return np.linalg.norm(turn, axis=1) / (self.time_s[after] - self.time_s[before])


def case_of(evaluation: Evaluation, scored: SpaceScores | None = None) -> DiagnosisCase:
    """The scored scans of an evaluation, of the position or of another space."""
    scored, alignment = scored or evaluation.position, evaluation.alignment
    estimate, reference = scored.estimate, scored.reference
    ours = estimate.rotation if estimate.about.oriented else None
    whole = evaluation.options.fit_on is None and alignment.kind not in UNFITTED
    return DiagnosisCase(
        time_s=(estimate.stamp - estimate.stamp[0]) / NANOSECONDS,
        position=reference.position,
        axes=evaluation.options.space.columns,
        alignment=alignment.kind,
        residuals=scored.residuals,
        rotation=ours,
        heading=reference.rotation if reference.about.oriented else ours,
        fitted=whole,
        bodies=_bodies(evaluation),
        intervals=evaluation.options.intervals,
    )


def _bodies(evaluation: Evaluation) -> Bodies:
    ours, theirs = evaluation.estimate.about.body, evaluation.position.estimate.about.body
    extrinsic, turn = evaluation.options.extrinsic, None
    if extrinsic is None:
        ours = theirs = evaluation.reference.about.body or ours
    else:
        turn = so3.matrix(extrinsic[1])
    return Bodies(
        f"body {theirs}" if theirs else "the reference's body",
        f"body {ours}" if ours else "the estimate's body",
        turn,
    )


@dataclass(frozen=True)
class MotionRegime:
    """Scans in a regime of the motion and the others, by the diagnosis that it may lead to."""

    cause: str
    inside: Bools
    limit: float  # rad/s or m/s at the border


def motion_regimes(case: DiagnosisCase) -> list[MotionRegime]:
    """The regimes that this motion has: the upper third of a rate that stands out, standing."""
    rates = [("tight while fast", case.speed, STANDING_M_S)]
    if case.turn_rate is not None:
        rates.insert(0, ("tight while turning", case.turn_rate, TURNING_RAD_S))
    found = []
    for cause, rate, least in rates:
        limit = max(float(np.quantile(rate, 2 / 3)), least)
        inside = rate > limit
        if _has_both(inside) and rate[inside].mean() >= REGIME_RATIO * rate[~inside].mean():
            found.append(MotionRegime(cause, inside, limit))
    standing = MotionRegime("tight while standing", case.speed < STANDING_M_S, STANDING_M_S)
    return [*found, *([standing] if _has_both(standing.inside) else [])]


def _has_both(inside: Bools) -> bool:
    return bool(MIN_REGIME_SHARE < inside.mean() < 1 - MIN_REGIME_SHARE)


@dataclass(frozen=True)
class Untested:
    """A diagnosis that was not tried, and why."""

    name: str
    reason: str


def too_few(cause: str, independent_scans: float) -> Untested:
    """A cause whose p-value would not be believed."""
    reason = (
        f"{words.number(independent_scans)} independent scans are too few "
        f"({words.exact(ENOUGH_SCANS)} are needed)"
    )
    return Untested(cause, reason)
