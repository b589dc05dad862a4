"""What the names of a table's columns mean: `field.pose.pose.position.x` is x.

Names are compared in lower case, without units and with everything but letters and digits as `_`.
A name that means nothing known is no column of a pose. Two names with one meaning are refused:
guessing between them could be wrong in silence.
"""

import re
from dataclasses import dataclass

from smfeval import words
from smfeval.errors import FormatError, OptionError
from smfeval.schema import suggest_word

AXES = "xyz"
PREFIXES = ("field_", "msg_", "odom_", "pose_", "transform_", "estimate_", "est_")
STAMP_NAMES = {"", "t", "time", "stamp", "timestamp", "header_stamp"}  # "": `sec`, `nanosec`
POSITION_NAMES = (
    *("{}", "p{}", "t{}", "p_{}", "t_{}", "pos_{}", "pos{}", "position_{}", "translation_{}"),
    *("p_rs_r_{}", "location_{}"),
)
ROTATION_NAMES = (
    *("q{}", "q_{}", "q_rs_{}", "quat_{}", "quaternion_{}", "orientation_{}", "rotation_{}"),
)
POSE_NAMES = {
    **{name.format(axis): axis for name in POSITION_NAMES for axis in AXES},
    **{name.format(axis): f"q{axis}" for name in ROTATION_NAMES for axis in (*AXES, "w")},
}
STAMP_UNITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}  # power of ten to nanoseconds
UNIT_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanoseconds"), "ns"),
}
METRE_UNITS = {"m", "m^2", "m2", "rad", "rad^2", "rad2", "-", "1", ""}
POSE_ROLES = ("x", "y", "z", "qx", "qy", "qz", "qw")
COVARIANCE_AXES = {
    **{name.format(axis): i for i, axis in enumerate(AXES) for name in ("{}", "p{}", "pos_{}")},
    **{name.format(axis): 3 + i for i, axis in enumerate(AXES) for name in ("r{}", "rot_{}")},
    **{axis: 3 + i for i, axis in enumerate(("roll", "pitch", "yaw"))},
}
_AXIS = "|".join(sorted(COVARIANCE_AXES, key=len, reverse=True))
SIGMA = re.compile(rf"(?:sigma|std|stddev|std_dev|sd|s)_?({_AXIS})")
VARIANCE = re.compile(rf"(?:var|variance)_?({_AXIS})")
NAMED_PAIR = re.compile(rf"(?:cov|covariance|c)_?({_AXIS})_?({_AXIS})")
NUMBERED = re.compile(r"(?:cov|covariance|c|p)_?(\d+)(?:_(\d))?")
OPENVINS = re.compile(r"p([rt])([1-3])([1-3])")
COLUMN_ROLES = (
    *("stamp", *(f"stamp_{unit}" for unit in STAMP_UNITS), *POSE_ROLES),
    *(f"sigma_{axis}" for axis in (*AXES, "rx", "ry", "rz")),
    *(f"c{i}{j}" for i in range(1, 7) for j in range(1, 7)),
)
Entry = tuple[int, int]


@dataclass(frozen=True)
class ColumnMeanings:
    """Which column holds what, by its number.

    `entries` are those of the covariance, translation first; `deviations` says whether they are
    standard deviations; `convention` what the names imply. `nanoseconds` is the column of what is
    beyond whole seconds, where a stamp stands in two.
    """

    stamp: int
    stamp_unit: str | None
    pose: dict[str, int]
    entries: dict[Entry, int]
    deviations: bool = False
    convention: str | None = None
    nanoseconds: int | None = None

    @property
    def oriented(self) -> bool:
        """Whether there is a quaternion."""
        return "qw" in self.pose


def parse_columns(text: str) -> dict[str, str]:
    """`stamp=t,x=px` as a mapping from what a column holds to its name."""
    said: dict[str, str] = {}
    for part in text.split(","):
        role, sign, name = (word.strip() for word in part.partition("="))
        if not (role and sign and name):
            raise OptionError(f"columns {text!r}: write them as stamp=t,x=px,y=py")
        if role not in COLUMN_ROLES:
            near = suggest_word(role, (*COLUMN_ROLES[: -6 * 6], "c11 to c66"))
            raise OptionError(f"columns: {role!r} is nothing that a column holds; {near}")
        if role in said:
            raise OptionError(f"columns: {role} is named twice")
        said[role] = name
    return said


def column_meanings(place: str, names: list[str], said: dict[str, str]) -> ColumnMeanings:
    """What the columns hold; raises where that is ambiguous or not enough for poses."""
    roles = roles_of(names)
    overruled = {"stamp" if role.startswith("stamp_") else role for role in said}
    found = [(role, column) for column, role in enumerate(roles) if role not in overruled]
    found += [(role, _column_named(place, names, name)) for role, name in said.items()]
    found, nanoseconds = _without_nanoseconds(names, found)
    pose = _pose_columns(place, names, found)
    rotation = POSE_ROLES[3:] if any(role in pose for role in POSE_ROLES[3:]) else ()
    missing = [role for role in ("stamp", *AXES, *rotation) if role not in pose]
    if missing:
        example = ",".join(f"{role}=NAME" for role in missing)
        raise FormatError(
            f"{place}: no column is known to be {words.join(missing)}; say it: --columns {example}"
        )
    stamp = pose.pop("stamp")
    by_user = next((role[6:] for role in said if role.startswith("stamp_")), None)
    entries, deviations = _covariance(place, names, found)
    for column in (*pose.values(), *entries.values()):
        if _unit(names[column]) not in METRE_UNITS:
            raise FormatError(
                f"{place}: column {names[column]!r} is not in metres or radians, which are read"
            )
    return ColumnMeanings(
        stamp,
        by_user or _stamp_unit(names[stamp]),
        pose,
        entries,
        deviations,
        _implied_convention(names, entries, deviations=deviations),
        nanoseconds,
    )


def _pose_columns(place: str, names: list[str], found: "list[tuple[Role, int]]") -> dict[str, int]:
    """The columns of stamp and pose; two of one meaning are refused."""
    pose: dict[str, int] = {}
    for role, column in found:
        key = "stamp" if isinstance(role, str) and role.startswith("stamp") else role
        if not isinstance(key, str) or key not in ("stamp", *POSE_ROLES):
            continue
        if key in pose:
            raise FormatError(
                f"{place}: {names[pose[key]]!r} and {names[column]!r} could both be {key}; "
                f"say which: --columns {key}={names[column]}"
            )
        pose[key] = column
    return pose


def _without_nanoseconds(
    names: list[str], found: "list[tuple[Role, int]]"
) -> "tuple[list[tuple[Role, int]], int | None]":
    """Take out the column beyond whole seconds: `stamp.sec` and `stamp.nanosec` are one stamp."""
    stamps = [column for role, column in found if role == "stamp"]
    bases = {_normalise(names[column]).rpartition("_")[0] for column in stamps}
    units = {_stamp_unit(names[column]): column for column in stamps}
    if len(stamps) != 2 or len(bases) != 1 or set(units) != {"s", "ns"}:
        return found, None
    return [each for each in found if each[1] != units["ns"]], units["ns"]


def names_a_pose(names: list[str]) -> bool:
    """Whether the names of columns have a stamp and a position among them."""
    return {"stamp", *AXES} <= {role for role in roles_of(names) if isinstance(role, str)}


def _normalise(name: str) -> str:
    """The name in lower case, `_` between its words, without unit and the usual prefixes."""
    bare = re.sub(r"[\[(].*?[\])]$", "", name.strip().strip("\"'#% "))
    index = re.sub(r"\[(\d+)\]", r"_\1", name) if re.search(r"\[\d+\]", name) else bare
    key = re.sub(r"[^a-z0-9]+", "_", index.lower()).strip("_")
    while True:
        prefix = next((each for each in PREFIXES if key.startswith(each)), None)
        if prefix is None or key == prefix:
            return key
        key = key.removeprefix(prefix)


def _unit(name: str) -> str:
    """The unit that a name has in brackets."""
    found = re.search(r"[\[(]([^\d\])][^\])]*)[\])]\s*[\"']?$", name)
    return found[1].strip().lower() if found else ""


def _stamp_unit(name: str) -> str | None:
    """The unit of a stamp by its name: `time_ns`, `timestamp [ns]`."""
    return UNIT_WORDS.get(_unit(name)) or UNIT_WORDS.get(_normalise(name).rpartition("_")[2])


Role = str | tuple[str, int, int] | None


def roles_of(names: list[str]) -> list[Role]:
    """What each column holds by its name; None: nothing known."""
    keys = [_normalise(name) for name in names]
    single = {match[1] for key in keys if (match := NUMBERED.fullmatch(key)) and not match[2]}
    counted = single == {str(i) for i in range(36)}
    roles: list[Role] = []
    for key in keys:
        base, _, unit = key.rpartition("_")
        if (key and key in STAMP_NAMES) or (base in STAMP_NAMES and unit in UNIT_WORDS):
            roles.append("stamp")
        else:
            roles.append(POSE_NAMES.get(key) or _covariance_role(key, counted=counted))
    return roles


def _covariance_role(key: str, *, counted: bool) -> Role:
    """Entry of a covariance, or a standard deviation, by a name.

    Numbers 0 to 35 count row by row; otherwise two digits are row and column, from 1.
    """
    if match := OPENVINS.fullmatch(key):
        start = 3 if match[1] == "r" else 0
        return ("entry", start + int(match[2]) - 1, start + int(match[3]) - 1)
    if match := NUMBERED.fullmatch(key):
        digits = match[1] + (match[2] or "")
        if counted:
            return ("entry", int(digits) // 6, int(digits) % 6)
        paired = re.fullmatch("[1-6]{2}", digits)
        return ("entry", int(digits[0]) - 1, int(digits[1]) - 1) if paired else None
    for pattern, kind in ((SIGMA, "sigma"), (VARIANCE, "entry"), (NAMED_PAIR, "entry")):
        if match := pattern.fullmatch(key):
            first, last = match[1], match[match.lastindex or 1]
            return (kind, COVARIANCE_AXES[first], COVARIANCE_AXES[last])
    return None


def _column_named(place: str, names: list[str], name: str) -> int:
    """The column of a name that the user gave; case does not matter if it is the only one."""
    if names.count(name) == 1:
        return names.index(name)
    lower = [each.lower() for each in names]
    if lower.count(name.lower()) == 1:
        return lower.index(name.lower())
    if name.lower() in lower:
        raise FormatError(f"{place}: there is more than one column {name!r}")
    raise FormatError(f"{place}: there is no column {name!r}; {suggest_word(name, names)}")


def _covariance(
    place: str, names: list[str], found: list[tuple[Role, int]]
) -> tuple[dict[Entry, int], bool]:
    """Entries of the covariance by their columns, and whether they are standard deviations."""
    entries: dict[str, dict[Entry, int]] = {"entry": {}, "sigma": {}}
    for said, column in found:
        role = _covariance_role(said, counted=False) if isinstance(said, str) else said
        if not isinstance(role, tuple):
            continue
        kind, i, j = role
        if (i, j) in entries[kind]:
            twice = f"{names[entries[kind][i, j]]!r} and {names[column]!r}"
            raise FormatError(f"{place}: {twice} could both be entry {i + 1}{j + 1}")
        entries[kind][i, j] = column
    if all(entries.values()):
        raise FormatError(f"{place}: there are columns of a covariance and of deviations; drop one")
    known = entries["entry"] or entries["sigma"]

    size = 3 if all(max(entry) < 3 for entry in known) else 6
    both = set(known) | {(j, i) for i, j in known}
    diagonal = {(i, i) for i in range(size)}
    blocks = {(i, j) for i in range(6) for j in range(6) if i // 3 == j // 3}
    whole = {(i, j) for i in range(size) for j in range(size)}
    if known and both not in (diagonal, whole, blocks):
        missing = sorted((j + 1, i + 1) for i, j in whole - both if i <= j)[:4]
        lacking = ", ".join(f"{i}{j}" for i, j in missing)
        raise FormatError(
            f"{place}: the covariance lacks entries ({lacking} ...); all of a triangle are needed, "
            "or the diagonal alone"
        )
    return known, bool(entries["sigma"])


def _implied_convention(
    names: list[str], entries: dict[Entry, int], *, deviations: bool
) -> str | None:
    """What names say of the axes: those of ROS and deviations beside x, y, z are the world's."""
    if not entries:
        return None
    keys = [re.sub(r"[^a-z0-9]+", "_", names[column].lower()) for column in entries.values()]
    if any(OPENVINS.fullmatch(key) for key in keys):
        return "world-position"
    by_ros = all("pose_covariance" in key for key in keys)
    numbered = any(NUMBERED.fullmatch(_normalise(key)) for key in keys)
    return "ros" if deviations or by_ros or not numbered else None
