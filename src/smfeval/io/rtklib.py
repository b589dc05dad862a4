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
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io.convention import POSITION_ONLY, refuse_negative, refuse_row
from smfeval.io.geodetic import LocalPositions, local_from_ecef, local_from_llh, refuse_off_earth
from smfeval.io.options import ReadOptions
from smfeval.io.parsers import DECIMALS
from smfeval.io.source import BOM, open_input
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import Provenance, Track

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
    words: int = 3  # of a row; 7: latitude and longitude are degrees, minutes and seconds


COMMON_COLUMNS = ("q", "ns")
NEU_COLUMNS = (*COMMON_COLUMNS, "sdn", "sde", "sdu")
ECEF_COLUMNS = ("x-ecef", "y-ecef", "z-ecef", *COMMON_COLUMNS, "sdx", "sdy", "sdz")
BASELINE_COLUMNS = ("e-baseline", "n-baseline", "u-baseline", *COMMON_COLUMNS, "sde", "sdn", "sdu")
POSITION_LAYOUTS = {
    layout.columns[0]: layout
    for layout in (
        PositionLayout("llh", ("latitude(deg)", "longitude(deg)", "height", *NEU_COLUMNS)),
        PositionLayout("llh", ("latitude(d'\")", "longitude(d'\")", "height", *NEU_COLUMNS), 7),
        PositionLayout("ecef", ECEF_COLUMNS),
        PositionLayout("baseline", BASELINE_COLUMNS),
    )
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
    comments: list[Line]
    where: Where  # file and line of a row
    stamp: Ints
    position: Floats  # (n, 3): degrees and metres, or metres
    deviation: Floats  # (n, 6): three standard deviations, three signed roots of covariances
    quality: pl.Series  # of words
    notes: tuple[str, ...]


def read_solution(path: Path) -> Solution:
    """Read a solution; raises a FormatError that names the line otherwise."""
    comments, rows = _read_lines(path)
    heading = _find_heading(path, comments)
    if not rows:
        raise FormatError(f"{path}: there is a header but no row of numbers")
    line = [number for number, _ in rows]

    def where(row: int) -> str:
        return f"{path}:{line[row]}"

    words = _row_words(pl.Series([text for _, text in rows]), heading, where)
    stamp = _parse_stamps(words[:, 0], words[:, 1], where)
    values = _parse_numbers(words[:, 2:], where)
    rest = heading.kind.words
    deviation = values[:, rest + 2 : rest + 8]
    refuse_negative(deviation[:, :3], where)
    notes = [  # a row that was commented out is worth a word; other comments are not
        f"{path}:{number}: a row is commented out; it was left out"
        for number, text in comments
        if len(row := _split_words(text.lstrip("%"))) == heading.width and row[-1][-1:].isdigit()
    ]
    return Solution(
        str(path),
        heading,
        comments,
        where,
        stamp,
        _parse_positions(values, words, heading.kind, where),
        deviation,
        words[:, 2 + rest],
        tuple(notes),
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
    found: dict[Heading, int] = {}
    for number, text in reversed(comments):
        scale, *names = _split_words(text.lstrip("%")) or [""]
        plain = tuple(re.sub(r"\(m\)$", "", name.lower()) for name in names)
        kind = POSITION_LAYOUTS.get(plain[0]) if plain else None
        if kind is None:
            continue
        crosses = plain[8:11]
        if plain[:8] != kind.columns or len(crosses) < 3 or not all(c[:2] == "sd" for c in crosses):
            wanted = f"{' '.join(kind.columns)} sd.. sd.. sd.."
            raise FormatError(f"{path}:{number}: the columns are not those of RTKLIB ({wanted})")
        found[Heading(kind, scale, tuple(names))] = number
    if not found:
        raise FormatError(
            f"{path}: no line names the columns; "
            "a heading such as `%  GPST latitude(deg) longitude(deg) height(m) Q ns ...` is needed"
        )
    if len(found) > 1:
        later, earlier = list(found.values())[:2]
        raise FormatError(f"{path}:{later}: other columns than at line {earlier}")
    return next(iter(found))


def _row_words(text: pl.Series, heading: Heading, where: Where) -> pl.DataFrame:
    """The words of each row, which must be as many as the heading has. (n, width)."""
    squeezed = text.str.replace_all(r"[\s,]+", " ").str.strip_chars(" ")
    counts = squeezed.str.count_matches(" ", literal=True) + 1
    needed = f"the heading has {heading.width} (with two for the time)"
    refuse_row(counts != heading.width, where, lambda row: f"{counts[row]} columns; {needed}")
    return squeezed.str.split_exact(" ", heading.width - 1).struct.unnest()


def _parse_stamps(first: pl.Series, second: pl.Series, where: Where) -> Ints:
    """Nanoseconds since 1970 on the file's own time scale, exactly as written."""
    text = first + " " + second
    if "/" in first[0]:
        proper = text.set(~text.str.contains(CALENDAR_PATTERN), None)
        time = proper.str.strptime(pl.Datetime("ns"), "%Y/%m/%d %H:%M:%S%.f", strict=False)
        stamp = time.dt.epoch("ns")
    else:
        week = first.cast(pl.Int64, strict=False)
        week = week.set(~week.is_between(0, LAST_WEEK), None)
        exact = second.cast(pl.Decimal(38, DECIMALS), strict=False).to_physical()
        exact = exact.set(~exact.is_between(0, WEEK_S * NANOSECONDS, closed="left"), None)
        stamp = (GPS_EPOCH_S + week * WEEK_S) * NANOSECONDS + exact.cast(pl.Int64)
    needed = "year/month/day hour:minute:second or GPS week and seconds are needed"
    refuse_row(stamp.is_null(), where, lambda row: f"{text[row][:40]!r} is no time; {needed}")
    return stamp.to_numpy()


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
    """The three numbers of each position; the sign of an angle is that of its text: -0 is one."""
    position = values[:, :3]
    if kind.words > 3:
        south, west = (words[:, at].str.starts_with("-").to_numpy() for at in (2, 5))
        parts = ((values[:, :3], south), (values[:, 3:6], west))
        angles = [
            np.where(negative, -1.0, 1.0) * (np.abs(angle) @ [1, 1 / 60, 1 / 3600])
            for angle, negative in parts
        ]
        position = np.stack([*angles, values[:, 6]], axis=-1)
    if kind.axes == "llh":
        refuse_off_earth(position, where)
    return position


QUALITY_NAMES = {
    "1": "fix", "2": "float", "3": "sbas", "4": "dgps", "5": "single", "6": "ppp", "7": "dr",
}  # fmt: skip

# Where entry (i, j) of a covariance stands among the six columns, for axes east, north, up from
# columns n e u ne eu un; and for axes 1, 2, 3 from columns 1 2 3 12 23 31.
FROM_NEU = np.array([[1, 3, 4], [3, 0, 5], [4, 5, 2]])
FROM_CYCLE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])


def read(path: Path, options: ReadOptions) -> Track:
    """Read a solution as a position-only belief, or as plain positions if it has no covariance."""
    table = read_solution(path)
    belief = table.deviation.any()
    convention = POSITION_ONLY if belief else None
    provenance = Provenance(
        table.name, "RTKLIB", convention, notes=table.notes, remarks=_remarks(table)
    )
    axes = table.heading.kind.axes
    if axes == "baseline" and options.origin is not None:
        raise OptionError(
            f"{table.name}: baselines start at the base station; option origin cannot move them"
        )
    index = FROM_NEU if axes == "llh" else FROM_CYCLE
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
        covariance = (np.sign(table.deviation) * table.deviation**2)[:, index]  # the file's axes
        if axes == "baseline":
            known = next((text for _, text in table.comments if "ref pos" in text), "")
            place = f" at {known.partition(':')[2].strip()}" if known else ""
            note = f"east-north-up axes about the base station{place}"
            local = LocalPositions(table.position, covariance, note)
        else:
            convert = local_from_llh if axes == "llh" else local_from_ecef
            local = convert(table.position, covariance, options)
        track = local.track(table.stamp, provenance, options.intake(table.where))
    if belief:
        return track
    return track.with_notes(
        "every standard deviation is zero: no belief, positions alone were read"
    )


def _remarks(table: Solution) -> tuple[str, ...]:
    """Time scale, datum, quality and unused columns in words."""
    scale = f"stamps count {table.heading.scale} from 1970; no leap seconds were applied"
    comments = " ".join(text for _, text in table.comments)
    found = re.search(r"lat/lon/height=(\w+/\w+)", comments)
    datum: tuple[str, ...] = ()
    if found is not None and found[1] != "WGS84/ellipsoidal":
        datum = (f"positions are {found[1]}; they were read as WGS84/ellipsoidal",)
    counts = table.quality.value_counts(sort=True).rows()
    kinds = (
        f"{count} {QUALITY_NAMES.get(flag, f'of unknown quality {flag}')}" for flag, count in counts
    )
    unused = " ".join(("ns", *table.heading.names[11:]))
    return scale, *datum, f"quality: {', '.join(kinds)}", f"columns not used: {unused}"
