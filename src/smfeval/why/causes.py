"""Every cause that may be named, in one table: its sentence, and what to try.

A detector returns a `Why`: data. The words are made here, from the row of its cause; a field such
as `{step_m:length}` is written by `words`. Of several sentences of a cause the first is taken whose
fields are all in the evidence.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from smfeval import words
from smfeval.dataclass import dataclass
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

    def finding_dict(self) -> dict[str, Any]:
        """A finding without a reference as strict JSON data."""
        return {
            "name": self.cause,
            "numbers": {name: finite_or_none(value) for name, value in self.evidence.items()},
            "sentence": self.sentence,
        }

    def diagnosis_dict(self) -> dict[str, Any]:
        """A diagnosis as strict JSON data."""
        return self.finding_dict() | {"advice": self.advice}


def explanation(doubts: Iterable[Why], *, among: Collection[str] | None = None) -> str | None:
    """The first doubt, of any or these causes, that may explain a verdict by itself, in words."""
    explaining = (doubt for doubt in doubts if doubt.explains)
    return next((each.sentence for each in explaining if not among or each.cause in among), None)


def loss(doubts: Iterable[Why]) -> str | None:
    """That the estimate is lost, in words; None where it is not."""
    return next((doubt.sentence for doubt in doubts if doubt.cause == "lost"), None)


WRITERS: dict[str, Callable[[Any], str]] = {
    "angle": words.angle,
    "by axis": lambda axes: f"{words.lengths(*axes.values())} in {', '.join(axes)}",
    "carry": lambda scans: "1 scan carries" if scans == 1 else f"{scans:.0f} scans carry",
    "duration": words.duration,
    "few": lambda names: f"the {words.count(len(names), 'column')} {words.join(names, most=3)}",
    "early": lambda offset_s: "early" if offset_s > 0 else "late",
    "jumps": lambda jumps: words.count(jumps, "jump of the position", "jumps of the position"),
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


@dataclass(frozen=True)
class _Field:
    """A value that is written by the writer of its format's name."""

    value: Any

    def __format__(self, name: str) -> str:
        return WRITERS.get(name, str)(self.value)


def _write(text: Text, evidence: Evidence) -> str:
    if callable(text):
        return text(evidence)
    fields = {name: _Field(value) for name, value in evidence.items()}
    for each in (text,) if isinstance(text, str) else text:
        with suppress(KeyError):  # it speaks of what was not seen
            return each.format_map(fields)
    raise ValueError(f"no sentence speaks of {', '.join(evidence)}")


# Doubts


UNREAD = ("unread-covariance", "unread-columns")
ONE_TRACK: dict[str, Text] = {
    UNREAD[0]: "no covariance was read, but {columns:few} may be one",
    UNREAD[1]: "no covariance was read, and {columns:few} are not used: is it among them?",
    "scalar-first": (
        "the motion fits quaternions written wxyz ({as_wxyz:two} of 1), not xyzw ({as_read:two})",
        "the first quaternion is near 1 0 0 0: is it written wxyz?",
    ),
    "jump": "the position jumps by {step_m:length} ({speed_m_s:number} m/s) before stamp "
    "{stamp:stamp}",
    "odd-rate": "scans are {step_s:duration} apart: are the stamps in another unit?",
    "long-gap": "a gap of {gap_s:duration} in a track at {rate_hz:number} Hz: is a stamp wrong?",
    "zero-covariance": "the covariance is zero in {zero} of {scans} scans",
    "constant-covariance": "the covariance is the same in every scan: is it configured?",
    "placeholder": "the variance of {axes:names} is a placeholder for 'unknown'",
    "rotation-first": (
        "rotation sigma {rotation_deg:angle}, position sigma {position_m:length}: rotation first, "
        "or degrees?",
        "the rotation block grows along the track, the position block not: rotation first?",
    ),
    "deviation-for-variance": "sigma {sigma_m:length}, but positions jitter by {jitter_m:length}: "
    "standard deviations, not variances?",
    "odd-size": "the position sigma is {sigma_m:length}: is the unit right?",
    "partly-singular": "{singular} of {scans} position covariances are singular",
}

# Findings of one track without a reference (`no_reference`): what to look at, or to ask.
FINDINGS: dict[str, Text] = {
    "identity": "the position covariance is the identity (sigma 1 m) in every scan: a default?",
    "copied-diagonal": "position and rotation have the same variances, number for number (sigma "
    "{sigma_m:length}, and as many radians): is one copied?",
    "few-values": "the covariance takes {values} values in {scans} scans: a table of settings?",
    "position-jump": "{jumps:jumps}, the largest by {jump_m:length} before stamp {stamp:stamp}: "
    "the reported covariances allow {allowed_m:length}, motion would need "
    "{acceleration_m_s2:number} m/s^2; or is a stamp wrong?",
    "position-jitter": "{axis} jitters by {jitter_m:length} from scan to scan, {factor:number} "
    "times the reported sigma ({sigma_m:length}): errors, unless it shakes as fast as it is "
    "sampled",
    "steady-sigma": "sigma does not grow over {path_m:length} ({low_m:length} to {high_m:length}): "
    "is there a map, GNSS or another absolute fix? As odometry that allows a drift of "
    "{drift_percent:number} % of the path",
    "height-at-revisits": "{places} places are visited again at heights that differ by "
    "{height_m:length}, the reported covariances allow {allowed_m:length}: does it drive on the "
    "ground? Then its height drifts more than it reports",
    "points-alone": "{share:share} of the variation of the variance follows the number of points, "
    "as n to the power of {power:two}: right only if their errors are independent",
}

MISTAKES = {
    "scalar-first": "are the quaternions of {who} written wxyz?",
    "inverse": "is {who} the pose of the world in the body?",
    "mirrored-x": "is the x axis of {who} mirrored?",
    "mirrored-y": "is the y axis of {who} mirrored?",
    "mirrored-z": "is the z axis of {who} mirrored?",
    "exchanged-axes": "are the x and y axes of {who} exchanged?",
}


def _extrinsic(evidence: Evidence) -> str:
    degrees = words.angle(evidence["angle_deg"])
    if not evidence["applied"]:
        return f"the bodies' axes differ by a constant rotation of {degrees} (an extrinsic)"
    hint = ": is it the inverse?" if evidence["inverse_is_nearer"] else ""
    return f"the extrinsic leaves a constant rotation of {degrees} between the bodies{hint}"


def _lost(evidence: Evidence) -> str:
    who = "the estimate is" if evidence["against_reference"] else "one of the two is"
    world = "" if evidence["aligned"] else " or in another world frame"
    rmse, path = words.length(evidence["rmse_m"]), words.length(evidence["path_m"])
    return f"{who} lost{world}: RMSE {rmse} on a path of {path}"


TWO_TRACKS: dict[str, Text] = {
    "scale": (
        "{ours} is {ratio:number} times as large as {theirs}: is {who} in {unit}?",
        "{ours} is {ratio:number} times as large as {theirs}: is one of them in another unit?",
    ),
    **{
        f"{role}-{mistake}": "the motions differ (coherence {coherence:two} of 1): " + question
        for role in ("estimate", "reference")
        for mistake, question in MISTAKES.items()
    },
    "upside-down": "the alignment turns the z axis of {ours} by {tilt_deg:angle}: is an axis "
    "mirrored?",
    "extrinsic": _extrinsic,
    "lever-arm": "a lever arm of {lever_m:length} explains the errors (an extrinsic)",
    "origin": "{who} names the place on Earth of its zero, {other} does not: are both in one "
    "frame?",
    "lost": _lost,
    "unmatched": (
        "{outside:share} of the scans are outside the time of the reference, and not scored",
        "{unmatched:share} of the scans have no reference pose in time",
    ),
}


# Diagnoses: sentence and advice. Each is a test, so their number sets the level of one
# (`diagnoses.case`).


def _bias(text: str) -> Callable[[Evidence], str]:
    """The sentence of a bias, with how much of the error it explains beside the other biases."""

    def write(evidence: Evidence) -> str:
        share = "{share:share} of the " + ("NEES" if evidence["in_sigmas"] else "mean square")
        if evidence["together"] is not None:
            share += ", {together:share} with the other biases"
        if evidence["rival"] is not None:
            share += "; or a {rival}"
        return _write(f"{text} ({share})", evidence)

    return write


def _extrinsic_advice(evidence: Evidence) -> str:
    shown, off, body = evidence["bias_m"], evidence["extrinsic_m"], evidence["reference_body"]
    if not off:
        axis = max(shown, key=lambda axis: abs(shown[axis]))
        return f"give an extrinsic: {words.lengths(shown[axis])} in {axis} of {body}"
    less, within = words.lengths(*off.values()), evidence["estimate_body"]
    unseen = ", ".join(axis for axis in "xyz" if axis not in shown)
    advice = f"subtract {less} from the translation of the extrinsic (x, y, z of {within})"
    return advice + (f"; the motion does not show {unseen} of {body}" if unseen else "")


def _tight(regime: str, side: str, unit: str) -> str:
    when = f"while {regime} ({side} {{limit:number}} {unit})"
    return f"k is {{k_inside:number}} {when}, else {{k_outside:number}}"


DIAGNOSES: dict[str, tuple[Text, Text]] = {
    "lever-arm bias": (
        _bias("constant in body axes: {bias_m:by axis} of {reference_body}"),
        _extrinsic_advice,
    ),
    "time-offset bias": (
        _bias("{tau_s:duration} times the velocity: the estimate's stamps are {tau_s:early}"),
        "estimate the time offset (offset auto), or add {tau_s:duration} to the stamps",
    ),
    "scale error": (
        _bias("the estimate is {excess:percent} too {excess:long}"),
        "check wheel radius, range scale or camera baseline (alignment by sim3 would hide it)",
    ),
    "constant offset": (
        _bias("constant in world axes: {bias_m:by axis}"),
        "check the origins of the two world frames (datum, map), or align the translation",
    ),
    "drift": (
        "slow errors are {share:share} of the NEES: {slow_sigmas:number} sigma over "
        "{window_s:duration}",
        "process noise, biases and shared map error; not more noise per measurement",
    ),
    "tight while turning": (
        _tight("turning", "above", "rad/s"),
        "check deskewing, gyro noise and bias, and the rotation of the extrinsic",
    ),
    "tight while fast": (
        _tight("fast", "above", "m/s"),
        "check deskewing, stamps and motion blur; let the noise grow with the speed",
    ),
    "tight while standing": (
        _tight("standing", "below", "m/s"),
        "repeated scans share their errors: the covariance must not shrink with each of them",
    ),
    "growing": (
        "k grows from {k_first_third:number} in the first third of the track to "
        "{k_last_third:number} in the last",
        "check process noise and what is taken as known: map, biases, scale",
    ),
    "a stretch": (
        "k is {k_inside:number} at {stretches:times} after the first scan, else {k_outside:number}",
        "check what happens there: geometry, outages, dynamic objects",
    ),
    "a few scans": (
        "{scans:carry} {share_of_nees:share} of the NEES, the first at {first_s:duration}",
        "check these scans: outliers, wrong matches or bad reference poses",
    ),
    "heavy tails": (
        "Student-t errors with {nu:number} degrees of freedom, by {gain_nat:number} nat per scan",
        "a robust kernel or a Student-t measurement model; a larger covariance would not fit",
    ),
    "too tight throughout": (
        "the covariance is {k:number} times too small in all other scans",
        "scale the covariance by {k:number} (calibrate), or raise the measurement noise R",
    ),
}

SENTENCES: dict[str, Text] = {
    **ONE_TRACK,
    **FINDINGS,
    **TWO_TRACKS,
    **{cause: sentence for cause, (sentence, _) in DIAGNOSES.items()},
}
