"""A plan from TOML. Every mistake is one sentence with the file, the table and the key."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from os.path import normpath
from pathlib import Path
from typing import Any

from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.evaluation import Options
from smfeval.io.formats import sidecar_options
from smfeval.io.options import ReadOptions
from smfeval.io.source import exists, is_folder, read_small
from smfeval.options import refuse_unused_tolerance
from smfeval.schema import (
    NUMBER,
    SWITCH,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    TIME,
    Kind,
    check_keys,
    format_value,
    keys_of,
    options_at,
    options_of,
    parse_table,
    seconds,
    unknown_word,
    with_values,
)
from smfeval.studies.patterns import (
    depends_on_track,
    expand_home,
    fill_pattern,
    refuse_unknown_placeholders,
)
from smfeval.studies.plan import (
    DIVERGED_M,
    ROLES,
    Plan,
    PlannedEstimator,
    PlannedTrack,
    Reading,
    partition_folder,
)

Keys = dict[str, Kind]

PLAN_KEYS: Keys = {
    "name": TEXT,
    "output": TEXT,
    "pairs": SWITCH,
    "sensitivity": SWITCH,
    "diverged_m": NUMBER,
    "options": TABLE,
    "tracks": TABLES,
    "estimators": TABLES,
}
OPTION_KEYS: Keys = keys_of((*options_at(Options, "study"), *options_at(ReadOptions, "options")))
TRACK_KEYS: Keys = {
    "name": TEXT,
    "names": TEXTS,
    "reference": TEXT,
    "group": TEXT,
    "tolerance": TIME,
    "extrinsics": TABLE,
    **keys_of(options_at(ReadOptions, "track")),
}
ESTIMATOR_KEYS: Keys = {
    "name": TEXT,
    "path": TEXT,
    "role": TEXT,
    "extrinsic": TEXT,
    "reference": TEXT,
    "reference_body": TEXT,
    "pair_extrinsic": TEXT,
    **keys_of(options_at(ReadOptions, "estimator")),
}
PATTERN_KEYS = ("path", "reference", "extrinsic", "pair_extrinsic")  # and those of second files
ALL_GROUPS = "all"  # the name of the table over all groups
OWN_GAUGE = "own"  # in place of a gauge: each estimate by the one that it declares
PAIR_SEPARATOR = " | "  # stands between the names of a pair
PLAN_BYTES = 16_000_000
DEPTH = 16  # of lists and tables within each other
DEEP_KEY = re.compile(rf"^[ \t\[]*(?:[\w\"'-]+[ \t]*\.[ \t]*){{{DEPTH}}}", re.M)
TOO_DEEP = f"lists or tables within each other, more than {DEPTH} deep: this is no plan"
LONGEST_NAME = 255  # bytes of a name on the file systems that people have
TOML_ERROR_PLACE = re.compile(
    r"(?P<what>.*) \(at (line (?P<line>\d+), column (?P<column>\d+)|.*)\)"
)


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML file; relative paths in it start at the file's folder."""
    path = Path(path)
    table = check_keys(read_toml(path), PLAN_KEYS, str(path), required=("tracks", "estimators"))
    chosen = dict(table.get("options", {}))
    own_gauges = chosen.get("gauge") == OWN_GAUGE
    if own_gauges:
        del chosen["gauge"]
    options, reading = parse_options(chosen, f"{path}: [options]", "study")
    tracks = [
        track
        for i, entry in enumerate(table["tracks"], start=1)
        for track in parse_tracks(entry, f"{path}: [[tracks]] {i}", reading)
    ]
    estimators = [
        parse_estimator(entry, f"{path}: [[estimators]] {i}", reading, several=len(tracks) > 1)
        for i, entry in enumerate(table["estimators"], start=1)
    ]
    plan = Plan(
        name=table.get("name", path.stem),
        folder=path.absolute().parent,
        tracks=tuple(tracks),
        estimators=tuple(estimators),
        output=Path(normpath(path.absolute().parent / _output_folder(table, path))),
        options=options,
        pairs=table.get("pairs", False),
        sensitivity=table.get("sensitivity", False),
        diverged_m=_check_positive(table.get("diverged_m", DIVERGED_M), f"{path}: diverged_m"),
        own_gauges=own_gauges,
    )
    refuse_duplicates(plan, str(path))
    _refuse_output(plan, str(path))
    return plan


def _output_folder(table: dict[str, Any], path: Path) -> Path:
    return expand_home(table.get("output", f"{path.stem}_results"))


def parse_options(
    table: dict[str, Any], where: str, verb: str, *, made: type[Options] = Options
) -> tuple[Options, Reading]:
    """How to score, and how every file is to be read; `verb` is study or sweep."""
    own, shared = options_at(made, verb), options_at(ReadOptions, "options")
    _refuse_other_verbs(table, where, made, verb)
    given = check_keys(table, keys_of((*own, *shared)), where)
    with locate_errors(where):
        values, reading = parse_table(given, own), parse_table(given, shared)
        refuse_unused_tolerance(values)
        singular = reading.get("bad_rows", "refuse")
        return with_values(made(singular=singular), values), tuple(reading.items())


def _refuse_other_verbs(table: dict[str, Any], where: str, made: type, verb: str) -> None:
    """Raise on an option that other verbs have."""
    for each in options_of(made):
        if each.name in table and verb not in each.at:
            raise OptionError(f"{where}: {each.name} means nothing in a {verb}")


def parse_tracks(entry: dict[str, Any], where: str, reading: Reading) -> list[PlannedTrack]:
    """One track, or one for each of `names`."""
    given = check_keys(entry, TRACK_KEYS, where, required=("reference",))
    if ("name" in given) == ("names" in given):
        raise OptionError(f"{where}: either name or names is needed")
    names = given.get("names") or [given["name"]]
    where = f"{where} ({names[0]}{', ...' if len(names) > 1 else ''})"
    _check_patterns(given, where)
    if len(names) > 1 and not depends_on_track(given["reference"]):
        raise OptionError(
            f"{where}: {len(names)} tracks cannot have one reference; "
            f"{given['reference']!r} needs {{track}}"
        )
    extrinsics = _parse_extrinsics(given.get("extrinsics", {}), where)
    own = _parse_reading(given, where, "track")
    body = own.pop("body", None)
    return [
        PlannedTrack(
            name,
            given["reference"],
            given.get("group", PlannedTrack.group),
            body,
            (*reading, *own.items()),
            _parse_tolerance(given, where),
            extrinsics,
        )
        for name in names
    ]


def _parse_tolerance(given: dict[str, Any], where: str) -> float | None:
    if "tolerance" not in given:
        return None
    with locate_errors(f"{where} tolerance"):
        return Options(tolerance_s=seconds(given["tolerance"])).tolerance_s


def _parse_extrinsics(table: dict[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    """(body, pose or file) of a table such as { imu = "0,0,0,0,0,0,1" }."""
    for body, value in table.items():
        if not TEXT.accepts(value):
            raise OptionError(f"{where} extrinsics: {body} is to be {TEXT.words}")
        refuse_unknown_placeholders(value, f"{where} extrinsics")
    return tuple(table.items())


def parse_estimator(
    entry: dict[str, Any], where: str, reading: Reading, *, several: bool
) -> PlannedEstimator:
    """One estimator; `several` tracks need a path each."""
    given = check_keys(entry, ESTIMATOR_KEYS, where, required=("name", "path"))
    where = f"{where} ({given['name']})"
    _check_patterns(given, where)
    if several and not depends_on_track(given["path"]):
        raise OptionError(
            f"{where}: the path {given['path']!r} is the same for all tracks; it needs {{track}}"
        )
    for key in ("reference_body", "pair_extrinsic"):
        if key in given and "reference" not in given:
            raise OptionError(f"{where}: {key} says nothing without a reference of its own")
    role = given.get("role", PlannedEstimator.role)
    if role not in ROLES:
        raise OptionError(f"{where}: {unknown_word('role', role, ROLES)}")
    return PlannedEstimator(
        name=given["name"],
        path=given["path"],
        role=role,
        extrinsic=given.get("extrinsic"),
        reading=(*reading, *_parse_reading(given, where, "estimator").items()),
        reference=given.get("reference"),
        reference_body=given.get("reference_body"),
        pair_extrinsic=given.get("pair_extrinsic"),
    )


def _check_patterns(given: dict[str, Any], where: str) -> None:
    for key in (*PATTERN_KEYS, *sidecar_options()):
        if key in given:
            refuse_unknown_placeholders(given[key], f"{where} {key}")


def _parse_reading(given: dict[str, Any], where: str, table: str) -> dict[str, Any]:
    """Keyword arguments of `read`, in the order of `ReadOptions`, each checked by it."""
    with locate_errors(where):
        values = parse_table(given, options_at(ReadOptions, table))
        ReadOptions(**values)
        return values


def _check_positive(value: float, where: str) -> float:
    if not (isfinite(value) and value > 0):
        raise OptionError(
            f"{where} is to be a positive number of metres, not {format_value(value)}"
        )
    return float(value)


@contextmanager
def locate_errors(where: str) -> Iterator[None]:
    """Tell a mistake with its place in the plan."""
    try:
        yield
    except SmfevalError as error:
        raise OptionError(f"{where}: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """What the file says, as TOML; raises with the line where it is none."""
    content = read_small(path, PLAN_BYTES)
    try:
        text = content.decode("utf-8-sig")  # editors of Windows begin with a mark
        _refuse_deep_keys(path, text)
        return _refuse_deep_tables(path, tomllib.loads(text))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: the text is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError(_toml_error(path, str(error))) from error
    except RecursionError as error:
        raise FormatError(f"{path}: {TOO_DEEP}") from error
    except ValueError as error:  # thousands of digits
        raise FormatError(f"{path}: a number is too long to be read ({error})") from error


def _refuse_deep_keys(path: Path, text: str) -> None:
    """Raise on a key with many dots, before the parser makes a table for each of them."""
    found = DEEP_KEY.search(text)
    if found is not None:
        raise FormatError(f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {TOO_DEEP}")


def _refuse_deep_tables(path: Path, table: dict[str, Any]) -> dict[str, Any]:
    """The table, if no value in it lies deeper than a plan has them."""
    level: list[Any] = [table]
    for _ in range(DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
    if level:
        raise FormatError(f"{path}: {TOO_DEEP}")
    return table


def _toml_error(path: Path, complaint: str) -> str:
    """The complaint of the parser with its line where a reader looks for it."""
    match = TOML_ERROR_PLACE.fullmatch(complaint)
    if match is None:
        return f"{path}: this is not TOML: {complaint}"
    line = f":{match['line']}" if match["line"] else ""
    return f"{path}{line}: this is not TOML: {match['what']}" + (
        f" (column {match['column']})" if match["column"] else " (at the end of the file)"
    )


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
    seen: dict[tuple[str, str], PlannedTrack] = {}
    for track in plan.tracks:
        path = normpath(fill_pattern(track.reference, track, plan).text)
        other = seen.setdefault((track.group, path), track)
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


def _refuse_output(plan: Plan, where: str) -> None:
    """Raise on names that are too long for a file, and on an output that is in the way."""
    for track in plan.tracks:
        _refuse_long(partition_folder("track", track.name), f"{where}: the track", track.name)
        _refuse_long(partition_folder("group", track.group), f"{where}: the group", track.group)
    for each in plan.estimators:
        _refuse_long(partition_folder("estimator", each.name), f"{where}: the estimator", each.name)
    for part in plan.output.parts:
        _refuse_long(part, f"{where}: in the output folder, the name", part)
    _refuse_place(plan, where)


def _refuse_long(name: str, what: str, shown: str) -> None:
    size = len(name.encode())
    if size > LONGEST_NAME:
        raise OptionError(
            f"{what} {shown[:20]!r}... is too long: its folder would have a name of {size} bytes, "
            f"and {LONGEST_NAME} is the most"
        )


def _refuse_place(plan: Plan, where: str) -> None:
    if plan.output in (plan.folder, *plan.folder.parents):
        raise OptionError(f"{where}: the output folder {plan.output} would hold the plan itself")
    there = next(path for path in (plan.output, *plan.output.parents) if exists(path))
    if not is_folder(there):
        inside = "" if there == plan.output else f" {plan.output} lies below {there}, which"
        raise OptionError(
            f"{where}: the output{inside or f' {there}'} is no folder; a folder is needed"
        )
