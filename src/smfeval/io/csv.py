"""CSV with a row of names: a stamp, a position, perhaps a quaternion and a covariance.

Columns are known by their names (`io.column_names`), in any order; others are not used. They are
separated by commas, semicolons, tabs or blanks. Stamps are seconds unless their name (`time_ns`,
`timestamp [ms]`) or their size (nanoseconds since 1970) says otherwise. Without a quaternion, or
without the uncertainty of the rotation, it is a belief about positions alone. Latitude, longitude
and altitude (degrees, m) are places of an antenna, their covariance is of east, north and up.
"""

import re
from collections.abc import Callable, Iterator
from csv import reader
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError, reason_of
from smfeval.io import column_names, parsers
from smfeval.io.arrays import NO_Z
from smfeval.io.atomic import row_slices, table, write_rows, writing
from smfeval.io.convention import (
    CONVENTIONS,
    POSITION_ONLY,
    from_right,
    refuse_negative,
    refuse_row,
    track_of_arrays,
)
from smfeval.io.covariance_names import Reading, unread_columns
from smfeval.io.formats import header_names
from smfeval.io.geodetic import NO_ALTITUDE, local_from_llh, refuse_off_earth
from smfeval.io.options import ReadOptions, WriteOptions
from smfeval.io.source import BOM, open_input, read_head, spell_source
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import pack_lower, unpack_lower
from smfeval.schema import ORDERS, PROTECTED
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Provenance, Track
from smfeval.track.row_checks import valid_share

UNIT_DIGITS = {"ns": 18, "us": 15, "ms": 12}  # least, of a stamp since 1970; in seconds it has ten
DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:")
LIST_CELL = re.compile(r'"?[\[(]([^"\])]*)[\])]"?')
UNIT_LENGTH = 1e-3  # from one, of the square of a quaternion
BLOCK_BYTES = 2 * 2**20  # of lines that become cells at a time
SAMPLED_ROWS = 2000  # that show what unknown columns hold
LARGEST_ANGLE = 4 * np.pi  # rad, of roll, pitch or yaw: farther, it is counted in degrees
FITS = 0.9  # part of the matrices that must be covariances: a wrong triangle has few
NO_NAMES = ("there is no row of names before the numbers; list them", "stamp,x,y,z,...")
LISTED_BESIDE = ("it has a row of names; say what they hold", "stamp=NAME,x=NAME,...")
IN_PLANE = "there is no z: poses in a plane, z = 0"
ABOVE_ELLIPSOID = "altitudes were read as above the ellipsoid"
UNCERTAIN_NOTE = "the rotation has no uncertainty: a belief about positions alone was read"


@dataclass(frozen=True)
class CsvRows:
    """The columns that are used, as numbers or as text, and where a row stands."""

    path: Path
    meanings: column_names.ColumnMeanings
    names: list[str]
    cells: pl.DataFrame
    line: Ints
    notes: tuple[str, ...]

    def where(self, row: int) -> str:
        """File and line of a row."""
        return f"{self.path}:{self.line[row]}"

    def numbers(self, columns: list[int]) -> Floats:
        """Columns as numbers. (n, columns)."""
        found = np.empty((len(self.cells), len(columns)))
        for at, column in enumerate(columns):
            values = as_numbers(cells := self.cells[str(column)])
            if values.null_count():
                row = int(values.is_null().arg_max() or 0)
                self._refuse(column, row, (cells[row] or "").strip())
            found[:, at] = values.to_numpy()
        return found

    def protection(self) -> Floats | None:
        """Protection levels as a Track has them, NaN in empty cells; None: no column. (n, 5)."""
        if not self.meanings.levels:
            return None
        found = np.full((len(self.cells), len(PROTECTED)), np.nan)
        for component, column in self.meanings.levels.items():
            text = self.cells[str(column)].str.strip_chars().fill_null("")
            level = text.cast(pl.Float64, strict=False)
            wrong = level.is_null() & (text != "")
            if wrong.any():
                row = int(wrong.arg_max() or 0)
                self._refuse(column, row, text[row])
            found[:, PROTECTED.index(component)] = level.fill_null(np.nan).to_numpy()
        return found

    def rotations(self) -> Floats:
        """Quaternions x y z w, of columns of theirs or of roll, pitch and yaw. (n, 4)."""
        roles = self.meanings.rotation
        columns = [self.meanings.pose[role] for role in roles]
        numbers = self.numbers(columns)
        if roles == list(column_names.QUATERNION):
            return numbers
        unit = [np.radians(1.0) if at in self.meanings.degrees else 1.0 for at in columns]
        angle = np.abs(numbers * unit).max()
        if angle > LARGEST_ANGLE:
            said = ",".join(
                f"{r}_deg={self.names[at]}" for r, at in zip(roles, columns, strict=True)
            )
            raise FormatError(
                f"{self.path}: column {self.names[columns[-1]]!r} reaches {words.number(angle)} "
                f"rad; if these are degrees, say so: {spell_source(self.path, 'columns', said)}"
            )
        turn = np.tile([0.0, 0.0, 0.0, 1.0], (len(numbers), 1))
        for role, values in zip(roles, (numbers * unit).T, strict=True):
            axis = np.eye(3)[column_names.ANGLES.index(role)]
            turn = so3.compose(so3.exp(np.outer(values, axis)), turn)
        return turn

    def unused_numbers(self) -> dict[int, Floats]:
        """The columns that mean nothing known, or fit no covariance, and hold numbers alone."""
        meanings = self.meanings
        known = {meanings.stamp, meanings.nanoseconds, *meanings.pose.values()}
        known |= {*meanings.levels.values()}
        cells = {at: self.cells[str(at)] for at in range(len(self.names)) if at not in known}
        numbers = {column: as_numbers(each[:SAMPLED_ROWS]) for column, each in cells.items()}
        return {at: each.to_numpy() for at, each in numbers.items() if not each.null_count()}

    def unnamed_quaternion(self) -> list[str]:
        """Names of four columns side by side that are not used and have unit length."""
        if self.meanings.readings:
            return []
        unused = self.unused_numbers()
        for first in unused:
            four = [unused[at] for at in range(first, first + 4) if at in unused]
            if len(four) == 4 and np.abs(np.square(four).sum(axis=0) - 1).max() < UNIT_LENGTH:
                return self.names[first : first + 4]
        return []

    def stamps(self) -> Ints:
        """Exact nanoseconds of the stamps."""
        text = self.cells[str(self.meanings.stamp)].str.strip_chars()
        if DATE.match(text[0] or ""):
            return self._dates(text)
        whole = (text[0] or "").partition(".")[0]
        digits = len(whole) if whole.isdigit() else 0
        by_size = next((unit for unit, least in UNIT_DIGITS.items() if digits >= least), "s")
        power = column_names.STAMP_UNITS[self.meanings.stamp_unit or by_size]
        exact = text.cast(pl.Decimal(38, 9), strict=False).to_physical()
        if exact.null_count():  # written with an exponent, or no number
            values = exact.to_list()
            for row, word in enumerate(text.to_list()):
                if values[row] is None:
                    unfit = not word or not _is_usual(word)
                    if unfit or parsers.invalid_stamp_reason(word, "nanoseconds"):
                        self._refuse(self.meanings.stamp, row, word)
                    values[row] = parsers.billionths(word)
            exact = pl.Series(values, dtype=pl.Int128)
        scaled = exact // 10 ** (9 - power)
        beyond = scaled.abs() > parsers.LAST_STAMP
        if beyond.any():
            late = int(beyond.arg_max() or 0)
            unit: parsers.Unit = "seconds" if power == 9 else "nanoseconds"
            reason = parsers.invalid_stamp_reason(text[late], unit)
            raise FormatError(f"{self.where(late)}: {reason or 'the stamp is no time'}")
        return scaled.cast(pl.Int64).to_numpy() + self._nanoseconds()

    def _dates(self, text: pl.Series) -> Ints:
        """Nanoseconds of dates such as 2024-05-06T07:08:09.1+00:00; without a zone, UTC."""
        bare = text.str.replace(r"(Z|[+-]00:?00)?$", "").str.replace(" ", "T")
        dates = bare.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="ns", strict=False)
        refuse_row(dates.is_null(), self.where, lambda row: f"{text[row]!r} is not a date in UTC")
        return dates.to_physical().cast(pl.Int64).to_numpy()

    def _nanoseconds(self) -> Ints:
        """What is beyond whole seconds, where it has a column of its own."""
        column = self.meanings.nanoseconds
        if column is None:
            return np.zeros(len(self.cells), np.int64)
        seconds, part = self.numbers([self.meanings.stamp, column]).T
        wrong = (part < 0) | (part >= NANOSECONDS) | (part % 1 != 0) | (seconds % 1 != 0)
        both = f"{self.names[self.meanings.stamp]!r} and {self.names[column]!r}"
        how = spell_source(self.path, "columns", "stamp=NAME")
        told = f"{both} are not seconds and what is beyond them; say which is the stamp: {how}"
        refuse_row(wrong, self.where, lambda row: told)
        return part.astype(np.int64)

    def _refuse(self, column: int, row: int, word: str | None) -> None:
        """Raise on a cell that is no number."""
        name = self.names[column]
        if not word:
            raise FormatError(f"{self.where(row)}: there is nothing in column {name!r}")
        why = "not finite" if _is_usual(word) else "not a number"
        raise FormatError(f"{self.where(row)}: column {name!r} is {word[:40]!r}, which is {why}")


def _is_usual(word: str) -> bool:
    """Whether a word is a number, and written as a clock or a table would."""
    return bool(parsers.NUMBER.fullmatch(word.encode())) and not parsers.is_unusual_number(word)


def read(path: Path, options: ReadOptions) -> Track:
    """Read the poses, and the covariances if columns of them are known."""
    rows = _read_rows(path, options)
    found = rows.meanings
    stamp, position = rows.stamps(), rows.numbers(found.position)
    reading, covariance, notes = _choose_covariance(rows)
    oriented = bool(found.rotation) and (covariance is None or covariance.shape[-1] == 6)
    rotation = rows.rotations() if oriented else None
    axes = None if position.shape[1] == 3 else ("xy", NO_Z)
    if axes is not None:
        position = np.pad(position, ((0, 0), (0, 1)))
        notes.append(NO_ALTITUDE if found.geodetic else IN_PLANE)

    notes += [] if oriented or not found.rotation else [UNCERTAIN_NOTE]
    if covariance is not None and not oriented and (options.convention or options.order):
        notes.append("options convention and order have no effect: they are about rotations too")
    remarks = _remarks(rows)
    if (four := rows.unnamed_quaternion()) and not found.rotation:
        notes.append(f"{words.join(four)} may be a quaternion, in an order that is not known")
    unread = unread_columns(rows.names, rows.unused_numbers()) if covariance is None else None
    protection = rows.protection()
    rows = replace(rows, cells=rows.cells.clear())  # as large as the file
    notes += [ABOVE_ELLIPSOID] if found.geodetic and axes is None else []
    about_rows = (*rows.notes, *(f"{path}: {note}" for note in notes))
    provenance = Provenance(
        str(path), "CSV", notes=about_rows, remarks=tuple(remarks), unread=unread, axes=axes
    )
    intake = options.intake(rows.where)
    if found.geodetic:
        refuse_off_earth(position, rows.where)
        east_north_up = np.zeros((len(stamp), 3, 3)) if covariance is None else covariance
        local = local_from_llh(position, east_north_up[:, :3, :3], options)
        convention = None if covariance is None else POSITION_ONLY
        provenance = replace(provenance, convention=convention)
        return local.track(stamp, provenance, intake, protection=protection)
    if options.origin is not None:
        raise OptionError(f"{path}: option origin means nothing for poses; it is for latitudes")
    return track_of_arrays(
        *(stamp, (position, rotation), covariance, options),
        provenance=provenance,
        intake=intake,
        implied=None if reading is None else column_names.implied_convention(rows.names, reading),
        protection=protection,
    )


def _remarks(rows: CsvRows) -> list[str]:
    """Columns that are not used, and stamps that were not taken."""
    found = rows.meanings
    unused = len(rows.names) - len(found.used)
    remarks = [f"{rows.path}: {words.count(unused, 'column')} not used"] if unused else []
    if found.received:
        others = words.join(repr(rows.names[column]) for column in found.received)
        remarks.append(f"{rows.path}: stamps are those of the header, not {others}")
    return remarks


def holds_places(path: Path, options: ReadOptions) -> bool:
    """Whether positions are latitudes, longitudes and altitudes."""
    return _read_rows(path, options).meanings.geodetic


def _choose_covariance(rows: CsvRows) -> tuple[Reading | None, Floats | None, list[str]]:
    """How the covariance is read, its matrices, and notes; of several readings the values decide.

    A reading fits where nearly all of its matrices are positive semi-definite. Where none does,
    names that may mean something else are not read; others are, for their rows to be refused.
    """
    readings, notes = rows.meanings.readings, []
    if left := [rows.names[column] for column in rows.meanings.incomplete]:
        notes = [f"{words.join(left)} not used: a rotation has three deviations or variances"]
    sure = all(reading.sure for reading in readings)
    used = {column for reading in readings for column in reading.entries.values()}
    if not readings or (not sure and not used <= set(rows.unused_numbers())):
        return None, None, notes
    matrices = [_covariance(rows, reading) for reading in readings]
    if sure and len(readings) == 1:
        return readings[0], matrices[0], notes

    fitting = [at for at, matrix in enumerate(matrices) if valid_share(matrix) >= FITS]
    if not fitting:
        return (readings[0], matrices[0], notes) if sure else (None, None, notes)
    texts = [readings[at].text(rows.names) for at in fitting]
    if len(fitting) > 1:
        raise FormatError(
            f"{rows.path}: the covariance can be read in {len(texts)} ways; say which: "
            f"{spell_source(rows.path, 'columns', *texts)}"
        )
    notes.append(f"read as {texts[0]}, which alone fits")
    return readings[fitting[0]], matrices[fitting[0]], notes


def _covariance(rows: CsvRows, reading: Reading) -> Floats:
    """Covariances, (n, 3, 3) or (n, 6, 6), in the order translation first."""
    columns = list(reading.entries.values())
    values = rows.numbers(columns)
    turned = np.isin(columns, list(rows.meanings.degrees))
    if reading.role == "sigma":
        refuse_negative(values, rows.where)
        values **= 2
    values[:, turned] *= np.radians(1.0) ** 2
    return reading.matrices(values)


def _read_rows(path: Path, options: ReadOptions) -> CsvRows:
    start = read_head(path)
    if b"\0" in start:
        raise FormatError(f"{path}: this is binary data, not text")
    in_file, separator, header = header_names(start)
    listed = column_names.listed_names(options.columns)
    if bool(in_file) == bool(listed):
        what, example = LISTED_BESIDE if listed else NO_NAMES
        raise FormatError(f"{path}: {what}: {spell_source(path, 'columns', example)}")
    rest = start.decode("utf-8", errors="replace").splitlines()[header:]
    first = next((line for line in rest if line.strip() and line.lstrip()[0] != "#"), "")
    names, tidy = _spread_lists(in_file or listed, first, separator)
    named = column_names.parse_columns(options.columns) if options.columns else {}
    meanings = column_names.column_meanings(str(path), names, named)
    layout: Any = {"separator": separator, "names": names, "meanings": meanings}
    cells, numbers, notes, before = [], [], tuple[str, ...](), 0
    for lines, is_cut in _line_blocks(path):
        is_row = [bool(line.strip()) and line.lstrip()[0] != "#" for line in lines]
        keep = [at for at, used in enumerate(is_row) if used and before + at >= header]
        if is_cut and keep and keep[-1] == len(lines) - 1:
            place = f"{path}:{before + len(lines)}"
            notes = (f"{place}: the last line has no line end; was the file cut there?",)
            if meanings.readings:
                keep = keep[:-1]
                notes = (f"{place}: the file ends in the middle of a row; it was left out",)
        if keep:
            numbers.append(np.array(keep) + before + 1)
            rows = [tidy(lines[at]) for at in keep]
            cells.append(_used_cells(path, rows, numbers[-1], **layout))
        before += len(lines)
    if not cells:
        raise FormatError(f"{path}: there is a row of names but no row of numbers")
    every = pl.concat(cells, how="vertical_relaxed")
    return CsvRows(path, meanings, names, every, np.concatenate(numbers), notes)


def _spread_lists(
    names: list[str], first: str, separator: str
) -> tuple[list[str], Callable[[str], str]]:
    """Names with one for each number of a cell that is a list, "[0.1, 0.0, ...]"; rows follow.

    Where a semicolon separates, a comma is that of a decimal number.
    """
    if separator == ";" and "." not in first:
        return names, lambda row: row.replace(",", ".")
    if not LIST_CELL.search(first):
        return names, lambda row: row
    spread: list[str] = []
    cells = next(reader([first], delimiter=separator, skipinitialspace=True))
    for name, cell in zip(names, cells, strict=False):
        count = len(cell.split(",")) if cell.lstrip()[:1] in ("[", "(") else 1
        spread += [f"{name}_{i}" for i in range(count)] if count > 1 else [name]
    return spread, lambda row: LIST_CELL.sub(lambda found: found[1], row)


def _line_blocks(path: Path) -> Iterator[tuple[list[str], bool]]:
    """Some lines at a time, for they take more room than the file; and whether the last is cut."""
    with open_input(path) as stream:
        mark = BOM
        while block := stream.read(BLOCK_BYTES):
            block = (block + stream.readline()).removeprefix(mark)
            if b"\0" in block:
                raise FormatError(f"{path}: this is binary data, not text")
            lines = block.decode("utf-8", errors="replace").splitlines()
            yield lines, not block.endswith((b"\n", b"\r"))
            mark = b""


def _used_cells(
    path: Path,
    rows: list[str],
    number: Ints,
    *,
    separator: str,
    names: list[str],
    meanings: column_names.ColumnMeanings,
) -> pl.DataFrame:
    """The columns that are used; all, where none is surely of a covariance.

    Numbers where every cell is one, but for stamps and protection levels; as text otherwise.
    """
    if separator == " ":
        separator, rows = ",", [",".join(row.split()) for row in rows]
    if not any('"' in row for row in rows):
        counts = np.array([row.count(separator) + 1 for row in rows])
        row = int(np.argmax(counts != len(names)))
        if counts[row] != len(names):
            has = words.count(int(counts[row]), "column")
            raise FormatError(f"{path}:{number[row]}: {has}; there are {len(names)} names")
    certain = bool(meanings.readings) and all(reading.sure for reading in meanings.readings)
    try:
        frame = pl.read_csv(
            "\n".join(rows).encode(),
            separator=separator,
            has_header=False,
            schema={str(at): pl.String() for at in range(len(names))},
            columns=sorted(meanings.used) if certain else None,
        )
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path}: the rows cannot be read ({reason_of(error)})") from error
    if len(frame) != len(rows):
        raise FormatError(f"{path}: a quoted cell goes over more than one line")
    exact = {meanings.stamp, meanings.nanoseconds, *meanings.levels.values()}
    numbers = [as_numbers(frame[name]) for name in frame.columns if int(name) not in exact]
    return frame.with_columns(each for each in numbers if not each.null_count())


def as_numbers(cells: pl.Series) -> pl.Series:
    """Cells as numbers, null where they are none."""
    if cells.dtype == pl.Float64:
        return cells
    return cells.str.strip_chars().cast(pl.Float64, strict=False)


def write(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
    """Write names, poses and the lower triangles of the covariances, where there are any."""
    belief = track.moments if isinstance(track, ParticleTrack) else track
    oriented = belief.about.oriented
    names = ["stamp", *(column_names.POSE_ROLES if oriented else column_names.POSE_ROLES[:3])]
    if isinstance(belief, GaussianTrack):
        size = 6 if oriented else 3
        names += [f"c{i + 1}{j + 1}" for i in range(size) for j in range(i + 1)]
    with writing(path) as stream:
        stream.write(f"{','.join(names)}\n".encode())
        tables = belief_tables(belief, options, oriented=oriented)
        write_rows(stream, tables, len(belief), separator=",")
    return (path,)


def belief_tables(
    belief: Track, options: WriteOptions, *, oriented: bool
) -> Iterator[pl.DataFrame]:
    """Poses and lower triangles in the convention asked for, or positions alone with theirs."""
    convention, order = CONVENTIONS[options.convention or "right"], options.order or ORDERS[0]
    for part in row_slices(len(belief)):
        pose = belief.position[part], belief.rotation[part]
        columns = [*pose] if oriented else [pose[0]]
        if isinstance(belief, GaussianTrack):
            triangle = belief.triangle[part] if oriented else belief.triangle[part, :6]
            if oriented:
                whole = from_right(unpack_lower(triangle), pose, convention, order)
                triangle = pack_lower(whole)
            columns.append(triangle)
        yield table(belief.stamp[part], np.concatenate(columns, axis=1))
