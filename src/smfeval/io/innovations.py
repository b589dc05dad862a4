"""Tables of innovations: CSV, Parquet or JSON lines, one row per measurement.

===============  ===================================================  ============================
column           CSV                                                  Parquet, JSON lines
===============  ===================================================  ============================
stamp            `stamp` seconds, or `stamp_ns`                       `stamp_ns` (JSON also `stamp`)
sensor           `sensor`, a name (default: "sensor")                 the same
accepted         `accepted`, true or false, 1 or 0 (default: true)    the same
innovation       `innovation_1` ... `innovation_d`                    `innovation`, a list
its covariance   `covariance_11`, `covariance_21`, `covariance_22`    `covariance`, a list: lower
                 ...: lower triangle, row by row                      triangle, or all d x d
===============  ===================================================  ============================

In CSV a sensor with fewer components than the table has columns leaves cells empty; a table
without the entries beside the diagonal is taken as diagonal. Other columns are not used.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError, TrackError, reason_of
from smfeval.io.atomic import replacing, write_parquet
from smfeval.io.parquet import read_table
from smfeval.io.source import (
    STANDARD_INPUT,
    is_binary,
    read_head,
    read_table_text,
    reading_json_line,
    standard_input,
)
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import LAST_SECOND, NANOSECONDS, json_stamp, seconds_text
from smfeval.maths.symmetric import pack_lower, unpack_lower
from smfeval.track.innovations import Innovations, SensorInnovations

DEFAULT_SENSOR = "sensor"
ULOG_START = b"ULog"
TRUTH = {"true": True, "1": True, "false": False, "0": False}
MOST_SENSORS = 1000  # of one table; more are numbers mistaken for names


@dataclass(frozen=True)
class SensorRows:
    """Rows of one sensor, and their places among all rows of a chunk."""

    sensor: str  # without its size
    row: Ints
    innovations: SensorInnovations


def read_innovations(source: str | Path) -> Innovations:
    """Read innovations: CSV (a row of names first), Parquet, JSON lines, or a log of PX4.

    Parameters
    ----------
    source
        A path, or "-" for standard input.

    Returns
    -------
    Innovations
        One table per sensor; a sensor with innovations of several sizes is split by size.
    """
    name = str(source)
    path = standard_input() if name == STANDARD_INPUT else Path(source)
    if path.suffix == ".parquet":
        return _collect(name, _frame_of_parquet(path))
    if read_head(path).startswith(ULOG_START):
        from smfeval.io.px4_innovations import read_px4_innovations  # noqa: PLC0415  only for logs

        return read_px4_innovations(path, name)
    content = read_table_text(path)
    if is_binary(content[:4096]):
        raise FormatError(f"{name}: this is binary data; innovations are CSV, .parquet or JSON")
    if content.lstrip()[:1] == b"{":
        return _collect(name, frame_of_json(name, content.splitlines(), first=1))
    header, _, rows = content.partition(b"\n")
    columns = parse_names(name, header)
    return _collect(name, frame_of_csv(name, columns, rows, first=2), notes=columns.notes)


def _collect(name: str, frame: pl.DataFrame, notes: tuple[str, ...] = ()) -> Innovations:
    if not len(frame):
        raise FormatError(f"{name}: there is no row of an innovation")
    return Innovations(
        tuple(each.innovations for each in split_sensors(name, frame)), name, notes=notes
    )


def split_sensors(name: str, frame: pl.DataFrame, *, sized: bool = False) -> list[SensorRows]:
    """The rows of each sensor, by name; one of several sizes d is called `name (d)`.

    With `sized` every sensor is called so: of a part of a table, nobody knows whether other sizes
    are to come.
    """
    sizes = frame.with_columns(
        pl.col("innovation").list.len().alias("d"), pl.int_range(pl.len()).alias("row")
    )
    kinds = sizes.select("sensor", "d").unique().sort("sensor", "d")
    if len(kinds) > MOST_SENSORS:
        raise FormatError(f"{name}: {words.count(len(kinds))} sensors; is that column a name?")
    several = kinds["sensor"].is_duplicated()
    found = []
    for (sensor, d), split in zip(kinds.iter_rows(), several, strict=True):
        part = sizes.filter((pl.col("sensor") == sensor) & (pl.col("d") == d))
        title = f"{sensor} ({d})" if split or sized else sensor
        table = _sensor_table(name, title, d, part)
        found.append(SensorRows(sensor, part["row"].to_numpy(), table))
    return found


def _sensor_table(name: str, title: str, d: int, part: pl.DataFrame) -> SensorInnovations:
    if d == 0:
        raise FormatError(f"{name}: sensor {title!r} has a row without an innovation")
    innovation = part["innovation"].list.to_array(d).to_numpy()
    lengths = part["covariance"].list.len()
    full, half = d * d, d * (d + 1) // 2
    wrong = ~lengths.is_in([full, half])
    if wrong.any():
        count = lengths.filter(wrong)[0]
        raise FormatError(
            f"{name}: sensor {title!r} has {count} numbers of a covariance for {d} of an "
            f"innovation; {half} (lower triangle) or {full} are needed"
        )
    if (lengths == half).all():
        covariance = unpack_lower(part["covariance"].list.to_array(half).to_numpy())
    elif (lengths == full).all():
        covariance = part["covariance"].list.to_array(full).to_numpy().reshape(-1, d, d)
    else:
        raise FormatError(f"{name}: sensor {title!r} has triangles and whole covariances")
    try:
        return SensorInnovations(
            title, part["stamp"].to_numpy(), innovation, covariance, part["accepted"].to_numpy()
        )
    except TrackError as error:
        raise FormatError(f"{name}: {error}") from error


@dataclass(frozen=True)
class InnovationColumns:
    """What the columns of a CSV table are, by their names."""

    names: tuple[str, ...]
    innovation: tuple[str, ...]
    covariance: dict[tuple[int, int], str]  # lower triangle, from zero
    stamp: str  # "stamp" in seconds, or "stamp_ns"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        diagonal = len(self.innovation) > 1 and all(i == j for i, j in self.covariance)
        return ("covariances are diagonal: no other entry is in the table",) if diagonal else ()


def parse_names(name: str, header: bytes) -> InnovationColumns:
    """The columns that a row of names declares; raises where one is missing."""
    names = tuple(word.strip().strip('"') for word in header.decode("utf-8", "replace").split(","))
    stamp = next((each for each in ("stamp_ns", "stamp") if each in names), None)
    if stamp is None:
        raise FormatError(
            f"{name}:1: there is no column 'stamp'; a table of innovations has stamp, sensor, "
            "accepted, innovation_1 ..., covariance_11 ..."
        )
    d = 0
    while f"innovation_{d + 1}" in names:
        d += 1
    if d == 0:
        raise FormatError(f"{name}:1: there is no column 'innovation_1'")
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise FormatError(f"{name}:1: two columns are called {twice[0]!r}")
    entries = {(i, j): f"covariance_{i + 1}{j + 1}" for i in range(d) for j in range(i + 1)}
    if d > 9:
        entries = {(i, j): f"covariance_{i + 1}_{j + 1}" for i, j in entries}
    known = {place: each for place, each in entries.items() if each in names}
    missing = [each for place, each in entries.items() if place not in known]
    diagonal = [entries[i, i] for i in range(d)]
    if missing and set(known.values()) != set(diagonal):
        raise FormatError(f"{name}:1: there is no column {missing[0]!r}")
    return InnovationColumns(names, tuple(f"innovation_{i + 1}" for i in range(d)), known, stamp)


def frame_of_csv(name: str, columns: InnovationColumns, rows: bytes, *, first: int) -> pl.DataFrame:
    """Rows of a CSV table, the first of them on line `first`."""
    numbered = [each for each in enumerate(rows.splitlines(), start=first) if each[1].strip()]
    if not numbered:
        return pl.DataFrame(schema=FRAME)
    places, lines = zip(*numbered, strict=True)
    width = len(columns.names)
    for place, line in numbered:
        if line.count(b",") + 1 != width:
            raise FormatError(
                f"{name}:{place}: {line.count(b',') + 1} columns; there are {width} names"
            )
    schema = dict.fromkeys(columns.names, pl.String())
    try:
        text = pl.read_csv(b"\n".join(lines), has_header=False, schema=schema)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{name}: the rows cannot be read ({reason_of(error)})") from error
    used = (*columns.innovation, *columns.covariance.values())
    numbers = {}
    for column in used:  # null where a cell is empty
        cells = text[column].str.strip_chars()
        cells = cells.set(cells == "", None)
        numbers[column] = cells.cast(pl.Float64, strict=False)
        _refuse_cell(name, numbers[column].is_null() & cells.is_not_null(), cells, column, places)
    frame = pl.DataFrame(numbers)
    sensor, accepted = pl.Series([DEFAULT_SENSOR] * len(frame)), pl.Series([True] * len(frame))
    if "sensor" in columns.names:
        sensor = text["sensor"].str.strip_chars()
    if "accepted" in columns.names:
        words_of = text["accepted"].str.strip_chars().str.to_lowercase()
        accepted = words_of.replace_strict(TRUTH, default=None, return_dtype=pl.Boolean)
        _refuse_cell(name, accepted.is_null(), words_of, "accepted", places)
    return frame.select(
        stamp=_stamps(name, text, columns.stamp, places),
        sensor=sensor,
        accepted=accepted,
        innovation=pl.concat_list([pl.col(each) for each in columns.innovation]).list.drop_nulls(),
        covariance=pl.concat_list(_lower_triangle(columns)).list.drop_nulls(),
    )


def _lower_triangle(columns: InnovationColumns) -> list[pl.Expr]:
    """Entries of the covariances; those without a column are zero where there is an innovation."""
    return [
        pl.col(columns.covariance[i, j])
        if (i, j) in columns.covariance
        else pl.when(pl.col(row).is_not_null()).then(0.0)
        for i, row in enumerate(columns.innovation)
        for j in range(i + 1)
    ]


def _refuse_cell(
    name: str, wrong: pl.Series, words_of: pl.Series, column: str, places: Sequence[int]
) -> None:
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        shown = repr((words_of[row] or "")[:40])
        raise FormatError(f"{name}:{places[row]}: column {column!r} is {shown}")


def _stamps(name: str, text: pl.DataFrame, column: str, places: Sequence[int]) -> pl.Series:
    """Exact nanoseconds."""
    words_of = text[column].str.strip_chars()
    if column == "stamp_ns":
        stamp = words_of.cast(pl.Int64, strict=False)
    else:
        exact = words_of.cast(pl.Decimal(38, 9), strict=False)
        stamp = exact.to_physical().cast(pl.Int64, strict=False)
    _refuse_cell(name, stamp.is_null(), words_of, column, places)
    return stamp


FRAME: dict[str, Any] = {
    "stamp": pl.Int64,
    "sensor": pl.String,
    "accepted": pl.Boolean,
    "innovation": pl.List(pl.Float64),
    "covariance": pl.List(pl.Float64),
}


def frame_of_json(name: str, lines: Sequence[bytes], *, first: int) -> pl.DataFrame:
    """Rows from one JSON object per line, the first of them on line `first`."""
    plain = json_columns(
        [line for line in lines if line.strip()], FRAME, needed=("innovation", "covariance")
    )
    if plain is not None:
        default = {"sensor": pl.lit(DEFAULT_SENSOR), "accepted": pl.lit(value=True)}
        return plain.with_columns(pl.col(each).fill_null(value) for each, value in default.items())
    rows = [
        _json_row(f"{name}:{first + at}", line) for at, line in enumerate(lines) if line.strip()
    ]
    return pl.DataFrame(rows, schema=FRAME, orient="row")


def json_columns(
    rows: Sequence[bytes], schema: dict[str, Any], *, needed: Sequence[str]
) -> pl.DataFrame | None:
    """Objects of a line each as columns, `stamp` in nanoseconds; None: read them one by one.

    They are where one is not as the schema says, or lacks what is needed: that tells which.
    """
    text = b"\n".join(rows)
    if b"null" in text or not rows:
        return None
    try:
        frame = pl.read_ndjson(text, schema=schema | {"stamp_ns": pl.Int64, "stamp": pl.Float64})
    except pl.exceptions.PolarsError:
        return None
    seconds = frame["stamp"].filter(frame["stamp_ns"].is_null()).to_numpy()
    lacking = sum(frame[name].null_count() for name in needed)
    if lacking or len(frame) != len(rows) or not (np.abs(seconds) < LAST_SECOND).all():
        return None
    whole = pl.col("stamp").cast(pl.Int64, strict=False)
    part = ((pl.col("stamp") - whole) * NANOSECONDS).round(mode="half_to_even").cast(pl.Int64)
    stamp = pl.coalesce("stamp_ns", whole * NANOSECONDS + part)
    return frame.select(stamp.alias("stamp"), pl.exclude("stamp", "stamp_ns"))


def _json_row(place: str, line: bytes) -> tuple[int, str, bool, list[float], list[float]]:
    with reading_json_line(place, "an innovation"):
        said = json.loads(line)
        innovation = list(map(float, said["innovation"]))
        matrix = said["covariance"]
        flat = [each for row in matrix for each in row] if isinstance(matrix[0], list) else matrix
        covariance = list(map(float, flat))
        accepted = said.get("accepted", True)
        sensor = said.get("sensor", DEFAULT_SENSOR)
        if not isinstance(accepted, bool) or not isinstance(sensor, str):
            raise TypeError("accepted is true or false, sensor a text")
        return json_stamp(said), sensor, accepted, innovation, covariance


def _frame_of_parquet(path: Path) -> pl.DataFrame:
    _, frame = read_table(path)
    stamp = next((each for each in ("stamp_ns", "stamp") if each in frame.columns), None)
    missing = [each for each in ("innovation", "covariance") if each not in frame.columns]
    if stamp is None or missing:
        raise FormatError(f"{path}: there is no column {(missing or ['stamp_ns'])[0]!r}")
    try:
        return frame.select(
            stamp=pl.col(stamp).cast(pl.Int64),
            sensor=pl.col("sensor") if "sensor" in frame.columns else pl.lit(DEFAULT_SENSOR),
            accepted=pl.col("accepted") if "accepted" in frame.columns else pl.lit(value=True),
            innovation=pl.col("innovation").cast(pl.List(pl.Float64)),
            covariance=pl.col("covariance").cast(pl.List(pl.Float64)),
        )
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise FormatError(f"{path}: no table of innovations ({reason})") from error


def write_innovations(
    innovations: Innovations, path: str | Path, *, ending: str | None = None
) -> None:
    """Write a table by its ending: .csv, .parquet or .jsonl; rows in the order of their stamps."""
    target = Path(path)
    kind = target.suffix if ending is None else ending
    if kind not in WRITERS:
        raise OptionError(f"{path}: innovations are written to {', '.join(WRITERS)}")
    frames = [
        pl.DataFrame(
            {
                "stamp": sensor.stamp,
                "sensor": [sensor.sensor] * len(sensor),
                "accepted": sensor.accepted,
                "innovation": sensor.innovation.tolist(),
                "covariance": pack_lower(sensor.covariance).tolist(),
            },
            schema=FRAME,
        )
        for sensor in innovations.sensors
    ]
    with replacing(target) as temporary:
        WRITERS[kind](pl.concat(frames).sort("stamp", maintain_order=True), temporary)


def _write_csv(frame: pl.DataFrame, path: Path) -> None:
    d = max(frame["innovation"].list.len().to_list())
    gap = "_" if d > 9 else ""
    entries = [f"covariance_{i + 1}{gap}{j + 1}" for i in range(d) for j in range(i + 1)]
    header = ["stamp", "sensor", "accepted", *(f"innovation_{i + 1}" for i in range(d)), *entries]
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f"{','.join(header)}\n")
        for stamp, sensor, accepted, innovation, covariance in frame.iter_rows():
            if any(sign in sensor for sign in ',"\n\r') or sensor.startswith(words.FORMULA):
                raise OptionError(f"sensor {sensor!r}: such a name cannot stand in CSV")
            cells = [seconds_text(stamp), sensor, str(accepted).lower()]
            cells += [*map(repr, innovation), *[""] * (d - len(innovation))]
            cells += [*map(repr, covariance), *[""] * (len(entries) - len(covariance))]
            stream.write(f"{','.join(cells)}\n")


def _write_json(frame: pl.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for row in frame.rename({"stamp": "stamp_ns"}).iter_rows(named=True):
            stream.write(f"{json.dumps(row)}\n")


WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".csv": _write_csv,
    ".parquet": lambda frame, path: write_parquet(frame.rename({"stamp": "stamp_ns"}), path),
    ".jsonl": _write_json,
}
