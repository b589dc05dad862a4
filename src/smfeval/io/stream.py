"""Files that grow, and standard input: whole lines as they come, and the beliefs in them.

The kinds of rows are in `stream_rows`; the first row says which. A line counts once its line end
is there.

Stamps increase. A row that goes back is left out. A row more than `AHEAD_S` after the one before
waits for the next ones: if those go back it is left out, as a stamp from the future; once
`CONFIRMED` rows in a row go on from there it was a pause. So do the first rows of a stream.
"""

import os
import re
import select
import sys
from dataclasses import field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.associate.origin import ORIGIN_KEY
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io import source
from smfeval.io.convention import CONVENTIONS, to_right
from smfeval.io.header import parse_header
from smfeval.io.stream_rows import PARSERS, PARTICLES, ROS_COLUMNS, ROS_PARTICLE, parse_ensemble
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import About, GaussianTrack, Intake, Provenance, Track

if TYPE_CHECKING:
    from smfeval.io.innovations import SensorRows

CHUNK_BYTES = 2**21  # read at a time
WAIT_S = 0.2  # how long standard input is waited for
AHEAD_S = 10.0  # after the row before: a pause, or a stamp from the future
CONFIRMED = 5  # rows in a row, none ahead of the one before, that tell which
SLOW_ROWS = 20  # rows in a row of a stream that is so slow
MOST_NOTICES = 5  # rows that are named
NOT_FINITE = re.compile(rb"(?i)(?<![\w\"])(nan|inf|infinity)(?![\w\"])")


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
        return self.name == source.STANDARD_INPUT

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
        if not cut and len(data) > source.LINE_BYTES:
            raise FormatError(f"{self.name}:{self.line + 1}: the line has no end")
        self.offset += cut
        self.line += data.count(b"\n", 0, cut)
        return data[:cut]

    def _read_file(self) -> bytes:
        path = Path(self.name)
        if not source.exists(path):
            return b""
        try:
            with source.existing_file(path).open("rb") as stream:
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
        if not self.offset and source.is_binary(data[: source.HEAD_BYTES]):
            raise FormatError(
                f"{self.name}: this is binary or packed; lines of text are watched, as from zcat"
            )
        return data


Line = tuple[bytes, int, int]  # its content, the byte where it begins, its number from 1


@dataclass(frozen=True)
class StampOrder:
    """Which rows go on in time, by their numbers."""

    kept: list[int]
    held: list[int]  # ahead of the others, until more rows tell
    future: list[int]  # ahead of rows that came after them
    late: list[int]
    behind: int  # rows far behind the last one kept, since that


def in_order(stamp: Ints, last: int | None, *, ended: bool = False) -> StampOrder:
    """Sort out rows that go back, and stamps from the future; see the top of this file."""
    limit = int(AHEAD_S * NANOSECONDS)
    steps = np.diff(stamp) if last is None else np.diff(stamp, prepend=last)
    if ((steps > 0) & (steps <= limit)).all() and (last is not None or len(stamp) >= CONFIRMED):
        return StampOrder(list(range(len(stamp))), [], [], [], 0)

    kept: list[int] = []
    held: list[int] = []
    future: list[int] = []
    late: list[int] = []
    behind = 0
    times = stamp.tolist()
    for row, time in enumerate(times):
        while held and times[held[-1]] - time > limit and (last is None or time > last):
            future.append(held.pop())
        if (last is not None and time <= last) or (held and time <= times[held[-1]]):
            late.append(row)
            behind += last is not None and last - time > limit
            continue
        held.append(row)
        run = [times[each] for each in held[-CONFIRMED:]]
        together = len(run) == CONFIRMED and all(b - a <= limit for a, b in pairwise(run))
        follows = last is not None and time - last <= limit
        if follows or together or len(held) >= SLOW_ROWS:
            kept, held, last, behind = kept + held, [], time, 0
    return StampOrder(kept + held if ended else kept, [] if ended else held, future, late, behind)


@dataclass
class BeliefStream:
    """Beliefs of a growing file; `read` returns the new ones.

    `kind` and `gauge` are known after the first row, and given again after a restart.
    """

    lines: LineStream
    convention: str | None = None
    kind: str | None = None  # a row of PARSERS
    gauge: str | None = None  # that the header declares
    origin: str | None = None  # of its axes, on Earth
    bad_rows: Any = "refuse"
    dropped: int = 0  # bad, or late
    future: int = 0  # stamps from the future
    last_stamp: int | None = None
    resumed: int | None = None  # rows up to this stamp were read before a restart
    order: Any = "translation-first"
    declared: str | None = None  # convention of the header
    weighted: str = "linear"  # weights of particles: "linear", "log" or "no"
    notices: list[str] = field(default_factory=list)  # rows that were left out, and why
    _header: list[tuple[int, str]] = field(default_factory=list)
    _held: list[Line] = field(default_factory=list)  # whose stamps wait for later ones
    _open: list[Line] = field(default_factory=list)  # particles of a scan that may have more
    _behind: int = 0

    def __post_init__(self) -> None:
        if self.convention is not None and self.convention not in CONVENTIONS:
            raise OptionError(f"convention {self.convention!r} is unknown")

    @property
    def place(self) -> tuple[int, int]:
        """The byte, and the lines before it, from where on rows are still needed."""
        waiting = [(start, line - 1) for _, start, line in (*self._held, *self._open)]
        return min(waiting, default=(self.lines.offset, self.lines.line))

    def read(self, *, ended: bool = False) -> tuple[Track, Ints] | None:
        """New beliefs, and where their lines stand (byte, lines before); None: nothing new.

        With `ended` no more rows come: those that wait are taken.
        """
        rows = self._new_rows()
        if rows and self.kind is None:
            self._recognise(rows[0][0], rows[0][2])
        if self.kind == "ensemble":
            rows = self._whole_scans(rows, ended=ended)
        if self.bad_rows == "drop":
            finite = [row for row in rows if not NOT_FINITE.search(row[0])]
            self.dropped += len(rows) - len(finite)
            rows = finite
        if not rows and not (ended and self._held):
            return None
        rows, self._held = [*self._held, *rows], []
        return self._track(rows, ended=ended)

    def _new_rows(self) -> list[Line]:
        at, number = self.lines.offset, self.lines.line
        rows = []
        for text in self.lines.read().splitlines(keepends=True):
            number += 1
            content = text.strip().removeprefix(source.BOM)
            if content.startswith(b"#"):
                self._header.append((number, content.decode("utf-8", "replace")))
            elif content and not content.startswith(b"---"):
                rows.append((content, at, number))
            at += len(text)
        return rows

    def _whole_scans(self, rows: list[Line], *, ended: bool) -> list[Line]:
        """Particles with one stamp as one row; the last scan waits for the next stamp."""
        scans: list[list[Line]] = [self._open] if self._open else []
        for row in rows:
            stamp = row[0].split(maxsplit=1)[0]
            if not scans or scans[-1][0][0].split(maxsplit=1)[0] != stamp:
                scans.append([])
            scans[-1].append(row)
        self._open = [] if ended or not scans else scans.pop()
        return [(b"\n".join(row for row, _, _ in scan), *scan[0][1:]) for scan in scans]

    def _recognise(self, row: bytes, number: int) -> None:
        """Find the kind by the header or the first row."""
        cells = row.count(b",") + 1
        if any(text.startswith("#%") for _, text in self._header):
            header = parse_header(self.lines.name, tuple(self._header))
            self.gauge = header.about().gauge
            self.origin = header.fields.get(ORIGIN_KEY)
            if header.representation == "ensemble_se3":
                self.kind = "ensemble"
                weighted = header.fields["WEIGHTED"] == "true"
                self.weighted = header.fields["WEIGHT_FORMAT"] if weighted else "no"
                return
            self.declared, order = header.convention
            self.order = order or "translation-first"
            self.kind = "square" if header.representation == "gaussian_se3" else "poses"
        elif row.startswith(b"{"):
            self.kind = "json particles" if b'"particles"' in row else "json"
        elif cells in ROS_COLUMNS:
            self.kind = "ros"
        elif cells > 3 and any((cells - 3) % size == 0 for size in ROS_PARTICLE):
            self.kind = "ros particles"
        elif len(row.split()) in (8, 29):
            self.kind = "poses" if len(row.split()) == 8 else "square"
        else:
            raise FormatError(
                f"{self.lines.name}:{number}: this is no row of SQUARE, TUM, JSON lines or of "
                "ros2 topic echo --csv"
            )

    def _track(self, rows: list[Line], *, ended: bool) -> tuple[Track, Ints] | None:
        """The rows that go on in time as a track, and where they stand."""
        place = self.lines.name
        contents, start, line = zip(*rows, strict=True)
        if self.kind == "ensemble":
            parsed = parse_ensemble(place, list(contents), np.array(line), self.weighted)
        else:
            parsed = PARSERS[str(self.kind)](place, list(contents), np.array(line))
        stamp, position, rotation, covariance = parsed
        kept = self._in_order(stamp, rows, ended=ended)
        if not len(kept):
            return None
        stamp, position, rotation = stamp[kept], position[kept], rotation[kept]
        more: dict[str, Any] = {
            "about": About(
                gauge=self.gauge,  # type: ignore[arg-type]  # as the header has it
                extra=((ORIGIN_KEY, self.origin),) if self.origin else (),
            ),
            "provenance": Provenance(place, str(self.kind)),
            "intake": Intake(self.bad_rows, where=lambda row: f"{place}:{line[kept[row]]}"),
        }
        if covariance is None:
            track = Track(stamp, position, rotation, **more)
        else:
            name = self.convention or self.declared or ("ros" if self.kind == "ros" else "right")
            name = "right" if str(self.kind) in PARTICLES else name
            pose = position, rotation
            turned = to_right(covariance[kept], pose, CONVENTIONS[name], self.order)
            track = GaussianTrack(stamp, *pose, turned, **more)
        self.dropped += len(stamp) - len(track)
        self.last_stamp = int(track.stamp[-1])
        where = np.stack([np.array(start), np.array(line) - 1], axis=1)
        return track, where[kept[np.searchsorted(stamp, track.stamp)]]

    def _in_order(self, stamp: Ints, rows: list[Line], *, ended: bool) -> Ints:
        """Rows that go on in time; those that wait are kept for the next reading."""
        new = np.arange(len(stamp))
        if self.resumed is not None:
            new = np.flatnonzero(stamp > self.resumed)
        order = in_order(stamp[new], self.last_stamp, ended=ended)
        self._held = [rows[new[each]] for each in order.held]
        self.dropped += len(stamp) - len(new) + len(order.late)
        self.future += len(order.future)
        for each in order.future if self.future <= MOST_NOTICES else ():
            ahead_s = (int(stamp[new[each]]) - int(stamp[new].min())) / NANOSECONDS
            self.notices.append(
                f"{self.lines.name}:{rows[new[each]][2]}: its stamp is {words.duration(ahead_s)} "
                "ahead of rows that follow; the row is left out"
            )
        self._behind = order.behind if order.kept else self._behind + order.behind
        if self._behind >= CONFIRMED:
            raise FormatError(
                f"{self.lines.name}:{rows[-1][2]}: the stamps went back by more than "
                f"{words.duration(AHEAD_S)} and stay there; was a clock set, or the file begun "
                "anew? Watch it anew"
            )
        return new[order.kept] if order.kept else np.empty(0, np.int64)


@dataclass
class InnovationStream:
    """Innovations of a growing table (CSV with its row of names, or JSON lines)."""

    lines: LineStream
    header: str | None = None  # the row of names; "" for JSON lines

    def read(self) -> "list[SensorRows]":
        """New rows by sensor; empty if there are none."""
        from smfeval.io import innovations  # noqa: PLC0415  polars is slow to import

        name, first = self.lines.name, self.lines.line + 1
        data = self.lines.read()
        if data and self.header is None and data.lstrip().removeprefix(source.BOM)[:1] == b"{":
            self.header = ""
        elif data and self.header is None:
            names, _, data = data.partition(b"\n")
            self.header = names.removeprefix(source.BOM).decode("utf-8", "replace").strip()
            innovations.parse_names(name, self.header.encode())  # refused before its rows come
            first += 1
        if not data.strip():
            return []
        if self.header:
            columns = innovations.parse_names(name, self.header.encode())
            frame = innovations.frame_of_csv(name, columns, data, first=first)
        else:
            frame = innovations.frame_of_json(name, data.splitlines(), first=first)
        return innovations.split_sensors(name, frame, sized=True) if len(frame) else []
