"""Alibis: other explanations of an overconfident verdict, each granted in turn.

Every verdict holds for any extrinsic and clock offset already, and for any alignment of its gauge
(`align.nuisance`). What else may be granted is

    gauge                 an alignment with more freedoms
    clock jitter          stamps that are off at random: S + sigma_t^2 x x^T, x = (v, w) the
                          velocity and the rate of turn of the body
    continuous reference  the reference as a motion between its poses
    reference noise       S + sigma^2 I

and the verdict is asked again each time: the same evidence, the same decider.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.align.nuisance import MOST, MOST_SCANS, OF_GAUGE, BodyMotion
from smfeval.associate import without_covariance
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Evaluation, evaluate
from smfeval.evaluation.judging import (
    NOISE_SCANS,
    Noise,
    judge_under_noise,
    least_size,
    white_noise,
)
from smfeval.judge.decide import Verdict, decide
from smfeval.judge.sentences import values_text
from smfeval.maths.arrays import Floats
from smfeval.summarise.number import finite_or_none

AlibiName = Literal[
    "extrinsic and clock",
    "gauge",
    "clock jitter",
    "continuous reference",
    "reference noise",
    "all at once",
]
Outcome = Literal["ends it", "in part", "no"]
Unit = Literal["m", "rad", "s"]

IN_PART = 0.5  # of "at least", that may be left where something is explained in part
SOFTWARE_S = 0.01  # stamps that software takes on a busy host; hardware is far better
TOTAL_STATION_M = 2e-3  # on a prism; motion capture is as good
SURVEYED_MAP_M = 1e-2  # scans registered to a map of a terrestrial scanner: about 1 cm
RTK_M = 2e-2  # carrier-phase GNSS with fixed ambiguities: 1 to 2 cm
REFERENCES = (
    (TOTAL_STATION_M, "total station or motion capture", None),
    (SURVEYED_MAP_M, "LiDAR registered to a surveyed map", "the reference is such a one"),
    (RTK_M, "RTK", "the reference is no better than RTK"),
)
REFERENCE_SIGMAS = (
    f"a total station has {words.length(TOTAL_STATION_M)}, LiDAR on a surveyed map "
    f"{words.length(SURVEYED_MAP_M)}, RTK {words.length(RTK_M)}"
)
NOTE = "T is the mean square of the errors that the kindest fit leaves, in units of the claim"
FITTED_NOTE = "extrinsic and clock offset are fitted again in every row, kindly to the estimate"


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
class Alibi:
    """Something else that could explain a verdict, granted; and the verdict that this leaves.

    Attributes
    ----------
    name
        What may be otherwise.
    granted
        What was assumed, in words.
    scored
        The verdict to be explained.
    verdict
        What is left of it; None where it was not asked, or cannot be (`reason`).
    needed
        How much of it would end the verdict.
    proviso
        What the user must know to be so; None where it may be granted to everybody.
    reason
        Why it cannot be asked.
    """

    name: AlibiName
    granted: str
    scored: Verdict
    verdict: Verdict | None = None
    needed: Need | None = None
    proviso: str | None = None
    reason: str | None = None

    @property
    def outcome(self) -> Outcome | None:
        """Whether it ends the verdict; None where that is not known."""
        if self.verdict is None:
            return None
        if self.verdict.label != "overconfident":
            return "ends it"
        left, before = self.verdict.at_least or 0.0, self.scored.at_least or 0.0
        return "in part" if left <= IN_PART * before else "no"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        needed = self.needed
        return {
            "alibi": self.name,
            "space": self.scored.facts.space,
            "granted": self.granted,
            "proviso": self.proviso,
            "verdict": None if self.verdict is None else _short_dict(self.verdict),
            "outcome": self.outcome,
            "needed": needed and {"size": finite_or_none(needed.size), "unit": needed.unit},
            "reason": self.reason,
        }


def _short_dict(verdict: Verdict) -> dict[str, Any]:
    kept = ("label", "evidence", "excess", "at_least")
    return {name: value for name, value in verdict.to_dict().items() if name in kept}


@dataclass(frozen=True, repr=False)
class Alibis:
    """Other explanations of the verdicts of position and rotation, where they are overconfident."""

    scored: Verdict  # of the position
    rows: tuple[Alibi, ...]
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


def alibis(evaluation: Evaluation) -> Alibis:
    """What else could explain the verdict of an evaluation."""
    if not evaluation.position.has_belief:
        name = evaluation.estimate.provenance.name
        raise OptionError(f"{name} reports no uncertainty: there is no verdict to find alibis for")
    scored, exact = evaluation.verdict, bool(evaluation.options.exact)
    opened = _evaluate_again(evaluation, exact=()) if exact else evaluation
    rows: list[Alibi] = []
    if scored.label == "overconfident":
        rows += _position_rows(evaluation, opened)
    turned = None if evaluation.rotation is None else evaluation.rotation.verdict
    if turned is not None and turned.label == "overconfident":
        rows.append(_extrinsic_and_clock(turned, _verdict_of(opened, "rotation")))
        needed = _needed_noise(turned, "rad")
        rows.append(Alibi("reference noise", "", turned, needed=needed))
    notes = (NOTE,) if exact else (NOTE, FITTED_NOTE)
    return Alibis(scored, tuple(rows), closing_sentence(scored, rows), notes if rows else ())


def _position_rows(evaluation: Evaluation, opened: Evaluation | str) -> Iterator[Alibi]:
    """What may be granted in turn; `opened` is the evaluation with any extrinsic and clock."""
    scored = evaluation.verdict
    assert evaluation.judged is not None
    yield _extrinsic_and_clock(scored, _verdict_of(opened))

    kinds, widest = tuple(OF_GAUGE), opened  # the fewer freedoms the earlier
    wider = kinds[kinds.index(evaluation.judged.gauge) + 1 :]
    for kind in wider:
        widest = _evaluate_again(evaluation, alignment=kind)
        yield verdict_row("gauge", kind, scored, _verdict_of(widest))
    if wider and evaluation.options.exact:
        widest = _evaluate_again(evaluation, exact=(), alignment=wider[-1])
    yield _clock_jitter(evaluation)

    found: Evaluation | str = "it was scored so already"
    if evaluation.options.association != "gp":
        found = _evaluate_again(evaluation, association="gp", reference_covariance=True)
    granted = "interpolated motion with its covariance"
    yield verdict_row("continuous reference", granted, scored, _verdict_of(found))

    for sigma_m, kind, proviso in REFERENCES:
        left = _under_noise(evaluation, white_noise(sigma_m))
        needed = _needed_noise(scored, "m") if proviso is None else None
        granted = f"{words.length(sigma_m)}, {kind}"
        yield verdict_row("reference noise", granted, scored, left, needed=needed, proviso=proviso)

    gauge = "" if isinstance(widest, str) else f"{widest.alignment.kind}, "
    granted = f"{gauge}any extrinsic and clock, noise {words.length(TOTAL_STATION_M)}"
    left = _under_noise(widest, white_noise(TOTAL_STATION_M))
    yield verdict_row("all at once", granted, scored, left)


def verdict_row(
    name: AlibiName, granted: str, scored: Verdict, found: Verdict | str, **more: Any
) -> Alibi:
    """A row of what was found, or of the reason why it cannot be asked.

    A verdict that only lost the evidence that it rested on explains nothing.
    """
    if isinstance(found, str):
        return Alibi(name, granted, scored, reason=found, **more)
    facts = found.facts
    lost = {"averaging": facts.second is None, "relative motion": not facts.rows}
    if found.label == "overconfident" or found.reason == "no errors" or not lost.get(scored.by):
        return Alibi(name, granted, scored, found, **more)
    return Alibi(name, granted, scored, reason=f"no evidence by {scored.by} is left", **more)


def _evaluate_again(evaluation: Evaluation, **changes: Any) -> Evaluation | str:
    """The evaluation with other options, or the reason why there is none."""
    options = replace(evaluation.options, numbers=(), horizons=(), **changes)
    reference = evaluation.reference
    if not evaluation.options.reference_covariance:
        reference = without_covariance(reference)
    pairs = None if options.association == "gp" else evaluation.pairs
    try:
        return evaluate(evaluation.estimate, reference, options=options, pairs=pairs)
    except SmfevalError as error:
        return str(error)


def _verdict_of(found: Evaluation | str, space: str = "position") -> Verdict | str:
    """Without doubts about the files, which forbid a verdict and explain nothing."""
    if isinstance(found, str):
        return found
    verdict = next(each.verdict for each in found.spaces if each.space.name == space)
    assert verdict is not None
    return decide(verdict.facts)


def _under_noise(found: Evaluation | str, noise: Noise, most: int = MOST_SCANS) -> Verdict | str:
    """The verdict of the position against a reference that is uncertain by so much more."""
    if isinstance(found, str):
        return found
    tracks, facts = found.judged, found.verdict.facts
    assert tracks is not None
    poses = tracks.poses(found.options.space, most)
    try:
        return judge_under_noise(tracks, facts, poses, noise)
    except SmfevalError as error:
        return str(error)


def _extrinsic_and_clock(scored: Verdict, found: Verdict | str) -> Alibi:
    """Any extrinsic and clock offset: what every verdict grants, unless they are known exactly."""
    fitted = "" if isinstance(found, str) else f": {values_text(found, found.facts.freedoms)}"
    return verdict_row("extrinsic and clock", f"any{fitted}", scored, found)


def stamp_jitter(jitter_s: float) -> Noise:
    """Of a body that is where it was a moment before or after: sigma_t^2 x x^T, x = (v, w)."""

    def noise(motion: BodyMotion) -> Floats:
        x = jitter_s * np.concatenate([motion.velocity, motion.rate], axis=1)
        return x[:, :, None] * x[:, None, :]

    return noise


def _clock_jitter(evaluation: Evaluation) -> Alibi:
    """Stamps by software, and the jitter that would end the verdict."""
    granted = f"{words.duration(SOFTWARE_S)}, stamps by software"
    found = _under_noise(evaluation, stamp_jitter(SOFTWARE_S))

    def convicts(jitter_s: float) -> bool:
        left = _under_noise(evaluation, stamp_jitter(jitter_s), NOISE_SCANS)
        return not isinstance(left, str) and left.label == "overconfident"

    # beside a second of jitter nothing may be left of a tiny covariance: then it is not known
    known = not isinstance(_under_noise(evaluation, stamp_jitter(MOST["clock"])), str)
    needed = Need(least_size(convicts, MOST["clock"]), "s") if known else None
    return verdict_row("clock jitter", granted, evaluation.verdict, found, needed=needed)


def _needed_noise(scored: Verdict, unit: Unit) -> Need | None:
    """Of the reference, to end the verdict; not asked where the estimate is lost."""
    return None if scored.lost else Need(scored.reference_sigma, unit)


def closing_sentence(scored: Verdict, rows: Sequence[Alibi]) -> str:
    """What the rows amount to, for the position and then for the rotation."""
    of_position = [row for row in rows if row.scored.facts.space == "position"]
    of_rotation = [row for row in rows if row.scored.facts.space == "rotation"]
    ends = [row for row in of_position if row.outcome == "ends it" and row.proviso is None]
    single = [f"{row.name} ({row.granted})" for row in ends if row.name != "all at once"]
    left = next((row.verdict for row in of_position if row.name == "all at once"), None)
    if scored.label != "overconfident":
        outcome, of_position = f"there is nothing to explain: the verdict is {scored.label!r}", []
    elif single:
        outcome = f"another explanation ends the verdict: {words.join(single)}"
    elif ends:
        outcome = f"no other explanation ends the verdict alone, all at once do ({ends[0].granted})"
    else:
        outcome = "no other explanation ends the verdict"
        if left is not None and left.at_least is not None and scored.at_least is not None:
            before, after = words.number(scored.at_least), words.number(left.at_least)
            outcome += f": all at once leave at least {after} of {before}"
    turned = (f"rotation: {each}" for each in _need_sentences(of_rotation))
    return "; ".join([outcome, *_need_sentences(of_position), *turned])


def _need_sentences(rows: Iterable[Alibi]) -> list[str]:
    """How much of one alone would end the verdict; the reference's beside what references have."""
    sentences = []
    for row in rows:
        if row.needed is None or row.needed.size is None:
            continue
        if row.name == "clock jitter":
            sentences.append(f"a clock jitter of {row.needed} would end it")
        else:
            known = f" ({REFERENCE_SIGMAS})" if row.needed.unit == "m" else ""
            sentences.append(f"a reference uncertain by {row.needed} per axis would end it{known}")
    return sentences
