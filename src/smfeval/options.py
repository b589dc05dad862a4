"""What a user may decide about an evaluation: on a command line, in a plan, in Python.

An option is one field of `Options` with its entry (see `smfeval.schema`); flags of `score` and
`pair` and keys of the table [options] of studies and sweeps are made from it.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from smfeval import words
from smfeval.align.quantities import (
    RISK,
    AlertLimits,
    Extent,
    ReferenceSigma,
    check_risk,
    parse_alert_limits,
    parse_extent,
    parse_reference_sigma,
)
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.schema import (
    ALIGNMENTS,
    GAUGE_ALIGNMENTS,
    INTERVAL_METHODS,
    NUMBER,
    POSITION_AXES,
    SWITCH,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    AlignmentKind,
    Kind,
    Option,
    any_of,
    check_options,
    is_number,
    is_text,
    is_whole,
    list_of,
    option,
    option_made,
    parts,
    seconds,
    unknown_word,
)

if TYPE_CHECKING:
    from smfeval.maths import se3
    from smfeval.score.rules import Rule, RuleSettings
    from smfeval.score.spaces import PositionSpace
    from smfeval.summarise.number import Intervals

Association = Literal["interpolated", "nearest", "gp"]
JointChoice = Literal["auto", "implied", "given", "none"]
JOINT_CHOICES: tuple[JointChoice, ...] = ("auto", "implied", "given", "none")
ASSOCIATIONS: tuple[Association, ...] = ("interpolated", "nearest", "gp")
ASSOCIATION_WORDS: dict[str, Association] = {kind: kind for kind in ASSOCIATIONS} | {
    "moved": "interpolated"  # as it was called
}
TOLERANCE_S = 0.005
EXACT = ("body", "clock")
ENDING_SIGMA = "reference_sigma"  # that would end a verdict: asked for as a number is
RULE_NAMES = (  # of `score.rules`, for the help, which starts without numpy
    *("ape", "energy", "log", "log_consistency", "log_sharpness", "crps", "interval", "nees"),
    *("pit", "energy_rotation", "log_rotation", "energy_body", "log_pose"),
)

# What a user may call an alignment: its name, or the gauge of the files that it fits.
GAUGE_WORDS: dict[str, AlignmentKind] = {kind: kind for kind in ALIGNMENTS} | GAUGE_ALIGNMENTS
INTERVAL_WORDS: dict[str, str | None] = {method: method for method in INTERVAL_METHODS} | {
    "none": None
}

# Where an option applies; pairs of a study have the options of the study.
EVERYWHERE = ("score", "pair", "study", "sweep")
WITH_REFERENCE = ("score", "study", "sweep")
SCORES = ("score", "study")  # a sweep has scores of its own

# Groups of flags
PAIRING = "pairing and alignment"
SCORING = "rules"
REFERENCE = "reference"
INTEGRITY = "integrity"

# Where the options of a group apply
PAIRED: dict[str, Any] = {"at": EVERYWHERE, "group": PAIRING}
SCORED: dict[str, Any] = {"at": SCORES, "group": SCORING}
BOUNDED: dict[str, Any] = {"at": EVERYWHERE, "group": SCORING}
REFERRED: dict[str, Any] = {"at": WITH_REFERENCE, "group": REFERENCE}
LIMITED: dict[str, Any] = {"at": SCORES, "group": INTEGRITY}


def _split_names(text: str | list[str]) -> tuple[str, ...]:
    """`a,b`, or a list of names."""
    names = tuple(name.strip() for name in (text.split(",") if isinstance(text, str) else text))
    if not all(names):
        raise OptionError(f"{text!r} has an empty name in it; write names with commas between them")
    return names


EXTENT = Kind(
    'a number of scans or a text such as "10s" or "30m"',
    any_of(is_whole, is_text, lambda said: isinstance(said, Extent)),
    lambda said: said if isinstance(said, Extent) else parse_extent(str(said)),
)
EXTENTS = Kind('a list such as ["10s", "30m"]', list_of(EXTENT.accepts), EXTENT.parse, repeats=True)
OFFSET = Kind(TIME.words, TIME.accepts, lambda said: "auto" if said == "auto" else seconds(said))
RULES = Kind(TEXTS.words, TEXTS.accepts, _split_names)
REFERENCE_SIGMA = Kind(
    'a number of metres or a text such as "1cm" or "1cm,0.1deg"',
    any_of(is_number, is_text, lambda said: isinstance(said, ReferenceSigma)),
    parse_reference_sigma,
)
ALERT_LIMITS = Kind(
    'a number of metres or a text such as "1m" or "1m,0.5m vertical,2deg"',
    any_of(is_number, is_text, lambda said: isinstance(said, AlertLimits)),
    parse_alert_limits,
)
NEGATION = Kind(SWITCH.words, SWITCH.accepts, lambda said: not said, switch=True)


def _check_tolerance(tolerance_s: float) -> None:
    if not (isfinite(tolerance_s) and tolerance_s >= 0):
        raise OptionError(f"tolerance {words.exact(tolerance_s)} is no time that could be meant")


def _check_offset(offset_s: float | str) -> None:
    if isinstance(offset_s, str):
        if offset_s != "auto":
            raise OptionError(f"offset {offset_s!r} is neither a time in seconds nor auto")
    elif not isfinite(offset_s):
        raise OptionError(f"offset {words.exact(offset_s)} is no time that could be meant")


def _rules() -> "dict[str, Rule]":
    return import_module("smfeval.score.rules").RULES


def default_rules() -> tuple[str, ...]:
    """All rules but those that need the size of the body."""
    return tuple(rule.name for rule in _rules().values() if not rule.needs_body_size)


def _check_names(option: str, names: tuple[str, ...], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise unknown_word(option, name, known)


def _position_space(axes: str, reference_covariance: bool = True) -> "PositionSpace":
    from smfeval.score.spaces import PositionSpace  # noqa: PLC0415  flags are made without numpy

    return PositionSpace(axes, reference_covariance)


@dataclass(frozen=True)
class Options:
    """How to pair, align and score. The defaults are what most users want."""

    extrinsic: "se3.Pose | None" = None  # pose of the reference's body in the estimate's body
    alignment: AlignmentKind | None = option(  # None: by the gauge that the estimate declares
        None,
        TEXT,
        "how the worlds are aligned (default: as the estimate declares)",
        name="gauge",
        flag="align gauge",
        metavar=f"{{{','.join(ALIGNMENTS)}}}",
        **PAIRED,
        choices=GAUGE_WORDS,
        meaning=GAUGE_WORDS,
        differs={
            "pair": {
                "help": "how the worlds are aligned (default: by what one of the two leaves open)"
            }
        },
    )
    fit_on: Extent | None = option(  # fit the alignment on this much of the start, score the rest
        None,
        EXTENT,
        "fit on the first scans, seconds or metres; score the rest",
        at=WITH_REFERENCE,
        group=PAIRING,
        metavar="N|Ns|Nm",
    )
    joint: JointChoice = option(
        "auto",
        TEXT,
        "cross-covariances between scans: given beside the track, implied by the growth of its "
        "covariances, or none (default: given, else implied)",
        **PAIRED,
        choices=JOINT_CHOICES,
    )
    axes: str = option(
        POSITION_AXES,
        TEXT,
        "some of x, y, z (default: xyz, of a planar estimate xy)",
        **PAIRED,
        check=_position_space,  # refuses axes that do not exist
    )
    tolerance_s: float | None = option(  # None: by the rates of the two tracks
        None,
        TIME,
        "between stamps that meet (default: 5ms, or half a step of the denser track)",
        name="tolerance",
        **PAIRED,
        metavar="S|Nms",
        check=_check_tolerance,
    )
    offset_s: float | Literal["auto"] = option(  # added to the stamps of the estimate; auto: found
        0.0,
        OFFSET,
        "added to the estimate's stamps; auto finds it from the motion",
        name="offset",
        **PAIRED,
        metavar="S|Nms|auto",
        check=_check_offset,
        differs={"pair": {"kind": TIME, "metavar": "S|Nms", "help": "added to the stamps of A"}},
    )
    association: Association = option(
        "interpolated",
        TEXT,
        "nearest reference pose, interpolated over the gap to the scan (default) or as it is "
        "(nearest), or the reference as a continuous motion (gp)",
        **PAIRED,
        metavar="{interpolated,nearest,gp}",
        choices=ASSOCIATION_WORDS,
        meaning=ASSOCIATION_WORDS,
        differs={
            "pair": {
                "help": "nearest pose of B, interpolated over the gap to A's scan (default) or as "
                "it is (nearest)",
                "metavar": "{interpolated,nearest}",
                "choices": tuple(word for word in ASSOCIATION_WORDS if word != "gp"),
            }
        },
    )
    rules: tuple[str, ...] = option_made(
        default_rules,
        RULES,
        f"of {', '.join(RULE_NAMES)}",
        **SCORED,
        metavar="A,B",
        check=lambda names: _check_names("rule", names, _rules()),
    )
    settings: "RuleSettings" = parts(
        lambda: import_module("smfeval.score.rules").RuleSettings(),
        beta=Option(NUMBER, "power of the energy score, between 0 and 2", **SCORED),
        unbiased=Option(SWITCH, "particles: unbiased energy score", **SCORED),
        kernel_density=Option(SWITCH, "particles: log score of a kernel density", **SCORED),
        body_size_m=Option(
            NUMBER,
            "radius of gyration of the body, for energy_body (no default)",
            name="body_size",
            **SCORED,
            metavar="METRES",
        ),
    )
    horizons: tuple[Extent, ...] = option(
        (),
        EXTENTS,
        "relative pose error over N scans, seconds or metres (may repeat); over the first of them "
        "also scores of relative motion",
        flag="horizon",
        **SCORED,
        metavar="N|Ns|Nm",
    )
    kitti: bool = option(
        False,
        SWITCH,
        "relative pose error by KITTI's rule: t_rel and r_rel over 100 to 800 m",
        **SCORED,
    )
    intervals: "Intervals" = parts(
        lambda: import_module("smfeval.summarise.number").Intervals(),
        method=Option(
            TEXT,
            "method for the intervals",
            name="interval",
            **BOUNDED,
            choices=INTERVAL_WORDS,
            meaning=INTERVAL_WORDS,
        ),
        level=Option(NUMBER, "level of the intervals (default 0.95)", **BOUNDED),
        seed=Option(WHOLE, "chance for the bootstraps", **BOUNDED),
    )
    reference_covariance: bool = option(  # use the reference's own covariance if it has one
        True,
        NEGATION,
        "do not use the reference's own covariance",
        name="ref_exact",
        **REFERRED,
    )
    exact: tuple[str, ...] = option(  # what the verdict takes as given; else any value is granted
        (),
        RULES,
        "known exactly, and not refined for the verdict: body (the extrinsic), clock",
        at=EVERYWHERE,
        group=REFERENCE,
        metavar="body,clock",
        check=lambda names: _check_names("exact", names, EXACT),
    )
    ref_sigma: ReferenceSigma | None = option(
        None,
        REFERENCE_SIGMA,
        "how uncertain the reference is, each pose by itself; beside its own covariance",
        **REFERRED,
        metavar="Ncm[,Ndeg]",
    )
    ref_shared: ReferenceSigma | None = option(
        None,
        REFERENCE_SIGMA,
        "the same of one error that all its poses share, which an alignment absorbs",
        **REFERRED,
        metavar="Ncm[,Ndeg]",
    )
    alert_limit: AlertLimits | None = option(
        None,
        ALERT_LIMITS,
        "protection levels and the Stanford diagram under this limit: 1m or 1m,0.5m vertical,2deg "
        "(also along, cross)",
        **LIMITED,
        metavar="LIMIT[,...]",
    )
    risk: float = option(
        RISK,
        NUMBER,
        "of an error beyond its protection level, per scan and limit (default 1e-4)",
        **LIMITED,
        metavar="P",
        check=check_risk,
    )
    relative_horizon: Extent | None = None  # of relative scores, if `horizons` has none
    singular: Literal["refuse", "drop"] = "refuse"  # scans; as the bad rows of files
    numbers: tuple[str, ...] | None = None  # to compute, by name; None: all, and ENDING_SIGMA
    oriented_scans: int | None = None  # on which rotation and pose are scored; None: all
    with_interval: tuple[str, ...] | None = None  # those of them that need it; None: all

    def __post_init__(self) -> None:
        known = ASSOCIATION_WORDS.get(self.association, self.association)
        object.__setattr__(self, "association", known)
        check_options(self)
        for name in ("ref_sigma", "ref_shared"):
            said = getattr(self, name)
            if said is None:
                continue
            if not self.reference_covariance:
                raise OptionError(f"{name} and ref_exact contradict each other: leave out one")
            object.__setattr__(self, name, parse_reference_sigma(said))  # Python may give the text
        if self.alert_limit is not None:
            object.__setattr__(self, "alert_limit", parse_alert_limits(self.alert_limit))
        elif self.risk != RISK:
            raise OptionError("a risk means nothing without an alert limit")
        sized = [name for name in self.rules if _rules()[name].needs_body_size]
        if sized and self.settings.body_size_m is None:
            raise OptionError(
                f"{sized[0]} needs the size of the body (its radius of gyration in metres): "
                "give body_size"
            )

    @property
    def given_offset_s(self) -> float:
        """The offset as a number; raises while it is yet to be found."""
        if isinstance(self.offset_s, str):
            raise OptionError("a time offset is found by scoring one estimate against a reference")
        return self.offset_s

    @property
    def usual_tolerance_s(self) -> float | None:
        """The tolerance; None: by the rates, unless poses are taken as they are."""
        as_they_are = self.tolerance_s is None and self.association == "nearest"
        return TOLERANCE_S if as_they_are else self.tolerance_s

    @property
    def chosen_rules(self) -> tuple[str, ...]:
        """The rules asked for; by default all, that of the body too where its size is given.

        Where some numbers alone are asked for, the rules among them.
        """
        sized = self.settings.body_size_m is not None
        chosen = tuple(_rules()) if sized and self.rules == default_rules() else self.rules
        asked = self.numbers
        return chosen if asked is None else tuple(name for name in chosen if name in asked)

    @property
    def scored_horizon(self) -> Extent | None:
        """The horizon of scores of relative motion; None: the first that is usable."""
        return self.horizons[0] if self.horizons else self.relative_horizon

    @property
    def space(self) -> "PositionSpace":
        """The space that is scored: the position on the chosen axes."""
        return _position_space(self.axes, self.reference_covariance)


def refuse_unused_tolerance(given: Mapping[str, Any]) -> None:
    """Raise where a user gave a tolerance and a continuous reference, which needs none."""
    if given.get("association") == "gp" and "tolerance" in given:
        raise OptionError("tolerance means nothing for a continuous reference (association gp)")
