"""The case: matched beliefs about one body, before alignment, and how they were judged.

An alibi changes the case (another clock, lever arm, gauge or reference) and asks again. The
alignment is fitted again each time, on the scans and with the freedoms of the evaluation; residuals
are scored under what the claim leaves after that fit, and judged by the rule of the evaluation.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, wraps
from typing import Any, Literal, TypeVar

import numpy as np

from smfeval import words
from smfeval.align.body import move_to_body, to_common_body
from smfeval.align.fit import FITS, Alignment, fit_first_pose
from smfeval.align.gauge import choose_alignment, fit_alignment
from smfeval.align.joint import UNKNOWN, Joint, given_joint, lever
from smfeval.associate import GapRisk
from smfeval.associate.pairing import pair_scans
from smfeval.associate.reference_noise import with_shared_error
from smfeval.choices import AlignmentKind
from smfeval.compare.frames import as_gaussian
from smfeval.compare.sensitivity import FEWEST, local_motion
from smfeval.errors import OptionError, SeriesError, SmfevalError
from smfeval.evaluation import Evaluation
from smfeval.evaluation.claim import AlignedClaim, align_claim, claimed_joint, judge_motion
from smfeval.evaluation.metrics import FittedFreedoms, judge_gaps, judge_track
from smfeval.evaluation.result import SpaceScores
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.score.pit import honest_median
from smfeval.summarise.judgement import RELATIVE_MOTION, Label
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.quantities import K_AT_95, VERDICT_LEVEL
from smfeval.summarise.verdict import Verdict, verdict_numbers
from smfeval.track import AnyTrack, CrossCovariance, GaussianTrack, ParticleTrack, Track

# what does not change with the reference's covariance
OF_THE_POSES = ("scored_scans", "alignment", "claim", "scored_estimate", "aligned_estimate")
UNFITTED_ALIGNMENTS = ("none", "first-pose")
IDENTITY_ROTATION = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class AlibiCase:
    """Scan i of the estimate meets pose i of the reference. (n, ...)."""

    estimate: GaussianTrack  # about the reference's body, in its own world
    reference: Track
    velocity: Floats | None  # (n, 3), in the estimate's world; None: too few scans to tell
    acceleration: Floats | None
    honest_median: Floats  # (n,): median NEES of an honest belief of this kind
    is_regular: Bools  # (n,): the covariance has an inverse
    kind: AlignmentKind
    options: Options
    fitted: Ints  # scans that the alignment is fitted on
    left: Ints  # scans that it leaves to score
    numbers: Mapping[str, Number]  # of the evaluation, that a verdict reads
    own_joint: tuple[Joint, str]  # claimed in the estimate's own world, and why
    is_ensemble: bool = False  # the estimate had particles
    has_clock: bool = False  # a clock offset was found for it
    gap_risk: GapRisk | None = None  # of the evaluation

    @cached_property
    def scored_scans(self) -> Ints:
        """Scans that are scored."""
        return self.left[self.is_regular[self.left]]

    @property
    def in_sample(self) -> bool:
        """Whether the alignment was fitted on the very scans that are scored."""
        return len(self.fitted) > 0 and self.left[0] <= self.fitted[-1]

    @cached_property
    def alignment(self) -> Alignment:
        """The fit of the estimate as it stands here."""
        if self.kind == "first-pose":
            return fit_first_pose(self.estimate, self.reference)
        ours, theirs = self.estimate.position, self.reference.position
        return FITS[self.kind](ours[self.fitted], theirs[self.fitted])

    @cached_property
    def claim(self) -> AlignedClaim:
        """What the estimate claims about its residuals after the alignment of this case."""
        joint, reason = self.own_joint
        cross = self.estimate.cross
        if joint.kind == "given":
            joint = UNKNOWN if cross is None else given_joint(cross.pairs, cross.block)
        alignment = self.alignment
        claim = align_claim(alignment(self.estimate), (joint, reason), alignment, self.kind)
        assert claim is not None
        if self.is_ensemble and self.kind != "none":  # as of particles: nothing is granted
            return replace(claim, how="after a fit", covariance=None)
        return claim

    @cached_property
    def scored_estimate(self) -> GaussianTrack:
        """The estimate at the scored scans."""
        return select_scans(self.estimate, self.scored_scans)

    @cached_property
    def scored_reference(self) -> Track:
        """The reference at the scored scans."""
        return select_scans(self.reference, self.scored_scans)

    @cached_property
    def aligned_estimate(self) -> AnyTrack:
        """The same in the reference's world."""
        return self.alignment(self.scored_estimate)

    @cached_property
    def residuals(self) -> Residuals:
        """Residuals of the scored scans, alignment and covariances done anew."""
        claimed = self.claim.covariance
        return self.options.space.residuals(
            self.aligned_estimate,
            self.scored_reference,
            None if claimed is None else select_scans(claimed, self.scored_scans),
        )

    def error(self) -> Floats:
        """Errors alone: what a search needs over and over. (m, d)."""
        moved = self.alignment.aligned_position(self.estimate.position[self.scored_scans])
        return (moved - self.reference.position[self.scored_scans])[:, self.options.space.columns]

    def relative_nees(self, residuals: Residuals) -> Floats:
        """NEES over that of an honest belief's median: k is the median of it. (m,)."""
        return residuals.likelihood_terms.nees / self.honest_median[self.scored_scans]

    def under_alignment(self, kind: AlignmentKind, fitted: int | None = None) -> "AlibiCase":
        """The same beliefs under another alignment, on the first `fitted` scans or on all."""
        count = len(self.estimate)
        first = 1 if kind == "first-pose" else fitted or 0
        fit = np.arange(0 if kind == "none" else first or count)
        return replace(self, kind=kind, fitted=fit, left=np.arange(first, count))

    def at_offset(self, offset_s: float) -> "AlibiCase":
        """With so much more added to the estimate's stamps: x - v s + 1/2 a s^2, and S with it.

        The body a moment before is a point of the body now, as far as the covariance goes.
        """
        position, whole = self.positions_at_offset(offset_s), self.estimate
        shift = position - whole.position
        carry = lever(so3.rotate_back(whole.rotation, shift))
        covariance = carry @ whole.covariance @ np.swapaxes(carry, 1, 2)
        covariance = 0.5 * (covariance + np.swapaxes(covariance, 1, 2))
        cross = whole.cross
        if cross is not None:
            first, second = cross.pairs.T
            block = carry[first] @ cross.block @ np.swapaxes(carry[second], 1, 2)
            cross = CrossCovariance(cross.pairs, block)
        rows = {"position": position, "covariance": covariance}
        return replace(self, estimate=whole.with_arrays(rows, cross=cross))

    def positions_at_offset(self, offset_s: float) -> Floats:
        """The positions alone: what a search of many offsets needs. (n, 3)."""
        assert self.velocity is not None
        assert self.acceleration is not None
        shift = -offset_s * self.velocity + 0.5 * offset_s**2 * self.acceleration
        return self.estimate.position + shift

    def at_positions(self, position: Floats) -> "AlibiCase":
        """With other positions, and the covariances as they are. (n, 3)."""
        return replace(self, estimate=self.estimate.with_arrays({"position": position}))

    def with_lever_arm(self, arm: Floats) -> "AlibiCase":
        """About a point that is `arm` (body axes, metres) away: x + R arm, and S with it. (3,)."""
        moved = move_to_body(self.estimate, (arm, IDENTITY_ROTATION), self.estimate.about.body)
        assert isinstance(moved, GaussianTrack)
        return replace(self, estimate=moved)

    def with_reference_noise(self, covariance: Floats) -> "AlibiCase":
        """Before a reference that is uncertain by so much more, in world axes. (n, 3, 3)."""
        reference, own = self.reference, np.zeros((len(self.reference), 6, 6))
        if isinstance(reference, GaussianTrack) and self.options.reference_covariance:
            own = reference.covariance.copy()
        own[:, :3, :3] += so3.rotate_covariance(so3.inverse(reference.rotation), covariance)
        rows = {
            "stamp": reference.stamp,
            "position": reference.position,
            "rotation": reference.rotation,
            "covariance": own,
        }
        noisy = self.estimate.with_arrays(  # not checked: v v^T is singular, up to rounding
            rows,
            about=reference.about,
            provenance=reference.provenance,
            shared=getattr(reference, "shared", None),
        )
        options = replace(self.options, reference_covariance=True)
        changed = replace(self, reference=noisy, options=options)
        vars(changed).update({name: getattr(self, name) for name in OF_THE_POSES})
        return changed

    def thin(self, limit: int) -> "AlibiCase":
        """At most `limit` evenly spaced scans to fit on, and as many to score."""
        fitted, left = evenly_spaced(self.fitted, limit), evenly_spaced(self.left, limit)
        kept = np.union1d(fitted, left)
        if len(kept) == len(self.estimate):
            return self
        return replace(
            self,
            estimate=self.estimate[kept],
            reference=self.reference[kept],
            velocity=None if self.velocity is None else self.velocity[kept],
            acceleration=None if self.acceleration is None else self.acceleration[kept],
            honest_median=self.honest_median[kept],
            is_regular=self.is_regular[kept],
            fitted=np.searchsorted(kept, fitted),
            left=np.searchsorted(kept, left),
        )


OfScans = TypeVar("OfScans", GaussianTrack, Track, Floats)
Found = TypeVar("Found")


def select_scans(whole: OfScans, scans: Ints) -> OfScans:
    """Some scans in their order, of a track or an array; the whole where these are all."""
    return whole if len(scans) == len(whole) else whole[scans]


def once_for_each_case(function: Callable[[AlibiCase], Found]) -> Callable[[AlibiCase], Found]:
    """The function, which does its work once for each case: cases are frozen."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def remembered(case: AlibiCase) -> Found:
        kept: dict[str, Any] = vars(case)
        if name not in kept:
            kept[name] = function(case)
        return kept[name]

    return remembered


def evenly_spaced(index: Ints, limit: int) -> Ints:
    """At most `limit` of the entries, evenly spaced, the first among them."""
    return index[:: max(1, -(-len(index) // limit))]


def case_of(evaluation: Evaluation) -> tuple[AlibiCase, tuple[str, ...]]:
    """The case of a finished evaluation, and what taking it so leaves out."""
    options, pairs = evaluation.options, evaluation.pairs
    assert evaluation.position.has_belief
    placed, _ = to_common_body(evaluation.estimate, evaluation.reference, options.extrinsic)
    kind, _ = choose_alignment(placed, options.alignment)
    whole, notes = as_gaussian(placed)
    truth = _truth(evaluation)

    matched = whole[pairs.estimate]
    alignment, left = fit_alignment(matched, truth, kind, options.fit_on)
    velocity, acceleration = _motion(whole, pairs.estimate)
    own_joint = claimed_joint(placed, options.joint, placed[pairs.estimate])
    case = AlibiCase(
        estimate=matched,
        reference=truth,
        velocity=velocity,
        acceleration=acceleration,
        honest_median=_honest_medians(placed[pairs.estimate], truth, options),
        is_regular=np.ones(len(matched), dtype=np.bool_),
        kind=kind,
        options=options,
        fitted=np.arange(alignment.fitted_scans),
        left=left,
        numbers=verdict_numbers(evaluation.position.numbers),
        own_joint=own_joint,
        is_ensemble=isinstance(placed, ParticleTrack),
        has_clock=evaluation.clock is not None,
        gap_risk=evaluation.gap_risk,
    )
    scored = replace(case, is_regular=_is_regular(case))
    vars(scored).update(alignment=case.alignment, claim=case.claim)
    return scored, notes


def _is_regular(case: AlibiCase) -> Bools:
    """Whether the scored covariance of a matched scan has an inverse. (n,)."""
    aligned = case.alignment(case.estimate)
    residuals = case.options.space.residuals(aligned, case.reference, case.claim.covariance)
    return ~normal.is_singular(residuals.predicted_covariance)


def _truth(evaluation: Evaluation) -> Track:
    """The reference's poses at the matched scans, scored or not."""
    if len(evaluation.position.reference) == len(evaluation.pairs):
        return evaluation.position.reference
    options = evaluation.options
    pairs = None if options.association == "gp" else evaluation.pairs
    _, met, _ = pair_scans(evaluation.estimate, evaluation.reference, options, pairs=pairs)
    return with_shared_error(met, options.ref_shared, evaluation.alignment)[0]


def _motion(whole: GaussianTrack, at: Ints) -> tuple[Floats, Floats] | tuple[None, None]:
    if len(whole) < FEWEST:
        return None, None
    velocity, acceleration = local_motion(whole)
    return velocity[at], acceleration[at]


def _honest_medians(matched: AnyTrack, truth: Track, options: Options) -> Floats:
    return honest_median(options.space.residuals(matched, truth))


@dataclass(frozen=True)
class AlibiJudgement:
    """k, median NEES and label, by the rules of the verdict."""

    k: Number  # with its 95 % interval
    nees_median: float
    label: Label
    scans: int
    relative_k: float | None = None  # k of relative motion, where the label rests on it

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "k": self.k.to_dict(),
            "nees_median": finite_or_none(self.nees_median),
            "relative_k": None if self.relative_k is None else finite_or_none(self.relative_k),
            "verdict": self.label,
            "scans": self.scans,
        }


def evaluated_judgement(evaluation: Evaluation) -> AlibiJudgement:
    """The judgement that an evaluation already holds."""
    median, k = evaluation["nees_median"].value, evaluation.position.numbers[K_AT_95]
    return as_judgement(evaluation.verdict, k, median, len(evaluation.position.residuals))


def as_judgement(verdict: Verdict, k: Number, nees_median: float, scans: int) -> AlibiJudgement:
    """The judgement that a verdict comes to; of a doubted one, what it is as read."""
    relative_k = verdict.factor if verdict.evidence == RELATIVE_MOTION else None
    label = verdict.label if verdict.as_read is None else verdict.as_read
    return AlibiJudgement(k, nees_median, label, scans, relative_k)


def judge(case: AlibiCase, relative: Floats | None = None) -> AlibiJudgement:
    """The case as it stands, by the rule of the evaluation; `relative` NEES may be given. (m,)."""
    residuals = case.residuals if relative is not None else regular_residuals(case)
    relative = case.relative_nees(residuals) if relative is None else relative
    k = k_number(case, relative)
    median = float(np.median(relative * case.honest_median[case.scored_scans]))
    return as_judgement(_verdict(case, residuals, k), k, median, len(relative))


def try_judge(case: AlibiCase) -> tuple[AlibiJudgement | None, str | None]:
    """The judgement, or the reason in words where there is none."""
    try:
        return judge(case), None
    except SmfevalError as error:
        return None, str(error)


def regular_residuals(case: AlibiCase) -> Residuals:
    """Residuals whose covariances have an inverse; raises where a change took it."""
    residuals = case.residuals
    singular = int(residuals.likelihood_terms.singular.sum())
    if singular:
        raise SeriesError(
            f"it makes {words.count(singular)} of {words.count(len(residuals))} covariances "
            "singular"
        )
    return residuals


def relative_nees(case: AlibiCase) -> Floats:
    """NEES over that of an honest belief's median, of covariances that have an inverse. (m,)."""
    return case.relative_nees(regular_residuals(case))


def k_number(case: AlibiCase, relative: Floats) -> Number:
    """k with the interval that the verdict rests on."""
    return replace(case.options.intervals, level=VERDICT_LEVEL).of(relative, "median", "1")


def _verdict(case: AlibiCase, residuals: Residuals, k: Number) -> Verdict:
    """The verdict by the rule of the evaluation; bounds are asked where nothing else decides."""
    scans = case.scored_scans
    scored = SpaceScores(
        kept_scans=scans,
        estimate=case.scored_estimate,
        reference=case.scored_reference,
        residuals=residuals,
        series={"ape": np.linalg.norm(residuals.error, axis=1)},
        singular=len(case.left) - len(scans),
        space=case.options.space,
        numbers={**case.numbers, "k": k, K_AT_95: k},
    )
    fit = FittedFreedoms(
        case.alignment.freedoms,
        from_start=len(case.left) < len(case.estimate),
        clock=case.has_clock,
    )
    motion = judge_motion(
        case.claim,
        case.reference,
        case.options.space,
        all_bounds=needs_all_bounds(case.gap_risk),
    )
    return judge_gaps(judge_track(scored, fit, motion), case.gap_risk)


def needs_all_bounds(risk: GapRisk | None) -> bool:
    """Whether a label asks how far beyond a bound the errors are: gaps may excuse so much."""
    return risk is not None and risk.may_convict


AlibiName = Literal[
    "gauge",
    "clock offset",
    "clock jitter",
    "continuous reference",
    "lever arm",
    "reference noise",
    "all at once",
    "constant rotation",
]
Outcome = Literal["holds", "not excluded", "in part", "no"]
SizeUnit = Literal["m", "s", "deg"]

# An alibi that holds takes at least this part of the excess of k over 1 away (of k below 1).
LEAST_FALL = 0.25
# An alibi that leaves at most half of k explains part of it. Less is no sign: giving up one of
# three directions, as a large jitter does, leaves 0.59 of any k (medians of chi-squared, 2 and 3).
IN_PART = 0.5
WIDEST_M = 10.0  # an extrinsic that is wrong by more is of another robot


@dataclass(frozen=True)
class ExtrinsicTolerance:
    """How wrong an extrinsic may be without anybody having noticed."""

    translation_m: float = 0.01
    rotation_deg: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.translation_m <= WIDEST_M and 0 <= self.rotation_deg <= 180):
            raise OptionError(
                f"a tolerance of {words.exact(self.translation_m)} m and "
                f"{words.exact(self.rotation_deg)} deg is none: "
                f"write a length from 0 to {words.exact(WIDEST_M)} m and an angle from 0 to 180 "
                "degrees"
            )


@dataclass(frozen=True)
class Need:
    """How much of it gives k = 1; `size` is None where no amount does."""

    unit: SizeUnit
    size: float | None
    low: float | None = None  # sizes for which 1 is within the 95 % interval of k
    high: float | None = None
    kindest: float | None = None  # where no amount does: the best one (None: without limit),
    k_left: float | None = None  # and the k that it leaves

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {"unit": self.unit} | {
            name: finite_or_none(value) for name, value in asdict(self).items() if name != "unit"
        }


@dataclass(frozen=True)
class Alibi:
    """Something else that could explain the errors, granted; and what that does to the verdict."""

    name: AlibiName
    granted: str  # in words: what was assumed instead
    judgement: AlibiJudgement | None  # None: it cannot be asked, see `reason`
    need: Need | None = None
    proviso: str | None = None  # it counts only if this is so, which the user must know
    searched: bool = False  # the kindest to the estimate of many was taken
    reason: str | None = None
    scored: AlibiJudgement | None = None  # what it explains, if not the verdict of the position

    def holds(self, scored: AlibiJudgement) -> bool:
        """Whether the verdict would no longer be overconfident because errors fit the claim better.

        A verdict that only loses its evidence, while k hardly moves, is no sign of that.
        """
        scored, judged = self.scored or scored, self.judgement
        if judged is None or judged.label == "overconfident":
            return False
        return has_fallen(*_comparable_k(scored, judged))

    def outcome(self, scored: AlibiJudgement) -> Outcome | None:
        """Whether it explains the verdict, might, explains part, or nothing; None: not known."""
        if self.judgement is None or not np.isfinite(self.judgement.k.value):
            return None
        k, label = self.judgement.k.value, self.judgement.label
        if self.holds(scored):
            return "not excluded" if label == "cannot tell" and k > 1 else "holds"
        return "in part" if k <= IN_PART * (self.scored or scored).k.value else "no"

    def to_dict(self, scored: AlibiJudgement) -> dict[str, Any]:
        """JSON data."""
        return {
            "alibi": self.name,
            "scored": None if self.scored is None else self.scored.to_dict(),
            "granted": self.granted,
            "proviso": self.proviso,
            "searched": self.searched,
            "judgement": None if self.judgement is None else self.judgement.to_dict(),
            "outcome": self.outcome(scored),
            "needed": None if self.need is None else self.need.to_dict(),
            "reason": self.reason,
        }


def _comparable_k(scored: AlibiJudgement, judged: AlibiJudgement) -> tuple[float, float]:
    """k as scored and as granted: of relative motion where both rest on it, else of the scans."""
    if scored.relative_k is None or judged.relative_k is None:
        return scored.k.value, judged.k.value
    return scored.relative_k, judged.relative_k


def has_fallen(before: float, after: float) -> bool:
    """Whether k has come down by a part of its excess that counts."""
    excess = before - 1 if before > 1 else before
    return before - after >= LEAST_FALL * excess


@dataclass(frozen=True, repr=False)
class Alibis:
    """What else could explain an overconfident verdict."""

    scored: AlibiJudgement  # as it was evaluated
    rows: tuple[Alibi, ...]  # empty where there is nothing to explain
    tolerance: ExtrinsicTolerance
    sentence: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "scored": self.scored.to_dict(),
            "tolerance": asdict(self.tolerance),
            "rows": [row.to_dict(self.scored) for row in self.rows],
            "sentence": self.sentence,
            "notes": list(self.notes),
        }


STEPS = 50  # halvings of the logarithm of the size: far below any digit shown
SMALLEST = 1e-9  # of the largest size: what is less counts as nothing
DOUBLINGS = 20

FallingCurve = Callable[[float], float]


def crossing(value: FallingCurve, high: float, *, steps: int = STEPS) -> float | None:
    """The size at which a falling function comes down to 1; None where it does not up to `high`.

    0 where it is 1 or less from the start.
    """
    if value(0.0) <= 1:
        return 0.0
    if value(high) > 1:
        return None
    low = SMALLEST * high
    for _ in range(steps):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if value(middle) > 1 else (low, middle)
    return float(np.sqrt(low * high))


def median_curve(relative: Callable[[float], Floats]) -> FallingCurve:
    """k as a function of the size."""
    return lambda size: float(np.median(relative(size)))


def widen_bracket(value: FallingCurve, high: float) -> float | None:
    """The first of `high`, 2 `high`, 4 `high` ... at which a function is 1 or less."""
    sizes = (high * 2.0**power for power in range(DOUBLINGS))
    return next((size for size in sizes if value(size) <= 1), None)
