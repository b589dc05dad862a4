"""ArduPilot DataFlash logs (.bin): what EKF3 believes about the position, and the truth of SITL.

XKV1 and XKV2 are the diagonal of the filter's covariance, of the primary core alone, twice a
second: V07, V08, V09 are the variances of the position (m^2, north, east, down). The mean is that
of XKF1, many times a second, interpolated to the times of the variances, never the reverse. V00 to
V03 are of a quaternion without cross terms, which is no covariance of a rotation: the position
alone is read. XKF4's SV, SP, SH, SM and SVT are roots of test ratios, not variances.

Facts: AP_NavEKF3_Logging.cpp (XKV1 of the primary core every 0.49 s; XKF1 from the output
predictor, at the origin of the body) and AP_NavEKF3/LogStructure.h (fields).

Read by pymavlink (extra `ardupilot`). `LOG.bin` is the primary core, `LOG.bin:/XKF1/1` what is
logged of core 1, `LOG.bin:/groundtruth` the truth of a simulation (SIM2).
"""

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from gzip import GzipFile
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError
from smfeval.io.autopilot import (
    AXES_REMARK,
    DIAGONAL_REMARK,
    MICROSECONDS,
    Fields,
    Flight,
    enu_positions,
    interpolate,
    latest,
    pieces,
    without_unaided,
)
from smfeval.io.options import ReadOptions
from smfeval.io.source import import_extra, open_input
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import About, Provenance, Track

MAGIC = b"\xa3\x95\x80"  # of the message FMT, which is the first
PADDING_BYTES = 528  # that logs written in blocks may end with
VARIANCES = "XKV1"
POSITION_VARIANCES = ("V07", "V08", "V09")
POSITION = ("PN", "PE", "PD")
TYPES = (VARIANCES, "XKF1", "XKF4", "XKF6", "NKF1", "ORGN", "SIM2", "VER")
LONGEST_GAP_NS = 10**9  # between two means, for a variance between them
POSITION_FLAGS, CONSTANT_POSITION = 0b11000, 0b10000000  # of XKF4.SS
TEST_RATIOS = (
    "SV, SP, SH, SM and SVT of XKF4 and NKF4 are square roots of innovation test ratios, although "
    "described as variances: they cannot be scored"
)

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class DataFlash:
    """Messages of a log by type, each as columns, and what is wrong with the file."""

    path: str
    messages: dict[str, Columns]
    known: tuple[str, ...]
    damage: str | None


def open_dataflash(path: Path) -> DataFlash:
    """The messages that are needed; pymavlink prints on damage, which is kept off our output."""
    reading = import_extra("pymavlink.DFReader", "ardupilot", "DataFlash logs")
    _refuse_unreadable(path)
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed), _indexing_in_python():
            reader = object.__new__(reading.DFReader_binary)
            try:
                reader.__init__(str(path))  # apart, so that files are closed where it fails
                return _dataflash(path, reader)
            finally:
                for opened in ("data_map", "filehandle"):
                    if hasattr(reader, opened):
                        getattr(reader, opened).close()
    except FormatError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FormatError(
            f"{path}: the log is cut off, damaged or no DataFlash log ({reason})"
        ) from error


@contextmanager
def _indexing_in_python() -> Iterator[None]:
    """Within the block pymavlink indexes without its compiled part, which prints past Python."""
    before = os.environ.get(INDEXER)
    os.environ[INDEXER] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[INDEXER]
        else:
            os.environ[INDEXER] = before


INDEXER = "PYMAVLINK_FAST_INDEX"


def _refuse_unreadable(path: Path) -> None:
    """Raise on what is missing, too large or packed: pymavlink maps the file itself."""
    with open_input(path) as stream:
        if isinstance(stream, GzipFile):
            raise FormatError(f"{path}: a DataFlash log is not read while it is packed; unpack it")


def _dataflash(path: Path, reader: Any) -> DataFlash:
    rows: dict[str, list[Any]] = {name: [] for name in TYPES}
    while (message := reader.recv_match(type=list(TYPES))) is not None:
        rows[message.get_type()].append(message)
    messages: dict[str, Columns] = {
        name: Fields(
            f"{path}:/{name}",
            {
                field: np.array([getattr(each, field) for each in found])
                for field in found[0].get_fieldnames()
            },
        )
        for name, found in rows.items()
        if found
    }
    known = tuple(sorted(name for name, type_ in reader.name_to_id.items() if reader.counts[type_]))
    return DataFlash(str(path), messages, known, _damage(reader))


def _damage(reader: Any) -> str | None:
    """A sentence on bytes that are of no message, or on a last message that is not whole."""
    lengths = {type_: entry.len for type_, entry in reader.formats.items()}
    found = [(max(places), type_) for type_, places in enumerate(reader.offsets) if len(places)]
    last, type_ = max(found)
    if last + lengths.get(type_, 0) > reader.data_len:
        return f"the log is cut off within a message at byte {words.count(int(last))}"
    read = sum(len(places) * lengths.get(kind, 0) for kind, places in enumerate(reader.offsets))
    strange = reader.data_len - read
    if strange > PADDING_BYTES or last + lengths[type_] + strange < reader.data_len:
        return f"the log is damaged: {words.count(int(strange), 'byte')} are of no message"
    return None


def read(path: Path, options: ReadOptions) -> Track:
    """Read what the primary core believed, what is logged of another, or the truth of SITL."""
    topic, core = _parse_topic(path, options.topic)
    log = open_dataflash(path)
    if log.damage is not None and options.bad_rows == "refuse":
        raise FormatError(f"{path}: {log.damage}", remedy="bad_rows")
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        if topic == "SIM2":
            return _read_truth(log, options)
        return _flight(log, core).track(options)


def _parse_topic(path: Path, said: str | None) -> tuple[str, int | None]:
    """Message and core of `/XKF1/1`."""
    match = re.fullmatch(r"/?(\w+?)(?:/(\d+))?/?", said or "XKF1")
    name = {"groundtruth": "SIM2"}.get(match[1], match[1]) if match else said
    if name in ("XKF4", "NKF4"):
        raise FormatError(f"{path}: {TEST_RATIOS}")
    if match is None or name not in ("XKF1", VARIANCES, "SIM2"):
        raise FormatError(
            f"{path}: {said} holds no belief that can be read; what can be is /XKF1, with a core "
            "as in /XKF1/1, and /groundtruth"
        )
    return str(name), None if match[2] is None else int(match[2])


def _flight(log: DataFlash, core: int | None) -> Flight:
    """Variances of XKV1 with the mean of XKF1 at their times."""
    variances = log.messages.get(VARIANCES)
    if variances is None:
        raise FormatError(f"{log.path}: {_no_variances(log)}")
    status = log.messages.get("XKF4", {})
    stamp = _stamps(variances)
    cores = _cores(variances, status, stamp)
    if core is not None and not (cores == core).any():
        known = ", ".join(map(str, np.unique(cores)))
        raise FormatError(f"{log.path}: {VARIANCES} is logged of the primary core: of {known} only")
    place = f"{log.path}:/XKF1{'' if core is None else f'/{core}'}"
    mean, inside = _means(log, cores, stamp)
    offsets = [_of_core(status, name, cores, stamp) for name in ("OFN", "OFE")]
    flags = _of_core(status, "SS", cores, stamp, default=POSITION_FLAGS).astype(np.int64)
    flight = Flight(
        name=place,
        format="ArduPilot DataFlash, XKF1 and XKV1",
        about=About("base_link", "enu", "fixed", "ArduPilot EKF3"),
        stamp=stamp,
        ned=mean,
        variance=np.stack([variances[name] for name in POSITION_VARIANCES], axis=1),
        quaternion=np.zeros((len(stamp), 4)),
        piece=pieces(np.stack([cores, *offsets], axis=1)),
        valid=((flags & POSITION_FLAGS) != 0) & ((flags & CONSTANT_POSITION) == 0),
        row=np.arange(len(stamp)),
        notes=(f"{log.damage}; read was what is left",) if log.damage else (),
        remarks=_remarks(log, mean_gap_s=_mean_gap_s(log)),
    )
    if core is not None:
        flight = flight.without(cores != core, "of another core")
        inside = inside[cores == core]
    flight = flight.without(~inside, "no mean (XKF1) around it within a second")
    off = (flight.variance == 0).any(axis=1)
    flight = flight.without(off, "variance 0: the state is switched off")
    return without_unaided(flight, "no horizontal position in XKF4.SS")


def _no_variances(log: DataFlash) -> str:
    """Why there is nothing to score, by what the log has instead."""
    if "XKF1" in log.messages or "XKF4" in log.known:
        return f"there is no {VARIANCES}, so no variances (see EK3_LOG_LEVEL); {TEST_RATIOS}"
    if "NKF1" in log.messages:
        return f"the filter is EKF2 (NKF1), and there are no variances of it; {TEST_RATIOS}"
    return f"there is neither XKF1 nor {VARIANCES}: no estimate of EKF3 is in this log"


def _stamps(columns: Columns) -> Ints:
    return columns["TimeUS"].astype(np.int64) * MICROSECONDS


def _cores(variances: Columns, status: Columns, at: Ints) -> Ints:
    """The core of each variance: its field C, or the primary that XKF4 names, or 0."""
    if "C" in variances:
        return variances["C"].astype(np.int64)
    if "PI" in status:
        return np.asarray(latest(_stamps(status), status["PI"], at)).astype(np.int64)
    return np.zeros(len(at), dtype=np.int64)


def _of_core(status: Columns, name: str, cores: Ints, at: Ints, default: float = 0.0) -> Floats:
    """A field of XKF4 at some times, each of its own core."""
    out = np.full(len(at), float(default))
    if name not in status:
        return out
    for core in np.unique(cores):
        rows = status["C"] == core if "C" in status else np.ones(len(status[name]), dtype=bool)
        if rows.any():
            mine = cores == core
            out[mine] = latest(_stamps(status)[rows], status[name][rows], at[mine])
    return out


def _means(log: DataFlash, cores: Ints, at: Ints) -> tuple[Floats, Any]:
    """Positions of each row's own core at its time, and where there are means around it."""
    mean, inside = np.zeros((len(at), 3)), np.zeros(len(at), dtype=bool)
    for core in np.unique(cores):
        columns = _state(log, int(core))
        if columns is None:
            continue
        stamp, mine = _stamps(columns), cores == core
        values = np.stack([columns[name] for name in POSITION], axis=1).astype(np.float64)
        mean[mine], inside[mine] = interpolate(stamp, values, at[mine])
        after = np.clip(np.searchsorted(stamp, at[mine]), 1, max(len(stamp) - 1, 1))
        if len(stamp) > 1:
            inside[mine] &= stamp[after] - stamp[after - 1] <= LONGEST_GAP_NS
    return mean, inside


def _state(log: DataFlash, core: int) -> Columns | None:
    """Means of a core: rows of XKF1 with its number; before there were numbers, XKF1 or XKF6."""
    columns = log.messages.get("XKF1")
    if columns is None or "C" not in columns:
        return log.messages.get("XKF6") if core == 1 else columns
    rows = columns["C"] == core
    mine = {name: values[rows] for name, values in columns.items()}
    return Fields(f"{log.path}:/XKF1", mine) if rows.any() else None


def _mean_gap_s(log: DataFlash) -> float | None:
    columns = _state(log, 0)
    if columns is None or len(columns["TimeUS"]) < 2:
        return None
    return float(np.median(np.diff(columns["TimeUS"]))) / 1e6


def _remarks(log: DataFlash, *, mean_gap_s: float | None) -> tuple[str, ...]:
    every = "" if mean_gap_s is None else f", every {words.duration(mean_gap_s)}"
    told = [
        DIAGONAL_REMARK,
        "a quaternion's four variances are no covariance of a rotation: position only",
        AXES_REMARK,
        f"means are of XKF1{every}, interpolated to the times of XKV1; XKF1 is predicted to now, "
        "the variances are of the delayed fusion horizon",
        "heights are about the filter's own origin",
    ]
    origins = log.messages.get("ORGN")
    if origins is not None:
        place = [float(origins[name][-1]) for name in ("Lat", "Lng", "Alt")]
        told.append(f"origin: {place[0]:.7f} {place[1]:.7f} {place[2]:.2f}")
    return tuple(told)


def _read_truth(log: DataFlash, options: ReadOptions) -> Track:
    """SIM2 of a simulation: north, east and down from home."""
    if options.stretch is not None:
        raise OptionError(f"{log.path}: option stretch means nothing for the truth: it never jumps")
    columns, place = log.messages.get("SIM2"), f"{log.path}:/groundtruth"
    if columns is None or not all(name in columns for name in POSITION):
        raise FormatError(
            f"{log.path}: there is no SIM2 with a position; only simulations have one"
        )
    ned = np.stack([columns[name] for name in POSITION], axis=1).astype(np.float64)
    return Track(
        _stamps(columns),
        enu_positions(ned),
        np.tile([0.0, 0.0, 0.0, 1.0], (len(ned), 1)),
        about=About("base_link", "enu", "fixed", oriented=False),
        provenance=Provenance(
            place,
            "ArduPilot DataFlash, SIM2",
            notes=(f"{log.damage}; read was what is left",) if log.damage else (),
            remarks=(AXES_REMARK, "positions are from home: they may be off by a constant"),
        ),
        intake=options.intake(lambda row: f"{place} row {row + 1}"),
    )
