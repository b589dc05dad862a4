"""The facts of a verdict, from matched and aligned tracks: one kindest fit for each space.

Lever arm, body rotation and clock are open unless the user says that they are exact; so no
extrinsic, a wrong one and the right one have one verdict, and the fitted values are a suggestion.
An alignment on the first pose or on the start is one of the world with all its freedoms here: the
true one is among them, whatever the start was worth.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from math import sqrt

import numpy as np

from smfeval import words
from smfeval.align.joint import rotate_blocks
from smfeval.align.nuisance import (
    MOST_SCANS,
    OF_BODY,
    BestCaseFit,
    BodyMotion,
    Frame,
    Freedom,
    MatchedPoses,
    fit_best_case,
    open_freedoms,
)
from smfeval.associate import GapRisk, Pairs, gap_risk
from smfeval.associate.nearest import speeds
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.evaluation.claim import AlignedClaim
from smfeval.evaluation.motion import RelativeMotion, score_motion, see_motion
from smfeval.evaluation.result import ScoredScans, SpaceScores
from smfeval.judge.decide import Facts, Space, Verdict, decide
from smfeval.judge.evidence import any_correlation, averaging, usable_rows
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints, median_of, spaced_indices
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import chunks, unpack_lower
from smfeval.options import ENDING_SIGMA, Options
from smfeval.score import Residuals
from smfeval.score.pit import FEWEST_MORE, mean_of_sampled
from smfeval.score.spaces import PoseSpace, PositionSpace, RotationSpace
from smfeval.score.spaces import Space as AnySpace
from smfeval.summarise.motion import SeenMotion
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import space_name
from smfeval.summarise.quantities import K_AT_95, NOMINAL, is_rounding
from smfeval.summarise.windows import WindowRow
from smfeval.track import GaussianTrack, Track
from smfeval.why.causes import UNREAD, Why, explanation, loss

NOISE_SCANS = 500  # evenly spaced, on which the noise that ends a verdict is searched
CLOSE, MOST_TRIED = 0.01, 40  # relative to its size
LEAST_SHARE = 1e-6
ROUNDING_RAD = 1e-9  # rotation errors this small are what rounding leaves of zero
COVERAGE = f"coverage_{words.exact(100 * NOMINAL)}"
INTERVALS = Intervals()  # of the mean NEES: at 95 %, whatever is shown


NO_RISK = GapRisk(
    median=0.0, p95=0.0, largest=0.0, above_limit=0.0, not_interpolated=0.0, factor=1.0
)


@dataclass(frozen=True)
class JudgedTracks:
    """Matched and aligned tracks, and what is open between them.

    `motion` is that of the estimate's body; `gauge` what may be fitted of the world.
    """

    claim: AlignedClaim
    reference: Track
    motion: BodyMotion
    left: Ints
    gauge: str
    options: Options
    risk: GapRisk | None = None
    pose_space: AnySpace | None = None  # None where rotations cannot be compared

    @cached_property
    def pose_fit(self) -> BestCaseFit | None:
        """The kindest fit of whole poses, whose lever arm, body rotation and clock are shown."""
        return None if self.pose_space is None else self.fit(self.pose_space)

    @cached_property
    def seen(self) -> SeenMotion | None:
        """Relative motion as the body sees it that the fit of poses found."""
        fit, exact = self.pose_fit, self.options.exact
        motion = None if {"body", "clock"} <= set(exact) else self.motion
        return see_motion(
            self.claim,
            self.reference,
            motion,
            with_noise=self.options.reference_covariance,
            body=None if fit is None else fit.values,
        )

    @cached_property
    def relative_motion(self) -> RelativeMotion:
        """Relative motion under the claim."""
        return score_motion(self.seen, self.claim, self.reference, self.options)

    def rows(self, space: Space) -> tuple[WindowRow, ...]:
        """k of relative motion over horizons."""
        if space == "position":
            return self.relative_motion.all_rows
        seen = self.seen_in(space)
        return () if seen is None else seen.rows(space)

    def seen_in(self, space: Space) -> SeenMotion | None:
        """Relative motion where it tells of a space."""
        if space == "position":
            return self.relative_motion.seen
        whole = self.pose_space
        claims_all = isinstance(whole, PoseSpace) and not whole.claimed.reasons
        return self.seen if claims_all else None

    def poses(self, space: AnySpace, most: int = MOST_SCANS) -> MatchedPoses:
        """At most so many of the scored scans as a space compares them, evenly spaced.

        Those with a regular covariance; of particles, those with enough of them.
        """
        if isinstance(space, PositionSpace):
            rows, world = tuple(space.columns), not space.is_whole
        else:
            assert isinstance(space, RotationSpace | PoseSpace)
            rows, world = space.claimed.rows, space.claimed.frame == "world"
        frame: Frame = "world" if world else "body"
        of = partial(self._poses, tuple(sorted(rows)), frame)
        left, particles = self.left, self.claim.particles
        if particles is not None:
            left = left[particles[left] > len(rows) + FEWEST_MORE]
        if particles is None and most == MOST_SCANS:
            found = replace(self._spaced, rows=tuple(sorted(rows)), frame=frame)
        else:
            found = of(left[spaced_indices(len(left), most)])
        if not normal.is_singular(found.select_blocks(found.covariance)).any():
            return found
        regular = [
            left[part][~normal.is_singular(some.select_blocks(some.covariance))]
            for part in chunks(len(left))
            for some in (of(left[part]),)
        ]
        scans = np.concatenate(regular)
        return of(scans[spaced_indices(len(scans), most)])

    @cached_property
    def _spaced(self) -> MatchedPoses:
        """The scans that the fits of all spaces share, with one motion."""
        scans = self.left[spaced_indices(len(self.left), MOST_SCANS)]
        return self._poses(tuple(range(6)), "body", scans)

    def _poses(self, rows: tuple[int, ...], frame: Frame, scans: Ints) -> MatchedPoses:
        """Some scans, with what is claimed for their errors in the axes of the estimate's body."""
        own, reference = self.claim.claim, self.reference
        rotation, turned = own.rotation[scans], reference.rotation[scans]
        covariance = own[scans].covariance
        if self.claim.particles is not None:
            unit = mean_of_sampled(self.claim.particles[scans], len(rows))
            covariance = covariance * unit[:, None, None]
        if self.options.reference_covariance and isinstance(reference, GaussianTrack):
            between = so3.matrix(so3.compose(so3.inverse(rotation), turned))
            noise = unpack_lower(reference.triangle[scans])
            covariance = covariance + rotate_blocks(between, noise)
        return MatchedPoses(
            own.position[scans],
            rotation,
            self.motion[scans],
            reference.position[scans],
            turned,
            covariance,
            rows,
            frame,
        )

    def freedoms(self, poses: MatchedPoses) -> tuple[Freedom, ...]:
        """Those that are open."""
        exact = self.options.exact
        body, clock = "body" not in exact, "clock" not in exact
        return open_freedoms(
            poses, self.gauge, body=body, clock=clock, oriented=self.claim.oriented
        )

    def fit(self, space: AnySpace) -> BestCaseFit | None:
        """The kindest fit of a space; None where no scan has a regular covariance."""
        if isinstance(space, PoseSpace) and "pose_fit" in vars(self):
            return self.pose_fit
        poses = self.poses(space)
        return fit_best_case(poses, self.freedoms(poses)) if len(poses) else None


def gap_risk_of(
    scored: ScoredScans, pairs: Pairs, left: Ints, *, granted: bool = True
) -> GapRisk | None:
    """What the gaps between stamps leave open, in claimed sigmas; None without a belief.

    `granted` says whether the reference's covariance entered the prediction.
    """
    covariance = scored.residuals.covariance
    if covariance is None:
        return None
    variance = np.einsum("nii->n", covariance) / scored.residuals.dimension
    if not variance.min() > 0:
        return None
    gap_s = pairs.gap_s[left][scored.kept_scans]
    if not gap_s.any():  # the usual case of common stamps: nothing moves within no time
        return NO_RISK
    speed = speeds(scored.reference.stamp, scored.reference.position)
    open_m = None if pairs.open_m is None else pairs.open_m[left][scored.kept_scans]
    least = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[:, 0], 0.0))
    if not least.min() > 0:
        return None
    return gap_risk(speed, gap_s, np.sqrt(variance), least, open_m=open_m, granted=granted)


def judge_space(
    scored: SpaceScores, tracks: JudgedTracks | None, doubts: tuple[Why, ...]
) -> SpaceScores:
    """The scores of a space with its verdict, as far as doubts about the files allow one."""
    lost = loss(doubts)
    found = _judge(scored, tracks, is_lost=lost is not None)
    found = found.after_doubt(explanation(doubts), lost)
    unread = explanation(doubts, among=UNREAD)
    if unread is not None and found.reason == "no uncertainty":
        found = replace(found, reason="doubt", doubt=unread)
    return replace(scored, verdict=found)


def _judge(scored: SpaceScores, tracks: JudgedTracks | None, *, is_lost: bool) -> Verdict:
    """The verdict of one space, by all that speaks for it."""
    name, count = scored.space.name, len(scored.residuals)
    if tracks is None or not scored.has_belief:
        return decide(Facts(name, count, None))
    risk, k = tracks.risk, scored.numbers[K_AT_95]
    least_k = k.value if k.low is None else k.low
    facts = Facts(
        name,
        count,
        k,
        track_scans=len(tracks.reference),
        is_fitted=tracks.gauge != "none",
        own_share=own_share(scored.residuals),
        same=is_same(scored),
        gap_factor=risk.factor if risk is not None and risk.may_convict else None,
        no_acquittal=risk is not None and risk.may_acquit,
        vetoed=scored.residuals.ensemble is not None and not least_k > 1,
        coverage=scored.numbers[space_name(COVERAGE, name)].value,
    )
    fit = None if facts.same else tracks.fit(scored.space)
    if fit is None:
        return decide(facts)
    stamp = tracks.reference.stamp[tracks.left]
    found = judge_fit(facts, fit, tracks.rows(name), tracks.claim.tails, stamp)
    numbers = tracks.options.numbers
    asked = numbers is None or space_name(ENDING_SIGMA, name) in numbers
    if found.label != "overconfident" or is_lost or not asked:  # no reference is as bad as lost
        return found
    return replace(found, reference_sigma=_ending_noise(found, fit, tracks))


def judge_fit(
    facts: Facts, fit: BestCaseFit, rows: tuple[WindowRow, ...], tails: float, stamp: Ints
) -> Verdict:
    """The verdict by what a fit leaves and by relative motion; what would tell, where none is."""
    facts = add_evidence(facts, fit, rows, tails)
    if len(stamp) > 1:  # seconds between the scans that stand for a track
        step_s = float(median_of(np.diff(stamp))) / NANOSECONDS * len(stamp) / len(fit.white)
        facts = replace(facts, step_s=step_s)
    found = decide(facts)
    if found.label == "overconfident":
        return found
    return decide(replace(facts, decides=_deciding(fit, tails)))


def is_same(scored: SpaceScores) -> bool:
    """Whether errors are what rounding leaves of zero: estimate and reference are one track."""
    space = scored.space
    if isinstance(space, PositionSpace):
        return is_rounding(scored.series["ape"], scored.reference.position)
    assert isinstance(space, RotationSpace | PoseSpace)
    turned = np.abs(scored.residuals.error[:, space.turning]).max(axis=1)
    return float(median_of(turned)) <= ROUNDING_RAD


def add_evidence(
    facts: Facts, fit: BestCaseFit, rows: tuple[WindowRow, ...] = (), tails: float = 1.0
) -> Facts:
    """Facts with the evidence of a fit and of relative motion."""
    second = acquitting = averaging(fit, INTERVALS, tails)
    if not facts.is_fitted:  # columns may have absorbed what a wide belief would need
        acquitting = averaging(fit_best_case(fit.poses, ()), INTERVALS, tails)
    return replace(
        facts,
        first=any_correlation(fit, tails),
        second=second,
        acquitting=acquitting,
        rows=usable_rows(rows),
        freedoms=fit.freedoms,
        values=fit.values,
    )


def own_share(residuals: Residuals) -> float:
    """The estimate's part of the predicted variance, median over the scans."""
    if residuals.noise is None:
        return 1.0
    whole = np.einsum("nii->n", residuals.predicted_covariance)
    share = 1 - np.einsum("nii->n", residuals.noise) / whole
    return max(float(median_of(share)), LEAST_SHARE)


def _deciding(fit: BestCaseFit, tails: float) -> tuple[Freedom, ...]:
    """Freedoms of body and clock without which the first evidence would convict, one or all."""
    of_world = tuple(each for each in fit.freedoms if each not in OF_BODY)
    if any_correlation(fit_best_case(fit.poses, of_world), tails).at_least <= 1:
        return ()
    open_ones = tuple(each for each in fit.freedoms if each in OF_BODY)
    found = []
    for each in open_ones:
        fewer = tuple(other for other in fit.freedoms if other != each)
        if any_correlation(fit_best_case(fit.poses, fewer), tails).at_least > 1:
            found.append(each)
    return tuple(found) or open_ones  # one of them may stand in for another


Noise = Callable[[BodyMotion], Floats]  # covariance of every scan, in body axes. -> (n, 6, 6)


def white_noise(position_m: float, rotation_rad: float = 0.0) -> Noise:
    """Alike in all directions, and at every scan."""
    more = np.repeat([position_m**2, rotation_rad**2], 3) * np.eye(6)
    return lambda motion: np.broadcast_to(more, (len(motion), 6, 6))


def judge_under_noise(
    tracks: JudgedTracks, facts: Facts, poses: MatchedPoses, noise: Noise, *, windows: bool = True
) -> Verdict:
    """The verdict of the facts against a reference that is uncertain by so much more.

    The rest is asked where the first evidence, which comes before it, does not convict; relative
    motion over `windows` may be left out.
    """
    wider = poses.with_noise(noise(poses.motion))
    singular = int(normal.is_singular(wider.select_blocks(wider.covariance)).sum())
    if singular:
        count = words.count_of(singular, len(wider), "covariance")
        raise SeriesError(f"with it, {count} are singular")
    own, whole = (np.einsum("nii->n", p.select_blocks(p.covariance)) for p in (poses, wider))
    facts = replace(facts, own_share=facts.own_share * float(median_of(own / whole)))

    fit = fit_best_case(wider, facts.freedoms, facts.values)
    tails, seen = tracks.claim.tails, tracks.seen_in(facts.space)
    first = any_correlation(fit, tails)
    if first.at_least > 1:
        return decide(replace(facts, first=first, second=None, acquitting=None, rows=()))
    rows: tuple[WindowRow, ...] = ()
    if windows and seen is not None:
        space: Space = "rotation" if facts.space == "rotation" else "position"
        rows = seen.with_noise(noise(tracks.motion)).rows(space)
    return decide(add_evidence(facts, fit, rows, tails))


def _ending_noise(verdict: Verdict, fit: BestCaseFit, tracks: JudgedTracks) -> float | None:
    """White noise of the reference, per axis, from which on nothing convicts.

    None for poses, and where not even noise as large as the errors ends the verdict.
    """
    facts, poses = verdict.facts, fit.poses.thin(NOISE_SCANS)
    if facts.space == "pose":
        return None

    def judge(sigma: float, *, windows: bool) -> Verdict:
        noise = white_noise(0.0, sigma) if facts.space == "rotation" else white_noise(sigma)
        return judge_under_noise(tracks, facts, poses, noise, windows=windows)

    variance = np.einsum("nii->n", fit.poses.select_blocks(fit.poses.covariance))
    most = float(np.sqrt(np.mean(fit.nees * variance))) or 1.0
    least = least_size(partial(judge, windows=False), most, verdict.margin)
    if least is None or judge(least, windows=True).label != "overconfident":
        return least  # the dearest evidence was asked once
    return least_size(partial(judge, windows=True), most, verdict.margin)


def least_size(judge: Callable[[float], Verdict], most: float, margin: float) -> float | None:
    """The least size of a noise that does not convict, to 1 %; None where the largest does.

    `margin` is that without noise. Of a mean square e^2 / (S + size^2), 1 / margin is a line over
    size^2: the next size is where the line through the last two meets 1. Every third one halves
    what is left, whatever the margins do.
    """
    low, high, size = 0.0, most, most
    last = (0.0, 1 / margin)
    for tried in range(MOST_TRIED):
        verdict = judge(size)
        convicts = verdict.label == "overconfident"
        if convicts and size == most:
            return None
        low, high = (size, high) if convicts else (low, size)
        here = (size**2, 1 / max(verdict.margin, LEAST_SHARE))
        slope = (here[1] - last[1]) / (here[0] - last[0])
        square = here[0] - (here[1] - 1) / slope if slope > 0 else 0.0
        aim, last = sqrt(max(square, 0.0)), here
        if high < (1 + CLOSE) * max(low, LEAST_SHARE * most, 0.0 if convicts else aim):
            break
        size = (1 + CLOSE / 2) * aim
        if tried % 3 == 2 or not low < size < high:
            size = sqrt(high * (low or high * LEAST_SHARE))
    return high
