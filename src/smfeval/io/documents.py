"""Documents: results in JSON, and corrections of covariances in JSON or YAML.

Results are written by `save` and `--json`, and read again by `load`. A correction may follow the
columns of a table of telemetry.
"""

import json
import re
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import __version__, words
from smfeval.calibration.correction import Correction, ScanColumns, correction_from
from smfeval.calibration.law import SCHEMA as LAW_SCHEMA
from smfeval.calibration.law import GrowthLaw, law_from
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError, reason_of
from smfeval.io.atomic import writing
from smfeval.io.source import read_json_or_yaml, read_small, read_table_text
from smfeval.maths.arrays import Floats, Ints, nanoseconds
from smfeval.results import Result
from smfeval.track import AnyTrack

DOCUMENT_BYTES = 256_000_000  # of a study with many thousand runs
POINTS = re.compile("match|point|feature|inlier")  # columns that count what a scan was matched by
KINDS = ("score", "pair", "study", "sweep", "calibrate", "explain")  # whose results are a table


TABLES = "tables.json"  # in the output folder of a study or a sweep


@dataclass(frozen=True, repr=False)
class SavedResult(Result):
    """A result as it was saved: all of its numbers, but not the scans behind them."""

    name: str  # of the file
    kind: str  # the verb that made it, one of KINDS
    document: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"SavedResult({self.name}: {self.kind}, {words.count(len(self.to_polars()), 'row')})"

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        return self.document


def load(path: str | Path) -> SavedResult:
    """Read a result that `save` or `--json` wrote.

    It has the tables of the result that was saved; figures need the scans, which are not in it.
    """
    document = read_document(path)
    return SavedResult(words.visible(str(path)), kind_of(document), document)


def document_in(path: Path) -> Path:
    """The document of a result; of an output folder of a study or a sweep, the one in it."""
    return path / TABLES if path.is_dir() else path


def kind_of(document: dict[str, Any]) -> str:
    """The verb that made a document."""
    return str(document["schema"]).partition("/")[0].removeprefix("smfeval.")


def write_document(document: dict[str, Any], path: str | Path) -> None:
    """Write strict JSON; a file that is there is replaced."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    with writing(Path(path)) as stream:
        stream.write(text.encode())


def read_document(path: str | Path) -> dict[str, Any]:
    """The JSON document of a result, of one of KINDS; anything else is refused."""
    place = words.visible(str(path))
    try:
        found = json.loads(read_small(Path(path), DOCUMENT_BYTES), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{place}: this is no JSON document ({error})") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    known = [f"smfeval.{kind}/1" for kind in KINDS]
    if schema not in known:
        raise FormatError(
            f"{place}: this is no result of smfeval; the key schema is to be one of "
            f"{', '.join(known)}"
        )
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


YAML_ENDINGS = (".yaml", ".yml")
ENDINGS = (".json", *YAML_ENDINGS)


def with_version(correction: Correction | GrowthLaw) -> Correction | GrowthLaw:
    """The correction, marked with the version of smfeval that made it."""
    known = correction.learnt.version or __version__
    return replace(correction, learnt=replace(correction.learnt, version=known))


def write_correction(correction: Correction | GrowthLaw, path: str | Path) -> None:
    """Write a correction in the format that the ending names, JSON or YAML."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise OptionError(f"{path}: a correction is written to {', '.join(ENDINGS)}")
    data = with_version(correction).to_dict()
    with writing(path) as stream:
        if path.suffix in YAML_ENDINGS:
            from ruamel.yaml import YAML  # noqa: PLC0415  only needed here

            YAML(typ="safe", pure=True).dump(data, stream)
        else:
            stream.write((json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


def read_correction(path: str | Path) -> Correction | GrowthLaw:
    """The correction, or the growth law, in a JSON or YAML file."""
    data = read_json_or_yaml(Path(path))
    if isinstance(data, dict) and data.get("schema") == LAW_SCHEMA:
        return law_from(data, str(path))
    return correction_from(data, str(path))


def read_telemetry_columns(path: str | Path) -> ScanColumns:
    """A table whose first column is the stamp in seconds, or `stamp` in nanoseconds in Parquet.

    Text has names in its first line, after `#` or not, and blanks or commas between numbers.
    """
    import polars as pl  # noqa: PLC0415  slow to import, seldom needed

    from smfeval.io.parquet import read_table  # noqa: PLC0415  imports polars

    path = Path(path)
    try:
        if path.suffix == ".parquet":
            _, frame = read_table(path)
            numeric = [name for name in frame.columns if frame[name].dtype.is_numeric()]
            stamp = frame[numeric[0]].to_numpy().astype(np.int64)
            return _scan_columns(stamp, numeric[1:], frame.select(numeric[1:]).to_numpy(), path)
        text = read_table_text(path).decode()
        lines = [line.strip().replace(",", " ") for line in text.splitlines() if line.strip()]
        names = lines[0].lstrip("#").split()
        rows = [line.split() for line in lines[1:] if not line.startswith("#")]
        values = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    except (pl.exceptions.PolarsError, ValueError, IndexError) as error:
        raise FormatError(f"{path}: no table of telemetry ({reason_of(error)})") from error
    return _scan_columns(nanoseconds(values[:, 0]), names[1:], values[:, 1:], path)


def read_point_counts(path: str | Path, stamp: Ints) -> Floats:
    """The number of points at the stamps of scans, by the first column whose name says so. (n,)."""
    table = read_telemetry_columns(path)
    known = [name for name in table.columns if POINTS.search(name.lower())]
    if not known:
        raise FormatError(
            f"{path}: no column of matched or points; there is {words.join(table.columns, most=8)}"
        )
    return np.asarray(np.exp(table.at(stamp, (known[0],)))[:, 0])


def _scan_columns(stamp: Any, names: list[str], values: Any, path: Path) -> ScanColumns:
    if len(stamp) == 0 or not (np.diff(stamp) > 0).all():
        raise FormatError(f"{path}: stamps of telemetry are to increase from row to row")
    if not names:
        raise FormatError(f"{path}: there is no column beside the stamps")
    return ScanColumns(
        stamp, tuple(map(words.visible, names)), values.astype(np.float64), str(path)
    )


def correct_track(
    track: AnyTrack, correction: str | Path, telemetry: str | Path | None = None
) -> AnyTrack:
    """A track corrected by the file of a correction, with the telemetry that it may follow."""
    table = None if telemetry is None else read_telemetry_columns(telemetry)
    return read_correction(correction).apply(track, table)
