"""The table of formats: how each is recognised, what it keeps, and which function reads it."""

import re
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io import source
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

    @cached_property
    def first_row(self) -> list[bytes]:
        """The words of the first line that is neither blank nor a comment (`#`)."""
        found = re.search(source.FIRST_ROW, self.start)
        return [word for word in re.split(rb"[\s,]+", found[1]) if word] if found else []

    @property
    def has_nanosecond_stamp(self) -> bool:
        """Nanoseconds since 1970 in the first column, or a header of EuRoC that says so."""
        if not self.first_row:
            return False
        named = b"timestamp [ns]" in self.start or b"p_RS_R" in self.start
        return named or re.fullmatch(rb"\d{18,19}(\.0*)?", self.first_row[0]) is not None

    @property
    def names_columns(self) -> bool:
        """A first row of names, or a comment that names columns as no other format has them."""
        names, _, lines = header_names(self.start)
        if not names or not self.first_row:
            return False
        from smfeval.io.column_names import (  # noqa: PLC0415  for tables with names alone
            names_a_covariance,
            names_a_pose,
            roles_of,
        )

        if self.start.splitlines()[lines - 1].lstrip()[:1] not in (b"#", b""):
            return names_a_pose(names) or self.suffix == ".csv"
        if names_a_covariance(names):
            return names_a_pose(names) and b"Pr11" not in self.start
        of_others = self.has_nanosecond_stamp or b"# timestamp(s) q p v" in self.start
        of_others |= len(self.first_row) == 20
        as_tum = roles_of(names)[:8] == TUM_NAMES and len(names) in (8, 29, 44)
        return names_a_pose(names) and not (of_others or as_tum)


def header_names(start: bytes) -> tuple[list[str], str, int]:
    """Names of the columns, what separates the rows' columns, and how many lines come before them.

    The names are the first row, if no number is in it, or the comment right before the first row
    if it has as many words as that row; otherwise there are none.
    """
    comment, count = "", 0
    for raw in BytesIO(start):
        line = raw.decode("utf-8", errors="replace").strip(" \r\n")  # a tab may stand for no name
        line = re.sub(r"^%\s+", "", line)
        count += 1
        if line.startswith("#"):
            comment = line
            continue
        if not line.strip():
            continue
        words_of_row, separator = split_row(line)
        if not any(map(_is_number, words_of_row)):
            return words_of_row, separator, count
        named = split_row(comment.lstrip("# "))[0]
        return named if len(named) == len(words_of_row) else [], separator, count - 1
    return [], " ", 0


def split_row(line: str) -> tuple[list[str], str]:
    """The cells of a row, and what separates them."""
    separator = next((each for each in ",;\t" if each in line), " ")
    cells = line.split() if separator == " " else line.split(separator)
    return [cell.strip().strip("\"'") for cell in cells], separator


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


TUM_NAMES = ["stamp", "x", "y", "z", "qx", "qy", "qz", "qw"]


@dataclass(frozen=True)
class Sidecar:
    """A second file that a format is read with.

    It is the file that the option names, or else the first of the files `beside` that is there.
    """

    option: str | None  # of ReadOptions; None: it cannot be named
    beside: Callable[[Path], tuple[Path, ...]] = lambda path: ()  # where to look for it unasked
    written: int = 0  # how many of `beside` writing makes or replaces

    def found_beside(self, path: Path) -> tuple[Path, ...]:
        """The files beside a file that would be taken for its sidecar, best first."""
        if not path.name:
            return ()  # `.` and `/` are folders, with nothing beside them
        return tuple(file for file in self.beside(path) if file != path and source.is_file(file))


@dataclass(frozen=True)
class Format:
    """One format: how it is recognised, and what of a belief survives writing.

    `reader` and `writer` are functions of this package, called (path, options) and (track, path,
    options). Without `recognise`, a format is known by its first bytes or its suffixes.
    """

    name: str
    title: str
    reader: str | None = None  # `module.function`; None: it is not read
    writer: str | None = None
    magic: tuple[bytes, ...] = ()  # first bytes
    suffixes: tuple[str, ...] = ()  # that choose this format for writing
    recognise: Callable[[FileHead], bool] | None = None
    options: frozenset[str] = frozenset()  # of ReadOptions, beyond those all formats use
    keeps: frozenset[str] = frozenset()  # of "covariance", "particles", "cross-covariances"
    keeps_header: bool = False  # it has a header: body, world, gauge, algorithm ...
    gauge: str | None = None  # of every file; DECLARED: its module has `declared_gauge`
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

    def fits(self, head: FileHead) -> bool:
        """Whether a file is of this format."""
        if self.recognise is not None:
            return self.recognise(head)
        return head.start.startswith(self.magic) or head.suffix in self.suffixes

    def read(self, path: Path, options: Any) -> "AnyTrack":
        """Read a track."""
        if self.reader is None:
            raise FormatError(f"{path}: {self.title} is written, not read")
        return _function(self.reader)(path, options)

    def declared_gauge(self, path: Path, options: Any) -> str | None:
        """The gauge that a file of this format declares, without its rows where that is enough."""
        if self.gauge != DECLARED or self.reader is None:
            return self.gauge
        module = self.reader.rpartition(".")[0]
        return _function(f"{module}.declared_gauge")(path, options)

    def write(self, track: "AnyTrack", path: Path, options: Any) -> tuple[Path, ...]:
        """Write a track; returns the files that were made."""
        return _function(str(self.writer))(track, path, options)


DECLARED = "declared"


def _function(name: str) -> Callable[..., Any]:
    """A function of this package, imported when it is used."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"smfeval.io.{module}"), function)


def _cross_beside(path: Path) -> tuple[Path, Path]:
    """`NAME.cross` and `NAME.cross.gz` beside `NAME.square`, first the one packed as it is."""
    plain = path.with_name(f"{source.bare_name(path)}.cross")
    packed = plain.with_name(f"{plain.name}.gz")
    return (packed, plain) if source.is_gzip_name(path) else (plain, packed)


CROSS_START = b"#%FORMAT SQUARE-CROSS"  # of a file of cross-covariances, which is no track
CROSS_ALONE = "these are the cross-covariances of a SQUARE file; name that file"
CROSS = Sidecar(None, _cross_beside, written=2)
TIMES = Sidecar(  # `NAME.times.txt` beside `NAME.kitti`, what we write, and what KITTI has
    "times",
    lambda path: (
        path.with_name(f"{source.bare_name(path)}.times.txt"),
        path.with_name("times.txt"),
    ),
    written=1,
)
DEVIATION = Sidecar(  # `state_deviation.txt` beside `state_estimate.txt`, and the like
    "deviation", lambda path: (path.with_name(path.name.replace("estimate", "deviation")),)
)
COVARIANCE = Sidecar("covariance")

ULOG = b"ULog\x01\x12\x35"
CONVENTION_OPTIONS = frozenset({"convention", "order"})
POSES_OF_LOG = frozenset({"topic", "stretch"})
WITH_COVARIANCE = frozenset({"covariance"})
ALL_BELIEFS = frozenset({"covariance", "particles", "cross-covariances"})

FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            *("bag", "ROS 1 bag, ROS 2 bag or MCAP", "ros.read", "ros.write"),
            magic=(b"#ROSBAG V", b"\x89MCAP", b"SQLite format 3\0"),
            suffixes=(".mcap", ".bag", ".db3"),
            options=CONVENTION_OPTIONS | {"topic", "tf", "lag", "origin"},
            keeps=WITH_COVARIANCE,
            gauge=DECLARED,
            compressed=True,
        ),
        Format(
            *("px4", "PX4 ULog", "px4.read"),
            recognise=lambda head: head.start.startswith(ULOG) or head.suffix == ".ulg",
            options=POSES_OF_LOG,
            gauge="fixed",
        ),
        Format(
            *("ardupilot", "ArduPilot DataFlash log", "ardupilot.read"),
            magic=(b"\xa3\x95\x80",),
            options=POSES_OF_LOG,
            gauge="fixed",
            compressed=True,
        ),
        Format(
            *("ubx", "u-blox UBX", "receivers.read_ubx"),
            recognise=lambda head: head.start.startswith(b"\xb5\x62") or head.suffix == ".ubx",
            options=frozenset({"origin"}),
            gauge="fixed",
        ),
        Format(
            *("nmea", "NMEA 0183", "receivers.read_nmea"),
            recognise=lambda head: (
                re.match(rb"\$[A-Z]{4,6},", head.start) is not None or head.suffix == ".nmea"
            ),
            options=frozenset({"origin"}),
            gauge="fixed",
        ),
        Format(
            *("parquet", "Parquet", "parquet.read", "parquet.write"),
            magic=(b"PAR1",),
            suffixes=(".parquet",),
            options=CONVENTION_OPTIONS,
            keeps=ALL_BELIEFS,
            keeps_header=True,
            gauge=DECLARED,
            compressed=True,
        ),
        Format(
            *("npz", "NumPy npz", "npz.read", "npz.write"),
            magic=(b"PK\x03\x04",),  # of a zip archive
            suffixes=(".npz",),
            options=CONVENTION_OPTIONS,
            keeps=WITH_COVARIANCE,
            keeps_header=True,
            gauge=DECLARED,
            compressed=True,
        ),
        Format(
            *("square", "SQUARE", "square.read", "square.write"),
            magic=(b"#%",),
            suffixes=(".square", ".smfeval"),
            options=CONVENTION_OPTIONS,
            keeps=ALL_BELIEFS,
            keeps_header=True,
            gauge=DECLARED,
            sidecars=(CROSS,),
        ),
        Format(
            *("graph", "pose graph of g2o or TORO", "graph.read"),
            recognise=lambda head: (
                head.suffix in (".g2o", ".graph")
                or re.match(rb"(VERTEX|EDGE)[_23]", (head.first_row or [b""])[0]) is not None
            ),
            gauge="se3",
        ),
        Format(
            *("rtklib", "RTKLIB solution", "rtklib.read"),
            recognise=lambda head: (
                head.suffix == ".pos"
                or re.search(rb"^%.*(latitude\(|x-ecef\(m|e-baseline\(m)", head.start, re.M)
                is not None
            ),
            options=frozenset({"origin"}),
            gauge="fixed",
        ),
        Format(
            *("kml", "KML", None, "maps.write_kml"),
            suffixes=(".kml",),
            recognise=lambda head: head.suffix == ".kml" or b"opengis.net/kml" in head.start,
            keeps=WITH_COVARIANCE,
            geodetic=True,
        ),
        Format(
            *("geojson", "GeoJSON", None, "maps.write_geojson"),
            suffixes=(".geojson",),
            recognise=lambda head: (
                head.suffix == ".geojson" or b'"FeatureCollection"' in head.start
            ),
            keeps=WITH_COVARIANCE,
            geodetic=True,
        ),
        Format(
            *("csv", "CSV with a row of names", "csv.read", "csv.write"),
            suffixes=(".csv",),
            recognise=lambda head: head.names_columns,
            options=CONVENTION_OPTIONS | {"columns", "origin"},
            keeps=WITH_COVARIANCE,
            chooses_convention=True,
        ),
        Format(
            *("openvins", "OpenVINS", "openvins.read"),
            recognise=lambda head: (
                len(head.first_row) == 20
                or b"Pr11" in head.start
                or b"# timestamp(s) q p v" in head.start
            ),
            options=CONVENTION_OPTIONS,
            gauge="gravity_yaw",
            sidecars=(DEVIATION,),
        ),
        Format(
            *("euroc", "EuRoC CSV", "euroc.read"),
            recognise=lambda head: head.has_nanosecond_stamp and len(head.first_row) in (8, 17),
        ),
        Format(
            *("kitti", "KITTI poses", "kitti.read", "kitti.write"),
            suffixes=(".kitti",),
            recognise=lambda head: len(head.first_row) == 12,
            sidecars=(TIMES,),
        ),
        Format(
            *("wide-tum", "wide TUM (29 or 44 columns)", "tum.read_wide", "tum.write_wide"),
            recognise=lambda head: len(head.first_row) in (29, 44),
            options=CONVENTION_OPTIONS,
            keeps=WITH_COVARIANCE,
            chooses_convention=True,
        ),
        Format(
            *("tum", "TUM", "tum.read", "tum.write"),
            suffixes=(".tum", ".txt"),
            recognise=lambda head: len(head.first_row) == 8,
            options=CONVENTION_OPTIONS,
            sidecars=(COVARIANCE,),
        ),
    )
}


def sidecar_options() -> frozenset[str]:
    """Options of reading that name a second file, of all formats."""
    return frozenset(
        each.option for entry in FORMATS.values() for each in entry.sidecars if each.option
    )


def sidecars_beside(path: Path) -> tuple[Path, ...]:
    """Second files that some format would find beside a file, unasked."""
    sidecars = [each for entry in FORMATS.values() for each in entry.sidecars]
    return tuple(dict.fromkeys(file for each in sidecars for file in each.found_beside(path)))


def possible_sidecars(path: Path) -> tuple[Path, ...]:
    """Second files that the format of a file would look for beside it, there or not."""
    try:
        entry = recognise_format(path)
    except FormatError:
        return ()
    return tuple(
        dict.fromkeys(f for each in entry.sidecars for f in each.beside(path) if f != path)
    )


UBX_BYTES = 64_000  # of a log, in which messages may begin behind text
UBX_FRAME = rb"(?s)\xb5\x62(?=(....))"  # sync, class, number, length


def holds_ubx(start: bytes) -> bool:
    """Whether a whole UBX message stands in these bytes, by its checksum (Fletcher's)."""
    for frame in re.finditer(UBX_FRAME, start):
        end = frame.end() + 4 + int.from_bytes(frame[1][2:], "little")
        first = second = 0
        for byte in start[frame.end() : end]:
            first = (first + byte) % 256
            second = (second + first) % 256
        if start[end : end + 2] == bytes((first, second)):
            return True
    return False


POSE_LIST = "stamp,x,y,z,qx,qy,qz,qw"
UNCERTAIN_LISTS = {  # columns behind stamp and position, or stamp and pose, by their number
    4: ("stamp,x,y,z", {0: "", 3: "std_x,std_y,std_z", 6: "cov_0..cov_5", 9: "cov_0..cov_8"}),
    8: (
        POSE_LIST,
        {
            3: "std_x,std_y,std_z",
            6: "std_x,std_y,std_z,std_roll,std_pitch,std_yaw",
            9: "cov_0..cov_8",
            18: "c11,c12,c13,c21,c22,c23,c31,c32,c33,c44,c45,c46,c54,c55,c56,c64,c65,c66",
        },
    ),
}


WITH_MATRIX = (13, 16, 17)  # numbers of a stamp and a 3x4 matrix, of 4x4, or of both
MATRIX = "a matrix is read as KITTI has it: 12 numbers, 3x4, and the stamps in another file"


def fitting_lists(width: int) -> list[str]:
    """Names of columns, as the option columns takes them, that rows of so many numbers may have."""
    return [
        f"{first},{more[width - count]}".rstrip(",")
        for count, (first, more) in UNCERTAIN_LISTS.items()
        if width - count in more
    ] + {14: [f"{POSE_LIST},cov_0..cov_5"], 4: ["stamp,x,y,yaw"], 3: ["stamp,x,y"]}.get(width, [])


def recognise_format(path: Path) -> Format:
    """The format of a file, by its first bytes and its name."""
    if source.is_file(path / "metadata.yaml"):
        return FORMATS["bag"]
    head = FileHead(source.existing_file(path), source.read_head(path))
    if not head.start.strip():
        raise FormatError(f"{path}: the file is empty")
    if head.start.startswith(CROSS_START):
        raise FormatError(f"{path}: {CROSS_ALONE}")
    found = next((entry for entry in FORMATS.values() if entry.fits(head)), None)
    found = found or (FORMATS["ubx"] if holds_ubx(source.read_start(path, UBX_BYTES)) else None)
    if found is not None:
        return found
    if source.is_binary(head.start):
        raise FormatError(f"{path}: this is binary data of no format that smfeval reads")
    readable = ", ".join(entry.name for entry in FORMATS.values() if entry.reader)
    if head.start.lstrip()[:1] in (b"[", b"{"):
        raise FormatError(f"{path}: this is JSON, of which no track is read; CSV with names is")
    numbers = f"{path}: rows of {len(head.first_row)} numbers without a row of names"
    matrix = f"; {MATRIX}" if len(head.first_row) in WITH_MATRIX else ""
    numeric = all(_is_number(word.decode(errors="replace")) for word in head.first_row)
    if numeric and (lists := fitting_lists(len(head.first_row))):
        how = source.spell_source(path, "columns", *lists)
        raise FormatError(f"{numbers}; if they are these, say so: {how}{matrix}")
    if numeric and matrix:
        raise FormatError(f"{numbers}{matrix}")
    raise FormatError(
        f"{path}: the format is not recognised (first row: {len(head.first_row)} columns; TUM has "
        "8, stamp x y z qx qy qz qw, and with a covariance 21 or 36 more); if it is one of these, "
        f"name it: {readable}"
    )


def format_named(name: str) -> Format:
    """A format by its name in the table."""
    if name not in FORMATS:
        raise unknown_word("format", name, FORMATS)
    return FORMATS[name]


def format_for_writing(path: Path, name: str | None = None) -> Format:
    """The format to write, by its name or by the ending of the file."""
    suffix = FileHead(path, b"").suffix
    by_name = (entry for entry in FORMATS.values() if suffix in entry.suffixes)
    chosen = format_named(name) if name else next(by_name, None)
    known = ", ".join(entry.name for entry in FORMATS.values() if entry.writer)
    if chosen is None:
        raise OptionError(f"{path}: the ending names no format to write; name it: {known}")
    if chosen.writer is None:
        raise OptionError(f"{chosen.title} files are read, not written; write one of {known}")
    if chosen.compressed and source.is_gzip_name(path):
        raise OptionError(f"{path}: {chosen.title} is compressed already; leave out the .gz")
    return chosen
