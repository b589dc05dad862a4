"""Out of sample: which tracks are learnt from, how a correction does on the others, which model.

Another model than `scale` is chosen only where it is better on tracks that are left out in turn.
"""

from collections.abc import Iterable, Sequence
from math import inf, sqrt

import numpy as np

from smfeval import words
from smfeval.align.body import to_common_body
from smfeval.align.fit import choose_alignment
from smfeval.align.joint import UNKNOWN
from smfeval.calibration.correction import (
    Correction,
    LearntOn,
    ScanColumns,
    convention_of,
    only_value,
)
from smfeval.calibration.models import MODELS, ROTATION, CalibrationSample, rotation_scale
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.evaluation.claim import align_claim, claimed_joint, with_memory
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import chi_squared_tail_quantile, student_reach
from smfeval.score import Residuals
from smfeval.score.rotation import log_rotation
from smfeval.score.spaces import RotationSpace
from smfeval.score.tangent import pose_residuals
from smfeval.summarise.number import Number, finite_or_none
from smfeval.track import AnyTrack

LOST_FACTOR = 100.0  # a track whose k is this many times that of the median track is lost
FEWEST_TO_COMPARE = 3  # tracks: with fewer none stands out from the rest
SAME_TIME = 0.5  # of the shorter of two runs, that both have, if they are of one recording
BLOCKS = 5  # parts of one long track, each held out in turn
GAIN_LEVEL = 0.95
REGION_LEVEL = 0.9  # of the regions whose coverage is counted
FEWEST_HELD_OUT = 4  # tracks for the interval of a gain: three degrees of freedom
LEAST_GAIN_NAT = 0.01  # a smaller gain in log score is not worth another parameter


@dataclass(frozen=True)
class CalibrationTrack:
    """A track as it was scored: before any correction.

    Runs on one recording are one proof: `recording` is the name of the first of them.
    """

    name: str
    evaluation: Evaluation
    sample: CalibrationSample
    telemetry: ScanColumns | None
    recording: str

    @property
    def pair(self) -> tuple[AnyTrack, AnyTrack]:
        """Estimate and reference."""
        return self.evaluation.estimate, self.evaluation.reference


def same_recording(one: tuple[AnyTrack, AnyTrack], two: tuple[AnyTrack, AnyTrack]) -> bool:
    """Whether two pairs of estimate and reference have one reference, at about the same time."""
    truth, other = one[1], two[1]
    if truth is not other and not (
        np.array_equal(truth.stamp, other.stamp) and np.array_equal(truth.position, other.position)
    ):
        return False
    starts, ends = zip(*(estimate.stamp[[0, -1]] for estimate, _ in (one, two)), strict=True)
    shortest = min(end - start for start, end in zip(starts, ends, strict=True))
    return bool(min(ends) - max(starts) > SAME_TIME * shortest)


@dataclass(frozen=True)
class Part:
    """A track, or some of its scored scans."""

    track: CalibrationTrack
    scans: Ints | None = None  # None: all

    @property
    def name(self) -> str:
        """Of the track, with the place of the part in it."""
        if self.scans is None:
            return self.track.name
        stamp = self.track.evaluation.position.estimate.stamp
        ends = (stamp[self.scans[[0, -1]]] - stamp[0]) / 1e9
        return f"{self.track.name}, {words.duration_range(*map(float, ends))}"

    @property
    def recording(self) -> str:
        """What is left out together; parts of a track are on their own."""
        return self.track.recording if self.scans is None else self.name

    @property
    def sample(self) -> CalibrationSample:
        """Its residuals before any correction."""
        whole = self.track.sample
        return whole if self.scans is None else whole[self.scans]


def time_blocks(track: CalibrationTrack) -> list[Part]:
    """A track in parts of equal numbers of scans."""
    scans = np.arange(len(track.sample.residuals))
    return [Part(track, part) for part in np.array_split(scans, BLOCKS)]


@dataclass(frozen=True)
class Fit:
    """How residuals fit the covariances that they are scored under."""

    log_score: float  # nat, mean
    coverage: float  # of the 90 % regions
    k: float  # best factor for the log score

    def to_dict(self) -> dict[str, float | None]:
        """Strict JSON data."""
        return {name: finite_or_none(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class HeldOut:
    """A track or part that was not learnt from, before and after the correction."""

    name: str
    scans: int
    before: Fit
    after: Fit
    lost: str | None  # why it counts as lost
    rotation: tuple[Fit, Fit] | None = None
    recording: str = ""  # which runs of it are left out together
    absolute: tuple[Fit, Fit] | None = None  # of a growth law: positions after the alignment


def by_recording(values: Sequence[float], recordings: Sequence[str]) -> list[float]:
    """Means over the runs on each recording, which are no independent proofs."""
    found: dict[str, list[float]] = {}
    for value, recording in zip(values, recordings, strict=True):
        found.setdefault(recording, []).append(value)
    return [float(np.mean(each)) for each in found.values()]


def learn(
    parts: Sequence[Part], model: str, *, own_rotation: bool, left_out: Sequence[str] = ()
) -> Correction:
    """A correction from some tracks."""
    samples = [part.sample for part in parts]
    position = MODELS[model].learn(samples)
    rotation = rotation_scale(samples) if own_rotation else None
    name = ROTATION if model == "scale" else f"{model} and {ROTATION}"
    return Correction(
        model=name if own_rotation else model,
        factors=position.factors,
        rotation=position.scale if rotation is None else rotation,
        learnt=provenance(parts, left_out),
        floor_m2=position.floor_m2,
        telemetry=position.telemetry,
    )


def provenance(parts: Sequence[Part], left_out: Sequence[str]) -> LearntOn:
    """What is common to the tracks that are learnt from."""
    evaluations = [part.track.evaluation for part in parts]
    first = evaluations[0]
    return LearntOn(
        estimator=only_value(each.estimate.about.algorithm for each in evaluations),
        convention=only_value(convention_of(each.estimate) for each in evaluations),
        body=only_value(each.estimate.about.body for each in evaluations),
        gauge=first.alignment.kind,
        axes=first.options.axes,
        scored_under=tuple(
            dict.fromkeys(each.claim.how for each in evaluations if each.claim is not None)
        ),
        tracks=tuple(dict.fromkeys(part.track.name for part in parts)),
        left_out=tuple(left_out),
    )


def corrected_residuals(
    track: CalibrationTrack, correction: Correction
) -> tuple[Residuals, Residuals | None]:
    """Residuals of position and rotation as `evaluate` would score the corrected track.

    Poses, and with them pairs and alignment, are as before; what the covariances claim about the
    residuals after the alignment is found anew.
    """
    evaluation, scored = track.evaluation, track.evaluation.position
    options, alignment = evaluation.options, evaluation.alignment
    corrected = correction.apply(evaluation.estimate, track.telemetry, checked=False)
    estimate = to_common_body(corrected, evaluation.reference, options.extrinsic)
    matched = estimate[evaluation.pairs.estimate]
    aligned = alignment(matched)
    kind = choose_alignment(estimate, options.alignment)
    unfitted = kind == "none"  # residuals are the errors, whatever their joint covariance
    joint = (UNKNOWN, "") if unfitted else claimed_joint(estimate, options.joint, matched)
    claim = align_claim(aligned, joint, alignment, kind)
    if evaluation.judged is not None:
        claim = with_memory(claim, aligned.position - evaluation.judged.reference.position)
    at = np.searchsorted(aligned.stamp, scored.estimate.stamp)
    claimed = None if claim is None or claim.covariance is None else claim.covariance[at]
    position = options.space.residuals(aligned[at], scored.reference, claimed)

    turned = evaluation.rotation
    if turned is None or claim is None or not isinstance(turned.space, RotationSpace):
        return position, None
    at = np.searchsorted(aligned.stamp, turned.estimate.stamp)
    whole = pose_residuals(
        aligned[at],
        turned.reference,
        reference_covariance=options.reference_covariance,
        claimed=claim.pose_covariance(at),
    )
    return position, turned.space.select(whole, aligned.rotation[at])


def fit_of(residuals: Residuals, log_score: Floats | None = None) -> Fit:
    """Log score (of a normal distribution, unless it is given), coverage and k of residuals."""
    terms = normal.likelihood_terms(residuals.error, residuals.predicted_covariance)
    limit = chi_squared_tail_quantile(residuals.dimension, 1 - REGION_LEVEL)
    if log_score is None:
        log_score = -normal.log_density(terms, residuals.dimension)
    return Fit(
        float(np.mean(log_score)),
        float(np.mean(terms.nees <= limit)),
        float(np.mean(terms.nees)) / residuals.dimension,
    )


def hold_out(part: Part, correction: Correction, lost: str | None) -> HeldOut:
    """A part that was not learnt from, before and after."""
    after, turned = corrected_residuals(part.track, correction)
    before = part.sample.rotation
    if part.scans is not None:
        after = after[part.scans]
        turned = None if turned is None or before is None else turned[part.scans]
    rotation = None
    if before is not None and turned is not None:
        rotation = _rotation_fit(before), _rotation_fit(turned)
    fits = fit_of(part.sample.residuals), fit_of(after)
    return HeldOut(part.name, len(after), *fits, lost, rotation, part.recording)


def _rotation_fit(residuals: Residuals) -> Fit:
    """On the group, where rotations go around."""
    return fit_of(residuals, log_rotation(residuals.error, residuals.predicted_covariance))


def lost_parts(parts: Sequence[Part]) -> dict[str, str]:
    """Parts that are lost, with the reason: by their errors, or a k far beyond that of the rest."""
    k = {part.name: part.sample.k for part in parts}
    found = {part.name: part.sample.lost for part in parts if part.sample.lost is not None}
    left = [value for name, value in k.items() if name not in found]
    if len(left) >= FEWEST_TO_COMPARE:
        usual = float(np.median(left))
        for name, value in k.items():
            if name not in found and value > LOST_FACTOR * usual:
                found[name] = (
                    f"k {words.number(value)} is {words.number(value / usual)} times that of the "
                    "median track"
                )
    return found


def predicted_k(k: Sequence[float], recordings: Sequence[str]) -> tuple[float, float] | None:
    """Interval in which k of a new track is if log k scatters normally over tracks."""
    logs = np.array(by_recording(np.log(k).tolist(), recordings))
    count = len(logs)
    if count < FEWEST_TO_COMPARE:
        return None
    reach = student_reach(logs, (1 - GAIN_LEVEL) / 2) * sqrt(count + 1)  # of one more
    middle = float(logs.mean())
    low, high = (
        float(np.exp(min(max(end, -700), 700))) for end in (middle - reach, middle + reach)
    )
    return (low, high) if 0 < low <= high < inf else None


@dataclass(frozen=True)
class ModelGain:
    """What a model gains in log score over `scale`, held out; of the position or the rotation."""

    model: str
    gain: Number | None  # nat; with its interval where there can be one
    chosen: bool = False
    reason: str | None = None  # why it was not tried, or is not chosen


def gain_number(gains: Sequence[float], *, tests: int = 1) -> Number:
    """Mean gain over tracks with Student's interval, corrected for the number of models tried."""
    values = np.asarray(gains, dtype=np.float64)
    mean, count = float(values.mean()), len(values)
    if count < FEWEST_HELD_OUT:
        reason = f"held-out tracks: {count}; {FEWEST_HELD_OUT} are needed for an interval"
        return Number(mean, "nat", n_effective=count, reason=reason)
    reach = student_reach(values, (1 - GAIN_LEVEL) / 2 / tests)
    return Number(mean, "nat", mean - reach, mean + reach, n_effective=count)


def leave_out(parts: Sequence[Part], model: str, *, own_rotation: bool) -> Iterable[HeldOut]:
    """Every part, corrected by what is learnt on others; the lost among these are left out.

    Other runs on its recording are left out with it.
    """
    all_lost = lost_parts(parts)
    for held in parts:
        others = [part for part in parts if part.recording != held.recording]
        lost = lost_parts(others)
        usable = [part for part in others if part.name not in lost]
        correction = learn(usable or others, model, own_rotation=own_rotation)
        yield hold_out(held, correction, all_lost.get(held.name))


def choose_model(
    parts: Sequence[Part], asked: str | None, *, one: bool
) -> tuple[str, bool, tuple[ModelGain, ...]]:
    """Model of the position, whether the rotation has a factor of its own, and all gains."""
    samples = [part.sample for part in parts]
    rotated = all(sample.rotation is not None for sample in samples)
    if asked is not None:
        name = "scale" if asked == ROTATION else asked
        why = MODELS[name].why_not(samples)
        if why is None and asked == ROTATION and not rotated:
            why = "it needs a rotation that is scored on every track"
        if why is not None:
            raise OptionError(f"model {asked}: {why}")
        return name, asked == ROTATION, (ModelGain(asked, None, chosen=True, reason="asked for"),)
    if one:
        why = "one track cannot show that another model is better on others"
        return "scale", False, (ModelGain("scale", None, chosen=True, reason=why),)
    return _compare_models(parts, rotated=rotated)


def _compare_models(
    parts: Sequence[Part], *, rotated: bool
) -> tuple[str, bool, tuple[ModelGain, ...]]:
    """Every model that can be tried, on tracks left out in turn."""
    samples = [part.sample for part in parts]
    base = list(leave_out(parts, "scale", own_rotation=rotated))
    kept = [at for at, row in enumerate(base) if row.lost is None]
    gains: dict[str, list[float]] = {}
    untried: list[ModelGain] = []
    for name, model in MODELS.items():
        why = model.why_not(samples)
        if why is not None:
            untried.append(ModelGain(name, None, reason=why))
        elif name != "scale":
            rows = list(leave_out(parts, name, own_rotation=False))
            gained = [base[at].after.log_score - rows[at].after.log_score for at in kept]
            gains[name] = by_recording(gained, [base[at].recording for at in kept])
    if rotated:
        gains[ROTATION] = _rotation_gains(parts, base, kept)
    found = {name: gain_number(values, tests=len(gains)) for name, values in gains.items()}
    better = {
        name: gain.value
        for name, gain in found.items()
        if (gain.low or 0.0) > 0 and gain.value >= LEAST_GAIN_NAT
    }
    own_rotation = better.pop(ROTATION, None) is not None
    best = max(better, key=better.__getitem__, default="scale")
    chosen = (best, ROTATION) if own_rotation else (best,)
    rows_of_models = [ModelGain("scale", None, chosen=best == "scale")]
    rows_of_models += [ModelGain(name, gain, name in chosen) for name, gain in found.items()]
    return best, own_rotation, (*rows_of_models, *untried)


def _rotation_gains(
    parts: Sequence[Part], base: Sequence[HeldOut], kept: Sequence[int]
) -> list[float]:
    """Log score of the rotation that its own factor gains over that of the position."""
    shared = list(leave_out(parts, "scale", own_rotation=False))
    both = [(base[at].recording, shared[at].rotation, base[at].rotation) for at in kept]
    found = [
        (recording, one[1].log_score - own[1].log_score)
        for recording, one, own in both
        if one is not None and own is not None
    ]
    return by_recording([gain for _, gain in found], [recording for recording, _ in found])
