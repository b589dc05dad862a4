"""A plan from TOML. Every mistake is one sentence with the file, the table and the key."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from os.path import normpath
from pathlib import Path
from typing import Any, TypeVar

from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.evaluation import Options
from smfeval.io.formats import sidecar_options
from smfeval.io.options import ReadOptions
from smfeval.io.source import exists, is_folder, read_small
from smfeval.io.source_text import split_options, with_own
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
from smfeval.studies.plan import (
    DIVERGED_M,
    PAIR_SEPARATOR,
    PLACEHOLDERS,
    ROLES,
    Plan,
    PlannedEstimator,
    PlannedTrack,
    Reading,
    Titles,
    expand_home,
    fill_pattern,
    partition_folder,
    refuse_unknown_placeholders,
)

Keys = dict[str, Kind]
AnyPlan = TypeVar("AnyPlan", bound=Plan)

PLAN_KEYS: Keys = {
    "name": TEXT,
    "output": TEXT,
    "pairs": SWITCH,
    "sensitivity": SWITCH,
    "diverged_m": NUMBER,
    "options": TABLE,
    "titles": TABLE,
    "tracks": TABLES,
    "estimators": TABLES,
}
TRACK_KEYS: Keys = {
    "name": TEXT,
    "names": TEXTS,
    "reference": TEXT,
    "group": TEXT,
    "route": TEXT,
    "tolerance": TIME,
    "extrinsics": TABLE,
    **keys_of(options_at(ReadOptions, "track")),
}
ESTIMATOR_TEXTS = (
    *("name", "path", "role", "extrinsic"),
    *("reference", "reference_body", "pair_extrinsic", "telemetry"),
)
ESTIMATOR_KEYS: Keys = {
    **dict.fromkeys(ESTIMATOR_TEXTS, TEXT),
    **keys_of(options_at(ReadOptions, "estimator")),
}
TITLE_KEYS: Keys = {"groups": TABLE, "estimators": TABLE}
FILE_KEYS = ("tracks", "estimators")
PATTERN_KEYS = ("path", "reference", "extrinsic", "pair_extrinsic")  # and those of second files
ALL_GROUPS = "all"  # the name of the table over all groups
OWN_GAUGE = "own"  # in place of a gauge: each estimate by the one that it declares
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
    table = check_keys(read_toml(path), PLAN_KEYS, str(path), required=FILE_KEYS)
    chosen = dict(table.get("options", {}))
    own_gauges = chosen.get("gauge") == OWN_GAUGE
    if own_gauges:
        del chosen["gauge"]
    options, reading = parse_options(chosen, f"{path}: [options]", "study")

    diverged_m = table.get("diverged_m", DIVERGED_M)
    if not (isfinite(diverged_m) and diverged_m > 0):
        raise OptionError(
            f"{path}: diverged_m is to be a positive number of metres, not "
            f"{format_value(diverged_m)}"
        )
    plan = Plan(
        name=table.get("name", path.stem),
        folder=path.absolute().parent,
        tracks=(),
        estimators=(),
        output=output_folder(table, path),
        options=options,
        pairs=table.get("pairs", False),
        sensitivity=table.get("sensitivity", False),
        diverged_m=float(diverged_m),
        own_gauges=own_gauges,
    )
    entries = ((f"{path}: [[estimators]] {i}", e) for i, e in enumerate(table["estimators"], 1))
    plan = with_files(plan, table["tracks"], entries, path, reading)
    refuse_output(plan, str(path))
    return replace(plan, titles=parse_titles(table.get("titles", {}), plan, f"{path}: [titles]"))


def with_files(
    plan: AnyPlan,
    tracks: Iterable[dict[str, Any]],
    estimators: Iterable[tuple[str, dict[str, Any]]],
    path: Path,
    reading: Reading,
) -> AnyPlan:
    """The plan with its tracks and estimators, the latter after the places where they stand."""
    planned = [
        track
        for i, entry in enumerate(tracks, start=1)
        for track in parse_tracks(entry, f"{path}: [[tracks]] {i}", reading)
    ]
    several = len(planned) > 1
    named = [parse_estimator(entry, w, reading, several=several) for w, entry in estimators]
    plan = replace(plan, tracks=tuple(planned), estimators=tuple(named))
    refuse_duplicates(plan, str(path))
    return plan


def parse_titles(table: dict[str, Any], plan: Plan, where: str) -> Titles:
    """What a paper calls groups and estimators, and in which order."""
    given = check_keys(table, TITLE_KEYS, where)
    known = {"groups": plan.groups, "estimators": tuple(each.name for each in plan.estimators)}
    for kind, titles in given.items():
        for name, title in titles.items():
            if name not in known[kind]:
                raise OptionError(
                    f"{where}: {unknown_word(kind.removesuffix('s'), name, known[kind])}"
                )
            if not TEXT.accepts(title):
                raise OptionError(f"{where} {kind}: {name} is to be {TEXT.words}")
    return Titles(**{kind: tuple(titles.items()) for kind, titles in given.items()})


def parse_options(table: dict[str, Any], where: str, verb: str) -> tuple[Options, Reading]:
    """How to score, and how every file is to be read; `verb` is study or sweep."""
    for each in options_of(Options):
        if each.name in table and verb not in each.at:
            raise OptionError(f"{where}: {each.name} means nothing in a {verb}")
    own, shared = options_at(Options, verb), options_at(ReadOptions, "options")
    given = check_keys(table, keys_of((*own, *shared)), where)
    with locate_errors(where):
        values, reading = parse_table(given, own), parse_table(given, shared)
        refuse_unused_tolerance(values)
        singular = reading.get("bad_rows", "refuse")
        return with_values(Options(singular=singular), values), tuple(reading.items())


def parse_tracks(entry: dict[str, Any], where: str, reading: Reading) -> list[PlannedTrack]:
    """One track, or one for each of `names`."""
    given = check_keys(entry, TRACK_KEYS, where, required=("reference",))
    if ("name" in given) == ("names" in given):
        raise OptionError(f"{where}: either name or names is needed")
    names = given.get("names") or [given["name"]]
    where = f"{where} ({names[0]}{', ...' if len(names) > 1 else ''})"
    _check_patterns(given, where)
    if len(names) > 1 and "{track}" not in given["reference"] and "route" not in given:
        raise OptionError(
            f"{where}: {len(names)} tracks cannot have one reference; "
            f"{given['reference']!r} needs {{track}}, or the tracks a route that they share"
        )
    extrinsics = given.get("extrinsics", {})  # such as { imu = "0,0,0,0,0,0,1" }, poses or files
    for body, value in extrinsics.items():
        if not TEXT.accepts(value):
            raise OptionError(f"{where} extrinsics: {body} is to be {TEXT.words}")
        refuse_unknown_placeholders(value, f"{where} extrinsics")
    reference, own = _parse_reading(given, where, "track", source="reference")
    body = own.pop("body", None)
    tolerance_s = None
    if "tolerance" in given:
        with locate_errors(f"{where} tolerance"):
            tolerance_s = Options(tolerance_s=seconds(given["tolerance"])).tolerance_s
    group, reading = given.get("group", PlannedTrack.group), (*reading, *own.items())
    about = (group, body, reading, tolerance_s, tuple(extrinsics.items()), given.get("route"))
    return [PlannedTrack(name, reference, *about) for name in names]


def parse_estimator(
    entry: dict[str, Any], where: str, reading: Reading, *, several: bool
) -> PlannedEstimator:
    """One estimator; `several` tracks need a path each."""
    given = check_keys(entry, ESTIMATOR_KEYS, where, required=("name", "path"))
    where = f"{where} ({given['name']})"
    _check_patterns(given, where)
    if several and "{track}" not in given["path"]:
        raise OptionError(
            f"{where}: the path {given['path']!r} is the same for all tracks; it needs {{track}}"
        )
    for key in ("reference_body", "pair_extrinsic"):
        if key in given and "reference" not in given:
            raise OptionError(f"{where}: {key} says nothing without a reference of its own")
    role = given.get("role", PlannedEstimator.role)
    if role not in ROLES:
        raise OptionError(f"{where}: {unknown_word('role', role, ROLES)}")
    path, own = _parse_reading(given, where, "estimator", source="path")
    texts = {key: given[key] for key in ESTIMATOR_TEXTS if key in given}
    return PlannedEstimator(**(texts | {"path": path}), reading=(*reading, *own.items()))


def _check_patterns(given: dict[str, Any], where: str) -> None:
    for key in (*PATTERN_KEYS, *sidecar_options()):
        if key in given:
            refuse_unknown_placeholders(given[key], f"{where} {key}")
    if "telemetry" in given:
        places = ("folder", "parent", "name", *PLACEHOLDERS)
        refuse_unknown_placeholders(given["telemetry"], f"{where} telemetry", places)


def _parse_reading(
    given: dict[str, Any], where: str, table: str, *, source: str
) -> tuple[str, dict[str, Any]]:
    """The source without its options, and all keyword arguments of `read`, checked by it."""
    with locate_errors(where):
        path, own = split_options(given[source])
        values = with_own(path, parse_table(given, options_at(ReadOptions, table)), own)
        ReadOptions(**values)
        return path, values


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
        deep = DEEP_KEY.search(text)  # before the parser makes a table for each of its dots
        if deep is not None:
            line = text.count("\n", 0, deep.start()) + 1
            raise FormatError(f"{path}:{line}: {TOO_DEEP}")
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: the text is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError(_toml_error(path, str(error))) from error
    except RecursionError as error:
        raise FormatError(f"{path}: {TOO_DEEP}") from error
    except ValueError as error:  # thousands of digits
        raise FormatError(f"{path}: a number is too long to be read ({error})") from error

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
    seen: dict[tuple[str, str], PlannedTrack] = {}
    for track in plan.tracks:
        path = normpath(fill_pattern(track.reference, track, plan).text)
        other = seen.setdefault((track.group, path), track)
        if other is not track and (track.route is None or other.route != track.route):
            raise OptionError(
                f"{where}: tracks {other.name!r} and {track.name!r} have the same reference, "
                f"{track.reference}; a track counts once, or both have one route"
            )
    if len(plan.groups) > 1 and ALL_GROUPS in plan.groups:
        lone = next(track.name for track in plan.tracks if track.group == ALL_GROUPS)
        raise OptionError(
            f"{where}: track {lone!r} has no group (or {ALL_GROUPS!r}, the name of the table over "
            "all groups), while other tracks have one"
        )
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
        if other == name:
            raise OptionError(f"{what} {name!r} is listed twice")
        if other is not None:
            raise OptionError(
                f"{what} {other!r} and {name!r} would write the same output where case does not "
                "count"
            )
        seen[name.casefold()] = name


def output_folder(table: dict[str, Any], path: Path) -> Path:
    """Where the results of a plan go: as it says, or beside it."""
    output = expand_home(table.get("output", f"{path.stem}_results"))
    return Path(normpath(path.absolute().parent / output))


def refuse_output(plan: Plan, where: str) -> None:
    """Raise on names that are too long for a file, and on an output that is in the way."""
    names = [
        *(("track", track.name) for track in plan.tracks),
        *(("group", track.group) for track in plan.tracks),
        *(("estimator", each.name) for each in plan.estimators),
    ]
    folders = [(f"the {kind}", name, partition_folder(kind, name)) for kind, name in names]
    folders += [("in the output folder, the name", part, part) for part in plan.output.parts]
    for what, name, folder in folders:
        if (size := len(folder.encode())) > LONGEST_NAME:
            raise OptionError(
                f"{where}: {what} {name[:20]!r}... is too long: its folder would have a name of "
                f"{size} bytes, and {LONGEST_NAME} is the most"
            )
    if plan.output in (plan.folder, *plan.folder.parents):
        raise OptionError(f"{where}: the output folder {plan.output} would hold the plan itself")
    there = next(path for path in (plan.output, *plan.output.parents) if exists(path))
    if not is_folder(there):
        inside = "" if there == plan.output else f" {plan.output} is below {there}, which"
        raise OptionError(
            f"{where}: the output{inside or f' {there}'} is no folder; a folder is needed"
        )
