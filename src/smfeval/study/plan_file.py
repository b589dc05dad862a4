"""A plan from TOML. Every mistake is one sentence with the file, the table and the key."""

import re
import tomllib
from dataclasses import fields
from os.path import normpath
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.formats import format_named
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named
from smfeval.io.source import open_input
from smfeval.study import plan_schema as kinds
from smfeval.study.plan import (
    DIVERGED_M,
    ROLES,
    Plan,
    PlannedEstimator,
    PlannedTrack,
    Reading,
    refuse_output,
)
from smfeval.study.plan_schema import (
    Keys,
    check_keys,
    check_word,
    depends_on_track,
    expand_home,
    format_value,
    locate_errors,
    parse_options,
    refuse_duplicates,
    refuse_unknown_placeholders,
)

TOML_ERROR_PLACE = re.compile(
    r"(?P<what>.*) \(at (line (?P<line>\d+), column (?P<column>\d+)|.*)\)"
)

GLOBAL_READING_KEYS = ("bad_rows", "duplicates")  # decided in [options], for every file
READING_KEYS: Keys = {
    field.name: {"lag": kinds.WHOLE, "origin": kinds.GEODETIC_POSITION}.get(field.name, kinds.TEXT)
    for field in fields(ReadOptions)
    if field.name not in GLOBAL_READING_KEYS
}
PLAN_KEYS: Keys = {
    "name": kinds.TEXT,
    "output": kinds.TEXT,
    "pairs": kinds.SWITCH,
    "diverged_m": kinds.NUMBER,
    "options": kinds.TABLE,
    "tracks": kinds.TABLES,
    "estimators": kinds.TABLES,
}
TRACK_KEYS: Keys = {
    "name": kinds.TEXT,
    "names": kinds.TEXTS,
    "reference": kinds.TEXT,
    "group": kinds.TEXT,
    **{key: kind for key, kind in READING_KEYS.items() if key != "gauge"},
}
ESTIMATOR_KEYS: Keys = {
    "name": kinds.TEXT,
    "path": kinds.TEXT,
    "role": kinds.TEXT,
    "extrinsic": kinds.TEXT,
    "reference": kinds.TEXT,
    "reference_body": kinds.TEXT,
    "pair_extrinsic": kinds.TEXT,
    **READING_KEYS,
}
PATTERN_KEYS = (
    *("path", "reference", "extrinsic", "pair_extrinsic"),
    *("covariance", "times", "deviation"),
)


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML file; relative paths in it start at the file's folder."""
    path = Path(path)
    table = check_keys(read_toml(path), PLAN_KEYS, str(path), required=("tracks", "estimators"))
    options, reading = parse_options(table.get("options", {}), f"{path}: [options]")
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
        diverged_m=_check_positive(table.get("diverged_m", DIVERGED_M), f"{path}: diverged_m"),
    )
    refuse_duplicates(plan, str(path))
    refuse_output(plan, str(path))
    return plan


def _output_folder(table: dict[str, Any], path: Path) -> Path:
    return expand_home(table.get("output", f"{path.stem}_results"))


def read_toml(path: Path) -> dict[str, Any]:
    """What the file says, as TOML; raises with the line where it is none."""
    with open_input(path) as stream:
        content = stream.read()
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: the text is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError(_toml_error(path, str(error))) from error
    except RecursionError as error:
        raise FormatError(f"{path}: lists within lists, too deep to be a plan") from error


def _toml_error(path: Path, complaint: str) -> str:
    """The complaint of the parser with its line where a reader looks for it."""
    match = TOML_ERROR_PLACE.fullmatch(complaint)
    if match is None:
        return f"{path}: this is not TOML: {complaint}"
    line = f":{match['line']}" if match["line"] else ""
    return f"{path}{line}: this is not TOML: {match['what']}" + (
        f" (column {match['column']})" if match["column"] else " (at the end of the file)"
    )


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
    own = _reading_options(given, where, {*READING_KEYS} - {"body", "gauge"})
    return [
        PlannedTrack(
            name,
            given["reference"],
            given.get("group", PlannedTrack.group),
            given.get("body"),
            reading + own,
        )
        for name in names
    ]


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
    return PlannedEstimator(
        name=given["name"],
        path=given["path"],
        role=check_word(given.get("role", ROLES[0]), ROLES, f"{where} role"),  # type: ignore[arg-type]
        extrinsic=given.get("extrinsic"),
        reading=reading + _reading_options(given, where, {*READING_KEYS}),
        reference=given.get("reference"),
        reference_body=given.get("reference_body"),
        pair_extrinsic=given.get("pair_extrinsic"),
    )


def _check_patterns(given: dict[str, Any], where: str) -> None:
    for key in PATTERN_KEYS:
        if key in given:
            refuse_unknown_placeholders(given[key], f"{where} {key}")


def _reading_options(given: dict[str, Any], where: str, keys: set[str]) -> Reading:
    """Keyword arguments of `read`, in the order of `ReadOptions`, each checked by it."""
    chosen = {key: given[key] for key in READING_KEYS if key in keys and key in given}
    locate_errors(where, lambda: ReadOptions(**chosen))
    locate_errors(where, lambda: preset_named(chosen.get("preset")))
    if "format" in chosen:
        locate_errors(where, lambda: format_named(chosen["format"]))
    if isinstance(chosen.get("origin"), list):
        chosen["origin"] = tuple(chosen["origin"])
    return tuple(chosen.items())


def _check_positive(value: float, where: str) -> float:
    if not (np.isfinite(value) and value > 0):
        raise OptionError(
            f"{where} is to be a positive number of metres, not {format_value(value)}"
        )
    return float(value)
