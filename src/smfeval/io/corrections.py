"""Corrections of covariances as JSON or YAML, and the telemetry that some of them follow."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import __version__, words
from smfeval.calibration.correction import Correction, ScanColumns, correction_from
from smfeval.errors import FormatError, OptionError
from smfeval.io.atomic import writing
from smfeval.io.source import YAML_BYTES, read_small, read_table_text, refuse_aliases
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import AnyTrack

YAML_ENDINGS = (".yaml", ".yml")
ENDINGS = (".json", *YAML_ENDINGS)


def check_correction_name(path: Path) -> None:
    """Raise on a file whose ending names neither JSON nor YAML."""
    if path.suffix not in ENDINGS:
        raise OptionError(f"{path}: a correction is written to {', '.join(ENDINGS)}")


def with_version(correction: Correction) -> Correction:
    """The correction, marked with the version of smfeval that made it."""
    known = correction.learnt.version or __version__
    return replace(correction, learnt=replace(correction.learnt, version=known))


def write_correction(correction: Correction, path: str | Path) -> None:
    """Write a correction in the format that the ending names."""
    path = Path(path)
    check_correction_name(path)
    data = with_version(correction).to_dict()
    with writing(path) as stream:
        if path.suffix in YAML_ENDINGS:
            from ruamel.yaml import YAML  # noqa: PLC0415  only needed here

            YAML(typ="safe", pure=True).dump(data, stream)
        else:
            stream.write((json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


def read_correction(path: str | Path) -> Correction:
    """The correction in a JSON or YAML file."""
    path = Path(path)
    text = read_small(path, YAML_BYTES).decode("utf-8", errors="replace")
    return correction_from(_parse(path, text), str(path))


def _parse(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    from ruamel.yaml import YAML  # noqa: PLC0415  only needed here
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    refuse_aliases(path, text)
    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise FormatError(f"{path}: neither JSON nor YAML ({first})") from error


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
            return _table(stamp, numeric[1:], frame.select(numeric[1:]).to_numpy(), path)
        names, values = _text_table(path)
    except (pl.exceptions.PolarsError, ValueError, IndexError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise FormatError(f"{path}: no table of telemetry ({first})") from error
    stamp = np.rint(values[:, 0] * NANOSECONDS).astype(np.int64)
    return _table(stamp, names[1:], values[:, 1:], path)


def _text_table(path: Path) -> tuple[list[str], Any]:
    """Names and numbers of a text table, packed or not."""
    text = read_table_text(path).decode()
    lines = [line.strip().replace(",", " ") for line in text.splitlines() if line.strip()]
    names = lines[0].lstrip("#").split()
    rows = [line.split() for line in lines[1:] if not line.startswith("#")]
    return names, np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def _table(stamp: Any, names: list[str], values: Any, path: Path) -> ScanColumns:
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
