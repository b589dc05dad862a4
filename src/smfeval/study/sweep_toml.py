"""A sweep from TOML. Every mistake is one sentence with the file, the table and the key."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.study import plan_keys as kinds
from smfeval.study.plan import Plan, Reading
from smfeval.study.plan_doubles import refuse_doubles
from smfeval.study.plan_keys import Keys, Kind, checked
from smfeval.study.plan_options import options_of
from smfeval.study.sweep_files import runs_of
from smfeval.study.sweep_knobs import knobs_of, need_defaults
from smfeval.study.sweep_plan import (
    Files,
    Knob,
    Lab,
    SweepPlan,
    every_combination,
    one_at_a_time,
)
from smfeval.study.toml_plan import parsed, tracks_of

SWEEP_KEYS: Keys = {
    "name": kinds.TEXT,
    "options": kinds.TABLE,
    "knobs": kinds.TABLES,
    "tracks": kinds.TABLES,
    "estimators": kinds.TABLES,
    "lab": kinds.TABLE,
}
SEEDS = Kind(
    "a list of whole numbers from 0 on",
    lambda value: (
        isinstance(value, list)
        and value != []
        and all(kinds.WHOLE.accepts(each) and each >= 0 for each in value)
    ),
)
LAB_KEYS: Keys = {
    "worlds": kinds.TEXTS,
    "seeds": SEEDS,
    "filters": kinds.TEXTS,
    "duration_s": kinds.NUMBER,
    "faults": kinds.SWITCH,
    "grid": kinds.SWITCH,
}
UNUSED = ("rules", "beta", "unbiased", "kernel_density", "horizons")  # options of other scores
OF_FILES = ("tracks", "estimators")


def read_sweep(path: str | Path) -> SweepPlan:
    """The plan in a TOML file; relative paths in it start at the file's folder."""
    path = Path(path)
    table = checked(parsed(path), SWEEP_KEYS, str(path), required=("knobs",))
    options, reading = _options(table.get("options", {}), f"{path}: [options]")
    knobs = knobs_of(table["knobs"], str(path))
    name = table.get("name", path.stem)
    if "lab" in table:
        _refuse_both(table, path)
        return SweepPlan(name, _lab(table["lab"], knobs, f"{path}: [lab]"), options)
    for key in OF_FILES:
        if key not in table:
            raise OptionError(f"{path}: the key {key!r} is missing; or [lab], to run filters")
    plan = _plan(table, path, options, reading)
    return SweepPlan(name, _files(table["estimators"], plan, path, knobs, reading), options)


def _options(table: dict[str, Any], where: str) -> tuple[Options, Reading]:
    for key in UNUSED:
        if key in table:
            raise OptionError(f"{where}: {key} means nothing in a sweep")
    options, reading = options_of(table, where)
    return replace(options, rules=()), reading


def _refuse_both(table: dict[str, Any], path: Path) -> None:
    for key in OF_FILES:
        if key in table:
            raise OptionError(f"{path}: {key} are files, [lab] runs filters; one of the two")


def _plan(table: dict[str, Any], path: Path, options: Options, reading: Reading) -> Plan:
    """Tracks and options; the estimators come later."""
    folder = path.absolute().parent
    tracks = [
        track
        for i, entry in enumerate(table["tracks"], start=1)
        for track in tracks_of(entry, f"{path}: [[tracks]] {i}", reading)
    ]
    output = folder / f"{path.stem}_results"  # a plan has one; a sweep leaves nothing there
    return Plan(path.stem, folder, tuple(tracks), (), output, options)


def _files(
    entries: list[dict[str, Any]],
    plan: Plan,
    path: Path,
    knobs: tuple[Knob, ...],
    reading: Reading,
) -> Files:
    several = len(plan.tracks) > 1
    planned = [
        run
        for i, entry in enumerate(entries, start=1)
        for run in runs_of(entry, f"{path}: [[estimators]] {i}", knobs, reading, several=several)
    ]
    plan = replace(plan, estimators=tuple(estimator for _, estimator in planned))
    refuse_doubles(plan, str(path))
    return Files(plan, tuple(run for run, _ in planned))


def _lab(entry: dict[str, Any], knobs: tuple[Knob, ...], where: str) -> Lab:
    given = checked(entry, LAB_KEYS, where, required=("worlds", "filters"))
    for key in ("worlds", "filters", "seeds"):
        if len(set(given.get(key, ()))) < len(given.get(key, ())):
            raise OptionError(f"{where}: one of the {key} is listed twice")
    grid = given.get("grid", False)
    if not grid:
        need_defaults(knobs, where)
    duration_s = given.get("duration_s")
    if duration_s is not None and not 0 < duration_s < float("inf"):
        raise OptionError(f"{where}: duration_s is to be a positive time, not {duration_s}")
    return Lab(
        worlds=tuple(given["worlds"]),
        seeds=tuple(given.get("seeds", [1])),
        filters=tuple(given["filters"]),
        settings=every_combination(knobs) if grid else one_at_a_time(knobs),
        duration_s=duration_s,
        faults=given.get("faults", True),
    )
