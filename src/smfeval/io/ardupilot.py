"""ArduPilot DataFlash logs (.bin): what EKF3 believes about the position, and the truth of SITL.

XKV1 and XKV2 are the diagonal of the filter's covariance, of the primary core alone, twice a
second: V07, V08, V09 are the variances of the position (m^2, north, east, down). The mean is that
of XKF1, many times a second, interpolated to the times of the variances, never the reverse. V00 to
V03 are of a quaternion without cross terms, which is no covariance of a rotation: the position
alone is read. XKF4's SV, SP, SH, SM and SVT are roots of test ratios, not variances.

Facts: AP_NavEKF3_Logging.cpp (XKV1 of the primary core every 0.49 s; XKF1 from the output
predictor, at the origin of the body) and AP_NavEKF3/LogStructure.h (fields).

Read by pymavlink (extra `ardupilot`). `LOG.bin` is the primary core, `LOG.bin:1` what is logged
of core 1, `LOG.bin:truth` the truth of a simulation (SIM2).
"""

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from gzip import GzipFile
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, reason_of
from smfeval.io import autopilot
from smfeval.io.options import ReadOptions
from smfeval.io.source import import_extra, open_input
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import About, Track

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
class DataFlash(autopilot.AutopilotLog):
    """Messages of a log by type, each as columns."""

    messages: dict[str, Columns]


def open_dataflash(path: Path) -> DataFlash:
    """The messages that are needed; pymavlink prints on damage, which is kept off our output."""
    reading = import_extra("pymavlink.DFReader", "ardupilot", "DataFlash logs")
    with open_input(path) as stream:  # refuses what is missing or too large: pymavlink maps it
        if isinstance(stream, GzipFile):
            raise FormatError(f"{path}: a DataFlash log is not read while it is packed; unpack it")
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
        what = f"the log is cut off, damaged or no DataFlash log ({reason_of(error)})"
        raise FormatError(f"{path}: {what}") from error


INDEXER = "PYMAVLINK_FAST_INDEX"


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


def _dataflash(path: Path, reader: Any) -> DataFlash:
    rows: dict[str, list[Any]] = {name: [] for name in TYPES}
    while (message := reader.recv_match(type=list(TYPES))) is not None:
        rows[message.get_type()].append(message)
    messages: dict[str, Columns] = {}
    for name, found in rows.items():
        fields = found[0].get_fieldnames() if found else ()
        columns = {field: np.array([getattr(each, field) for each in found]) for field in fields}
        messages |= {name: autopilot.Fields(f"{path}:/{name}", columns)} if found else {}
    known = tuple(sorted(name for name, type_ in reader.name_to_id.items() if reader.counts[type_]))
    damage = None
    lengths = {type_: entry.len for type_, entry in reader.formats.items()}
    ends = [(max(places), type_) for type_, places in enumerate(reader.offsets) if len(places)]
    last, type_ = max(ends)
    whole = sum(len(places) * lengths.get(kind, 0) for kind, places in enumerate(reader.offsets))
    strange = reader.data_len - whole  # bytes
    if last + lengths.get(type_, 0) > reader.data_len:
        damage = f"the log is cut off within a message at byte {words.count(int(last))}"
    elif strange > PADDING_BYTES or last + lengths[type_] + strange < reader.data_len:
        damage = f"the log is damaged: {words.count(int(strange), 'byte')} are of no message"
    return DataFlash(str(path), known, damage, messages)


def read(path: Path, options: ReadOptions) -> Track:
    """Read what the primary core believed, what is logged of another, or the truth of SITL."""
    topic, core = autopilot.parse_topic(options.topic or "", truth="SIM2")
    if topic in ("XKF4", "NKF4"):
        raise FormatError(f"{path}: {TEST_RATIOS}")
    if topic not in ("", "XKF1", VARIANCES, "SIM2"):
        raise FormatError(
            f"{path}: {options.topic} holds no belief that can be read; what can be is the primary "
            "core, another as in LOG:1, and LOG:truth"
        )
    log = open_dataflash(path)
    log.refuse_damage(options)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        if topic != "SIM2":
            return _flight(log, core).track(options)
        log.refuse_stretch(options)
        return _truth(log).track(options)


def _flight(log: DataFlash, core: int | None) -> autopilot.Flight:
    """Variances of XKV1 with the mean of XKF1 at their times."""
    variances = log.messages.get(VARIANCES)
    if variances is None:
        raise FormatError(f"{log.path}: {_no_variances(log)}")
    status = log.messages.get("XKF4", {})
    stamp = _stamps(variances)
    cores = np.zeros(len(stamp), dtype=np.int64)  # where neither C nor the primary is told
    if "C" in variances:
        cores = variances["C"].astype(np.int64)
    elif "PI" in status:
        cores = np.asarray(autopilot.latest(_stamps(status), status["PI"], stamp)).astype(np.int64)
    if core is not None and not (cores == core).any():
        known = ", ".join(map(str, np.unique(cores)))
        raise FormatError(f"{log.path}: {VARIANCES} is logged of the primary core: of {known} only")
    place = log.path if core is None else f"{log.path}:{core}"
    mean, inside = _means(log, cores, stamp)
    offsets = [_of_core(status, name, cores, stamp) for name in ("OFN", "OFE")]
    flags = _of_core(status, "SS", cores, stamp, default=POSITION_FLAGS).astype(np.int64)
    flight = autopilot.Flight(
        name=place,
        format="ArduPilot DataFlash, XKF1 and XKV1",
        about=About("base_link", "enu", "fixed", "ArduPilot EKF3"),
        stamp=stamp,
        ned=mean,
        variance=np.stack([variances[name] for name in POSITION_VARIANCES], axis=1),
        quaternion=np.zeros((len(stamp), 4)),
        piece=autopilot.pieces(np.stack([cores, *offsets], axis=1)),
        valid=((flags & POSITION_FLAGS) != 0) & ((flags & CONSTANT_POSITION) == 0),
        row=np.arange(len(stamp)),
        notes=log.damage_notes,
        remarks=_remarks(log),
    )
    if core is not None:
        flight = flight.without(cores != core, "of another core")
        inside = inside[cores == core]
    flight = flight.without(~inside, "no mean (XKF1) around it within a second")
    off = (flight.variance == 0).any(axis=1)
    flight = flight.without(off, "variance 0: the state is switched off")
    return autopilot.without_unaided(flight, "no horizontal position in XKF4.SS")


def _no_variances(log: DataFlash) -> str:
    """Why there is nothing to score, by what the log has instead."""
    if "XKF1" in log.messages or "XKF4" in log.known:
        return f"there is no {VARIANCES}, so no variances (see EK3_LOG_LEVEL); {TEST_RATIOS}"
    if "NKF1" in log.messages:
        return f"the filter is EKF2 (NKF1), and there are no variances of it; {TEST_RATIOS}"
    return f"there is neither XKF1 nor {VARIANCES}: no estimate of EKF3 is in this log"


def _stamps(columns: Columns) -> Ints:
    return columns["TimeUS"].astype(np.int64) * autopilot.MICROSECONDS


def _positions(columns: Columns) -> Floats:
    """North, east and down. (n, 3)."""
    return np.stack([columns[name] for name in POSITION], axis=1).astype(np.float64)


def _of_core(status: Columns, name: str, cores: Ints, at: Ints, default: float = 0.0) -> Floats:
    """A field of XKF4 at some times, each of its own core."""
    out = np.full(len(at), float(default))
    if name not in status:
        return out
    for core in np.unique(cores):
        rows = status["C"] == core if "C" in status else np.ones(len(status[name]), dtype=bool)
        if rows.any():
            mine = cores == core
            out[mine] = autopilot.latest(_stamps(status)[rows], status[name][rows], at[mine])
    return out


def _means(log: DataFlash, cores: Ints, at: Ints) -> tuple[Floats, Any]:
    """Positions of each row's own core at its time, and where there are means around it."""
    mean, inside = np.zeros((len(at), 3)), np.zeros(len(at), dtype=bool)
    for core in np.unique(cores):
        columns = _state(log, int(core))
        if columns is None:
            continue
        stamp, mine = _stamps(columns), cores == core
        mean[mine], inside[mine] = autopilot.interpolate(stamp, _positions(columns), at[mine])
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
    return autopilot.Fields(f"{log.path}:/XKF1", mine) if rows.any() else None


def _remarks(log: DataFlash) -> tuple[str, ...]:
    means, origins = _state(log, 0), log.messages.get("ORGN")
    every, place = "", tuple[str, ...]()
    if means is not None and len(means["TimeUS"]) > 1:
        every = f", every {words.duration(float(np.median(np.diff(means['TimeUS']))) / 1e6)}"
    if origins is not None:
        latitude, longitude, height = (float(origins[name][-1]) for name in ("Lat", "Lng", "Alt"))
        place = (f"origin: {latitude:.7f} {longitude:.7f} {height:.2f}",)
    return (
        autopilot.DIAGONAL_REMARK,
        "a quaternion's four variances are no covariance of a rotation: position only",
        autopilot.AXES_REMARK,
        f"means are of XKF1{every}, interpolated to the times of XKV1; XKF1 is predicted to now, "
        "the variances are of the delayed fusion horizon",
        "heights are about the filter's own origin",
        *place,
    )


def _truth(log: DataFlash) -> autopilot.Truth:
    """SIM2 of a simulation: north, east and down from home."""
    columns = log.messages.get("SIM2")
    if columns is None or not all(name in columns for name in POSITION):
        raise FormatError(
            f"{log.path}: there is no SIM2 with a position; only simulations have one"
        )
    stamp = _stamps(columns)
    return autopilot.Truth(
        name=f"{log.path}:truth",
        format="ArduPilot DataFlash, SIM2",
        stamp=stamp,
        row=np.arange(len(stamp)),
        ned=_positions(columns),
        notes=log.damage_notes,
        remarks=("positions are from home: they may be off by a constant",),
    )
