"""Every cause that may be named, in one table: its sentence, and what to try.

A detector returns a `Why`: data. The words are made here, from the row of its cause; a field such
as `{step_m:length}` is written by `words`. Of several sentences of a cause the first is taken whose
fields are all in the evidence.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any

from smfeval import words
from smfeval.maths.stamps import seconds_text
from smfeval.summarise.number import finite_or_none

Evidence = Mapping[str, Any]
Text = str | tuple[str, ...] | Callable[[Evidence], str]


@dataclass(frozen=True)
class Why:
    """Why numbers may not be what they seem: a doubt about files, or a diagnosis of errors.

    Attributes
    ----------
    cause
        Its name, a row of the tables below.
    evidence
        What the sentence speaks of; names carry units.
    remedy
        Options to try, each with its value; commands and pages write them as flags.
    explains
        Whether a verdict may come from this alone: none is given beside it.
    about
        The track, where two are looked at and this is about one of them.
    context
        What the words need besides, and JSON does not have.
    """

    cause: str
    evidence: Evidence = field(default_factory=dict)
    remedy: tuple[tuple[str, str], ...] = ()
    explains: bool = False
    about: str | None = None
    context: Evidence = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What was seen."""
        text = _write(SENTENCES[self.cause], {**self.evidence, **self.context})
        return text if self.about is None else f"{self.about}: {text}"

    @property
    def advice(self) -> str:
        """What to try against a diagnosed cause."""
        return _write(DIAGNOSES[self.cause][1], {**self.evidence, **self.context})

    def renamed(self, names: Mapping[str, str]) -> "Why":
        """The same with other names of the tracks."""
        evidence = {
            key: names.get(value, value) if isinstance(value, str) else value
            for key, value in self.evidence.items()
        }
        return replace(self, evidence=evidence, about=self.about and names[self.about])

    def __str__(self) -> str:
        tries = ", ".join(f"{option} {value}" for option, value in self.remedy)
        return f"{self.sentence}; try {tries}" if tries else self.sentence

    def to_dict(self) -> dict[str, Any]:
        """A doubt as strict JSON data."""
        return {
            "name": self.cause,
            "sentence": self.sentence,
            "explains": self.explains,
            "remedy": [list(option) for option in self.remedy],
        }

    def diagnosis_dict(self) -> dict[str, Any]:
        """A diagnosis as strict JSON data."""
        return {
            "name": self.cause,
            "numbers": {name: finite_or_none(value) for name, value in self.evidence.items()},
            "sentence": self.sentence,
            "advice": self.advice,
        }


def explanation(doubts: Iterable[Why]) -> str | None:
    """The first doubt that may explain a verdict by itself, in words."""
    return next((doubt.sentence for doubt in doubts if doubt.explains), None)


def loss(doubts: Iterable[Why]) -> str | None:
    """That the estimate is lost, in words; None where it is not."""
    return next((doubt.sentence for doubt in doubts if doubt.cause == "lost"), None)


WRITERS: dict[str, Callable[[Any], str]] = {
    "angle": words.angle,
    "by axis": lambda axes: f"{words.lengths(*axes.values())} in {', '.join(axes)}",
    "carry": lambda scans: "1 scan carries" if scans == 1 else f"{scans:.0f} scans carry",
    "duration": words.duration,
    "early": lambda offset_s: "early" if offset_s > 0 else "late",
    "length": words.length,
    "long": lambda excess: "long" if excess > 0 else "short",
    "names": ", ".join,
    "number": words.number,
    "percent": lambda part: words.quantity(abs(part), "%"),
    "share": words.share,
    "stamp": seconds_text,
    "times": lambda spans: words.join(words.duration_range(*span) for span in spans),
    "two": lambda value: words.fixed(value, 2),
}


class _Writer(Formatter):
    """Fields written by `words`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value by the writer of that name."""
        return WRITERS.get(format_spec, str)(value)


def _write(text: Text, evidence: Evidence) -> str:
    if callable(text):
        return text(evidence)
    writer = _Writer()
    for each in (text,) if isinstance(text, str) else text:
        if {name for _, name, _, _ in writer.parse(each) if name} <= evidence.keys():
            return writer.vformat(each, (), evidence)
    raise ValueError(f"no sentence speaks of {', '.join(evidence)}")


# Doubts


ONE_TRACK: dict[str, Text] = {
    "scalar-first": (
        "read as wxyz, the body would move in one direction of its own ({as_wxyz:two} of 1, as "
        "read {as_read:two}): are the quaternions written wxyz?",
        "the first quaternion is near 1 0 0 0, a half turn as xyzw: was it written wxyz?",
    ),
    "jump": "the position jumps by {step_m:length} ({speed_m_s:number} m/s) before stamp "
    "{stamp:stamp}",
    "odd-rate": "scans are {step_s:duration} apart: are the stamps in another unit?",
    "long-gap": "there is a gap of {gap_s:duration} in a track at {rate_hz:number} Hz: is a stamp "
    "wrong?",
    "zero-covariance": "the covariance is zero in {zero} of {scans} scans",
    "constant-covariance": "the covariance is the same in every scan: it was configured, not "
    "estimated",
    "placeholder": "the variance of {axes:names} is a placeholder for 'unknown'",
    "rotation-first": (
        "the rotation sigma is {rotation_deg:angle} beside a position sigma of "
        "{position_m:length}: are the blocks exchanged (rotation first), or is the rotation in "
        "degrees?",
        "the rotation block grows along the track and the position block does not: exchanged?",
    ),
    "deviation-for-variance": "read as variances the numbers give a sigma of {sigma_m:length}, but "
    "the positions jitter by {jitter_m:length}, which fits the numbers themselves: are they "
    "standard deviations?",
    "odd-size": "the position sigma is {sigma_m:length}: is the unit right?",
    "partly-singular": "{singular} of {scans} position covariances are singular, the others are "
    "not",
}

MISTAKES = {
    "scalar-first": "are its quaternions written wxyz?",
    "inverse": "does it give the pose of the world in the body?",
    "mirrored-x": "is its x axis mirrored?",
    "mirrored-y": "is its y axis mirrored?",
    "mirrored-z": "is its z axis mirrored?",
    "exchanged-axes": "are its x and y axes exchanged?",
}


def _extrinsic(evidence: Evidence) -> str:
    degrees = words.angle(evidence["angle_deg"])
    if not evidence["applied"]:
        return f"the bodies' axes differ by a constant rotation of {degrees} (an extrinsic?)"
    hint = " (is it the inverse of the right one?)" if evidence["inverse_is_nearer"] else ""
    return f"the extrinsic leaves a constant rotation of {degrees} between the bodies' axes{hint}"


def _lost(evidence: Evidence) -> str:
    who, errs = "one of the two is", "they differ"
    if evidence["against_reference"]:
        who, errs = "the estimate is", "it errs"
    world = "" if evidence["aligned"] else " or speaks of another world"
    rmse, path = words.length(evidence["rmse_m"]), words.length(evidence["path_m"])
    return f"{who} lost{world}: {errs} by {rmse} (RMSE) on a path of {path}"


TWO_TRACKS: dict[str, Text] = {
    "scale": (
        "the track of {ours} is {ratio:number} times as large as that of {theirs}: is {who} in "
        "{unit}?",
        "the track of {ours} is {ratio:number} times as large as that of {theirs}: is one of them "
        "in another unit?",
    ),
    **{
        f"{role}-{mistake}": "the two bodies do not move together as read (coherence "
        "{coherence:two} of 1), but would if {who} were written otherwise: " + question
        for role in ("estimate", "reference")
        for mistake, question in MISTAKES.items()
    },
    "upside-down": "the fit turns the world of {ours} over (its z axis by {tilt_deg:angle}): is an "
    "axis of one track mirrored, or the sensor mounted upside down?",
    "extrinsic": _extrinsic,
    "lever-arm": "the errors turn with the body, and a lever arm of {lever_m:length} explains them "
    "(an extrinsic?)",
    "lost": _lost,
    "unmatched": (
        "{outside:share} of the scans are before the first or after the last reference pose, and "
        "were not scored",
        "{unmatched:share} of the scans meet no reference pose in time",
    ),
}


# Diagnoses: sentence and advice. Each is a test, so their number sets the level of one
# (`diagnoses.case`).


def _bias(text: str) -> Callable[[Evidence], str]:
    """The sentence of a bias, with how much of the error it explains beside the other biases."""

    def write(evidence: Evidence) -> str:
        sentence = _write(text + "; that is {share:share} of the mean squared error", evidence)
        sentence += " in reported sigmas" if evidence["in_sigmas"] else ""
        if evidence["together"] is not None:
            sentence += _write(" beyond the other biases ({together:share} with them)", evidence)
        if evidence["rival"] is not None:
            sentence += _write(" (this motion hardly tells it from a {rival})", evidence)
        return sentence

    return write


def _extrinsic_advice(evidence: Evidence) -> str:
    shown, off, body = evidence["bias_m"], evidence["extrinsic_m"], evidence["reference_body"]
    moved, within = (off, evidence["estimate_body"]) if off else (shown, body)
    axis = max(moved, key=lambda axis: abs(moved[axis]))
    advice = f"check the extrinsic by {words.lengths(moved[axis])} in {axis} of {within}: "
    if not off:
        return f"{advice}the estimate is about a point that lies off the reference's by this much"
    advice += f"subtract {words.lengths(*off.values())} from its translation (x, y, z of {within})"
    unseen = [axis for axis in "xyz" if axis not in shown]
    return advice + (
        f"; {', '.join(unseen)} of {body} is not shown by the motion" if unseen else ""
    )


def _tight(regime: str, side: str, unit: str) -> str:
    return (
        f"while {regime} ({side} {{limit:number}} {unit}) k is {{k_inside:number}}, else "
        "{k_outside:number}"
    )


DIAGNOSES: dict[str, tuple[Text, Text]] = {
    "lever-arm bias": (
        _bias("the error is constant in body axes: {bias_m:by axis} of {reference_body}"),
        _extrinsic_advice,
    ),
    "clock-like bias": (
        _bias(
            "the error is {tau_s:duration} times the velocity: the stamps of the estimate are "
            "{tau_s:early}"
        ),
        "let the clock offset be estimated, or add {tau_s:duration} to the stamps of the estimate",
    ),
    "scale error": (
        _bias(
            "the error grows with the way covered: the estimate is {excess:percent} too "
            "{excess:long}"
        ),
        "check wheel radius, range scale or camera baseline; an alignment by sim3 would hide it",
    ),
    "constant offset": (
        _bias("the error is constant in world axes: {bias_m:by axis}"),
        "check the origins of the two worlds (datum, map frame), or leave the translation open",
    ),
    "drift": (
        "averaged over windows of {window_s:duration} the errors are still {slow_sigmas:number} "
        "reported sigmas long: {share:share} of the NEES is slow wander, not noise",
        "the covariance does not grow with what the map or the dead reckoning loses; more noise "
        "per measurement treats the wrong part: look at process noise, biases and shared map error",
    ),
    "tight while turning": (
        _tight("turning", "above", "rad/s"),
        "look at deskewing, gyro noise and bias, and the rotation of the extrinsic",
    ),
    "tight while fast": (
        _tight("fast", "above", "m/s"),
        "look at deskewing, time stamps and motion blur, and at noise that should grow with the "
        "speed",
    ),
    "tight while standing": (
        _tight("standing", "below", "m/s"),
        "scans that repeat are not independent: their errors are shared, and the covariance must "
        "not shrink with each of them",
    ),
    "growing": (
        "k grows along the track, from {k_first_third:number} in the first third to "
        "{k_last_third:number} in the last: the error accumulates and the covariance does not "
        "keep up",
        "look at process noise and at what is taken as known (map, biases, scale); score relative "
        "errors over a horizon beside this",
    ),
    "a stretch": (
        "{stretches:times} after the first scan stands out: k is {k_inside:number} there and "
        "{k_outside:number} elsewhere",
        "look at what happens at {stretches:times}: geometry, outages, dynamic objects",
    ),
    "a few scans": (
        "{scans:carry} {share_of_nees:share} of the total NEES ({share_of_scans:share} of the "
        "scans, the first at {first_s:duration}), farther out than any of an honest belief",
        "look at these scans: outliers, wrong matches or bad reference poses; the median k is not "
        "moved by them, the mean NEES is",
    ),
    "heavy tails": (
        "a Student-t belief with {nu:number} degrees of freedom predicts left-out scans better "
        "than any scaled Gaussian, by {gain_nat:number} nat per scan or more: most errors are "
        "small, some large",
        "a robust kernel or a Student-t measurement model; a larger covariance would be too wide "
        "for most scans and still too tight for some",
    ),
    "too tight throughout": (
        "the covariance is too tight by a factor {k:number} in scans that nothing else sets apart",
        "scale the covariance by {k:number}, or raise the measurement noise R (point noise) it is "
        "made of",
    ),
}

SENTENCES: dict[str, Text] = {
    **ONE_TRACK,
    **TWO_TRACKS,
    **{cause: sentence for cause, (sentence, _) in DIAGNOSES.items()},
}
