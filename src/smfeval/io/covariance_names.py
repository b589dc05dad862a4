"""Which entry of a covariance a column holds, by its name.

A kind (`std`, `var`, `cov`, `P` ...) stands before or behind axes (`std_x`, `x_std`, `P_xy`) or
before numbers. These are row and column, from 0 or 1 (`P00`, `cov_1_1`, `covariance[0;0]`), or
count the entries of a matrix, a triangle or a diagonal (`cov_0` ...). A triangle may be the lower
or the upper one: such columns have several readings, and their values decide (`io.csv`).

Where a table gave poses alone, columns that were not read may be a covariance, by their names or by
their values: columns with the names of velocities, biases, angles and the like are something else;
of all others, three or more numbers may hold an uncertainty.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, product
from operator import eq, ge, le
from typing import TYPE_CHECKING

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.io.source import spell_source

if TYPE_CHECKING:
    from smfeval.maths.arrays import Floats
    from smfeval.track import UnreadColumns

POSITION_AXES = ("{}", "p{}", "p_{}", "t{}", "t_{}", "pos{}", "pos_{}", "position_{}")
ROTATION_AXES = ("r{}", "r_{}", "rot{}", "rot_{}", "theta{}", "theta_{}", "rotvec_{}")
AXIS_ROWS = {
    **{name.format(axis): i for i, axis in enumerate("xyz") for name in POSITION_AXES},
    **{name.format(axis): 3 + i for i, axis in enumerate("xyz") for name in ROTATION_AXES},
    **{axis: 3 + i for i, axis in enumerate(("roll", "pitch", "yaw"))},
}
ENU_ROWS = {"e": 0, "east": 0, "n": 1, "north": 1, "u": 2, "up": 2}
KINDS = {
    **dict.fromkeys(("sigma", "sig", "std", "stddev", "std_dev", "stdev", "sd", "s"), "sigma"),
    **dict.fromkeys(("var", "variance"), "variance"),
    **dict.fromkeys(("cov", "covariance", "c", "p"), "covariance"),
}
TWO_BLOCKS = {  # of OpenVINS (Pr11, Pt11), and the rotations of cnspy (qrp, beside pxy)
    **{f"pr{i + 1}{j + 1}": (3 + i, 3 + j) for i in range(3) for j in range(3)},
    **{f"pt{i + 1}{j + 1}": (i, j) for i in range(3) for j in range(3)},
    **{f"q{a}{b}": (3 + i, 3 + j) for i, a in enumerate("rpy") for j, b in enumerate("rpy")},
}


def _one_of(known: Iterable[str]) -> str:
    return "|".join(sorted(known, key=len, reverse=True))


_KIND, _AXIS = _one_of(kind for kind in KINDS if len(kind) > 1), _one_of(AXIS_ROWS | ENU_ROWS)
BY_AXES = (  # compiled when a column is met
    rf"(?P<kind>{_KIND})_?(?P<i>{_AXIS})(?:_?(?P<j>{_AXIS}))?",  # std_x, cov_x_y
    rf"(?P<i>{_AXIS})(?:_?(?P<j>{_AXIS}))?_?(?P<kind>{_KIND})",  # x_std, xy_cov
    rf"(?P<kind>s)_?(?P<i>{_AXIS})(?P<j>)",  # sx
    rf"(?P<kind>c|p)_?(?P<i>{_AXIS})_?(?P<j>{_AXIS})",  # P_xy, pxy
)
BY_NUMBER = rf"(?:position_)?(?P<kind>{_KIND}|[cp])_?(\d+)(?:_(\d+))?"
GROUP_FIRST = rf"(pos|position|rot|theta)_({_KIND})_?([xyz])"  # pos_std_x
UNIT_SUFFIX = r"(.+)_(deg|degrees|rad|radians|m|metres|meters)_?2?"

Entry = tuple[int, int]
KEPT = {"covariance": None, "lower": ge, "upper": le, "variance": eq, "sigma": eq}  # of i and j
LAYOUTS = {  # role in `columns`, and size: entries in the order of the columns
    (role, size): [entry for entry in product(range(size), range(size)) if not kept or kept(*entry)]
    for role, kept in KEPT.items()
    for size in (3, 6)
}
ENTRY_ROLES = ("covariance", "lower", "upper", "variance")
BLOCKS = {(i, j) for i in range(6) for j in range(6) if i // 3 == j // 3}


@dataclass(frozen=True)
class NamedEntry:
    """One number of a covariance by its name: an entry, or a number in a family of names."""

    kind: str
    family: str = ""
    entry: Entry | None = None
    number: tuple[str, ...] = ()
    enu: bool = False  # of east, north and up, which are x, y and z where positions are


@dataclass(frozen=True)
class Reading:
    """One way to read columns as a covariance, translation first: the column of each entry."""

    role: str  # of `columns`, that asks for it
    entries: dict[Entry, int]
    sure: bool = True  # its names mean nothing else, as `c1` and `p1` may

    @property
    def size(self) -> int:
        """3: of the position alone; 6: of the pose."""
        return 3 if all(max(entry) < 3 for entry in self.entries) else 6

    def in_plane(self) -> "Reading":
        """The same with yaw in the third row, where it has no more than three."""
        if self.size > 3:
            return self
        entries = {
            (5 if i == 2 else i, 5 if j == 2 else j): column
            for (i, j), column in self.entries.items()
        }
        return replace(self, entries=entries)

    def matrices(self, values: "Floats") -> "Floats":
        """Symmetric matrices of the columns, in their order. (n, columns) -> (n, d, d)."""
        import numpy as np  # noqa: PLC0415  names are known without it, for --help

        matrix = np.zeros((len(values), self.size, self.size))
        for (i, j), value in zip(self.entries, values.T, strict=True):
            matrix[:, i, j] = value
            if (j, i) not in self.entries:
                matrix[:, j, i] = value
        return matrix

    def text(self, names: list[str]) -> str:
        """What the option columns would say."""
        columns, entries = list(self.entries.values()), list(self.entries)
        roles = [role for (role, _), layout in LAYOUTS.items() if layout == entries]
        if roles and columns == list(range(columns[0], columns[-1] + 1)):
            role = self.role if self.role in roles else roles[0]
            return f"{role}={names[columns[0]]}..{names[columns[-1]]}"
        return ",".join(f"c{i + 1}{j + 1}={names[at]}" for (i, j), at in self.entries.items())


def part_named(key: str) -> NamedEntry | None:
    """The number of a covariance that a normalised name means."""
    suffix = re.fullmatch(UNIT_SUFFIX, key)
    key = suffix[1] if suffix else key
    if key in TWO_BLOCKS:
        return NamedEntry("covariance", entry=TWO_BLOCKS[key])
    if match := re.fullmatch(BY_NUMBER, key):
        number = tuple(digits for digits in match.groups()[1:] if digits)
        return NamedEntry(KINDS[match["kind"]], match["kind"], number=number)
    key = re.sub(GROUP_FIRST, r"\2_\1_\3", key)
    for match in filter(None, (re.fullmatch(pattern, key) for pattern in BY_AXES)):
        kind, i, j = KINDS[match["kind"]], match["i"], match["j"]
        if kind == "sigma" and j:
            return None  # sigma_xx may be a variance, sigma_xy a signed root
        rows = AXIS_ROWS | ENU_ROWS
        return NamedEntry(kind, entry=(rows[i], rows[j or i]), enu=i in ENU_ROWS)
    return None


def layout_readings(columns: list[int], roles: Iterable[str]) -> tuple[Reading, ...]:
    """The ways in which so many columns, in their order, are a covariance."""
    return tuple(
        Reading(role, dict(zip(entries, columns, strict=True)))
        for (role, _), entries in LAYOUTS.items()
        if role in roles and len(entries) == len(columns)
    )


def readings_of(place: str, names: list[str], parts: dict[int, NamedEntry]) -> tuple[Reading, ...]:
    """The ways to read the columns that have parts of one covariance; several are refused."""
    families: dict[tuple[str, str], dict[int, NamedEntry]] = {}
    for column, part in parts.items():
        role = "sigma" if part.kind == "sigma" else "covariance"
        families.setdefault((role, part.family), {})[column] = part
    every = [
        _numbered(place, names, members) if family else (_by_entry(place, names, members, role),)
        for (role, family), members in families.items()
    ]
    found = [readings for readings in every if readings]
    if len(found) > 1:
        each = spell_source(place, "columns", *(readings[0].text(names) for readings in found))
        raise FormatError(f"{place}: there are two covariances; say which: {each}")
    return found[0] if found else ()


def _by_entry(place: str, names: list[str], members: dict[int, NamedEntry], role: str) -> Reading:
    """Columns that name their entries."""
    entries: dict[Entry, int] = {}
    for column, part in members.items():
        assert part.entry is not None
        if part.entry in entries:
            twice = f"{names[entries[part.entry]]!r} and {names[column]!r}"
            i, j = part.entry
            raise FormatError(f"{place}: {twice} could both be entry {i + 1}{j + 1}")
        entries[part.entry] = column
    return Reading(role, entries)


def _numbered(place: str, names: list[str], members: dict[int, NamedEntry]) -> tuple[Reading, ...]:
    """Columns with numbers: those that count from 0 or 1 without a gap, or rows and columns."""
    kind, family = next((part.kind, part.family) for part in members.values())
    counted = {int(part.number[0]): at for at, part in members.items() if len(part.number) == 1}
    if sorted(counted) in (list(range(len(members))), list(range(1, len(members) + 1))):
        roles = ENTRY_ROLES[: 4 if len(members) > 3 else 0] if kind == "covariance" else (kind,)
        found = layout_readings([counted[number] for number in sorted(counted)], roles)
        return tuple(replace(each, sure=len(family) > 1) for each in found)
    digits = {column: "".join(part.number) for column, part in members.items()}
    first = min("".join(digits.values()))
    inside = all(len(two) == 2 and max(two) < str(int(first) + 6) for two in digits.values())
    begins = 2 * first in digits.values()  # p10, p25 and p50 are percentiles
    if kind == "sigma" or first not in "01" or not (inside and begins):
        return ()
    paired = {
        column: NamedEntry(kind, entry=(int(two[0]) - int(first), int(two[1]) - int(first)))
        for column, two in digits.items()
    }
    return (_by_entry(place, names, paired, "covariance"),)


def complete(place: str, reading: Reading) -> tuple[Reading, tuple[int, ...]]:
    """The reading with all of its entries, and columns that it cannot use.

    A diagonal whose rotation is not whole is of the position alone; other holes are refused.
    """
    both = set(reading.entries) | {(j, i) for i, j in reading.entries}
    rows = {i for entry in both for i in entry}
    diagonal = {(i, i) for i in range(reading.size)}
    whole = {(i, j) for i in range(reading.size) for j in range(reading.size)}
    planar = [{(i, j) for i in rows for j in rows}, {(i, i) for i in rows}]
    if both in (diagonal, whole, BLOCKS) or (rows in ({0, 1}, {0, 1, 5}) and both in planar):
        return reading, ()
    position = {entry: at for entry, at in reading.entries.items() if max(entry) < 3}
    if both <= diagonal and len(position) == 3:
        left = tuple(at for entry, at in reading.entries.items() if entry not in position)
        return replace(reading, entries=position), left
    missing = sorted((j + 1, i + 1) for i, j in whole - both if i <= j)[:4]
    lacking = ", ".join(f"{i}{j}" for i, j in missing)
    raise FormatError(
        f"{place}: the covariance lacks entries ({lacking} ...); all of a triangle are needed, "
        "or the diagonal alone"
    )


COUNTS = {
    role: words.join(sorted({str(len(at)) for (each, _), at in LAYOUTS.items() if each == role}))
    for role, _ in LAYOUTS
}


UNCERTAIN = re.compile(
    r"(cov|covs|covariance|var|variance|std|stddev|stdev|dev|deviation|sd|sig|sigma|unc|uncertainty"
    r"|p(?=[xyz]{2}\b))([a-z]{0,2}|\d*)"
)
NO_POSE = re.compile(  # what has an uncertainty of its own
    r"v|v[xyz]|vel|velocity|speed|twist|linear|angular|omega|w[xyz]|a[xyz]|acc|accel|acceleration"
    r"|b|b[agw]?[xyz]?|bias|gyro|mag|gravity|g[xyz]?|imu|rs|temp|temperature"
)
PLAIN = re.compile(  # numbers that are no uncertainty unless a word for it stands beside
    r"roll|pitch|yaw|heading|euler|lat|lon|latitude|longitude|alt|altitude|height|seq|id|index|idx"
    r"|row|count|num|frame|status|mode|valid|sec|secs|nsec|nsecs|nanosec|stamp|time|timestamp|dt"
    r"|unnamed|theta"
)
FEWEST = 3  # columns of numbers that may hold an uncertainty


def unread_columns(names: list[str], numbers: Mapping[int, "Floats"]) -> "UnreadColumns | None":
    """Columns of `numbers`, which were not read, that may be a covariance; None: there are none."""
    from smfeval.track import UnreadColumns  # noqa: PLC0415  not for --help

    unknown = [
        column
        for column, values in numbers.items()
        if values.any() and not _means_other(names[column])
    ]
    named = [column for column in unknown if names_uncertainty(names[column])]
    fitting = list(_fitting(unknown, numbers)) or list(_fitting(named, numbers))
    if fitting:
        found = [column for each in fitting for column in each.entries.values()]
        text = " or ".join(each.text(names) for each in fitting)
        return UnreadColumns(tuple(names[column] for column in dict.fromkeys(found)), text, True)
    if named or len(unknown) >= FEWEST:
        shown = tuple(names[column] for column in named or unknown)
        return UnreadColumns(shown, "covariance=FIRST..LAST", bool(named))
    return None


def names_uncertainty(name: str) -> bool:
    """Whether a name has a word for the uncertainty of a pose in it."""
    found = _words(name)
    return any(map(UNCERTAIN.fullmatch, found)) and not any(map(NO_POSE.fullmatch, found))


def _means_other(name: str) -> bool:
    """Whether a name is known to mean something else than the uncertainty of a pose."""
    found = _words(name)
    plain = any(map(PLAIN.fullmatch, found)) and not names_uncertainty(name)
    return plain or not found or any(map(NO_POSE.fullmatch, found))


def _words(name: str) -> list[str]:
    """The words of a name, in lower case: `velCov[0]` is vel, cov and 0."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", apart.lower()) if word and not word.isdigit()]


def _fitting(columns: list[int], numbers: Mapping[int, "Floats"]) -> Iterator[Reading]:
    """Runs of columns side by side that are positive semi-definite matrices throughout."""
    import numpy as np  # noqa: PLC0415  not for --help

    from smfeval.track.row_checks import valid_share  # noqa: PLC0415

    breaks = [at for at, (a, b) in enumerate(pairwise(columns), start=1) if b > a + 1]
    for start, end in zip([0, *breaks], [*breaks, len(columns)], strict=True):
        for reading in layout_readings(columns[start:end], ("covariance", "lower", "upper")):
            values = np.stack([numbers[column] for column in reading.entries.values()], axis=1)
            if valid_share(reading.matrices(values)) == 1:
                yield reading
