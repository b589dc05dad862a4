"""The table of formats: how each is recognised, what it keeps, and which module reads it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.errors import FormatError, OptionError
from smfeval.io.atomic import is_gzip_name
from smfeval.io.column_names import header_names, names_a_pose, roles_of
from smfeval.io.source import FIRST_ROW, bare_name, existing_file, is_binary, is_file, read_head
from smfeval.schema import unknown_word

if TYPE_CHECKING:
    from smfeval.track import AnyTrack


@dataclass(frozen=True)
class FileHead:
    """What a format is recognised by: the name, and the bytes up to the end of the first row."""

    path: Path
    start: bytes

    @property
    def suffix(self) -> str:
        """The ending of the name in lower case, without a trailing .gz."""
        name = self.path.name.lower().removesuffix(".gz")
        return name[name.rfind(".") :] if "." in name else ""

    @property
    def first_row(self) -> list[bytes]:
        """The words of the first line that is neither blank nor a comment (`#`)."""
        found = FIRST_ROW.search(self.start)
        return [word for word in re.split(rb"[\s,]+", found[1]) if word] if found else []

    def has_columns(self, *counts: int) -> bool:
        """Whether the first row has one of these numbers of columns."""
        return len(self.first_row) in counts


def _nowhere(path: Path) -> tuple[Path, ...]:
    del path
    return ()


@dataclass(frozen=True)
class Sidecar:
    """A second file that a format is read with.

    It is the file that the option names, or else the first of the files `beside` that is there.
    """

    option: str | None  # of ReadOptions; None: it cannot be named
    beside: Callable[[Path], tuple[Path, ...]] = _nowhere  # where to look for it unasked
    written: int = 0  # how many of `beside` writing makes or replaces

    def found_beside(self, path: Path) -> tuple[Path, ...]:
        """The files beside a file that would be taken for its sidecar, best first."""
        if not path.name:
            return ()  # `.` and `/` are folders, with nothing beside them
        return tuple(file for file in self.beside(path) if file != path and is_file(file))


@dataclass(frozen=True)
class Format:
    """One format: how it is recognised, and what of a belief survives writing."""

    name: str
    title: str
    module: str
    recognise: Callable[[FileHead], bool]
    options: frozenset[str] = frozenset()  # of ReadOptions, beyond those all formats use
    suffixes: tuple[str, ...] = ()  # that choose this format for writing
    keeps: frozenset[str] = frozenset()  # of "covariance", "particles", "cross-covariances"
    keeps_header: bool = False  # it has a header: body, world, gauge, algorithm ...
    tells_gauge: bool = False  # its module has `declared_gauge(path, options)`
    readable: bool = True
    writable: bool = False
    geodetic: bool = False  # it holds places on Earth: writing needs an origin, and no rotation
    chooses_convention: bool = False  # whether convention and order can be chosen for writing
    compressed: bool = False  # by itself: a name that ends in .gz is refused
    sidecars: tuple[Sidecar, ...] = ()

    @property
    def used_options(self) -> frozenset[str]:
        """Options of reading that mean something for this format."""
        return self.options | {each.option for each in self.sidecars if each.option}

    def files(self, path: Path) -> tuple[Path, ...]:
        """The files that writing to a path makes or replaces."""
        return path, *(file for each in self.sidecars for file in each.beside(path)[: each.written])

    def read(self, path: Path, options: Any) -> "AnyTrack":
        """Read a track."""
        if not self.readable:
            raise FormatError(f"{path}: {self.title} is written, not read")
        return import_module(self.module).read(path, options)

    def declared_gauge(self, path: Path, options: Any) -> str | None:
        """The gauge that a file of this format declares, without its rows where that is enough."""
        if not self.tells_gauge:
            return None
        return import_module(self.module).declared_gauge(path, options)

    def write(self, track: "AnyTrack", path: Path, options: Any) -> tuple[Path, ...]:
        """Write a track; returns the files that were made."""
        return import_module(self.module).write(track, path, options)


CONVENTION_OPTIONS = frozenset({"convention", "order"})


def _times_beside(path: Path) -> tuple[Path, Path]:
    """`NAME.times.txt` beside `NAME.kitti`, what we write, and `times.txt`, what KITTI has."""
    return path.with_name(f"{bare_name(path)}.times.txt"), path.with_name("times.txt")


def _deviation_beside(path: Path) -> tuple[Path]:
    """`state_deviation.txt` beside `state_estimate.txt`, and the like."""
    return (path.with_name(path.name.replace("estimate", "deviation")),)


def _cross_beside(path: Path) -> tuple[Path, Path]:
    """`NAME.cross` and `NAME.cross.gz` beside `NAME.square`, first the one packed as it is."""
    plain = path.with_name(f"{bare_name(path)}.cross")
    packed = plain.with_name(f"{plain.name}.gz")
    return (packed, plain) if is_gzip_name(path) else (plain, packed)


TIMES = Sidecar("times", _times_beside, written=1)
CROSS_START = b"#%FORMAT SQUARE-CROSS"  # of a file of cross-covariances, which is no track
CROSS_ALONE = "these are the cross-covariances of a SQUARE file; name that file"
CROSS = Sidecar(None, _cross_beside, written=2)
DEVIATION = Sidecar("deviation", _deviation_beside)
COVARIANCE = Sidecar("covariance")


def _has_nanosecond_stamp(found: FileHead) -> bool:
    """Nanoseconds since 1970 in the first column, or a header of EuRoC that says so."""
    if not found.first_row:
        return False
    named = b"timestamp [ns]" in found.start or b"p_RS_R" in found.start
    return named or re.fullmatch(rb"\d{18,19}(\.0*)?", found.first_row[0]) is not None


NPZ_START = b"PK\x03\x04"  # of a zip archive
TUM_NAMES = ["stamp", "x", "y", "z", "qx", "qy", "qz", "qw"]


def _names_its_columns(found: FileHead) -> bool:
    """A first row of names, or a comment that names columns as no other format has them."""
    names, _, lines = header_names(found.start)
    rows = found.first_row
    if not names or not rows:
        return False
    if found.start.splitlines()[lines - 1].lstrip()[:1] not in (b"#", b""):
        return names_a_pose(names) or found.suffix == ".csv"
    state = b"# timestamp(s) q p v" in found.start
    known = _has_nanosecond_stamp(found) or found.has_columns(20) or state
    as_tum = roles_of(names)[:8] == TUM_NAMES and len(names) in (8, 29, 44)
    return names_a_pose(names) and not (known or as_tum)


def _is_bag(found: FileHead) -> bool:
    magic = (b"#ROSBAG V", b"\x89MCAP", b"SQLite format 3\0")
    return found.suffix in (".bag", ".mcap", ".db3") or found.start.startswith(magic)


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "bag",
            "ROS 1 bag, ROS 2 bag or MCAP",
            "smfeval.io.ros",
            _is_bag,
            CONVENTION_OPTIONS | {"topic", "tf", "lag", "origin"},
            (".mcap", ".bag", ".db3"),
            frozenset({"covariance"}),
            tells_gauge=True,
            writable=True,
            compressed=True,
        ),
        Format(
            "px4",
            "PX4 ULog",
            "smfeval.io.px4",
            lambda found: found.start.startswith(b"ULog\x01\x12\x35") or found.suffix == ".ulg",
            frozenset({"topic", "stretch"}),
            tells_gauge=True,
        ),
        Format(
            "ardupilot",
            "ArduPilot DataFlash log",
            "smfeval.io.ardupilot",
            lambda found: found.start.startswith(b"\xa3\x95\x80"),
            frozenset({"topic", "stretch"}),
            tells_gauge=True,
            compressed=True,
        ),
        Format(
            "ubx",
            "u-blox UBX",
            "smfeval.io.ubx",
            lambda found: found.start.startswith(b"\xb5\x62") or found.suffix == ".ubx",
            frozenset({"origin"}),
            tells_gauge=True,
        ),
        Format(
            "nmea",
            "NMEA 0183",
            "smfeval.io.nmea",
            lambda found: (
                re.match(rb"\$[A-Z]{4,6},", found.start) is not None or found.suffix == ".nmea"
            ),
            frozenset({"origin"}),
            tells_gauge=True,
        ),
        Format(
            "parquet",
            "Parquet",
            "smfeval.io.parquet",
            lambda found: found.start.startswith(b"PAR1") or found.suffix == ".parquet",
            CONVENTION_OPTIONS,
            (".parquet",),
            frozenset({"covariance", "particles", "cross-covariances"}),
            keeps_header=True,
            tells_gauge=True,
            writable=True,
            compressed=True,
        ),
        Format(
            "npz",
            "NumPy npz",
            "smfeval.io.npz",
            lambda found: found.suffix == ".npz" or found.start.startswith(NPZ_START),
            CONVENTION_OPTIONS,
            (".npz",),
            frozenset({"covariance"}),
            keeps_header=True,
            tells_gauge=True,
            writable=True,
            compressed=True,
        ),
        Format(
            "square",
            "SQUARE",
            "smfeval.io.square",
            lambda found: found.start.startswith(b"#%") or found.suffix in (".square", ".smfeval"),
            CONVENTION_OPTIONS,
            (".square", ".smfeval"),
            frozenset({"covariance", "particles", "cross-covariances"}),
            keeps_header=True,
            tells_gauge=True,
            writable=True,
            sidecars=(CROSS,),
        ),
        Format(
            "rtklib",
            "RTKLIB solution",
            "smfeval.io.rtklib",
            lambda found: (
                found.suffix == ".pos"
                or re.search(rb"^%.*(latitude\(|x-ecef\(m|e-baseline\(m)", found.start, re.M)
                is not None
            ),
            frozenset({"origin"}),
            tells_gauge=True,
        ),
        Format(
            "kml",
            "KML",
            "smfeval.io.kml",
            lambda found: found.suffix == ".kml" or b"opengis.net/kml" in found.start,
            suffixes=(".kml",),
            keeps=frozenset({"covariance"}),
            readable=False,
            writable=True,
            geodetic=True,
        ),
        Format(
            "geojson",
            "GeoJSON",
            "smfeval.io.geojson",
            lambda found: found.suffix == ".geojson" or b'"FeatureCollection"' in found.start,
            suffixes=(".geojson",),
            keeps=frozenset({"covariance"}),
            readable=False,
            writable=True,
            geodetic=True,
        ),
        Format(
            "csv",
            "CSV with a row of names",
            "smfeval.io.csv",
            _names_its_columns,
            CONVENTION_OPTIONS | {"columns"},
            (".csv",),
            frozenset({"covariance"}),
            writable=True,
            chooses_convention=True,
        ),
        Format(
            "openvins",
            "OpenVINS",
            "smfeval.io.openvins",
            lambda found: (
                found.has_columns(20)
                or b"Pr11" in found.start
                or b"# timestamp(s) q p v" in found.start
            ),
            CONVENTION_OPTIONS,
            tells_gauge=True,
            sidecars=(DEVIATION,),
        ),
        Format(
            "euroc",
            "EuRoC CSV",
            "smfeval.io.euroc",
            lambda found: _has_nanosecond_stamp(found) and found.has_columns(8, 17),
        ),
        Format(
            "kitti",
            "KITTI poses",
            "smfeval.io.kitti",
            lambda found: found.has_columns(12),
            suffixes=(".kitti",),
            writable=True,
            sidecars=(TIMES,),
        ),
        Format(
            "wide-tum",
            "wide TUM (29 or 44 columns)",
            "smfeval.io.wide_tum",
            lambda found: found.has_columns(29, 44),
            CONVENTION_OPTIONS,
            (),
            frozenset({"covariance"}),
            writable=True,
            chooses_convention=True,
        ),
        Format(
            "tum",
            "TUM",
            "smfeval.io.tum",
            lambda found: found.has_columns(8),
            CONVENTION_OPTIONS,
            (".tum", ".txt"),
            writable=True,
            sidecars=(COVARIANCE,),
        ),
    )
}


def sidecar_options() -> frozenset[str]:
    """Options of reading that name a second file, of all formats."""
    sidecars = (each for entry in FORMATS.values() for each in entry.sidecars)
    return frozenset(each.option for each in sidecars if each.option)


def sidecars_beside(path: Path) -> tuple[Path, ...]:
    """Second files that some format would find beside a file, unasked."""
    found = (
        file
        for entry in FORMATS.values()
        for each in entry.sidecars
        for file in each.found_beside(path)
    )
    return tuple(dict.fromkeys(found))


def possible_sidecars(path: Path) -> tuple[Path, ...]:
    """Second files that the format of a file would look for beside it, there or not."""
    try:
        entry = recognise_format(path)
    except FormatError:
        return ()
    return tuple(
        dict.fromkeys(f for each in entry.sidecars for f in each.beside(path) if f != path)
    )


def recognise_format(path: Path) -> Format:
    """The format of a file, by its first bytes and its name."""
    if is_file(path / "metadata.yaml"):
        return FORMATS["bag"]
    found = FileHead(existing_file(path), read_head(path))
    if not found.start.strip():
        raise FormatError(f"{path}: the file is empty")
    if found.start.startswith(CROSS_START):
        raise FormatError(f"{path}: {CROSS_ALONE}")
    for entry in FORMATS.values():
        if entry.recognise(found):
            return entry
    if is_binary(found.start):
        raise FormatError(f"{path}: this is binary data of no format that smfeval reads")
    columns = len(found.first_row)
    readable = (entry.name for entry in FORMATS.values() if entry.readable)
    raise FormatError(
        f"{path}: the format is not recognised (first row: {columns} columns); "
        f"name it: {', '.join(readable)}"
    )


def format_named(name: str) -> Format:
    """A format by its name in the table."""
    if name not in FORMATS:
        raise unknown_word("format", name, FORMATS)
    return FORMATS[name]


def format_for_writing(path: Path, name: str | None = None) -> Format:
    """The format to write, by its name or by the ending of the file."""
    suffix = FileHead(path, b"").suffix
    chosen = (
        format_named(name)
        if name
        else next((f for f in FORMATS.values() if suffix in f.suffixes), None)
    )
    writable = ", ".join(f.name for f in FORMATS.values() if f.writable)
    if chosen is None:
        raise OptionError(f"{path}: the ending names no format to write; name it: {writable}")
    if not chosen.writable:
        raise OptionError(f"{chosen.title} files are read, not written; write one of {writable}")
    if chosen.compressed and is_gzip_name(path):
        raise OptionError(f"{path}: {chosen.title} is compressed already; leave out the .gz")
    return chosen
