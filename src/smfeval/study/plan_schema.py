"""Tables of a plan against the keys that they may have: unknown, missing and wrong ones named."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from glob import escape, glob
from os.path import normpath
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from smfeval.align.extent import Extent, parse_extent
from smfeval.align.gauge import ALIGNMENTS, GAUGE_ALIGNMENTS
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Options
from smfeval.io import TOPIC
from smfeval.io.options import ReadOptions
from smfeval.io.source import is_file
from smfeval.maths.stamps import parse_seconds
from smfeval.options import ASSOCIATIONS, TOLERANCE_S
from smfeval.score import RULES, RuleSettings
from smfeval.study.plan import Plan, PlannedTrack, Reading
from smfeval.summarise.interval import METHODS
from smfeval.summarise.number import Intervals

LONGEST_SHOWN = 60  # characters of a wrong value that a sentence repeats


@dataclass(frozen=True)
class ValueKind:
    """What a value may be."""

    words: str
    accepts: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value == value.strip() and _is_one_line(value)


def _is_one_line(text: str) -> bool:
    return text.isprintable()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and value != [] and all(map(accepts, value))


def _any_of(*ways: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(accepts(value) for accepts in ways)


TEXT = ValueKind("a text in quotes, on one line, without blanks around it", _is_text)
NUMBER = ValueKind("a number", _is_number)
WHOLE = ValueKind("a whole number", _is_whole)
SWITCH = ValueKind("true or false", lambda value: isinstance(value, bool))
TEXTS = ValueKind("a list of texts", _list_of(_is_text))
TIME = ValueKind('a number of seconds or a text such as "5ms"', _any_of(_is_number, _is_text))
EXTENT = ValueKind(
    'a number of scans or a text such as "10s" or "30m"', _any_of(_is_whole, _is_text)
)
EXTENTS = ValueKind('a list such as ["10s", "30m"]', _list_of(EXTENT.accepts))
GEODETIC_POSITION = ValueKind(
    "latitude, longitude and height", _any_of(_is_text, _list_of(_is_number))
)
TABLE = ValueKind("a table", lambda value: isinstance(value, dict))
TABLES = ValueKind("tables", _list_of(TABLE.accepts))

Keys = dict[str, ValueKind]


def check_keys(
    table: Any, keys: Keys, where: str, *, required: Iterable[str] = ()
) -> dict[str, Any]:
    """The table, if it has no key but these, all that are required, and each of its kind."""
    for key, value in table.items():
        if key not in keys:
            raise OptionError(f"{where}: the key {key!r} is unknown; {suggest_word(key, keys)}")
        if not keys[key].accepts(value):
            raise OptionError(
                f"{where}: {key} is to be {keys[key].words}, not {format_value(value)}"
            )
    for key in required:
        if key not in table:
            raise OptionError(f"{where}: the key {key!r} is missing")
    return dict(table)


def suggest_word(word: str, known: Iterable[str]) -> str:
    """What may have been meant: the nearest known word, or all of them."""
    close = get_close_matches(word, list(known), n=1)
    return f"{close[0]!r} may be meant" if close else f"it is one of {', '.join(known)}"


def check_word(value: str, known: Iterable[str], where: str) -> str:
    """The value, if it is a known word."""
    if value not in known:
        raise OptionError(f"{where}: {value!r} is unknown; {suggest_word(value, known)}")
    return value


def format_value(value: Any) -> str:
    """A value as a sentence repeats it."""
    words = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    text = words or repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


PLACEHOLDERS = ("track", "group")
PLACEHOLDER_PATTERN = re.compile(r"\{([^{}]*)\}")
DIGITS = re.compile(r"(\d+)")


def refuse_unknown_placeholders(pattern: str, where: str) -> None:
    """Raise on braces that stand for neither the track nor its group."""
    for name in PLACEHOLDER_PATTERN.findall(pattern):
        if name not in PLACEHOLDERS:
            known = suggest_word(f"{{{name}}}", [f"{{{place}}}" for place in PLACEHOLDERS])
            raise OptionError(f"{where}: {{{name}}} in {pattern!r} stands for nothing; {known}")
    if re.search(r"[{}]", PLACEHOLDER_PATTERN.sub("", pattern)):
        raise OptionError(f"{where}: {pattern!r} has a brace without its partner")


def depends_on_track(pattern: str) -> bool:
    """Whether each track has a path of its own."""
    return "{track}" in pattern


@dataclass(frozen=True)
class FilledPattern:
    """A pattern for one track: as text, and as what a glob is to look for."""

    text: str  # absolute
    search: str

    def sources(self) -> tuple[str, ...]:
        """Files that are there, run_2 before run_10; bags with their topic."""
        if _is_source(Path(self.text)):
            return (self.text,)
        path, topic = _split_topic(self.text)
        if topic and _is_source(Path(path)):
            return (self.text,)
        found = glob(_split_topic(self.search)[0], recursive=True)  # noqa: PTH207  may be absolute
        runs = [each for each in found if _is_source(Path(each))]
        return tuple(f"{each}{topic}" for each in sorted(runs, key=natural_sort_key))


def fill_pattern(pattern: str, track: PlannedTrack, plan: Plan) -> FilledPattern:
    """The pattern for a track, from the folder of the plan on."""
    values = {"track": track.name, "group": track.group}
    text = PLACEHOLDER_PATTERN.sub(lambda place: values[place[1]], pattern)
    search = PLACEHOLDER_PATTERN.sub(lambda place: escape(values[place[1]]), pattern)
    return FilledPattern(
        str(plan.folder / expand_home(text)),
        str(Path(escape(str(plan.folder))) / expand_home(search)),
    )


def expand_home(text: str) -> Path:
    """The path with `~` replaced; one that names nobody's home stays as it is."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  Path.expanduser raises then


def natural_sort_key(text: str) -> tuple[object, ...]:
    """A key for sorting in which 2 comes before 10."""
    words = DIGITS.split(text)
    return tuple(int(word) if i % 2 else word for i, word in enumerate(words))


def source_file(source: str) -> Path:
    """The file of a source, without a topic."""
    return Path(source) if _is_source(Path(source)) else Path(_split_topic(source)[0])


def _split_topic(source: str) -> tuple[str, str]:
    """Path and `:/topic`, which may be empty."""
    match = TOPIC.fullmatch(source)
    return (source, "") if match is None else (match["path"], f":{match['topic']}")


def _is_source(path: Path) -> bool:
    """Whether a file is there, or the folder of a ROS 2 bag."""
    return is_file(path) or is_file(path / "metadata.yaml")


ALL_GROUPS = "all"  # the name of the table over all groups
PAIR_SEPARATOR = " | "  # stands between the names of a pair


def refuse_duplicates(plan: Plan, where: str) -> None:
    """Raise on names or references that stand twice, or for two things."""
    _refuse_duplicate_names([track.name for track in plan.tracks], f"{where}: track")
    _refuse_duplicate_names([each.name for each in plan.estimators], f"{where}: estimator")
    _refuse_duplicate_references(plan, where)
    _refuse_missing_groups(plan, where)
    for each in plan.estimators:
        if PAIR_SEPARATOR in each.name:
            raise OptionError(
                f"{where}: estimator {each.name!r}: {PAIR_SEPARATOR!r} separates pairs"
            )


def _refuse_duplicate_names(names: Iterable[str], what: str) -> None:
    """Names that differ only in case would share a folder on some systems."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.casefold())
        if other is not None:
            twice = (
                f"{name!r} is listed twice" if other == name else _same_output_sentence(other, name)
            )
            raise OptionError(f"{what} {twice}")
        seen[name.casefold()] = name


def _same_output_sentence(one: str, other: str) -> str:
    return f"{one!r} and {other!r} would write the same output where case does not count"


def _refuse_duplicate_references(plan: Plan, where: str) -> None:
    seen: dict[str, PlannedTrack] = {}
    for track in plan.tracks:
        other = seen.setdefault(normpath(fill_pattern(track.reference, track, plan).text), track)
        if other is not track:
            raise OptionError(
                f"{where}: tracks {other.name!r} and {track.name!r} have the same reference, "
                f"{track.reference}; a track counts once"
            )


def _refuse_missing_groups(plan: Plan, where: str) -> None:
    if len(plan.groups) > 1 and ALL_GROUPS in plan.groups:
        lone = next(track.name for track in plan.tracks if track.group == ALL_GROUPS)
        raise OptionError(
            f"{where}: track {lone!r} has no group (or {ALL_GROUPS!r}, the name of the table over "
            "all groups), while other tracks have one"
        )


Made = TypeVar("Made")

BAD_ROWS = ("refuse", "drop")
GAUGE_WORDS = {kind: kind for kind in ALIGNMENTS} | GAUGE_ALIGNMENTS

OPTION_KEYS: Keys = {
    "association": TEXT,
    "tolerance": TIME,
    "offset": TIME,
    "gauge": TEXT,
    "fit_on": EXTENT,
    "axes": TEXT,
    "rules": TEXTS,
    "beta": NUMBER,
    "unbiased": SWITCH,
    "kernel_density": SWITCH,
    "horizons": EXTENTS,
    "interval": TEXT,
    "level": NUMBER,
    "seed": WHOLE,
    "ref_exact": SWITCH,
    "bad_rows": TEXT,
    "duplicates": TEXT,
}


def parse_options(table: dict[str, Any], where: str) -> tuple[Options, Reading]:
    """How to score, and how every file is to be read."""
    given = check_keys(table, OPTION_KEYS, where)
    association = check_word(
        given.get("association", "nearest"), ASSOCIATIONS, f"{where} association"
    )
    if association == "gp" and "tolerance" in given:
        raise OptionError(f"{where}: tolerance means nothing for a continuous reference (gp)")
    gauge = given.get("gauge")
    if gauge is not None:
        gauge = GAUGE_WORDS[check_word(gauge, GAUGE_WORDS, f"{where} gauge")]
    options = locate_errors(
        where,
        lambda: Options(
            association=association,  # type: ignore[arg-type]
            tolerance_s=_parse_seconds(given, "tolerance", TOLERANCE_S),
            offset_s=_parse_offset(given),
            alignment=gauge,
            fit_on=_parse_extent(given["fit_on"]) if "fit_on" in given else None,
            axes=given.get("axes", "xyz"),
            rules=tuple(given.get("rules", RULES)),
            settings=_rule_settings(given),
            horizons=tuple(_parse_extent(each) for each in given.get("horizons", [])),
            reference_covariance=not given.get("ref_exact", False),
            singular=check_word(given.get("bad_rows", "refuse"), BAD_ROWS, f"{where} bad_rows"),  # type: ignore[arg-type]
            intervals=_parse_intervals(given, where),
        ),
    )
    reading = tuple((key, given[key]) for key in ("bad_rows", "duplicates") if key in given)
    locate_errors(where, lambda: ReadOptions(**dict(reading)))
    return options, reading


def locate_errors(where: str, make: Callable[[], Made]) -> Made:
    """What is made; a mistake is told with its place in the plan."""
    try:
        return make()
    except SmfevalError as error:
        raise OptionError(f"{where}: {error}") from error


def _rule_settings(given: dict[str, Any]) -> RuleSettings:
    return RuleSettings(
        float(given.get("beta", 1.0)),
        given.get("unbiased", False),
        given.get("kernel_density", False),
    )


def _parse_intervals(given: dict[str, Any], where: str) -> Intervals:
    method = check_word(given.get("interval", "auto"), [*METHODS, "none"], f"{where} interval")
    level, seed = float(given.get("level", 0.95)), given.get("seed", 0)
    return Intervals(None if method == "none" else method, level, seed)


def _parse_offset(given: dict[str, Any]) -> float | Literal["auto"]:
    return "auto" if given.get("offset") == "auto" else _parse_seconds(given, "offset", 0.0)


def _parse_seconds(given: dict[str, Any], key: str, default: float) -> float:
    value = given.get(key, default)
    seconds = parse_seconds(value) if isinstance(value, str) else float(value)
    if not np.isfinite(seconds) or (key == "tolerance" and seconds < 0):
        raise OptionError(f"{key} {value!r} is no time that could be meant")
    return seconds


def _parse_extent(value: int | str) -> Extent:
    return parse_extent(str(value))
