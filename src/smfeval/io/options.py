"""How to read a source: what the user may decide, and what a format listens to.

An option of reading is one field of `ReadOptions` with its entry (see `smfeval.schema`): flags of
all verbs that read, and keys of tracks and estimators in plans, are made from it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.io.column_names import parse_columns
from smfeval.io.convention import CONVENTIONS, ORDERS, Convention, Order, cross_to_right, to_right
from smfeval.io.formats import FORMATS, sidecar_options
from smfeval.io.header import check_header_value
from smfeval.io.presets import PRESETS, preset_named, preset_of_algorithm
from smfeval.io.remote import local_path
from smfeval.io.source import LIMIT_BYTES
from smfeval.maths import se3
from smfeval.maths.arrays import Floats, read_only
from smfeval.schema import (
    TEXT,
    WHOLE,
    Kind,
    any_of,
    check_options,
    is_number,
    is_text,
    is_whole,
    list_of,
    option,
    unknown_word,
)
from smfeval.track import GAUGES, AnyTrack, Gauge, GaussianTrack, Intake
from smfeval.track.beliefs import normalise_quaternions
from smfeval.track.row_checks import BadRows, Duplicates

# Where an option of reading applies: flags of every verb that reads ("read"), flags about the
# reference, tables [options], [[tracks]] and [[estimators]] of a plan. What is said of all files
# in [options] cannot be said of one.
OF_FILES = ("read", "track", "estimator")
OF_ALL_FILES = ("read", "options")
OF_REFERENCE = ("reference of score", "reference of pair")


def _parse_origin(value: object) -> tuple[float, float, float] | None:
    """Latitude, longitude and height from three numbers or `LAT,LON,HEIGHT`."""
    if value is None:
        return None
    said: Any = value.replace("_", "?").split(",") if isinstance(value, str) else value
    try:
        latitude, longitude, height = (float(word) for word in said)  # 1_0 is no number to us
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"origin {value!r} is no place; latitude and longitude in degrees and height in "
            "metres are needed"
        ) from error
    return latitude, longitude, height


GEODETIC_POSITION = Kind(
    "latitude, longitude and height",
    any_of(is_text, list_of(is_number)),
    _parse_origin,
)


def _parse_bytes(value: str | int) -> int:
    """A number of bytes, or a text such as `20GB`."""
    match = re.fullmatch(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[kMGT]?B)?", str(value))
    size = float(match["number"]) * BYTE_UNITS[match["unit"] or "B"] if match else 0.0
    if not 1 <= size <= LARGEST_LIMIT:
        raise OptionError(f"limit {value!r} is no size; write for example 20GB")
    return int(size)


BYTE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LARGEST_LIMIT = 2**62  # bytes, more than there is
BYTES = Kind('a text such as "20GB"', any_of(is_whole, is_text), _parse_bytes)


def _parse_stretch(value: object) -> str | None:
    """`all`, or the number of a stretch, from 1."""
    if value is None or value == "all" or re.fullmatch(r"[1-9]\d{0,8}", str(value)):
        return None if value is None else str(value)
    raise OptionError(f"stretch {value!r} is none; write its number, from 1, or all")


STRETCH = Kind('a whole number or "all"', any_of(is_whole, is_text), _parse_stretch)


@dataclass(frozen=True)
class ReadOptions:
    """Decisions about a source. None: as the file, the preset or the format says.

    One rule says who decides (`in_order`): what the user says, then what the file declares, then
    the preset, then the format. It has one exception: of the covariance convention the preset
    comes before the file, for files in circulation declare one that their estimator does not have.
    Where somebody is overruled, a note on the track says so and by whom.
    """

    format: str | None = option(
        None,
        TEXT,
        "format of the source (default: recognised)",
        at=(*OF_REFERENCE, *OF_FILES),
        choices=[name for name, entry in FORMATS.items() if entry.readable],
        differs={
            place: {"help": "format of the reference (default: recognised)"}
            for place in OF_REFERENCE
        },
    )
    preset: str | None = option(
        None,
        TEXT,
        f"known estimator: {', '.join(PRESETS)}",
        flag="from",
        at=OF_FILES,
        metavar="ESTIMATOR",
        choices=PRESETS,
    )
    convention: str | None = option(
        None, TEXT, "how the covariance is written", at=OF_FILES, choices=CONVENTIONS
    )
    order: Order | None = option(
        None, TEXT, "which block of the covariance comes first", at=OF_FILES, choices=ORDERS
    )
    body: str | None = option(
        None,
        TEXT,
        "body frame of the poses",
        at=(*OF_REFERENCE, *OF_FILES),
        metavar="NAME",
        differs={place: {"help": "body frame of the reference"} for place in OF_REFERENCE},
        check=lambda name: check_header_value("body", name),
    )
    world: str | None = option(
        None,
        TEXT,
        "world frame of the poses",
        at=OF_FILES,
        metavar="NAME",
        check=lambda name: check_header_value("world", name),
    )
    gauge: Gauge | None = option(  # of the file; `score --gauge` says how to align
        None,
        TEXT,
        "freedoms that the estimator leaves open",
        at=("declare", "estimator"),
        choices=GAUGES,
    )
    bad_rows: BadRows = option(
        "refuse", TEXT, "default: refuse", at=OF_ALL_FILES, choices=("refuse", "drop")
    )
    duplicates: Duplicates = option(
        "refuse", TEXT, "", at=OF_ALL_FILES, choices=("refuse", "first", "last")
    )
    limit: int | None = option(  # bytes
        None,
        BYTES,
        f"most data that a file may hold (default {words.byte_size(LIMIT_BYTES)})",
        at=OF_ALL_FILES,
        metavar="SIZE",
    )
    covariance: Path | None = option(
        None, TEXT, "TUM: file with the covariances", at=OF_FILES, metavar="FILE"
    )
    times: Path | None = option(
        None,
        TEXT,
        "KITTI: file with the stamps",
        at=(*OF_REFERENCE, *OF_FILES),
        metavar="FILE",
    )
    columns: str | None = option(
        None,
        TEXT,
        "CSV: names of columns that are not recognised",
        at=(*OF_REFERENCE, *OF_FILES),
        metavar="stamp=NAME,x=NAME,...",
        check=parse_columns,
    )
    deviation: Path | None = option(
        None, TEXT, "OpenVINS: state_deviation file", at=OF_FILES, metavar="FILE"
    )
    origin: tuple[float, float, float] | None = option(  # latitude, longitude, height
        None,
        GEODETIC_POSITION,
        "GNSS: origin of the local frame",
        at=("reference of score", *OF_FILES),
        metavar="LAT,LON,H",
    )
    topic: str | None = option(
        None, TEXT, "bags, logs: topic (or write bag.mcap:/topic)", at=OF_FILES, metavar="/TOPIC"
    )
    stretch: str | None = option(  # None: the longest
        None,
        STRETCH,
        "autopilots: stretch between resets, by number or all (default: longest)",
        at=OF_FILES,
        metavar="N",
    )
    tf: str | None = option(
        None, TEXT, "bags: chain of transforms", at=OF_FILES, metavar="PARENT:CHILD"
    )
    lag: int | None = option(
        None, WHOLE, "bags: scans by which the covariance is late", at=OF_FILES, choices=(0, 1)
    )

    def __post_init__(self) -> None:
        for name in sidecar_options() & {each.name for each in fields(self)}:
            self._assign(name, _as_path(name, getattr(self, name)))
        self._assign("origin", _parse_origin(self.origin))
        self._assign("stretch", _parse_stretch(self.stretch))
        self._assign("limit", None if self.limit is None else _parse_bytes(self.limit))
        check_options(self)

    def _assign(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def given_names(self) -> set[str]:
        """Names of the options that say something."""
        return {field.name for field in fields(self) if getattr(self, field.name) != field.default}

    def intake(self, where: Callable[[int], str]) -> Intake:
        """How rows are taken in, with rows named by `where`."""
        return Intake(self.bad_rows, self.duplicates, where)

    def refuse_unused(self, format_name: str, used: frozenset[str]) -> None:
        """Raise on an option that the format would ignore."""
        for name in sorted(self.given_names - ALWAYS_USED - used):
            raise OptionError(
                f"option {name.replace('_', '-')} means nothing for {format_name} files"
            )

    def refuse_all(self, why: str) -> None:
        """Raise on any option but the format's name, where nothing is read."""
        for name in sorted(self.given_names - {"format"}):
            raise OptionError(f"option {name.replace('_', '-')} means nothing {why}")


@dataclass(frozen=True)
class WriteOptions:
    """Decisions about a file to write.

    Only CSV and wide TUM can be told their convention; `origin` is the place on Earth of the
    track's zero, for KML and GeoJSON.
    """

    format: str | None = None
    convention: str | None = None
    order: Order | None = None
    origin: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", _parse_origin(self.origin))
        for name, known in (("convention", CONVENTIONS), ("order", ORDERS)):
            if getattr(self, name) not in (None, *known):
                raise unknown_word(name, getattr(self, name), known)


ALWAYS_USED = frozenset(
    {"format", "preset", "body", "world", "gauge", "bad_rows", "duplicates", "limit"}
)


def _as_path(name: str, value: object) -> Path | None:
    """A file that was named as text, as a URL or as a path."""
    if value is None or isinstance(value, Path):
        return value
    if isinstance(value, str) and value:
        return local_path(value)
    raise OptionError(f"{name} {value!r} is no file name")


FALLBACKS = ("the format", "assumed")

PresetOrder = Literal["state_order", "message_order"]


@dataclass(frozen=True)
class Choice:
    """A value, who decided it, and a note where somebody was overruled."""

    value: Any
    decided_by: str
    note: str | None = None


def choose(what: str, *candidates: tuple[str, Any]) -> Choice | None:
    """The first candidate (who, value) that has a value; notes a later one that differs.

    What a format implies or we assume is a fallback; overruling it needs no note.
    """
    known = [(who, value) for who, value in candidates if value is not None]
    if not known:
        return None
    who, value = known[0]
    spoken = [(other, said) for other, said in known[1:] if other not in FALLBACKS]
    overruled = [f"{other} says {said}" for other, said in spoken if said != value]
    note = f"{what}: {who} ({value}) wins; {', '.join(overruled)}" if overruled else None
    return Choice(value, who, note)


def in_order(
    what: str, *, option: Any, file: Any, preset: tuple[str, Any], fallbacks: Any = ()
) -> Choice | None:
    """Who decides: the option, the file, the preset, the format; see `ReadOptions`."""
    by_file, by_preset = ("the header", file), preset
    knowing = (by_preset, by_file) if what in PRESET_FIRST else (by_file, by_preset)
    return choose(what, ("the option", option), *knowing, *fallbacks)


PRESET_FIRST = ("covariance convention",)  # the exception to the rule


@dataclass(frozen=True)
class SettledConvention:
    """How a source's covariance is to be read."""

    convention: Convention
    order: Order
    words: str
    notes: tuple[str, ...]

    def to_right(self, covariance: Floats, pose: se3.Pose) -> Floats:
        """Covariance as smfeval keeps it: right perturbation, translation first."""
        position, rotation = pose
        turned = self.convention.jacobian is not None
        with np.errstate(invalid="ignore", over="ignore"):  # bad rows are for the track to judge
            pose = position, normalise_quaternions(rotation) if turned else rotation
            return read_only(to_right(covariance, pose, self.convention, self.order))

    def cross_to_right(self, block: Floats, first: se3.Pose, second: se3.Pose) -> Floats:
        """Cross-covariances of two scans each, as smfeval keeps them. (k, 6, 6)."""
        turned = self.convention.jacobian is not None
        with np.errstate(invalid="ignore", over="ignore"):
            if turned:
                first, second = ((p, normalise_quaternions(q)) for p, q in (first, second))
            return cross_to_right(block, first, second, self.convention, self.order)


def settle_convention(
    options: ReadOptions,
    *,
    declared: tuple[str | None, Order | None] = (None, None),
    implied: tuple[str | None, Order | None] = (None, None),
    preset_order: PresetOrder | None = None,
) -> SettledConvention:
    """Decide convention and block order of a source that carries covariances.

    A preset knows the filter's error state whatever the file says. `preset_order` names the block
    order of the preset that this source could have; None where columns have an order of their own.
    """
    preset = preset_named(options.preset)
    by_preset = f"the preset {options.preset}"
    name = in_order(
        "covariance convention",
        option=options.convention,
        file=declared[0],
        preset=(by_preset, preset.convention if preset else None),
        fallbacks=(("the format", implied[0]), ("assumed", "right")),
    )
    order = in_order(
        "block order",
        option=options.order,
        file=declared[1],
        preset=(by_preset, getattr(preset, preset_order or "", None)),
        fallbacks=(("the format", implied[1]), ("assumed", "translation-first")),
    )
    assert name is not None and order is not None  # noqa: PT018  the last candidate decides
    convention = CONVENTIONS[name.value]
    told = f"{convention.words} ({name.decided_by}); {order.value} ({order.decided_by})"
    notes = tuple(choice.note for choice in (name, order) if choice.note)
    return SettledConvention(convention, order.value, told, notes)


def settle_about(track: AnyTrack, options: ReadOptions) -> AnyTrack:
    """Body, world and gauge of a track that was read, as option, preset or file decide."""
    preset = preset_named(options.preset)
    changes, notes = {}, []
    if not isinstance(track, GaussianTrack):
        given = sorted(options.given_names & {"convention", "order", "lag"})
        notes = [f"option {name} has no effect: there are no covariances" for name in given]
    for word in ("body", "world", "gauge"):
        choice = in_order(
            word,
            option=getattr(options, word),
            file=getattr(track.about, word),
            preset=(f"the preset {options.preset}", getattr(preset, word, None)),
        )
        if choice is not None:
            changes[word] = choice.value
            notes += [choice.note] if choice.note else []
    if preset is not None and preset.caution and isinstance(track, GaussianTrack):
        notes.append(f"preset {preset.name}: {preset.caution}")
    told = _suggested_preset(track, options)
    provenance = replace(track.provenance, remarks=track.provenance.remarks + told)
    settled = track.with_arrays({}, provenance=provenance)
    return settled.with_about(**changes).with_notes(*notes)


def _suggested_preset(track: AnyTrack, options: ReadOptions) -> tuple[str, ...]:
    """A remark where a file names a known estimator, and its covariance is read otherwise."""
    preset = preset_of_algorithm(track.about.algorithm)
    if preset is None or options.preset or options.convention:
        return ()
    known, read_as = CONVENTIONS[preset.convention].words, track.provenance.convention
    if not isinstance(track, GaussianTrack) or not read_as or read_as.startswith(known):
        return ()
    return (
        f"the header says {track.about.algorithm}, whose own covariance is {preset.convention}: "
        f"if it was copied as it is, --from {preset.name} reads it so",
    )
