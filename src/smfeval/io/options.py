"""How to read a source: what the user may decide, and what a format listens to.

An option of reading is one field of `ReadOptions` with its entry (see `smfeval.schema`): flags of
all verbs that read, and keys of tracks and estimators in plans, are made from it.
"""

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.io.formats import FORMATS, sidecar_options
from smfeval.io.presets import PRESETS
from smfeval.io.remote import local_path
from smfeval.io.source import LIMIT_BYTES
from smfeval.schema import (
    CONVENTION_NAMES,
    GAUGES,
    ORDERS,
    TEXT,
    WHOLE,
    BadRows,
    Duplicates,
    Gauge,
    Kind,
    Order,
    any_of,
    check_options,
    is_number,
    is_text,
    is_whole,
    list_of,
    option,
    unknown_word,
)

if TYPE_CHECKING:
    from smfeval.track import Intake

# Where an option of reading applies: flags of every verb that reads ("read"), which are about
# estimates, and tables [options], [[tracks]] and [[estimators]] of a plan. A source may name any of
# them for itself (`io.source_text`).
OF_FILES = ("read", "track", "estimator")
OF_ALL_FILES = ("read", "options")


def _parse_origin(value: object) -> tuple[float, float, float]:
    """Latitude, longitude and height from three numbers or `LAT,LON,HEIGHT`."""
    said: Any = value.replace("_", "?").split(",") if isinstance(value, str) else value
    try:
        latitude, longitude, height = (float(word) for word in said)  # 1_0 is no number to us
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"origin {value!r} is no place; latitude and longitude in degrees and height in "
            "metres are needed"
        ) from error
    return latitude, longitude, height


def _check_columns(text: str) -> object:
    from smfeval.io.column_names import parse_columns  # noqa: PLC0415  for tables alone

    return parse_columns(text)


GEODETIC_POSITION = Kind(
    "latitude, longitude and height", any_of(is_text, list_of(is_number)), _parse_origin
)


def _parse_bytes(value: object) -> int:
    """A number of bytes, or a text such as `20GB`."""
    match = re.fullmatch(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[kMGT]?B)?", str(value))
    size = float(match["number"]) * BYTE_UNITS[match["unit"] or "B"] if match else 0.0
    if not 1 <= size <= LARGEST_LIMIT:
        raise OptionError(f"limit {value!r} is no size; write for example 20GB")
    return int(size)


BYTE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
LARGEST_LIMIT = 2**62  # bytes, more than there is
BYTES = Kind('a text such as "20GB"', any_of(is_whole, is_text), _parse_bytes)


def _parse_stretch(value: object) -> str:
    """`all`, or the number of a stretch, from 1."""
    if re.fullmatch(r"all|[1-9]\d{0,8}", str(value)):
        return str(value)
    raise OptionError(f"stretch {value!r} is none; write its number, from 1, or all")


STRETCH = Kind('a whole number or "all"', any_of(is_whole, is_text), _parse_stretch)


def parse_rate(text: str) -> float | None:
    """Scans per second of `10Hz`; None of any other text, such as the name of a file."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?Hz", text, re.I)
    return float(found[1]) or None if found else None


def _frame(key: str) -> Any:
    """The option of a frame; a name that no header could hold is refused."""

    def check(name: object) -> None:
        from smfeval.io.header import check_header_value  # noqa: PLC0415  numpy: not for --help

        check_header_value(key, name)

    words_of = f"{key} frame of the poses"
    return option(None, TEXT, words_of, at=OF_FILES, metavar="NAME", check=check)


@dataclass(frozen=True)
class ReadOptions:
    """Decisions about a source. None: as the file, the preset or the format says.

    One rule says who decides (`choose`): what the user says, then what the file declares, then
    the preset, then the format. It has one exception: of the covariance convention the preset
    comes before the file, for files in circulation declare one that their estimator does not have.
    Where somebody is overruled, a note on the track says so and by whom.
    """

    format: str | None = option(
        None,
        TEXT,
        "format of the source (default: recognised)",
        at=OF_FILES,
        choices=[name for name, entry in FORMATS.items() if entry.reader],
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
        None, TEXT, "how the covariance is written", at=OF_FILES, choices=CONVENTION_NAMES
    )
    order: Order | None = option(
        None, TEXT, "which block of the covariance comes first", at=OF_FILES, choices=ORDERS
    )
    body: str | None = _frame("body")
    world: str | None = _frame("world")
    gauge: Gauge | None = option(  # of the file; `score --gauge` says how to align
        None,
        TEXT,
        "degrees of freedom that the estimator leaves open",
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
        None, TEXT, "KITTI: file with the stamps, or their rate (10Hz)", at=OF_FILES, metavar="FILE"
    )
    columns: str | None = option(
        None,
        TEXT,
        "CSV: names of columns that are not recognised",
        at=OF_FILES,
        metavar="stamp=NAME,x=NAME,...",
        check=_check_columns,
    )
    deviation: Path | None = option(
        None, TEXT, "OpenVINS: state_deviation file", at=OF_FILES, metavar="FILE"
    )
    origin: tuple[float, float, float] | None = option(  # latitude, longitude, height
        None, GEODETIC_POSITION, "GNSS: origin of the local frame", at=OF_FILES, metavar="LAT,LON,H"
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
        parsers = {"origin": _parse_origin, "stretch": _parse_stretch, "limit": _parse_bytes}
        for name in (*sidecar_options(), *parsers):
            value = getattr(self, name, None)
            if value is not None:
                parsed = parsers[name](value) if name in parsers else _as_path(name, value)
                object.__setattr__(self, name, parsed)
        check_options(self)

    @property
    def given_names(self) -> set[str]:
        """Names of the options that say something."""
        return {field.name for field in fields(self) if getattr(self, field.name) != field.default}

    def intake(self, where: Callable[[int], str]) -> "Intake":
        """How rows are taken in, with rows named by `where`."""
        from smfeval.track import Intake  # noqa: PLC0415  numpy: not for --help

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
        if self.origin is not None:
            object.__setattr__(self, "origin", _parse_origin(self.origin))
        for name, known in (("convention", CONVENTION_NAMES), ("order", ORDERS)):
            if getattr(self, name) not in (None, *known):
                raise unknown_word(name, getattr(self, name), known)


ALWAYS_USED = frozenset(
    {"format", "preset", "body", "world", "gauge", "bad_rows", "duplicates", "limit"}
)


def _as_path(name: str, value: object) -> Path:
    """A file that was named as text, as a URL or as a path."""
    if isinstance(value, Path):
        return value
    if isinstance(value, str) and value:
        return local_path(value)
    raise OptionError(f"{name} {value!r} is no file name")
