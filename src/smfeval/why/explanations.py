"""Other explanations of an overconfident verdict, each assumed in turn.

Every verdict holds for any extrinsic and time offset already, and for any alignment of its gauge
(`align.nuisance`). What else may be assumed is

    alignment             one with more degrees of freedom
    timestamp jitter      stamps that are off at random: S + sigma_t^2 x x^T, x = (v, w) the
                          velocity and the rate of turn of the body
    continuous reference  the reference as a motion between its poses
    reference noise       S + sigma^2 I

and the verdict is asked again each time: the same evidence, the same decider.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.align.nuisance import MOST, MOST_SCANS, OF_GAUGE, BodyMotion
from smfeval.associate import without_covariance
from smfeval.dataclass import dataclass
from smfeval.errors import SmfevalError
from smfeval.evaluation import Evaluation, judge_again
from smfeval.evaluation.judging import (
    NOISE_SCANS,
    JudgedTracks,
    Noise,
    judge_space,
    judge_under_noise,
    least_size,
    white_noise,
)
from smfeval.evaluation.result import SpaceScores
from smfeval.judge.decide import Verdict, decide
from smfeval.judge.sentences import value_text
from smfeval.maths.arrays import Floats
from smfeval.summarise.number import finite_or_none
from smfeval.why.diagnoses import Diagnoses, diagnose

ExplanationName = Literal[
    "extrinsic and time offset",
    "alignment",
    "timestamp jitter",
    "continuous reference",
    "reference noise",
    "all at once",
]
Outcome = Literal["explains it", "in part", "no"]
Unit = Literal["m", "rad", "s"]
Judged = tuple[JudgedTracks, Verdict]  # what was looked at, and what was found

IN_PART = 0.5  # of "at least", that may be left where something is explained in part
SOFTWARE_S = 0.01  # stamps that software takes on a busy host; hardware is far better
TOTAL_STATION_M = 2e-3  # on a prism; motion capture is as good
SURVEYED_MAP_M = 1e-2  # scans registered to a map of a terrestrial scanner: about 1 cm
RTK_M = 2e-2  # carrier-phase GNSS with fixed ambiguities: 1 to 2 cm
REFERENCES = (
    (TOTAL_STATION_M, "total station", None),
    (SURVEYED_MAP_M, "LiDAR on a surveyed map", "the reference is no better than that"),
    (RTK_M, "RTK", "the reference is no better than RTK"),
)
REFERENCE_SIGMAS = (
    f"a total station has {words.length(TOTAL_STATION_M)}, LiDAR on a surveyed map "
    f"{words.length(SURVEYED_MAP_M)}, RTK {words.length(RTK_M)}"
)
NO_BELIEF = "no uncertainty is reported: there is no verdict to explain"
FITTED_NOTE = "every row has the extrinsic and time offset that suit the estimate best"


@dataclass(frozen=True)
class Need:
    """The size from which on the verdict ends; None where none does."""

    size: float | None
    unit: Unit

    def __str__(self) -> str:
        if self.size is None:
            return "none is enough"
        if self.unit == "rad":
            return words.angle(float(np.degrees(self.size)))
        return words.length(self.size) if self.unit == "m" else words.duration(self.size)


@dataclass(frozen=True)
class OtherExplanation:
    """Something else that could explain a verdict, assumed; and the verdict that this leaves.

    Attributes
    ----------
    name
        What may be otherwise.
    assumed
        What was assumed, in words.
    scored
        The verdict to be explained.
    verdict
        What is left of it; None where it was not asked, or cannot be (`reason`).
    needed
        How much of it would end the verdict.
    condition
        What the user must know to be so; None where it may be assumed of every track.
    reason
        Why it cannot be asked.
    """

    name: ExplanationName
    assumed: str
    scored: Verdict
    verdict: Verdict | None = None
    needed: Need | None = None
    condition: str | None = None
    reason: str | None = None

    @property
    def outcome(self) -> Outcome | None:
        """Whether it explains the verdict; None where that is not known."""
        if self.verdict is None:
            return None
        if self.verdict.label != "overconfident":
            return "explains it"
        left, before = self.verdict.at_least or 0.0, self.scored.at_least or 0.0
        return "in part" if left <= IN_PART * before else "no"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        needed = self.needed
        return {
            "explanation": self.name,
            "space": self.scored.facts.space,
            "assumed": self.assumed,
            "condition": self.condition,
            "verdict": None if self.verdict is None else _short_dict(self.verdict),
            "outcome": self.outcome,
            "needed": needed and {"size": finite_or_none(needed.size), "unit": needed.unit},
            "reason": self.reason,
        }


def _short_dict(verdict: Verdict) -> dict[str, Any]:
    kept = ("label", "evidence", "excess", "at_least")
    return {name: value for name, value in verdict.to_dict().items() if name in kept}


@dataclass(frozen=True, repr=False)
class Explanations:
    """Other explanations of the verdicts of position and rotation, where they are overconfident."""

    scored: Verdict  # of the position
    rows: tuple[OtherExplanation, ...]
    sentence: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "scored": _short_dict(self.scored),
            "rows": [row.to_dict() for row in self.rows],
            "sentence": self.sentence,
            "notes": list(self.notes),
        }


def other_explanations(evaluation: Evaluation) -> Explanations:
    """What else could explain the verdict of an evaluation."""
    if not evaluation.position.has_belief:
        return Explanations(evaluation.verdict, (), NO_BELIEF)
    scored, exact, tracks = evaluation.verdict, evaluation.options.exact, evaluation.judged
    assert tracks is not None
    opened = None
    if exact:
        opened = replace(tracks, options=replace(tracks.options, exact=(), numbers=()))
    rows: list[OtherExplanation] = []
    if scored.label == "overconfident":
        rows += _position_rows(evaluation, opened)
    rotation = evaluation.rotation
    turned = None if rotation is None else rotation.verdict
    if rotation is not None and turned is not None and turned.label == "overconfident":
        rows.append(_extrinsic_and_offset(rotation, opened))
        needed = _needed_noise(turned, "rad")
        rows.append(OtherExplanation("reference noise", "", turned, needed=needed))
    notes = (FITTED_NOTE,) if rows and not exact else ()
    return Explanations(scored, tuple(rows), closing_sentence(scored, rows), notes)


def _position_rows(
    evaluation: Evaluation, opened: JudgedTracks | None
) -> Iterator[OtherExplanation]:
    """Position alone; `opened` are its tracks with any extrinsic and time offset."""
    scored, exact, given = evaluation.verdict, evaluation.options.exact, evaluation.judged
    assert given is not None
    yield (row := _extrinsic_and_offset(evaluation.position, opened))

    kinds = tuple(OF_GAUGE)  # by degrees of freedom
    widest: Judged | str = (opened or given, row.verdict or scored)
    wider = kinds[kinds.index(given.gauge) + 1 :]
    for kind in wider:
        widest = _judge_again(evaluation, alignment=kind)
        yield verdict_row("alignment", kind, scored, _verdict_of(widest))
    if wider and exact:
        widest = _judge_again(evaluation, exact=(), alignment=wider[-1])
    yield _timestamp_jitter(given, scored)

    found: Judged | str = "it was scored so already"
    if evaluation.options.association != "gp":
        found = _judge_again(evaluation, association="gp", reference_covariance=True)
    assumed = "interpolated, with its covariance"
    yield verdict_row("continuous reference", assumed, scored, _verdict_of(found))

    for sigma_m, kind, condition in REFERENCES:
        left = _under_noise((given, scored), white_noise(sigma_m))
        needed = _needed_noise(scored, "m") if condition is None else None
        assumed = f"{words.length(sigma_m)} ({kind})"
        yield verdict_row(
            "reference noise", assumed, scored, left, needed=needed, condition=condition
        )

    opens = [] if isinstance(widest, str) else [kinds[-1]]
    opens += ["any extrinsic and time offset"] if exact else []
    assumed = ", ".join([*opens, f"noise {words.length(TOTAL_STATION_M)}"])
    left = _under_noise(widest, white_noise(TOTAL_STATION_M))
    yield verdict_row("all at once", assumed, scored, left)


def verdict_row(
    name: ExplanationName, assumed: str, scored: Verdict, found: Verdict | str, **more: Any
) -> OtherExplanation:
    """A row of what was found, or of the reason why it cannot be asked.

    A verdict that only lost the evidence that it rested on explains nothing.
    """
    if isinstance(found, str):
        return OtherExplanation(name, assumed, scored, reason=found, **more)
    facts = found.facts
    lost = {"averaging": facts.second is None, "relative motion": not facts.rows}
    if found.label == "overconfident" or found.reason == "no errors" or not lost.get(scored.by):
        return OtherExplanation(name, assumed, scored, found, **more)
    return OtherExplanation(
        name, assumed, scored, reason=f"no evidence by {scored.by} is left", **more
    )


def _judge_again(evaluation: Evaluation, **changes: Any) -> Judged | str:
    """The position under other options, or the reason why there is no verdict."""
    options = replace(evaluation.options, numbers=(), horizons=(), **changes)
    reference = evaluation.reference
    if not evaluation.options.reference_covariance:
        reference = without_covariance(reference)
    pairs = None if options.association == "gp" else evaluation.pairs
    try:
        return judge_again(evaluation, reference, options, pairs)
    except SmfevalError as error:
        return str(error)


def _verdict_of(found: Judged | str) -> Verdict | str:
    return found if isinstance(found, str) else found[1]


def _under_noise(found: Judged | str, noise: Noise, most: int = MOST_SCANS) -> Verdict | str:
    """The verdict of the position against a reference that is uncertain by so much more."""
    if isinstance(found, str):
        return found
    tracks, verdict = found
    poses = tracks.poses(tracks.options.space, most)
    try:
        return judge_under_noise(tracks, verdict.facts, poses, noise)
    except SmfevalError as error:
        return str(error)


def _extrinsic_and_offset(scored: SpaceScores, opened: JudgedTracks | None) -> OtherExplanation:
    """Any extrinsic and time offset: what every verdict allows unless they are known exactly.

    `opened` are then the tracks where they are not.
    """
    verdict = scored.verdict
    assert verdict is not None
    found = decide(verdict.facts)  # without doubts about the files, which explain nothing
    if opened is not None:
        found = judge_space(scored, opened, ()).verdict or found
    fitted = ", ".join(filter(None, (value_text(found, each) for each in found.facts.freedoms)))
    assumed = f"any ({fitted})" if fitted else "any"
    return verdict_row("extrinsic and time offset", assumed, verdict, found)


def stamp_jitter(jitter_s: float) -> Noise:
    """Of a body that is where it was a moment before or after: sigma_t^2 x x^T, x = (v, w)."""

    def noise(motion: BodyMotion) -> Floats:
        x = jitter_s * np.concatenate([motion.velocity, motion.rate], axis=1)
        return x[:, :, None] * x[:, None, :]

    return noise


def _timestamp_jitter(tracks: JudgedTracks, scored: Verdict) -> OtherExplanation:
    """Stamps by software, and the jitter that would end the verdict."""
    assumed = f"{words.duration(SOFTWARE_S)} (stamps by software)"
    found = _under_noise((tracks, scored), stamp_jitter(SOFTWARE_S))
    poses = tracks.poses(tracks.options.space, NOISE_SCANS)

    def judge(jitter_s: float) -> Verdict:
        return judge_under_noise(tracks, scored.facts, poses, stamp_jitter(jitter_s))

    try:
        needed = Need(least_size(judge, MOST["clock"], scored.margin), "s")
    except SmfevalError:  # beside a second of jitter nothing is left of a tiny covariance
        needed = None
    return verdict_row("timestamp jitter", assumed, scored, found, needed=needed)


def _needed_noise(scored: Verdict, unit: Unit) -> Need | None:
    """Sigma of the reference from which on the verdict ends; None where the estimate is lost."""
    return None if scored.lost else Need(scored.reference_sigma, unit)


def closing_sentence(scored: Verdict, rows: Sequence[OtherExplanation]) -> str:
    """What the rows amount to, for the position and then for the rotation."""
    of_position = [row for row in rows if row.scored.facts.space == "position"]
    of_rotation = [row for row in rows if row.scored.facts.space == "rotation"]
    ends = [row for row in of_position if row.outcome == "explains it" and row.condition is None]
    single = [f"{row.name} ({row.assumed})" for row in ends if row.name != "all at once"]
    left = next((row.verdict for row in of_position if row.name == "all at once"), None)
    if scored.label != "overconfident":
        outcome, of_position = f"there is nothing to explain: the verdict is {scored.label!r}", []
    elif single:
        outcome = f"the verdict could be explained by {words.join(single)}"
    elif ends:
        outcome = f"only all at once would explain the verdict ({ends[0].assumed})"
    else:
        noise = any(_need_sentences(of_position))
        outcome = f"{'only larger noise' if noise else 'nothing else'} explains the verdict"
        if left is not None and left.at_least is not None:
            outcome += f": with all at once k is still at least {words.number(left.at_least)}"
    turned = (f"rotation: {each}" for each in _need_sentences(of_rotation))
    return "; ".join([outcome, *_need_sentences(of_position), *turned])


def _need_sentences(rows: Iterable[OtherExplanation]) -> list[str]:
    """How much of one alone would end the verdict; the reference's beside what references have."""
    sentences = []
    for row in rows:
        if row.needed is None or row.needed.size is None:
            continue
        if row.name == "timestamp jitter":
            sentences.append(f"a timestamp jitter of {row.needed} would explain it")
        else:
            known = f" ({REFERENCE_SIGMAS})" if row.needed.unit == "m" else ""
            sentences.append(f"a reference sigma of {row.needed} would explain it{known}")
    return sentences


@dataclass(frozen=True)
class Reasons:
    """What `--why` finds."""

    causes: Diagnoses
    explanations: Explanations

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {"causes": self.causes.to_dict(), "explanations": self.explanations.to_dict()}


def reasons(evaluation: Evaluation) -> Reasons:
    """Causes and other explanations; chance is drawn from the seed of the intervals."""
    rng = np.random.default_rng(evaluation.options.intervals.seed)
    return Reasons(diagnose(evaluation, rng=rng), other_explanations(evaluation))
