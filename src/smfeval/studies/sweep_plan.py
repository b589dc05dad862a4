"""The plan of a sweep: which knobs are turned, and where the runs come from."""

import re
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from smfeval.compare.sweep_points import KnobSettings, format_settings
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.schema import (
    NUMBER,
    SWITCH,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    Kind,
    any_of,
    check_keys,
    is_number,
    is_text,
    is_whole,
    list_of,
    suggest_word,
)
from smfeval.studies.plan import PLACEHOLDER_PATTERN, Plan, PlannedEstimator, Reading
from smfeval.studies.plan_file import (
    ESTIMATOR_KEYS,
    Keys,
    parse_estimator,
    parse_options,
    parse_tracks,
    read_toml,
    refuse_duplicates,
)

PLACEHOLDERS = ("track", "group", "knob", "value")  # in braces, beside the names of knobs
SINGLE_KNOB_PLACEHOLDERS = ("knob", "value")  # of knobs that are turned one at a time
VALUE = Kind("a number, a text, or true or false", any_of(is_text, is_number, SWITCH.accepts))
VALUES = Kind("a list of numbers or texts", list_of(VALUE.accepts))
SEEDS = Kind(
    "a list of whole numbers from 0 on", list_of(lambda value: is_whole(value) and value >= 0)
)
KNOB_KEYS: Keys = {"name": TEXT, "values": VALUES, "default": VALUE}
SWEEP_KEYS: Keys = {
    "name": TEXT,
    "options": TABLE,
    "knobs": TABLES,
    "tracks": TABLES,
    "estimators": TABLES,
    "lab": TABLE,
}
LAB_KEYS: Keys = {
    "worlds": TEXTS,
    "seeds": SEEDS,
    "filters": TEXTS,
    "duration_s": NUMBER,
    "faults": SWITCH,
    "grid": SWITCH,
}
SWEEP_ONLY_KEYS = ("base", "knobs")  # keys that a study has not
SWEPT_ESTIMATOR_KEYS: Keys = {
    **{key: kind for key, kind in ESTIMATOR_KEYS.items() if key not in ("role", "pair_extrinsic")},
    "base": TEXT,
    "knobs": TEXTS,
}
FILE_KEYS = ("tracks", "estimators")


@dataclass(frozen=True)
class Knob:
    """A setting of an estimator and the values that it takes, as they are written."""

    name: str
    values: tuple[str, ...]
    default: str | None = None  # its value while another knob is turned


@dataclass(frozen=True)
class PlannedRun:
    """An estimator with all its knobs set; `name` is the one that it has in the plan of files."""

    name: str
    estimator: str
    settings: KnobSettings


@dataclass(frozen=True)
class FileRuns:
    """Runs that are done: their files, as a plan in which each setting is an estimator."""

    plan: Plan
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True)
class LabRuns:
    """Runs to be done by filters of the lab on simulated worlds."""

    worlds: tuple[str, ...]
    seeds: tuple[int, ...]
    filters: tuple[str, ...]
    settings: tuple[KnobSettings, ...]
    duration_s: float | None = None  # of each walk; None: to its end
    faults: bool = True  # those that the world has; False: none


@dataclass(frozen=True)
class SweepPlan:
    """Everything that `smfeval sweep` is told."""

    name: str
    source: FileRuns | LabRuns
    options: Options = field(default_factory=Options)


RunAndEstimator = tuple[PlannedRun, PlannedEstimator]


def read_sweep(path: str | Path) -> SweepPlan:
    """The plan in a TOML file; relative paths in it start at the file's folder."""
    path = Path(path)
    table = check_keys(read_toml(path), SWEEP_KEYS, str(path), required=("knobs",))
    options, reading = parse_options(table.get("options", {}), f"{path}: [options]", "sweep")
    options = replace(options, rules=())  # a sweep has scores of its own
    knobs = parse_knobs(table["knobs"], str(path))
    name = table.get("name", path.stem)
    if "lab" in table:
        _refuse_both(table, path)
        return SweepPlan(name, _parse_lab(table["lab"], knobs, f"{path}: [lab]"), options)
    for key in FILE_KEYS:
        if key not in table:
            raise OptionError(f"{path}: the key {key!r} is missing; or [lab], to run filters")
    plan = _parse_plan(table, path, options, reading)
    return SweepPlan(name, _parse_files(table["estimators"], plan, path, knobs, reading), options)


def _refuse_both(table: dict[str, Any], path: Path) -> None:
    for key in FILE_KEYS:
        if key in table:
            raise OptionError(f"{path}: {key} are files, [lab] runs filters; one of the two")


def _parse_plan(table: dict[str, Any], path: Path, options: Options, reading: Reading) -> Plan:
    """Tracks and options; the estimators come later."""
    folder = path.absolute().parent
    tracks = [
        track
        for i, entry in enumerate(table["tracks"], start=1)
        for track in parse_tracks(entry, f"{path}: [[tracks]] {i}", reading)
    ]
    output = folder / f"{path.stem}_results"  # a plan has one; a sweep leaves nothing there
    return Plan(path.stem, folder, tuple(tracks), (), output, options)


def _parse_files(
    entries: list[dict[str, Any]],
    plan: Plan,
    path: Path,
    knobs: tuple[Knob, ...],
    reading: Reading,
) -> FileRuns:
    several = len(plan.tracks) > 1
    planned = [
        run
        for i, entry in enumerate(entries, start=1)
        for run in parse_runs(entry, f"{path}: [[estimators]] {i}", knobs, reading, several=several)
    ]
    plan = replace(plan, estimators=tuple(estimator for _, estimator in planned))
    refuse_duplicates(plan, str(path))
    return FileRuns(plan, tuple(run for run, _ in planned))


def _parse_lab(entry: dict[str, Any], knobs: tuple[Knob, ...], where: str) -> LabRuns:
    given = check_keys(entry, LAB_KEYS, where, required=("worlds", "filters"))
    for key in ("worlds", "filters", "seeds"):
        if len(set(given.get(key, ()))) < len(given.get(key, ())):
            raise OptionError(f"{where}: one of the {key} is listed twice")
    grid = given.get("grid", False)
    if not grid:
        require_defaults(knobs, where)
    duration_s = given.get("duration_s")
    if duration_s is not None and not 0 < duration_s < float("inf"):
        raise OptionError(f"{where}: duration_s is to be a positive time, not {duration_s}")
    return LabRuns(
        worlds=tuple(given["worlds"]),
        seeds=tuple(given.get("seeds", [1])),
        filters=tuple(given["filters"]),
        settings=every_combination(knobs) if grid else one_at_a_time(knobs),
        duration_s=duration_s,
        faults=given.get("faults", True),
    )


def parse_knobs(entries: list[dict[str, Any]], path: str) -> tuple[Knob, ...]:
    """The knobs in the order of the plan, each name once."""
    knobs: dict[str, Knob] = {}
    for i, entry in enumerate(entries, start=1):
        knob = _parse_knob(entry, f"{path}: [[knobs]] {i}")
        if knob.name in knobs:
            raise OptionError(f"{path}: knob {knob.name!r} is listed twice")
        knobs[knob.name] = knob
    return tuple(knobs.values())


def _parse_knob(entry: dict[str, Any], where: str) -> Knob:
    given = check_keys(entry, KNOB_KEYS, where, required=("name", "values"))
    where = f"{where} ({given['name']})"
    if given["name"] in PLACEHOLDERS or set("{}=") & set(given["name"]):
        raise OptionError(f"{where}: a knob cannot be called so; {{{given['name']}}} has a meaning")
    values = tuple(value_text(value) for value in given["values"])
    if len(set(values)) < len(values):
        raise OptionError(f"{where}: a value is listed twice")
    default = value_text(given["default"]) if "default" in given else None
    if default is not None and default not in values:
        raise OptionError(f"{where}: the default {default} is not among the values")
    return Knob(given["name"], values, default)


def value_text(value: str | float | bool) -> str:
    """A value as a path or a setting has it: `0.01` is 0.01, `"1e-2"` is 1e-2."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def choose_knobs(names: list[str] | None, knobs: tuple[Knob, ...], where: str) -> tuple[Knob, ...]:
    """The knobs that an estimator has: those named, or all."""
    if names is None:
        return knobs
    known = {knob.name: knob for knob in knobs}
    for name in names:
        if name not in known:
            raise OptionError(f"{where}: knob {name!r} is unknown; {suggest_word(name, known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def require_defaults(knobs: tuple[Knob, ...], where: str) -> None:
    """Knobs that are turned one at a time rest at their default meanwhile."""
    for knob in knobs:
        if len(knobs) > 1 and knob.default is None:
            raise OptionError(
                f"{where}: knob {knob.name} needs a default, its value while others are turned"
            )


def one_at_a_time(knobs: tuple[Knob, ...]) -> tuple[KnobSettings, ...]:
    """Each knob over its values while the others are at their default, every setting once."""
    return tuple(
        dict.fromkeys(
            tuple((other.name, value if other is knob else other.default or "") for other in knobs)
            for knob in knobs
            for value in knob.values
        )
    )


def every_combination(knobs: tuple[Knob, ...]) -> tuple[KnobSettings, ...]:
    """The grid of all values of all knobs."""
    names = [knob.name for knob in knobs]
    grid = product(*(knob.values for knob in knobs))
    return tuple(tuple(zip(names, values, strict=True)) for values in grid)


def parse_runs(
    entry: dict[str, Any], where: str, knobs: tuple[Knob, ...], reading: Reading, *, several: bool
) -> list[RunAndEstimator]:
    """Every setting of one estimator, and the file that it is in."""
    given = check_keys(entry, SWEPT_ESTIMATOR_KEYS, where, required=("name", "path"))
    called = f"{where} ({given['name']})"
    own = choose_knobs(given.get("knobs"), knobs, called)
    paths = _run_paths(given["path"], given.get("base"), own, called)
    plain = {key: value for key, value in given.items() if key not in SWEEP_ONLY_KEYS}
    planned = []
    for settings, path in paths.items():
        name = f"{given['name']} {format_settings(settings)}"
        run = PlannedRun(name, given["name"], settings)
        estimator = parse_estimator(
            plain | {"name": name, "path": path}, where, reading, several=several
        )
        planned.append((run, estimator))
    return planned


def _run_paths(
    pattern: str, base: str | None, knobs: tuple[Knob, ...], where: str
) -> dict[KnobSettings, str]:
    """The path of each setting; {track} and {group} are left for later."""
    places = _find_placeholders(pattern, knobs, where)
    if places & set(SINGLE_KNOB_PLACEHOLDERS):
        return _single_knob_paths(pattern, base, knobs, where)
    if base is not None:
        raise OptionError(f"{where}: base means nothing where the path names every knob")
    for knob in knobs:
        if knob.name not in places:
            raise OptionError(f"{where}: the path {pattern!r} lacks {{{knob.name}}}, or {{value}}")
    return {each: _fill_pattern(pattern, dict(each)) for each in every_combination(knobs)}


def _find_placeholders(pattern: str, knobs: tuple[Knob, ...], where: str) -> set[str]:
    known = [f"{{{place}}}" for place in (*PLACEHOLDERS, *(knob.name for knob in knobs))]
    places = set(PLACEHOLDER_PATTERN.findall(pattern))
    for name in places:
        if f"{{{name}}}" not in known:
            hint = suggest_word(f"{{{name}}}", known)
            raise OptionError(f"{where}: {{{name}}} in {pattern!r} stands for nothing; {hint}")
    return places


def _single_knob_paths(
    pattern: str, base: str | None, knobs: tuple[Knob, ...], where: str
) -> dict[KnobSettings, str]:
    """Paths with {knob} and {value}; the run with all defaults is `base`."""
    require_defaults(knobs, where)
    if len(knobs) > 1 and "{knob}" not in pattern:
        raise OptionError(f"{where}: several knobs; the path {pattern!r} lacks {{knob}}")
    if "{value}" not in pattern:
        raise OptionError(f"{where}: the path {pattern!r} lacks {{value}}")
    if len(knobs) > 1 and base is None:
        raise OptionError(f"{where}: base is missing, the run with every knob at its default")
    if base is not None and all(knob.default is None for knob in knobs):
        raise OptionError(f"{where}: base is the run with the default, and the knob has none")
    at_rest = tuple((knob.name, knob.default) for knob in knobs)
    return {
        settings: base
        if base is not None and settings == at_rest
        else _fill_pattern(pattern, _changed_knob(settings, knobs))
        for settings in one_at_a_time(knobs)
    }


def _changed_knob(settings: KnobSettings, knobs: tuple[Knob, ...]) -> dict[str, str]:
    """The knob that is not at its default, and its value."""
    pairs = zip(settings, knobs, strict=True)
    moved = [pair for pair, knob in pairs if pair[1] != knob.default]
    knob, value = moved[0] if moved else settings[0]
    return {"knob": knob, "value": value}


def _fill_pattern(pattern: str, values: dict[str, str]) -> str:
    def value(place: re.Match[str]) -> str:
        return values.get(place[1], place[0])

    return PLACEHOLDER_PATTERN.sub(value, pattern)
