"""What the diagnoses look at: errors, covariances and motion of the scored scans, as arrays."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smfeval.evaluation import Evaluation
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import Residuals
from smfeval.score.pit import effective_particles, honest_median
from smfeval.summarise.inflation import median_chi_squared

TINY = 1e-6  # of an honest median: a NEES below it is as good as zero, and has no logarithm
UNFITTED = ("none", "first-pose")  # alignments that no scored scan had a say in


@dataclass(frozen=True)
class Case:
    """Scored scans of one track.

    `covariance` is what the belief predicts for the reference. After a fit on the scored scans it
    holds, besides, the mean covariance of the track: the alignment is off by an average of errors,
    and the covariance of an average is at most the average of the covariances, whatever the
    dependence. Without that, an honest covariance that grows from zero looks too tight at the start
    of a track that was fitted as a whole.
    """

    time_s: Floats  # (n,) from the first scored scan
    position: Floats  # (n, 3) of the reference
    axes: list[int]  # columns that are scored
    alignment: str
    residuals: Residuals
    rotation: Floats | None  # (n, 4) of the estimate; None without orientation
    heading: Floats | None  # (n, 4) of the best orientation there is, for the turn rate
    fitted: bool  # the alignment was fitted on the scored scans

    def __len__(self) -> int:
        return len(self.time_s)

    def with_error(self, error: Floats) -> "Case":
        """The same scans with another error (n, d): a known part taken out."""
        return replace(self, residuals=replace(self.residuals, error=error))

    @property
    def dimension(self) -> int:
        """Number of scored axes."""
        return self.residuals.dimension

    @property
    def error(self) -> Floats:
        """Mean minus reference. (n, d)."""
        return self.residuals.error

    @property
    def believes(self) -> bool:
        """Whether there is a covariance."""
        return self.residuals.covariance is not None

    @cached_property
    def covariance(self) -> Floats:
        """Predicted covariance, with that of the alignment where it was fitted. (n, d, d)."""
        predicted = self.residuals.predicted
        return predicted + predicted.mean(axis=0) if self.fitted else predicted

    @cached_property
    def honest(self) -> Floats:
        """Median NEES of an honest belief of this kind. (n,)."""
        return honest_median(self.residuals)

    @cached_property
    def particles(self) -> Floats | None:
        """Effective particles behind each covariance; None for Gaussians. (n,)."""
        return effective_particles(self.residuals)

    @cached_property
    def nees(self) -> Floats:
        """NEES under `covariance`, put on the chi-squared scale for particles. (n,)."""
        return normal.fit(self.error, self.covariance).nees * (self.yardstick / self.honest)

    @property
    def yardstick(self) -> float:
        """Median NEES of an honest Gaussian belief."""
        return median_chi_squared(self.dimension)

    @cached_property
    def log_nees(self) -> Floats:
        """Logarithm of the NEES over its honest median. (n,)."""
        return np.log(np.maximum(self.nees / self.yardstick, TINY))

    @cached_property
    def relative_nees(self) -> Floats:
        """NEES as reported over its honest median: the median of this is k. (n,)."""
        return self.residuals.fit.nees / self.honest

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


def case_of(evaluation: Evaluation) -> Case:
    """The scored scans of an evaluation."""
    scored, alignment = evaluation.scored, evaluation.alignment
    estimate, reference = scored.estimate, scored.reference
    ours = estimate.rotation if estimate.about.oriented else None
    whole = evaluation.options.fit_on is None and alignment.kind not in UNFITTED
    return Case(
        time_s=(estimate.stamp - estimate.stamp[0]) / NANOSECONDS,
        position=reference.position,
        axes=evaluation.options.axis_index,
        alignment=alignment.kind,
        residuals=scored.residuals,
        rotation=ours,
        heading=reference.rotation if reference.about.oriented else ours,
        fitted=whole,
    )
