"""Files that grow, and standard input: whole lines as they come, and the beliefs in them.

A stream of beliefs is one of

- SQUARE: its header, then rows as `SquareWriter` appends them (29 numbers; 8 without covariance);
- TUM: 8 numbers, stamp in seconds, position, quaternion x y z w;
- JSON lines: `stamp` (s) or `stamp_ns`, `position`, `orientation` (x y z w), and `covariance`,
  6 x 6, its 36 numbers or the 21 of its lower triangle;
- what `ros2 topic echo --csv` prints of nav_msgs/Odometry, or PoseWithCovarianceStamped.

The kind is known by the first row. A line counts once its line end is there.
"""

import json
import os
import select
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval.associate.origin import ORIGIN_KEY
from smfeval.errors import FormatError, OptionError
from smfeval.io.convention import CONVENTIONS, to_right
from smfeval.io.header import parse_header
from smfeval.io.parsers import Layout, RowFormat, parse_polars
from smfeval.io.source import (
    BOM,
    HEAD_BYTES,
    LINE_BYTES,
    STANDARD_INPUT,
    existing_file,
    exists,
    is_binary,
)
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import json_stamp
from smfeval.maths.symmetric import unpack_lower
from smfeval.track import About, GaussianTrack, Intake, Provenance, Track
from smfeval.track.beliefs import normalise_quaternions

if TYPE_CHECKING:
    from smfeval.io.innovations import InnovationColumns, SensorRows

CHUNK_BYTES = 2**21  # read at a time
WAIT_S = 0.2  # how long standard input is waited for
ROS_COLUMNS = {89: (4, 11), 46: (3, 10)}  # Odometry, PoseWithCovarianceStamped: pose, covariance


@dataclass
class LineStream:
    """Whole lines of a growing file, or of standard input ("-"), from a byte on."""

    name: str
    offset: int = 0  # bytes that were given out
    line: int = 0  # lines that were given out
    ended: bool = False  # standard input only
    _rest: bytes = b""

    @property
    def is_standard_input(self) -> bool:
        """Whether it cannot be read twice."""
        return self.name == STANDARD_INPUT

    def read(self) -> bytes:
        """The next whole lines, or nothing if there are none yet."""
        data = self._rest if self.is_standard_input else self._read_file()
        if self.is_standard_input and not self.ended:
            descriptor = sys.stdin.fileno()
            ready, _, _ = select.select([descriptor], [], [], WAIT_S)
            new = os.read(descriptor, CHUNK_BYTES) if ready else None
            self.ended = new == b""
            data += new or b""
        cut = len(data) if self.ended else data.rfind(b"\n") + 1
        self._rest = data[cut:] if self.is_standard_input else b""
        if not cut and len(data) > LINE_BYTES:
            raise FormatError(f"{self.name}:{self.line + 1}: the line has no end")
        self.offset += cut
        self.line += data.count(b"\n", 0, cut)
        return data[:cut]

    def _read_file(self) -> bytes:
        path = Path(self.name)
        if not exists(path):
            return b""
        try:
            with existing_file(path).open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size < self.offset:
                    raise FormatError(
                        f"{self.name}: the file is shorter than what was read of it before; was it "
                        "begun anew?"
                    )
                stream.seek(self.offset)
                data = stream.read(CHUNK_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise FormatError(f"{self.name}: cannot be read ({error.strerror})") from error
        if not self.offset and is_binary(data[:HEAD_BYTES]):
            raise FormatError(
                f"{self.name}: this is binary or packed; lines of text are watched, as from zcat"
            )
        return data


@dataclass
class BeliefStream:
    """Beliefs of a growing file; `read` returns the new ones.

    `kind` and `gauge` are known after the first row, and given again after a restart.
    """

    lines: LineStream
    convention: str | None = None
    kind: str | None = None  # "square", "poses", "json", "ros"
    gauge: str | None = None  # that the header declares
    origin: str | None = None  # of its axes, on Earth
    bad_rows: Any = "refuse"
    dropped: int = 0
    last_stamp: int | None = None
    order: Any = "translation-first"
    declared: str | None = None  # convention of the header
    _header: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.convention is not None and self.convention not in CONVENTIONS:
            raise OptionError(f"convention {self.convention!r} is unknown")

    def read(self) -> tuple[Track, Ints] | None:
        """New beliefs, and where their lines stand (byte, lines before); None: nothing new."""
        at, number = self.lines.offset, self.lines.line
        data = self.lines.read()
        if not data:
            return None
        rows, start, line = [], [], []
        for text in data.splitlines(keepends=True):
            number += 1
            content = text.strip().removeprefix(BOM)
            if content.startswith(b"#"):
                self._header.append((number, content.decode("utf-8", "replace")))
            elif content and not content.startswith(b"---"):
                rows.append(content)
                start.append(at)
                line.append(number)
            at += len(text)
        if not rows:
            return None
        if self.kind is None:
            self._recognise(rows[0], line[0])
        track, kept = self._track(rows, np.array(line))
        place = np.stack([np.array(start), np.array(line) - 1], axis=1)
        return (track, place[kept]) if track is not None else None

    def _recognise(self, row: bytes, number: int) -> None:
        """Find the kind by the header or the first row."""
        if any(text.startswith("#%") for _, text in self._header):
            header = parse_header(self.lines.name, tuple(self._header))
            if header.representation == "ensemble_se3":
                raise FormatError(f"{self.lines.name}: particles cannot be watched; Gaussians can")
            self.gauge = header.about().gauge
            self.origin = header.fields.get(ORIGIN_KEY)
            self.declared, order = header.convention
            self.order = order or "translation-first"
            self.kind = "square" if header.representation == "gaussian_se3" else "poses"
        elif row.startswith(b"{"):
            self.kind = "json"
        elif row.count(b",") + 1 in ROS_COLUMNS:
            self.kind = "ros"
        elif len(row.split()) in (8, 29):
            self.kind = "poses" if len(row.split()) == 8 else "square"
        else:
            raise FormatError(
                f"{self.lines.name}:{number}: this is no row of SQUARE, TUM, JSON lines or of "
                "ros2 topic echo --csv"
            )

    def _track(self, rows: list[bytes], line: Ints) -> tuple[Track | None, Ints]:
        """The rows as a track, and which of them it has."""
        place = self.lines.name
        stamp, position, rotation, covariance = PARSERS[str(self.kind)](place, rows, line)
        before = np.iinfo(np.int64).min if self.last_stamp is None else self.last_stamp
        newest = np.maximum.accumulate(np.concatenate([[before], stamp]))[:-1]
        fresh = np.flatnonzero(stamp > newest)  # read before, or of a clock that went back
        self.dropped += len(stamp) - len(fresh)
        if not len(fresh):
            return None, fresh
        stamp, line = stamp[fresh], line[fresh]
        position, rotation = position[fresh], rotation[fresh]
        more: dict[str, Any] = {
            "about": About(
                gauge=self.gauge,  # type: ignore[arg-type]  # as the header has it
                extra=((ORIGIN_KEY, self.origin),) if self.origin else (),
            ),
            "provenance": Provenance(place, str(self.kind)),
            "intake": Intake(self.bad_rows, where=lambda row: f"{place}:{line[row]}"),
        }
        if covariance is None:
            track = Track(stamp, position, rotation, **more)
        else:
            name = self.convention or self.declared or ("ros" if self.kind == "ros" else "right")
            pose = position, normalise_quaternions(rotation)
            turned = to_right(covariance[fresh], pose, CONVENTIONS[name], self.order)
            track = GaussianTrack(stamp, position, rotation, turned, **more)
        self.dropped += len(stamp) - len(track)
        self.last_stamp = int(track.stamp[-1])
        return track, fresh[np.searchsorted(stamp, track.stamp)]


Parsed = tuple[Ints, Floats, Floats, Floats | None]


def _parse_text(name: str, rows: list[bytes], line: Ints, width: int) -> Parsed:
    """Rows of 29 numbers, pose and lower triangle of the covariance, or of 8, the pose alone."""
    text = b"\n".join(rows)
    if b"\t" in text or b"  " in text:
        text = b"\n".join(b" ".join(row.split()) for row in rows)
    parsed = parse_polars(text, RowFormat(Layout({width: "numbers"}), " ", width))
    stamp, columns = parsed or (np.empty(0, np.int64), [])
    if len(stamp) != len(rows) or any(np.isnan(column).any() for column in columns):
        for row, number in zip(rows, line, strict=True):  # the first that is wrong is named
            cells = row.split()
            if len(cells) != width:
                raise FormatError(f"{name}:{number}: {len(cells)} numbers; {width} are needed")
            wrong = next((cell for cell in cells if not _is_finite(cell)), None)
            if wrong is not None:
                shown = wrong[:40].decode("utf-8", "replace")
                raise FormatError(f"{name}:{number}: {shown!r} is no number")
        raise FormatError(f"{name}:{line[0]}: the rows from here on cannot be read")
    numbers = np.stack(columns, axis=1)
    covariance = unpack_lower(numbers[:, 7:]) if width == 29 else None
    return stamp, numbers[:, :3], numbers[:, 3:7], covariance


def _is_finite(cell: bytes) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _plain_json(rows: list[bytes]) -> Parsed | None:
    """Many rows at once; None where one is not plain: stamp, lists of numbers, no nested ones."""
    import polars as pl  # noqa: PLC0415  slow to import

    from smfeval.io.innovations import json_columns  # noqa: PLC0415  polars is slow to import

    numbers = ("position", "orientation", "covariance")
    frame = json_columns(rows, dict.fromkeys(numbers, pl.List(pl.Float64)), needed=numbers[:2])
    if frame is None or frame["covariance"].null_count() not in (0, len(rows)):
        return None
    size = frame["covariance"].list.len()[0]
    if size not in (None, 21, 36):
        return None
    try:
        position, rotation, covariance = (
            frame[name].list.to_array(count or 0).to_numpy()
            for name, count in zip(numbers, (3, 4, size), strict=True)
        )
    except pl.exceptions.PolarsError:
        return None
    if size is None:
        return frame["stamp"].to_numpy(), position, rotation, None
    whole = unpack_lower(covariance) if size == 21 else covariance.reshape(-1, 6, 6)
    return frame["stamp"].to_numpy(), position, rotation, whole


def _json_by_row(name: str, rows: list[bytes], line: Ints) -> Parsed:
    stamp, pose, covariance = [], [], []
    for row, number in zip(rows, line, strict=True):
        try:
            belief = json.loads(row)
            stamp.append(json_stamp(belief))
            pose.append([*map(float, belief["position"]), *map(float, belief["orientation"])])
            if len(pose[-1]) != 7:
                raise ValueError("a pose has 3 and 4 numbers")
            if belief.get("covariance") is not None:
                covariance.append(_matrix(belief["covariance"]))
        except KeyError as error:
            raise FormatError(f"{name}:{number}: there is no {error.args[0]!r}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise FormatError(f"{name}:{number}: no JSON object of a belief ({error})") from error
    if len(covariance) not in (0, len(rows)):
        raise FormatError(f"{name}:{line[0]}: some rows from here on have a covariance, some not")
    numbers = np.array(pose)
    matrices = np.array(covariance) if covariance else None
    return np.array(stamp), numbers[:, :3], numbers[:, 3:], matrices


def _matrix(values: Any) -> Floats:
    flat = np.array(values, dtype=np.float64).ravel()
    if flat.size not in (21, 36):
        raise ValueError(f"a covariance has 36 or 21 numbers, not {flat.size}")
    return unpack_lower(flat) if flat.size == 21 else flat.reshape(6, 6)


def _plain_ros(rows: list[bytes]) -> Parsed | None:
    """Seconds, nanoseconds, frames, position, quaternion and 36 numbers, of many rows at once.

    None where one is not as it should be.
    """
    import polars as pl  # noqa: PLC0415  slow to import

    width = rows[0].count(b",") + 1
    if any(row.count(b",") + 1 != width for row in rows) or width not in ROS_COLUMNS:
        return None
    first, covariance = ROS_COLUMNS[width]
    used = [0, 1, *range(first, covariance + 36)]
    kinds: dict[str, Any] = {str(at): pl.String for at in range(width)}
    kinds |= {str(at): pl.Int64 if at < first else pl.Float64 for at in used}
    try:
        frame = pl.read_csv(
            b"\n".join(rows), has_header=False, schema=kinds, columns=used, quote_char=None
        )
    except pl.exceptions.PolarsError:
        return None
    if len(frame) != len(rows) or any(frame.null_count().row(0)):
        return None
    stamp = (frame["0"] * 10**9 + frame["1"]).to_numpy()
    table = frame.select(map(str, used[2:])).to_numpy()
    return stamp, table[:, :3], table[:, 3:7], table[:, 7:].reshape(-1, 6, 6)


def _ros_by_row(name: str, rows: list[bytes], line: Ints) -> Parsed:
    stamp, numbers = [], []
    for row, number in zip(rows, line, strict=True):
        cells = row.split(b",")
        if len(cells) not in ROS_COLUMNS:
            raise FormatError(f"{name}:{number}: {len(cells)} cells; Odometry has 89, "
                              "PoseWithCovarianceStamped 46")  # fmt: skip
        pose, covariance = ROS_COLUMNS[len(cells)]
        try:
            stamp.append(int(cells[0]) * 10**9 + int(cells[1]))
            numbers.append(list(map(float, cells[pose : covariance + 36])))
        except ValueError as error:
            raise FormatError(f"{name}:{number}: {error}") from error
    table = np.array(numbers)
    return np.array(stamp), table[:, :3], table[:, 3:7], table[:, 7:].reshape(-1, 6, 6)


PARSERS: dict[str, Callable[[str, list[bytes], Ints], Parsed]] = {
    "square": partial(_parse_text, width=29),
    "poses": partial(_parse_text, width=8),
    "json": lambda name, rows, line: _plain_json(rows) or _json_by_row(name, rows, line),
    "ros": lambda name, rows, line: _plain_ros(rows) or _ros_by_row(name, rows, line),
}


@dataclass
class InnovationStream:
    """Innovations of a growing table (CSV with its row of names, or JSON lines)."""

    lines: LineStream
    header: str | None = None  # the row of names; "" for JSON lines

    def read(self) -> "list[SensorRows]":
        """New rows by sensor; empty if there are none."""
        from smfeval.io import innovations  # noqa: PLC0415  polars is slow to import

        first = self.lines.line + 1
        data = self.lines.read()
        if data and self.header is None:
            data, first = self._recognise(data, first)
        if not data.strip():
            return []
        name = self.lines.name
        if self.header:
            frame = innovations.frame_of_csv(name, self._columns(), data, first=first)
        else:
            frame = innovations.frame_of_json(name, data.splitlines(), first=first)
        return innovations.split_sensors(name, frame, sized=True) if len(frame) else []

    def _recognise(self, data: bytes, first: int) -> tuple[bytes, int]:
        if data.lstrip().removeprefix(BOM)[:1] == b"{":
            self.header = ""
            return data, first
        header, _, rest = data.partition(b"\n")
        self.header = header.removeprefix(BOM).decode("utf-8", "replace").strip()
        self._columns()
        return rest, first + 1

    def _columns(self) -> "InnovationColumns":
        from smfeval.io.innovations import parse_names  # noqa: PLC0415  polars is slow to import

        return parse_names(self.lines.name, str(self.header).encode())
