"""Results as Parquet: one row per task, one per pair, and a partitioned folder with every scan.

::

    <output>/tasks.parquet
    <output>/pairs.parquet
    <output>/scans/group=.../estimator=.../track=.../repeat-0.parquet

The partitions are named as Hive does, so that polars, pandas, DuckDB and Spark show them as
columns. The same results give the same bytes.
"""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import fields
from glob import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from smfeval.errors import OptionError
from smfeval.io.atomic import replacing
from smfeval.studies.plan import partition_folder
from smfeval.studies.result import PAIR_NUMBERS, PairResult, TaskResult
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import metrics

TASKS, PAIRS, SCANS = "tasks.parquet", "pairs.parquet", "scans"

_NUMBER_SUFFIXES = {
    "": pl.Float64,
    "_low": pl.Float64,
    "_high": pl.Float64,
    "_n_effective": pl.Float64,
    "_reason": pl.String,
}
_RUN_COLUMNS = {"group": pl.String, "track": pl.String, "repeat": pl.Int64}
_FAILURE_COLUMNS = {"key": pl.String, "failure": pl.String}

PARTITIONS = {"group": pl.String, "estimator": pl.String, "track": pl.String}


def _number_columns(name: str) -> dict[str, Any]:
    return {f"{name}{suffix}": kind for suffix, kind in _NUMBER_SUFFIXES.items()}


def task_columns() -> dict[str, Any]:
    """Columns of the table of tasks, and their types; each metric has some."""
    return {
        "estimator": pl.String,
        **_RUN_COLUMNS,
        "source": pl.String,
        **_FAILURE_COLUMNS,
        "scans": pl.Int64,
        "scored": pl.Int64,
        "verdict": pl.String,
        "gauge": pl.String,
        "joint": pl.String,
        "scored_under": pl.String,
        "withheld": pl.String,
        "at_least": pl.Float64,
        "excess": pl.Float64,
        "comparable": pl.Boolean,
        **{column: kind for name in metrics() for column, kind in _number_columns(name).items()},
        "notes": pl.List(pl.String),
    }


PAIR_COLUMNS: dict[str, Any] = {
    "a": pl.String,
    "b": pl.String,
    **_RUN_COLUMNS,
    **_FAILURE_COLUMNS,
    "matched": pl.Int64,
    "verdict": pl.String,
    **{column: kind for name in PAIR_NUMBERS for column, kind in _number_columns(name).items()},
    "unchecked": pl.String,
}

_TASK_FIELDS = {field.name for field in fields(TaskResult)} | {"excess"}
_PAIR_FIELDS = {field.name for field in fields(PairResult)} - {*PAIR_NUMBERS}


def write_tasks(results: Sequence[TaskResult], output: Path) -> Path:
    """Write one row per task, in the order given."""
    columns = {name: _column(results, name) for name in task_columns() if name in _TASK_FIELDS}
    for metric in metrics():
        columns |= _number_series(metric, [_metric_number(each, metric) for each in results])
    return _write_table(columns, task_columns(), output / TASKS)


def write_pairs(results: Sequence[PairResult], output: Path) -> Path:
    """Write one row per pair and track, in the order given."""
    columns = {name: _column(results, name) for name in PAIR_COLUMNS if name in _PAIR_FIELDS}
    for name in PAIR_NUMBERS:
        columns |= _number_series(name, [getattr(each, name) for each in results])
    return _write_table(columns, PAIR_COLUMNS, output / PAIRS)


def _write_table(columns: dict[str, pl.Series], schema: dict[str, Any], path: Path) -> Path:
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pl.DataFrame([columns[name] for name in schema]).write_parquet(stream)
    return path


def _column(results: Sequence[TaskResult] | Sequence[PairResult], name: str) -> pl.Series:
    kind = {**task_columns(), **PAIR_COLUMNS}[name]
    values = (getattr(each, name) for each in results)
    return pl.Series(name, [list(v) if isinstance(v, tuple) else v for v in values], dtype=kind)


def _metric_number(result: TaskResult, metric: str) -> Number | None:
    return next((number for name, number in result.numbers if name == metric), None)


def _number_series(name: str, numbers: list[Number | None]) -> dict[str, pl.Series]:
    """Value, ends, effective scans and the reason for a missing interval; NaN becomes null."""
    found = {}
    for suffix, kind in _NUMBER_SUFFIXES.items():
        field = suffix.removeprefix("_") or "value"
        values = [None if number is None else getattr(number, field) for number in numbers]
        series = pl.Series(f"{name}{suffix}", values, dtype=kind)
        found[series.name] = series.fill_nan(None) if kind == pl.Float64 else series
    return found


def scans_path(output: Path, result: TaskResult) -> Path:
    """Where the scans of a task are found."""
    folder = output / SCANS
    for name in PARTITIONS:
        folder /= partition_folder(name, getattr(result, name))
    return folder / f"repeat-{result.repeat}.parquet"


def link_scans(made: Path, path: Path, *, aside: Path) -> None:
    """Show a file of the cache in the partitioned folder: one file on the disk under two names.

    It appears whole or not at all; a temporary name stands in the folder `aside`, for readers take
    whatever lies among the partitions.
    """
    if not made.exists():
        raise OptionError(
            f"{made}: a worker wrote it, but it is not seen here; every worker must see the inputs "
            "and the output folder of the study under the same names"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.samefile(made):
            return
        if path.exists() and not path.is_file():
            raise OptionError(f"{path}: this is no regular file; only those are replaced")
        temporary = aside / f".smfeval.{uuid4().hex}"
        _link_or_copy(made, temporary)
        temporary.replace(path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error


def _link_or_copy(made: Path, new: Path) -> None:
    try:
        os.link(made, new)
    except OSError:  # some file systems have no second names
        shutil.copyfile(made, new)


def remove_other_scans(output: Path, kept: Iterable[Path]) -> int:
    """Remove scans of tasks that the study has no more; returns how many. Other files stay."""
    wanted, pattern = set(map(str, kept)), "/".join(f"{name}=*" for name in PARTITIONS)
    others = [
        path
        for path in (output / SCANS).glob(f"{pattern}/repeat-*.parquet")
        if str(path) not in wanted and re.fullmatch(r"repeat-\d+\.parquet", path.name)
    ]
    for path in others:
        path.unlink()
    return len(others)


def load_scans(output: Path) -> pl.LazyFrame:
    """Every scan of a study, with columns group, estimator, track and repeat.

    The names stay text: left to itself, a reader would take the track 07 for the number 7.
    """
    frame = pl.scan_parquet(
        Path(escape(str(output.absolute()))) / SCANS / "**" / "*.parquet",
        hive_schema=PARTITIONS,
        hive_partitioning=True,
        include_file_paths="file",
    )
    repeat = pl.col("file").str.extract(r"repeat-(\d+)\.parquet$").cast(pl.Int64)
    return frame.with_columns(repeat=repeat).drop("file")
