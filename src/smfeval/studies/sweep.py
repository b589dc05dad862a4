"""A sweep is a study with knobs: each setting of an estimator is an estimator of its plan.

The plan names the knobs and their values, and either files of runs that are done, or worlds and
filters of the lab by which they are to be done. Runs are scored as those of a study are: by several
processes, and kept in the output folder, so that a sweep that was stopped goes on.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from smfeval.compare.slopes import (
    Failure,
    KnobSettings,
    Point,
    ScanSeries,
    format_settings,
    point_of,
    scan_series,
)
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
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
from smfeval.studies.find import find_tasks
from smfeval.studies.plan import PLACEHOLDER_PATTERN, Plan, refuse_unknown_placeholders
from smfeval.studies.plan_file import (
    ESTIMATOR_KEYS,
    FILE_KEYS,
    Keys,
    output_folder,
    parse_options,
    read_toml,
    refuse_output,
    with_files,
)
from smfeval.studies.result import NO_FILE, TaskResult
from smfeval.studies.run import Labour, run_tasks, study_cache
from smfeval.studies.store import read_scans

if TYPE_CHECKING:
    import polars as pl

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
    "output": TEXT,
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
PointsAndFailures = tuple[tuple[Point, ...], tuple[Failure, ...]]


@dataclass(frozen=True)
class Knob:
    """A setting of an estimator and the values that it takes, as they are written."""

    name: str
    values: tuple[str, ...]
    default: str | None = None  # its value while another knob is turned


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
class SweepPlan(Plan):
    """Everything that `smfeval sweep` is told: runs that are done, or those for the lab to do."""

    runs: dict[str, tuple[str, KnobSettings]] = field(default_factory=dict)  # by planned estimator
    lab: LabRuns | None = None
    run_notes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)  # and track


def read_sweep(path: str | Path) -> SweepPlan:
    """The plan in a TOML file; relative paths in it start at the file's folder."""
    path = Path(path)
    table = check_keys(read_toml(path), SWEEP_KEYS, str(path), required=("knobs",))
    options, reading = parse_options(table.get("options", {}), f"{path}: [options]", "sweep")
    knobs = parse_knobs(table["knobs"], str(path))
    plan = SweepPlan(
        name=table.get("name", path.stem),
        folder=path.absolute().parent,
        tracks=(),
        estimators=(),
        output=output_folder(table, path),
        options=replace(options, rules=()),  # a sweep has scores of its own
    )
    refuse_output(plan, str(path))
    for key in FILE_KEYS:
        if "lab" in table and key in table:
            raise OptionError(f"{path}: {key} are files, [lab] runs filters; one of the two")
        if "lab" not in table and key not in table:
            raise OptionError(f"{path}: the key {key!r} is missing; or [lab], to run filters")
    if "lab" in table:
        return replace(plan, lab=_parse_lab(table["lab"], knobs, f"{path}: [lab]"))

    entries, runs = [], {}
    for i, entry in enumerate(table["estimators"], start=1):
        where = f"{path}: [[estimators]] {i}"
        given = check_keys(entry, SWEPT_ESTIMATOR_KEYS, where, required=("name", "path"))
        plain = {key: value for key, value in given.items() if key not in SWEEP_ONLY_KEYS}
        for settings, pattern in _run_paths(given, knobs, f"{where} ({given['name']})").items():
            name = f"{given['name']} {format_settings(settings)}"
            entries.append((where, plain | {"name": name, "path": pattern}))
            runs[name] = (given["name"], settings)
    return with_files(replace(plan, runs=runs), table["tracks"], entries, path, reading)


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
        where = f"{path}: [[knobs]] {i}"
        given = check_keys(entry, KNOB_KEYS, where, required=("name", "values"))
        name, where = given["name"], f"{where} ({given['name']})"
        if name in PLACEHOLDERS or set("{}=") & set(name):
            raise OptionError(f"{where}: a knob cannot be called so; {{{name}}} has a meaning")
        values = tuple(map(value_text, given["values"]))
        if len(set(values)) < len(values):
            raise OptionError(f"{where}: a value is listed twice")
        default = value_text(given["default"]) if "default" in given else None
        if default is not None and default not in values:
            raise OptionError(f"{where}: the default {default} is not among the values")
        if name in knobs:
            raise OptionError(f"{path}: knob {name!r} is listed twice")
        knobs[name] = Knob(name, values, default)
    return tuple(knobs.values())


def value_text(value: str | float | bool) -> str:
    """A value as a path or a setting has it: `0.01` is 0.01, `"1e-2"` is 1e-2."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


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


def _run_paths(
    given: dict[str, Any], every: tuple[Knob, ...], where: str
) -> dict[KnobSettings, str]:
    """The path of each setting of an estimator; {track} and {group} are left for later."""
    known = {knob.name: knob for knob in every}
    for name in given.get("knobs", ()):
        if name not in known:
            raise OptionError(f"{where}: knob {name!r} is unknown; {suggest_word(name, known)}")
    knobs = tuple(known[name] for name in dict.fromkeys(given.get("knobs", known)))
    pattern, base = given["path"], given.get("base")

    places = set(PLACEHOLDER_PATTERN.findall(pattern))
    meanings = (*PLACEHOLDERS, *(knob.name for knob in knobs))
    refuse_unknown_placeholders(pattern, where, meanings, braces=False)
    if places & set(SINGLE_KNOB_PLACEHOLDERS):
        return _single_knob_paths(pattern, base, knobs, where)
    if base is not None:
        raise OptionError(f"{where}: base means nothing where the path names every knob")
    for knob in knobs:
        if knob.name not in places:
            raise OptionError(f"{where}: the path {pattern!r} lacks {{{knob.name}}}, or {{value}}")
    return {each: _fill_pattern(pattern, dict(each)) for each in every_combination(knobs)}


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
    paths = {}
    for settings in one_at_a_time(knobs):
        moved = [
            pair for pair, knob in zip(settings, knobs, strict=True) if pair[1] != knob.default
        ]
        knob, value = (moved or settings)[0]
        named = _fill_pattern(pattern, {"knob": knob, "value": value})
        paths[settings] = named if moved or base is None else base
    return paths


def _fill_pattern(pattern: str, values: dict[str, str]) -> str:
    return PLACEHOLDER_PATTERN.sub(lambda place: values.get(place[1], place[0]), pattern)


def points_of_files(
    plan: SweepPlan, failures: Sequence[Failure] = (), **labour: Unpack[Labour]
) -> PointsAndFailures:
    """Score every run; what fails or is missing becomes a sentence and stops nothing.

    `failures` are of runs that were tried, and left no file.
    """
    found = find_tasks(plan)
    tried = {(each.estimator, each.track, each.settings) for each in failures}
    outcomes: list[Point | Failure] = [*failures]
    for gap in found.missing:
        estimator, settings = plan.runs[gap.estimator]
        if (who := (estimator, gap.track, settings)) not in tried:
            outcomes.append(Failure(*who, f"{NO_FILE}: {gap.pattern}"))
    outcomes += [_outcome(plan, each) for each in run_tasks(plan, found.tasks, **labour).results]
    return split_outcomes(outcomes)


def _outcome(plan: SweepPlan, result: TaskResult) -> Point | Failure:
    """The point of a run, with its scans as the cache has them; or why there is none."""
    estimator, settings = plan.runs[result.estimator]
    who = (estimator, result.track, settings)
    if result.failure is not None:
        return Failure(*who, result.failure)
    frame = read_scans(study_cache(plan).scans(result.key))
    return point_of(
        who,
        dict((*result.numbers, *result.updates)),
        source=result.source,
        scored=result.scored,
        notes=(*plan.run_notes.get((result.estimator, result.track), ()), *result.all_notes),
        scans=_scans(frame, plan.options.axes),
    )


def split_outcomes(outcomes: list[Point | Failure]) -> PointsAndFailures:
    """Points and failures apart."""
    points = tuple(each for each in outcomes if isinstance(each, Point))
    return points, tuple(each for each in outcomes if isinstance(each, Failure))


def _scans(frame: "pl.DataFrame", axes: str) -> ScanSeries | None:
    """The scans of a table of `evaluate_task`; None where it reports no uncertainty."""
    if frame["nees"].null_count():
        return None
    covariance = np.empty((len(frame), len(axes), len(axes)))
    for i, row in enumerate(axes):
        for j, column in enumerate(axes[: i + 1]):
            covariance[:, i, j] = covariance[:, j, i] = frame[f"covariance_{row}{column}"]
    stamp, nees, error = (frame[name].to_numpy() for name in ("stamp", "nees", "ape"))
    return scan_series(stamp, nees, error, covariance)
