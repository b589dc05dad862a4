"""RTKLIB solutions (.pos): GNSS positions with a 3x3 covariance, read into local east-north-up.

Positions are latitude, longitude and height, or Earth-centred, or baselines from a base station.
The last three of the six uncertainty columns are signed roots: cov = sign(x) x^2 (as RTKLIB's
solution.c writes them), so that with latitude and longitude

    cov(e, n) = sign(sdne) sdne^2, cov(e, u) = sign(sdeu) sdeu^2, cov(n, u) = sign(sdun) sdun^2

in the east-north-up axes *at that point*. Positions and covariances are turned exactly into the
axes at one origin: the first fix, or the one that is given. A receiver has no attitude: rotations
are identity and marked as unknown, so that right perturbation and world axes are the same.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from smfeval.errors import FormatError, OptionError
from smfeval.io.geodetic import (
    ABOUT,
    LocalPositions,
    local_from_ecef,
    local_from_llh,
    refuse_off_earth,
)
from smfeval.io.options import ReadOptions
from smfeval.io.source import BOM, open_input
from smfeval.io.text_layout import DECIMALS
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import GaussianTrack, Provenance, Track

Axes = Literal["llh", "ecef", "baseline"]
Line = tuple[int, str]
Where = Callable[[int], str]

CALENDAR_PATTERN = r"^(19|20|21)\d\d/\d{1,2}/\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?$"
GPS_EPOCH_S = 315_964_800  # 1980-01-06 since 1970, both without leap seconds
WEEK_S = 604_800
LAST_WEEK = 9999


@dataclass(frozen=True)
class PositionLayout:
    """One way to write positions: the first columns of its heading, and what they mean."""

    axes: Axes
    columns: tuple[str, ...]
    degrees_only: bool = True  # False: latitude and longitude as degrees, minutes and seconds

    @property
    def words(self) -> int:
        """Words that a row has for the position."""
        return 3 if self.degrees_only else 7


COMMON_COLUMNS = ("q", "ns")
NEU_COLUMNS = (*COMMON_COLUMNS, "sdn", "sde", "sdu")
POSITION_LAYOUTS = {
    "latitude(deg)": PositionLayout(
        "llh", ("latitude(deg)", "longitude(deg)", "height", *NEU_COLUMNS)
    ),
    "latitude(d'\")": PositionLayout(
        "llh", ("latitude(d'\")", "longitude(d'\")", "height", *NEU_COLUMNS), degrees_only=False
    ),
    "x-ecef": PositionLayout(
        "ecef", ("x-ecef", "y-ecef", "z-ecef", *COMMON_COLUMNS, "sdx", "sdy", "sdz")
    ),
    "e-baseline": PositionLayout(
        "baseline", ("e-baseline", "n-baseline", "u-baseline", *COMMON_COLUMNS, "sde", "sdn", "sdu")
    ),
}


@dataclass(frozen=True)
class Heading:
    """The line that names the columns."""

    kind: PositionLayout
    scale: str  # of time: GPST, UTC or JST
    names: tuple[str, ...]  # of all columns after the time

    @property
    def width(self) -> int:
        """Words in a row: two for the time, and those of the columns."""
        return 2 + self.kind.words + len(self.names) - 3


@dataclass(frozen=True)
class Solution:
    """The rows of a solution as arrays."""

    name: str
    heading: Heading
    comments: tuple[Line, ...]
    line: tuple[int, ...]
    stamp: Ints
    position: Floats  # (n, 3): degrees and metres, or metres
    deviation: Floats  # (n, 6): three standard deviations, three signed roots of covariances
    quality: pl.Series  # of words
    notes: tuple[str, ...]

    def where(self, row: int) -> str:
        """File and line of a row."""
        return f"{self.name}:{self.line[row]}"


def read_solution(path: Path) -> Solution:
    """Read a solution; raises a FormatError that names the line otherwise."""
    comments, rows = _read_lines(path)
    heading = _find_heading(path, comments)
    if not rows:
        raise FormatError(f"{path}: there is a header but no row of numbers")
    line = tuple(number for number, _ in rows)

    def where(row: int) -> str:
        return f"{path}:{line[row]}"

    words = _row_words(pl.Series([text for _, text in rows]), heading, where)
    stamp = _parse_stamps(words[:, 0], words[:, 1], where)
    values = _parse_numbers(words[:, 2:], where)
    rest = heading.kind.words
    return Solution(
        str(path),
        heading,
        tuple(comments),
        line,
        stamp,
        _parse_positions(values, words, heading.kind, where),
        _check_deviations(values[:, rest + 2 : rest + 8], where),
        words[:, 2 + rest],
        _commented_row_notes(path, comments, heading.width),
    )


def _read_lines(path: Path) -> tuple[list[Line], list[Line]]:
    """Comments and rows, each with its number; blank lines are neither."""
    with open_input(path) as stream:
        text = stream.read().removeprefix(BOM)
    if b"\0" in text:
        line = text[: text.index(b"\0")].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: this is binary data, not text")
    if not text.strip():
        raise FormatError(f"{path}: the file is empty")
    lines = enumerate(text.decode("utf-8", errors="replace").split("\n"), start=1)
    filled = [(number, stripped) for number, line in lines if (stripped := line.strip())]
    comments = [(number, line) for number, line in filled if line.startswith("%")]
    return comments, [(number, line) for number, line in filled if not line.startswith("%")]


def _split_words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def _find_heading(path: Path, comments: list[Line]) -> Heading:
    """The one way in which the file writes positions."""
    found = {
        heading: number
        for number, text in reversed(comments)
        if (heading := _parse_heading(f"{path}:{number}", text)) is not None
    }
    if not found:
        raise FormatError(
            f"{path}: no line names the columns; "
            "a heading such as `%  GPST latitude(deg) longitude(deg) height(m) Q ns ...` is needed"
        )
    if len(found) > 1:
        later, earlier = list(found.values())[:2]
        raise FormatError(f"{path}:{later}: other columns than at line {earlier}")
    return next(iter(found))


def _parse_heading(place: str, text: str) -> Heading | None:
    """A heading, or None if the comment is none."""
    scale, *names = _split_words(text.lstrip("%")) or [""]
    plain = tuple(re.sub(r"\(m\)$", "", name.lower()) for name in names)
    kind = POSITION_LAYOUTS.get(plain[0]) if plain else None
    if kind is None:
        return None
    crosses = plain[8:11]
    if plain[:8] != kind.columns or len(crosses) < 3 or not all(c[:2] == "sd" for c in crosses):
        wanted = " ".join(kind.columns)
        raise FormatError(f"{place}: the columns are not those of RTKLIB ({wanted} sd.. sd.. sd..)")
    return Heading(kind, scale, tuple(names))


def _row_words(text: pl.Series, heading: Heading, where: Where) -> pl.DataFrame:
    """The words of each row, which must be as many as the heading has. (n, width)."""
    squeezed = text.str.replace_all(r"[\s,]+", " ").str.strip_chars(" ")
    counts = squeezed.str.count_matches(" ", literal=True) + 1
    wrong = counts != heading.width
    if wrong.any():
        row = wrong.arg_max() or 0
        raise FormatError(
            f"{where(row)}: {counts[row]} columns; the heading has {heading.width} "
            "(with two for the time)"
        )
    return squeezed.str.split_exact(" ", heading.width - 1).struct.unnest()


def _parse_stamps(first: pl.Series, second: pl.Series, where: Where) -> Ints:
    """Nanoseconds since 1970 on the file's own time scale, exactly as written."""
    text = first + " " + second
    stamp = _calendar_stamps(text) if "/" in first[0] else _week_stamps(first, second)
    if stamp.null_count():
        row = stamp.is_null().arg_max() or 0
        raise FormatError(
            f"{where(row)}: {text[row][:40]!r} is no time; "
            "year/month/day hour:minute:second or GPS week and seconds are needed"
        )
    return stamp.to_numpy()


def _calendar_stamps(text: pl.Series) -> pl.Series:
    proper = text.set(~text.str.contains(CALENDAR_PATTERN), None)
    time = proper.str.strptime(pl.Datetime("ns"), "%Y/%m/%d %H:%M:%S%.f", strict=False)
    return time.dt.epoch("ns")


def _week_stamps(week: pl.Series, seconds: pl.Series) -> pl.Series:
    number = week.cast(pl.Int64, strict=False)
    exact = seconds.cast(pl.Decimal(38, DECIMALS), strict=False).to_physical()
    number = number.set(~number.is_between(0, LAST_WEEK), None)
    exact = exact.set(~exact.is_between(0, WEEK_S * NANOSECONDS, closed="left"), None)
    return (GPS_EPOCH_S + number * WEEK_S) * NANOSECONDS + exact.cast(pl.Int64)


def _parse_numbers(words: pl.DataFrame, where: Where) -> Floats:
    """Every column after the time as numbers. (n, columns)."""
    values = words.cast(pl.Float64, strict=False)
    for column, count in enumerate(values.null_count().row(0)):
        if count:
            row = values[:, column].is_null().arg_max() or 0
            word = words[row, column][:40]
            raise FormatError(
                f"{where(row)}: column {column + 3} is {word!r}, which is not a number"
            )
    return values.to_numpy()


def _parse_positions(
    values: Floats, words: pl.DataFrame, kind: PositionLayout, where: Where
) -> Floats:
    """The three numbers of each position."""
    if kind.axes != "llh":
        return values[:, :3]
    position = values[:, :3]
    if not kind.degrees_only:
        south, west = (words[:, at].str.starts_with("-").to_numpy() for at in (2, 5))
        angles = [_degrees(values[:, :3], south), _degrees(values[:, 3:6], west), values[:, 6]]
        position = np.stack(angles, axis=-1)
    refuse_off_earth(position, where)
    return position


def _degrees(parts: Floats, negative: Floats) -> Floats:
    """Degrees of (degrees, minutes, seconds); the sign is that of the text, for -0 is one."""
    return np.where(negative, -1.0, 1.0) * (np.abs(parts) @ [1, 1 / 60, 1 / 3600])


def _check_deviations(columns: Floats, where: Where) -> Floats:
    negative = (columns[:, :3] < 0).any(axis=1)
    if negative.any():
        raise FormatError(f"{where(int(np.argmax(negative)))}: a standard deviation is negative")
    return columns


def _commented_row_notes(path: Path, comments: list[Line], width: int) -> tuple[str, ...]:
    """A row that was commented out is worth a word; other comments are not."""
    rows = (
        number
        for number, text in comments
        if len(words := _split_words(text.lstrip("%"))) == width and words[-1][-1:].isdigit()
    )
    return tuple(f"{path}:{number}: a row is commented out; it was left out" for number in rows)


QUALITY_NAMES = {
    "1": "fix", "2": "float", "3": "sbas", "4": "dgps", "5": "single", "6": "ppp", "7": "dr",
}  # fmt: skip

# Where entry (i, j) of a covariance stands among the six columns, for axes east, north, up from
# columns n e u ne eu un; and for axes 1, 2, 3 from columns 1 2 3 12 23 31.
FROM_NEU = np.array([[1, 3, 4], [3, 0, 5], [4, 5, 2]])
FROM_CYCLE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge of every file of this format."""
    del path, options
    return ABOUT.gauge


def read(path: Path, options: ReadOptions) -> Track:
    """Read a solution as a position-only belief, or as plain positions if it has no covariance."""
    table = read_solution(path)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        local = TO_LOCAL[table.heading.kind.axes](table, options)
        return _track(table, local, options)


def _track(table: Solution, local: LocalPositions, options: ReadOptions) -> Track:
    pose = local.pose
    provenance = Provenance(
        table.name, "RTKLIB", notes=table.notes, remarks=(local.note, *_notes(table))
    )
    intake = options.intake(table.where)
    about = local.about()
    if not table.deviation.any():
        plain = Track(table.stamp, *pose, about=about, provenance=provenance, intake=intake)
        return plain.with_notes(
            "every standard deviation is zero: no belief, positions alone were read"
        )
    return GaussianTrack(
        table.stamp,
        *pose,
        local.belief,
        about=about,
        provenance=replace(provenance, convention="position only, in world axes"),
        intake=intake,
    )


def _local_from_llh(table: Solution, options: ReadOptions) -> LocalPositions:
    return local_from_llh(table.position, _covariance(table, FROM_NEU), options)


def _local_from_ecef(table: Solution, options: ReadOptions) -> LocalPositions:
    return local_from_ecef(table.position, _covariance(table, FROM_CYCLE), options)


def _local_from_baseline(table: Solution, options: ReadOptions) -> LocalPositions:
    if options.origin is not None:
        raise OptionError(
            f"{table.name}: baselines start at the base station; option origin cannot move them"
        )
    known = next((text for _, text in table.comments if "ref pos" in text), "")
    place = f" at {known.partition(':')[2].strip()}" if known else ""
    note = f"east-north-up axes about the base station{place}"
    return LocalPositions(table.position, _covariance(table, FROM_CYCLE), note)


TO_LOCAL = {"llh": _local_from_llh, "ecef": _local_from_ecef, "baseline": _local_from_baseline}


def _covariance(table: Solution, index: Ints) -> Floats:
    """Covariances in the axes of the file, from roots with a sign. (n, 3, 3)."""
    return (np.sign(table.deviation) * table.deviation**2)[:, index]


def _notes(table: Solution) -> tuple[str, ...]:
    """Time scale, datum, quality and unused columns in words."""
    scale = f"stamps count {table.heading.scale} from 1970; no leap seconds were applied"
    unused = " ".join(("ns", *table.heading.names[11:]))
    return (scale, *_datum_notes(table), _quality_note(table), f"columns not used: {unused}")


def _datum_notes(table: Solution) -> tuple[str, ...]:
    """A note if latitude, longitude and height mean something else than on WGS 84's ellipsoid."""
    found = re.search(r"lat/lon/height=(\w+/\w+)", " ".join(text for _, text in table.comments))
    if found is None or found[1] == "WGS84/ellipsoidal":
        return ()
    return (f"positions are {found[1]}; they were read as WGS84/ellipsoidal",)


def _quality_note(table: Solution) -> str:
    counts = table.quality.value_counts(sort=True).rows()
    words = (
        f"{count} {QUALITY_NAMES.get(flag, f'of unknown quality {flag}')}" for flag, count in counts
    )
    return f"quality: {', '.join(words)}"
