"""How numbers, units, lists and file names are written: one rounding for sentences and tables.

Measured numbers have three significant digits, lengths and times the unit that reads best, shares
in a sentence two digits. Numbers that somebody chose (limits, levels) are not rounded: `exact`.
What is not finite is called by its name (`nan`, `inf`), and zero has no sign.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

LONG = 999.5  # from here on three digits would need an exponent, so numbers are written out
HUGE = 1e6  # from here on an exponent reads better than the digits
UNIT_ROUNDING = 0.9995  # what rounds to 1 m with three digits is written in m
ONE_OF_A_MILLION = 0.9995e-6
# Control characters, marks that turn the direction of text, and halves of characters
STEERING = "[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
FILE_ENDINGS = r"(?i)(\.(square|tum|txt|csv|pos|parquet|kitti|bag|mcap|db3|gz))+$"


class Unit(NamedTuple):
    """A unit and its size in the base unit."""

    size: float
    name: str


LENGTH_UNITS = (
    Unit(1e3, "km"),
    Unit(1.0, "m"),
    Unit(1e-2, "cm"),
    Unit(1e-3, "mm"),
    Unit(1e-6, "um"),
    Unit(1e-9, "nm"),
)
BYTE_UNITS = (Unit(1e9, "GB"), Unit(1e6, "MB"), Unit(1e3, "kB"), Unit(1.0, "B"))
TIME_UNITS = (Unit(1.0, "s"), Unit(1e-3, "ms"))


def number(value: float, *, signed: bool = False) -> str:
    """Three significant digits, plain where that is short: 0.0121, 82, 12,345, 1.02e+06."""
    sign = "+" if signed else ""
    if LONG <= abs(value) < HUGE:
        return f"{value:{sign},.0f}"
    return f"{value:{sign}z.3g}"


def exact(value: float, *, signed: bool = False) -> str:
    """A number that somebody chose, with up to six digits: 0.005, 12345."""
    return f"{value:{'+' if signed else ''}zg}"


def fixed(value: float, places: int, *, signed: bool = False) -> str:
    """So many decimals, for numbers that are compared with each other: slopes, ranks, nats."""
    return f"{value:{'+' if signed else ''}z.{places}f}"


def byte_size(size: int) -> str:
    """A number of bytes: '4 GB', '64 kB'."""
    unit = next((unit for unit in BYTE_UNITS if size >= unit.size), BYTE_UNITS[-1])
    return f"{size / unit.size:.3g} {unit.name}"


FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str) -> str:
    r"""The text with what cannot be shown, or would steer a terminal, as `\x1b` or `\udcff`."""
    if text.isprintable():  # nearly every text
        return text
    return re.sub(
        STEERING, lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text
    )


def csv_cell(value: object) -> object:
    """A cell of CSV; text that a spreadsheet would take for a formula gets an apostrophe before."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def slope(value: float, low: float | None = None, high: float | None = None) -> str:
    """A slope, per nat or decade, with its interval: '+0.158 [+0.138, +0.179]'."""
    text, *ends = (fixed(each, 3, signed=True) for each in (value, low, high) if each is not None)
    return f"{text} [{', '.join(ends)}]" if len(ends) == 2 else text


def number_range(values: Iterable[float], *, places: int | None = None) -> str:
    """Smallest and largest: '1.2 to 3.4', or the one value where both read alike."""
    every = list(values)
    ends = (min(every), max(every))
    low, high = (number(end) if places is None else fixed(end, places) for end in ends)
    return low if low == high else f"{low} to {high}"


def quantity(
    value: float, unit: str = "1", low: float | None = None, high: float | None = None
) -> str:
    """A value with its unit and, where there is one, its interval: '1.21 cm [0.9, 1.6]'.

    Metres become the unit in which the value reads best; the unit '%' takes the value and its ends
    as parts of one; the unit '1' is not written.
    """
    text, ends = quantity_parts(value, unit, low, high)
    return f"{text} [{', '.join(ends)}]" if ends else text


def quantity_parts(
    value: float, unit: str = "1", low: float | None = None, high: float | None = None
) -> tuple[str, tuple[str, ...]]:
    """The value with its unit, and the two ends of its interval, if any, in the same unit."""
    units = {"m": length_unit(value), "%": Unit(0.01, "%"), "1": Unit(1.0, "")}
    shown = units.get(unit, Unit(1.0, unit))
    text = f"{number(value / shown.size)} {shown.name}".rstrip()
    if low is None or high is None:
        return text, ()
    return text, (number(low / shown.size), number(high / shown.size))


def length_unit(size_m: float) -> Unit:
    """The unit in which a length reads best; metres for 0 and for what is not finite."""
    return _best_unit(size_m, LENGTH_UNITS, zero=LENGTH_UNITS[1])


def length(size_m: float) -> str:
    """A length with its unit: '1.2 cm', '340 m'."""
    return lengths(size_m)


def lengths(*sizes_m: float) -> str:
    """Lengths in the unit of the largest: '3.2, -0.1, 0.4 cm'."""
    return _in_one_unit(sizes_m, length_unit(max(sizes_m, key=abs)))


def length_range(low_m: float, high_m: float) -> str:
    """Two lengths in the unit of the larger one: '0.7-1.1 mm'."""
    return _range(low_m, high_m, length_unit(max(low_m, high_m, key=abs)))


def time_unit(time_s: float) -> Unit:
    """Seconds from 1 s on, else milliseconds."""
    return _best_unit(time_s, TIME_UNITS, zero=TIME_UNITS[-1])


def duration(time_s: float, *, signed: bool = False) -> str:
    """A time with its unit: '120 s', '3.5 ms', and with its sign '+3.5 ms'."""
    return _in_one_unit([time_s], time_unit(time_s), signed=signed)


def waiting_time(time_s: float) -> str:
    """A time to wait, to two units at most: '40 s', '12 min', '3 h 5 min'."""
    if time_s < 60:
        return f"{max(1, round(time_s))} s"
    hours, rest = divmod(round(time_s / 60), 60)
    return " ".join([*([f"{count(hours)} h"] if hours else []), *([f"{rest} min"] if rest else [])])


def duration_range(low_s: float, high_s: float) -> str:
    """Two times in the unit of the larger one: '120-160 s'."""
    return _range(low_s, high_s, time_unit(max(low_s, high_s, key=abs)))


def _best_unit(size: float, units: tuple[Unit, ...], *, zero: Unit) -> Unit:
    """The largest unit of which there is at least one."""
    if not 0 < abs(size) < float("inf"):
        return zero
    return next((unit for unit in units if abs(size) >= UNIT_ROUNDING * unit.size), units[-1])


def _in_one_unit(sizes: Iterable[float], unit: Unit, *, signed: bool = False) -> str:
    return f"{', '.join(number(size / unit.size, signed=signed) for size in sizes)} {unit.name}"


def _range(low: float, high: float, unit: Unit) -> str:
    ends = [number(end / unit.size) for end in (low, high)]
    between = " to " if low < 0 else "-"
    return f"{ends[0] if ends[0] == ends[1] else between.join(ends)} {unit.name}"


def angle(degrees: float) -> str:
    """An angle in degrees: '1.2 deg'."""
    return f"{number(degrees)} deg"


def share(part: float) -> str:
    """A part of one, in a sentence: '0.12 %', '3.4 %', '89 %'.

    Two digits, and near the whole as many as tell it from all: '99.7 %'; 100 % is all. What is
    less than one of a million scans is rounding, and 0 %.
    """
    percent = 0.0 if abs(part) < ONE_OF_A_MILLION else 100 * part
    if 99.5 <= percent < 100:
        every = (f"{percent:.{places}f}" for places in range(1, 7))
        return f"{next((text for text in every if float(text) < 100), '100')} %"
    return f"{percent:z.2g} %" if abs(percent) < 99.5 else f"{number(percent)} %"


def level(part: float) -> str:
    """A level that somebody chose, in percent and not rounded: '90 %', '99.73 %'."""
    return f"{exact(100 * part)} %"


def factor(value: float) -> str:
    """'4.95 times'."""
    return f"{number(value)} times"


GROUPS = {"se3": "SE(3)", "sim3": "Sim(3)"}  # that an alignment is a member of


def aligned(kind: str) -> str:
    """'after SE(3) alignment', 'after yaw alignment', 'without alignment'."""
    return "without alignment" if kind == "none" else f"after {alignment(kind)}"


def alignment(kind: str) -> str:
    """'SE(3) alignment', 'yaw alignment', 'no alignment'."""
    return "no alignment" if kind == "none" else f"{GROUPS.get(kind, kind)} alignment"


def count(number: int, noun: str = "", plural: str | None = None) -> str:
    """'1 scan', '2 scans', '1,000 scans'; without a noun the number alone."""
    return f"{number:,} {noun if number == 1 or not noun else plural or noun + 's'}".rstrip()


def count_of(part: int, whole: int, noun: str) -> str:
    """'30 of 1,000 scans'."""
    return f"{count(part)} of {count(whole, noun)}"


def count_range(low: int, high: int) -> str:
    """'1,000', '10-1,000'."""
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def join(names: Iterable[str], *, most: int | None = None) -> str:
    """'a, b and c'; with more names than `most`: 'a, b and 7 more'."""
    every = list(names)
    if most is not None and len(every) > most:
        every = [", ".join(every[:most]), f"{count(len(every) - most)} more"]
    *others, last = every or [""]
    return f"{', '.join(others)} and {last}" if others else last


def names(paths: Sequence[str]) -> list[str]:
    """Short names of files: without folder and ending where that tells them apart.

    Files whose short names would be the same keep ending and folders, without the folders that all
    of them share: '/data/a/run.txt', '/data/b/run.txt' -> 'a/run.txt', 'b/run.txt'.
    """
    stems = [stem(path) for path in paths]
    alike: dict[str, list[str]] = {}
    for path, short in zip(paths, stems, strict=True):
        alike.setdefault(short, []).append(path)
    shared = {short: _common_folders(group) for short, group in alike.items()}
    return [
        short if len(alike[short]) == 1 else path[shared[short] :]
        for path, short in zip(paths, stems, strict=True)
    ]


def without_common_folders(paths: Sequence[str]) -> list[str]:
    """File names with the folders that tell them apart: 'a/x/1', 'a/2' -> 'x/1', '2'."""
    shared = _common_folders(list(paths))
    return [path[shared:] for path in paths]


def stem(path: str) -> str:
    """'runs/fast_lio2.txt.gz' -> 'fast_lio2'."""
    last = path.rstrip("/").rpartition("/")[2]
    return re.sub(FILE_ENDINGS, "", last) or last or path


def _common_folders(paths: list[str]) -> int:
    """Letters of the folders that all paths start with."""
    folders = [path.split("/")[:-1] for path in paths]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += len(parts[0]) + 1
    return shared


def printable(text: str) -> str:
    """The text on one line; what a terminal would obey rather than show is spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def columns(rows: Sequence[tuple[str, str]], *, indent: int = 2) -> str:
    """Label and text in two columns; a label that repeats is shown once."""
    width = max(len(label) for label, _ in rows)
    lines, last = [], None
    for label, text in rows:
        lines.append(f"{'':{indent}}{'' if label == last else label:{width}}  {visible(text)}")
        last = label
    return "\n".join(lines)


def table(rows: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Lines of cells under each other; `right`: all but the first column end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            f"{cell:{'>' if right and at else '<'}{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
