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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from smfeval.errors import OptionError
from smfeval.io.atomic import write_parquet
from smfeval.io.results import EVO_METRICS, write_evo_series
from smfeval.studies.plan import partition_folder
from smfeval.studies.result import PAIR_NUMBERS, PairResult, TaskResult
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import metrics

if TYPE_CHECKING:
    import polars as pl

TASKS, PAIRS, SCANS = "tasks.parquet", "pairs.parquet", "scans"
PARTITIONS = {"group": str, "estimator": str, "track": str}

_NUMBER_FIELDS = {"value": "", "low": "_low", "high": "_high", "n_effective": "_n_effective"}
_RUN_COLUMNS = {"group": str, "track": str, "repeat": int}
_FAILURE_COLUMNS = {"key": str, "failure": str}


def _number_columns(names: Iterable[str]) -> dict[str, Any]:
    """Value, ends, effective scans and the reason for a missing interval of each number."""
    columns: dict[str, Any] = {}
    for name in names:
        columns |= {f"{name}{suffix}": float for suffix in _NUMBER_FIELDS.values()}
        columns[f"{name}_reason"] = str
    return columns


def task_columns() -> dict[str, Any]:
    """Columns of the table of tasks, and their types; each metric has some."""
    return {
        "estimator": str,
        **_RUN_COLUMNS,
        "source": str,
        **_FAILURE_COLUMNS,
        "scans": int,
        "scored": int,
        "verdict": str,
        "gauge": str,
        "joint": str,
        "scored_under": str,
        "withheld": str,
        "at_least": float,
        "excess": float,
        **_number_columns(metrics()),
        "notes": list[str],
    }


PAIR_COLUMNS: dict[str, Any] = {
    "a": str,
    "b": str,
    **_RUN_COLUMNS,
    **_FAILURE_COLUMNS,
    "matched": int,
    "verdict": str,
    **_number_columns(PAIR_NUMBERS),
    "unchecked": str,
}


def write_tasks(results: Sequence[TaskResult], output: Path) -> Path:
    """Write one row per task, in the order given."""
    rows = [
        vars(each)
        | {"excess": each.excess, "notes": list(each.all_notes)}
        | _number_cells(dict(each.numbers))
        for each in results
    ]
    return _write_table(rows, task_columns(), output / TASKS)


def write_pairs(results: Sequence[PairResult], output: Path) -> Path:
    """Write one row per pair and track, in the order given."""
    rows = [vars(each) | _number_cells(each.numbers) for each in results]
    return _write_table(rows, PAIR_COLUMNS, output / PAIRS)


def read_scans(path: Path, columns: Sequence[str] | None = None) -> "pl.DataFrame":
    """The scans of a run that we wrote; of these columns those that there are."""
    import polars as pl  # noqa: PLC0415  starts threads, with which no worker is forked

    frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    if columns is not None:
        known = frame.collect_schema()
        frame = frame.select(name for name in columns if name in known)
    return frame.collect()


def evo_files(path: Path, runs: Iterable[tuple[str, str, int]]) -> list[tuple[str, list[Path]]]:
    """Of runs (estimator, track, repeat) a name for evo, and the files of their APE and NEES."""
    named, every = [], list(runs)
    repeated = any(repeat for *_, repeat in every)
    for estimator, track, repeat in every:
        parts = (estimator, track, *([str(repeat + 1)] if repeated else []))
        name = "_".join(re.sub(r"[^\w.-]+", "-", part) for part in parts)
        files = [path.with_name(f"{path.stem}_{name}{end}") for end in (".zip", ".nees.zip")]
        named.append((name, files))
    return named


def write_evo(results: Sequence[TaskResult], output: Path, path: Path) -> list[Path]:
    """The APE and NEES of every run that was scored, each as a result of evo; the files made."""
    written: list[Path] = []
    named = evo_files(path, ((each.estimator, each.track, each.repeat) for each in results))
    for (name, files), each in zip(named, results, strict=True):
        if each.failure is not None:
            continue
        frame = read_scans(scans_path(output, each), ("stamp", *EVO_METRICS))
        known = [rule for rule in EVO_METRICS if frame[rule].null_count() == 0]
        written += write_evo_series(
            {rule: frame[rule].to_numpy() for rule in known},
            frame["stamp"].to_numpy(),
            files,
            names=(each.track, name),
            aligned_by=each.gauge,
            more={},
        )
    return written


def _number_cells(numbers: Mapping[str, Number | None]) -> dict[str, float | str | None]:
    """Cells of the columns of numbers, of those that there are; NaN becomes null."""
    cells: dict[str, float | str | None] = {}
    for name, number in numbers.items():
        for field, suffix in _NUMBER_FIELDS.items():
            value = getattr(number, field, None)
            cells[f"{name}{suffix}"] = None if value is None or isnan(value) else value
        cells[f"{name}_reason"] = None if number is None else number.reason
    return cells


def _write_table(rows: Sequence[Mapping[str, Any]], schema: dict[str, Any], path: Path) -> Path:
    import polars as pl  # noqa: PLC0415  as above

    columns = [pl.Series(name, [r.get(name) for r in rows], kind) for name, kind in schema.items()]
    write_parquet(pl.DataFrame(columns), path)
    return path


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
    with suppress(OSError):
        if path.samefile(made):
            return
    if not made.exists():
        raise OptionError(
            f"{made}: a worker wrote it, but it is not seen here; every worker must see the inputs "
            "and the output folder of the study under the same names"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise OptionError(f"{path}: this is no regular file; only those are replaced")
        temporary = aside / f".smfeval.{uuid4().hex}"
        try:
            os.link(made, temporary)
        except OSError:  # some file systems have no second names
            shutil.copyfile(made, temporary)
        temporary.replace(path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written ({error.strerror or error})") from error


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
