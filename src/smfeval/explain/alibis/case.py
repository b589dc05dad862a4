"""The case: matched beliefs about one body, before alignment, and how they were judged.

An alibi changes the case (another clock, lever arm or gauge) and asks again. The alignment is
fitted again each time, on the scans and with the freedoms of the evaluation.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.align.body import moved_to
from smfeval.align.fit import FITS, fit_first_pose
from smfeval.align.world import Alignment
from smfeval.compare.clock_sweep import FEWEST, local_motion
from smfeval.compare.frames import gaussian
from smfeval.evaluation import Evaluation
from smfeval.evaluation.frames import chosen_alignment, one_body, one_world
from smfeval.evaluation.options import AlignmentKind, Options
from smfeval.evaluation.pairing import paired
from smfeval.evaluation.residuals import residuals_of
from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.score import Residuals
from smfeval.score.pit import honest_median
from smfeval.summarise.summary import Calibration
from smfeval.track import AnyTrack, GaussianTrack, Track

NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Case:
    """Scan i of the estimate meets pose i of the reference. (n, ...)."""

    estimate: GaussianTrack  # about the reference's body, in its own world
    reference: Track
    velocity: Floats | None  # (n, 3), in the estimate's world; None: too few scans to tell
    acceleration: Floats | None
    honest: Floats  # (n,): median NEES of an honest belief of this kind
    regular: Bools  # (n,): the covariance has an inverse
    kind: AlignmentKind
    options: Options
    fitted: Ints  # scans that the alignment is fitted on
    left: Ints  # scans that it leaves to score
    calibration: Calibration  # of the evaluation

    @property
    def scored(self) -> Ints:
        """Scans that are scored."""
        return self.left[self.regular[self.left]]

    @property
    def in_sample(self) -> bool:
        """Whether the alignment was fitted on the very scans that are scored."""
        return len(self.fitted) > 0 and self.left[0] <= self.fitted[-1]

    @property
    def alignment(self) -> Alignment:
        """The fit of the estimate as it stands here."""
        if self.kind == "first-pose":
            return fit_first_pose(self.estimate, self.reference)
        ours, theirs = self.estimate.position, self.reference.position
        return FITS[self.kind](ours[self.fitted], theirs[self.fitted])

    def residuals(self) -> Residuals:
        """Residuals of the scored scans, alignment and covariances done anew."""
        aligned = self.alignment(self.estimate[self.scored])
        return residuals_of(aligned, self.reference[self.scored], self.options)

    def error(self) -> Floats:
        """Errors alone: what a search needs over and over. (m, d)."""
        moved = self.alignment.moved(self.estimate.position[self.scored])
        return (moved - self.reference.position[self.scored])[:, self.options.axis_index]

    def relative(self, residuals: Residuals) -> Floats:
        """NEES over that of an honest belief's median: k is the median of it. (m,)."""
        return residuals.fit.nees / self.honest[self.scored]

    def under(self, kind: AlignmentKind, fitted: int | None = None) -> "Case":
        """The same beliefs under another alignment, on the first `fitted` scans or on all."""
        count = len(self.estimate)
        first = 1 if kind == "first-pose" else fitted or 0
        fit = np.arange(0 if kind == "none" else first or count)
        return replace(self, kind=kind, fitted=fit, left=np.arange(first, count))

    def at_offset(self, offset_s: float) -> "Case":
        """With so much more added to the estimate's stamps: x - v s + 1/2 a s^2."""
        assert self.velocity is not None
        assert self.acceleration is not None
        shift = -offset_s * self.velocity + 0.5 * offset_s**2 * self.acceleration
        position = self.estimate.position + shift
        return replace(self, estimate=self.estimate.replaced({"position": position}))

    def with_lever_arm(self, arm: Floats) -> "Case":
        """About a point that is `arm` (body axes, metres) away: x + R arm, and S with it. (3,)."""
        moved = moved_to(self.estimate, (arm, NO_TURN), self.estimate.about.body)
        assert isinstance(moved, GaussianTrack)
        return replace(self, estimate=moved)

    def thinned(self, limit: int) -> "Case":
        """At most `limit` evenly spaced scans to fit on, and as many to score."""
        fitted, left = evenly(self.fitted, limit), evenly(self.left, limit)
        kept = np.union1d(fitted, left)
        if len(kept) == len(self.estimate):
            return self
        return replace(
            self,
            estimate=self.estimate[kept],
            reference=self.reference[kept],
            velocity=None if self.velocity is None else self.velocity[kept],
            acceleration=None if self.acceleration is None else self.acceleration[kept],
            honest=self.honest[kept],
            regular=self.regular[kept],
            fitted=np.searchsorted(kept, fitted),
            left=np.searchsorted(kept, left),
        )


def evenly(index: Ints, limit: int) -> Ints:
    """At most `limit` of the entries, evenly spaced, the first among them."""
    return index[:: max(1, -(-len(index) // limit))]


def case_of(evaluation: Evaluation) -> tuple[Case, tuple[str, ...]]:
    """The case of a finished evaluation, and what taking it so leaves out."""
    options, pairs = evaluation.options, evaluation.pairs
    assert evaluation.calibration is not None
    placed, _ = one_body(evaluation.estimate, evaluation.reference, options)
    kind, _ = chosen_alignment(placed, options)
    whole, notes = gaussian(placed)
    truth = _truth(evaluation)

    matched = whole[pairs.estimate]
    alignment, left = one_world(matched, truth, kind, options)
    velocity, acceleration = _motion(whole, pairs.estimate)
    case = Case(
        estimate=matched,
        reference=truth,
        velocity=velocity,
        acceleration=acceleration,
        honest=_honest(placed[pairs.estimate], truth, options),
        regular=~normal.is_singular(residuals_of(alignment(matched), truth, options).predicted),
        kind=kind,
        options=options,
        fitted=np.arange(alignment.fitted_scans),
        left=left,
        calibration=evaluation.calibration,
    )
    return case, notes


def _truth(evaluation: Evaluation) -> Track:
    """The reference's poses at the matched scans, scored or not."""
    if len(evaluation.scored.reference) == len(evaluation.pairs):
        return evaluation.scored.reference
    _, met, _ = paired(evaluation.estimate, evaluation.reference, evaluation.options)
    return met[evaluation.pairs.reference]


def _motion(whole: GaussianTrack, at: Ints) -> tuple[Floats, Floats] | tuple[None, None]:
    if len(whole) < FEWEST:
        return None, None
    velocity, acceleration = local_motion(whole)
    return velocity[at], acceleration[at]


def _honest(matched: AnyTrack, truth: Track, options: Options) -> Floats:
    return honest_median(residuals_of(matched, truth, options))
