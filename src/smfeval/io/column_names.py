"""What the names of a table's columns mean: `field.pose.pose.position.x` is x.

Names are compared in lower case, without units and with everything but letters and digits as `_`.
A name that means nothing known is no column of a pose. Two names with one meaning are refused:
guessing between them could be wrong in silence. Names of uncertainty: `io.covariance_names`.
"""

import re

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io.covariance_names import (
    COUNTS,
    TWO_BLOCKS,
    UNIT_SUFFIX,
    NamedEntry,
    Reading,
    complete,
    layout_readings,
    part_named,
    readings_of,
)
from smfeval.io.source import spell_source
from smfeval.schema import PROTECTED, suggest_word

AXES = "xyz"
PREFIXES = ("field_", "msg_", "odom_", "pose_", "transform_", "estimate_", "est_")
TOPIC = re.compile(r"^/.*?/(?=(?:pose|transform|header)/)")  # of `/a/b/pose/position/x`
HEADER_STAMP = "header_stamp"
STAMP_NAMES = {"", "t", "time", "stamp", "timestamp", HEADER_STAMP}  # "": `sec`, `nanosec`
POSITION_NAMES = (
    *("{}", "p{}", "t{}", "p_{}", "t_{}", "pos_{}", "pos{}", "position_{}", "translation_{}"),
    *("p_rs_r_{}", "location_{}"),
)
ROTATION_NAMES = (
    *("q{}", "q_{}", "q_rs_{}", "quat_{}", "quat{}", "quaternion_{}", "orientation_{}"),
    "rotation_{}",
)
ANGLES = ("roll", "pitch", "yaw")  # R = Rz(yaw) Ry(pitch) Rx(roll)
GEODETIC_NAMES = {
    "lat": ("lat", "latitude"),
    "lon": ("lon", "lng", "long", "longitude"),
    "alt": ("alt", "altitude", "height", "elevation"),
}
GEODETIC = tuple(GEODETIC_NAMES)
HEIGHTS = {"z", "alt", "altitude", "height", "elevation", "elev", "up", "down", "depth", "h", "msl"}
ENU_NAMES = {"east": "x", "easting": "x", "north": "y", "northing": "y", "up": "z"}
POSE_NAMES = {
    **{
        f"{name}{unit}": role
        for role, names in GEODETIC_NAMES.items()
        for name in names
        for unit in ("", "_m" if role == "alt" else "_deg")
    },
    **{f"{name}{unit}": axis for name, axis in ENU_NAMES.items() for unit in ("", "_m")},
    **dict.fromkeys(("yaw", "theta"), "yaw"),
    **{angle: angle for angle in ANGLES[:2]},
    **{name.format(axis): axis for name in POSITION_NAMES for axis in AXES},
    **{name.format(axis): f"q{axis}" for name in ROTATION_NAMES for axis in (*AXES, "w")},
}
LEVEL_NAMES = {  # of protection levels, in metres; of the attitude in radians
    "hpl": "horizontal",
    "vpl": "vertical",
    "atpl": "along",
    "ctpl": "cross",
    **{
        form.format(name): name
        for form in ("protection_{}", "pl_{}", "{}_protection_level", "{}_pl")
        for name in PROTECTED
    },
}
STAMP_UNITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}  # power of ten to nanoseconds
UNIT_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanoseconds"), "ns"),
}
METRE_UNITS = {"m", "m^2", "m2", "rad", "rad^2", "rad2", "-", "1", ""}
DEGREES = {"deg", "degree", "degrees", "deg^2", "deg2", "°", "°^2", "°2"}
QUATERNION = ("qx", "qy", "qz", "qw")
SIGMA_AXES = ("x", "y", "z", "rx", "ry", "rz")
POSE_ROLES = (*AXES, *QUATERNION)
NAMED_ROLES = (*POSE_ROLES, *ANGLES, *GEODETIC)
ROLE_PARTS = {
    **{f"sigma_{axis}": NamedEntry("sigma", entry=(i, i)) for i, axis in enumerate(SIGMA_AXES)},
    **{
        f"c{i + 1}{j + 1}": NamedEntry("covariance", entry=(i, j))
        for i in range(6)
        for j in range(6)
    },
}
COLUMN_ROLES = (
    *("stamp", *(f"stamp_{unit}" for unit in STAMP_UNITS), *NAMED_ROLES),
    *(*(f"{angle}_deg" for angle in ANGLES), *COUNTS, *ROLE_PARTS),
)
MOST_COUNTED = 36  # entries of a covariance
HOW = "write them as stamp=t,x=px,y=py, or all names of a file without any: stamp,x,y,z"


@dataclass(frozen=True)
class ColumnMeanings:
    """Which column holds what, by its number.

    `readings` are the ways in which columns may be a covariance, `degrees` those in degrees,
    `incomplete` those of a diagonal that is not whole. `nanoseconds` is the column of what is
    beyond whole seconds, where a stamp stands in two; `received` are stamps beside a header's.
    `levels` are protection levels by what they bound.
    """

    stamp: int
    stamp_unit: str | None
    pose: dict[str, int]
    readings: tuple[Reading, ...]
    degrees: frozenset[int]
    nanoseconds: int | None
    incomplete: tuple[int, ...]
    received: tuple[int, ...]
    levels: dict[str, int]

    @property
    def position(self) -> list[int]:
        """The columns of x, y and perhaps z, or of latitude, longitude and altitude."""
        return [self.pose[role] for role in (*AXES, *GEODETIC) if role in self.pose]

    @property
    def geodetic(self) -> bool:
        """Whether positions are places on Earth."""
        return "lat" in self.pose

    @property
    def rotation(self) -> list[str]:
        """What the rotation stands in: a quaternion, angles, or nothing."""
        return [role for role in (*QUATERNION, *ANGLES) if role in self.pose]

    @property
    def used(self) -> set[int]:
        """The columns that are read."""
        entries = {column for each in self.readings for column in each.entries.values()}
        beyond = set() if self.nanoseconds is None else {self.nanoseconds}
        return {self.stamp, *self.pose.values(), *entries, *beyond, *self.levels.values()}


def parse_columns(text: str) -> dict[str, str]:
    """`stamp=t,x=px` as a mapping from what a column holds to its name; of a list, nothing."""
    if "=" not in text:
        if not names_a_pose(listed_names(text)):
            raise OptionError(f"columns {text!r}: {HOW}")
        return {}
    said: dict[str, str] = {}
    for part in text.split(","):
        role, sign, name = (word.strip() for word in part.partition("="))
        if not (role and sign and name):
            raise OptionError(f"columns {text!r}: {HOW}")
        if role not in COLUMN_ROLES:
            near = suggest_word(role, (*COLUMN_ROLES[: -6 * 6], "c11 to c66"))
            raise OptionError(f"columns: {role!r} is nothing that a column holds; {near}")
        if role in said:
            raise OptionError(f"columns: {role} is named twice")
        said[role] = name
    return said


def listed_names(text: str | None) -> list[str]:
    """The names of a file without a row of them: `stamp,x,y,z,cov_0..cov_5`."""
    names: list[str] = []
    for name in [] if text is None or "=" in text else map(str.strip, text.split(",")):
        if counted := re.fullmatch(r"(.*?)(\d+)\.\.\1(\d+)", name):
            numbers = range(int(counted[2]), min(int(counted[3]), MOST_COUNTED) + 1)
            names += [f"{counted[1]}{number}" for number in numbers]
        else:
            names.append(name)
    return names


def column_meanings(place: str, names: list[str], said: dict[str, str]) -> ColumnMeanings:
    """What the columns hold; raises where that is ambiguous or not enough for poses."""
    roles = roles_of(names)
    by_role = [each for each in said.items() if each[0].endswith("_deg")]
    turned = {column_named(place, names, name) for _, name in by_role}
    said = {role.removesuffix("_deg"): name for role, name in said.items()}
    of_pose = {
        role: name for role, name in said.items() if role in NAMED_ROLES or role.startswith("stamp")
    }
    overruled = {"stamp" if role.startswith("stamp_") else role for role in said}
    found = [
        (role, column)
        for column, role in enumerate(roles)
        if isinstance(role, str) and role not in overruled
    ]
    found += [(role, column_named(place, names, name)) for role, name in of_pose.items()]
    found, received = _without_receive_time(names, found)
    found = _of_one_pose(found, geodetic="lat" in said)
    pose = _pose_columns(place, names, found)
    _refuse_missing(place, names, pose)
    planar = "z" not in pose and "yaw" in pose

    stamp = pose.pop("stamp")
    if "lat" not in pose and _normalise(names[pose["x"]]).partition("_")[0] not in ENU_NAMES:
        roles = [None if isinstance(role, NamedEntry) and role.enu else role for role in roles]
    by_user = next((role[6:] for role in said if role.startswith("stamp_")), None)
    of_covariance = {role: name for role, name in said.items() if role not in of_pose}
    readings, incomplete = _covariance(place, names, roles, of_covariance, planar=planar)
    return ColumnMeanings(
        stamp,
        by_user or _stamp_unit(names[stamp]),
        pose,
        readings,
        _degrees(place, names, pose, readings) | turned,
        _nanoseconds_beside(names, stamp),
        incomplete,
        received,
        _levels(place, names),
    )


def _levels(place: str, names: list[str]) -> dict[str, int]:
    """The columns of protection levels; two of one meaning are refused."""
    found: dict[str, int] = {}
    for column, name in enumerate(names):
        component = LEVEL_NAMES.get(_normalise(name).removesuffix("_m").removesuffix("_rad"))
        if component is None:
            continue
        if component in found:
            both = f"{names[found[component]]!r} and {name!r}"
            raise FormatError(f"{place}: {both} could both be the {component} protection level")
        if _unit(name) not in METRE_UNITS:
            raise FormatError(f"{place}: column {name!r} is not in metres or radians")
        found[component] = column
    return found


def _refuse_missing(place: str, names: list[str], pose: dict[str, int]) -> None:
    """Raise where columns are not enough for a pose; without a third axis it is in a plane."""
    rotation = QUATERNION if set(QUATERNION) & set(pose) else ()
    axes = GEODETIC if "lat" in pose else tuple(AXES)
    parts = {word for name in names for word in _normalise(name).split("_")}
    flat = set(axes[:2]) <= set(pose) and not parts & HEIGHTS
    missing = [role for role in ("stamp", *axes[: 2 if flat else 3], *rotation) if role not in pose]
    if missing:
        example = ",".join(f"{role}=NAME" for role in missing)
        raise FormatError(
            f"{place}: no column is known to be {words.join(missing)}; say it: "
            f"{spell_source(place, 'columns', example)}"
        )


def _of_one_pose(found: list[tuple[str, int]], *, geodetic: bool) -> list[tuple[str, int]]:
    """Columns of one way to write a pose: latitude or x and y, a quaternion or angles."""
    there = {role for role, _ in found}
    if geodetic or ({"lat", "lon"} <= there and not there & {"x", "y"}):
        there = {"stamp", *GEODETIC}  # of the antenna, which has no attitude
    else:
        there -= set(GEODETIC)
    whole = set(ANGLES) if "z" in there else {"yaw"}  # yaw alone says nothing of a body in space
    if there & set(QUATERNION) or there & set(ANGLES) != whole:
        there -= set(ANGLES)
    return [each for each in found if each[0] in there or each[0].startswith("stamp")]


def _pose_columns(place: str, names: list[str], found: list[tuple[str, int]]) -> dict[str, int]:
    """The columns of stamp and pose; two of one meaning are refused."""
    pose: dict[str, int] = {}
    for role, column in found:
        key = "stamp" if role.startswith("stamp") else role
        if key in pose:
            raise FormatError(
                f"{place}: {names[pose[key]]!r} and {names[column]!r} could both be {key}; "
                f"say which: {spell_source(place, 'columns', f'{key}={names[column]}')}"
            )
        pose[key] = column
    return pose


def _without_receive_time(
    names: list[str], found: list[tuple[str, int]]
) -> tuple[list[tuple[str, int]], tuple[int, ...]]:
    """Stamps of a message's header alone, where other stamps stand beside them, and the others.

    Of `stamp.sec` and `stamp.nanosec` the first stands for both.
    """
    stamps = {column: _stamp_base(names[column]) for role, column in found if role == "stamp"}
    beyond = {_nanoseconds_beside(names, column) for column in stamps}
    others = {at for at, base in stamps.items() if base != HEADER_STAMP}
    others = others if set(stamps.values()) > {HEADER_STAMP} else set()
    kept = [each for each in found if each[1] not in beyond | others]
    return kept, tuple(sorted(others - beyond))


def _stamp_base(name: str) -> str:
    """The name of a stamp without its unit."""
    base, _, unit = _normalise(name).rpartition("_")
    return base if unit in UNIT_WORDS else _normalise(name)


def _nanoseconds_beside(names: list[str], stamp: int) -> int | None:
    """The column of what is beyond the whole seconds of a stamp: `stamp.sec`, `stamp.nanosec`."""
    if _stamp_unit(names[stamp]) != "s":
        return None
    base = _stamp_base(names[stamp])
    same = [at for at, name in enumerate(names) if at != stamp and _stamp_base(name) == base]
    return next((at for at in same if _stamp_unit(names[at]) == "ns"), None)


def names_a_pose(names: list[str]) -> bool:
    """Whether the names of columns have a stamp and a position among them."""
    roles = {role for role in roles_of(names) if isinstance(role, str)}
    return "stamp" in roles and any({*whole[:2]} <= roles for whole in (AXES, GEODETIC))


def names_a_covariance(names: list[str]) -> bool:
    """Whether some names of columns are of a covariance."""
    return any(isinstance(role, NamedEntry) for role in roles_of(names))


def _normalise(name: str) -> str:
    """The name in lower case, `_` between its words, without unit and the usual prefixes."""
    name = TOPIC.sub("", name.strip().strip("\"'#% "))
    bare = re.sub(r"[\[(][^\d\])][^\])]*[\])]$", "", name)
    key = re.sub(r"[^a-z0-9]+", "_", bare.lower()).strip("_")
    while True:
        prefix = next((each for each in PREFIXES if key.startswith(each)), None)
        if prefix is None or key == prefix:
            return key
        key = key.removeprefix(prefix)


def _unit(name: str) -> str:
    """The unit that a name has in brackets, or degrees behind it: `yaw_std_deg`."""
    found = re.search(r"[\[(]([^\d\])][^\])]*)[\])]\s*[\"']?$", name)
    behind = re.fullmatch(UNIT_SUFFIX, _normalise(name))
    return found[1].strip().lower() if found else behind[2][:3] if behind else ""


def _stamp_unit(name: str) -> str | None:
    """The unit of a stamp by its name: `time_ns`, `timestamp [ns]`."""
    return UNIT_WORDS.get(_unit(name)) or UNIT_WORDS.get(_normalise(name).rpartition("_")[2])


Role = str | NamedEntry | None


def roles_of(names: list[str]) -> list[Role]:
    """What each column holds by its name; None: nothing known."""
    roles: list[Role] = []
    for key in map(_normalise, names):
        base, _, unit = key.rpartition("_")
        if (key and key in STAMP_NAMES) or (base in STAMP_NAMES and unit in UNIT_WORDS):
            roles.append("stamp")
        else:
            angle = POSE_NAMES.get(key.removesuffix("_deg").removesuffix("_rad"))
            roles.append(POSE_NAMES.get(key) or (angle if angle in ANGLES else part_named(key)))
    return roles


def column_named(place: str, names: list[str], name: str) -> int:
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
    place: str, names: list[str], roles: list[Role], said: dict[str, str], *, planar: bool
) -> tuple[tuple[Reading, ...], tuple[int, ...]]:
    """The ways to read a covariance, as the user or the names say, and columns of it left out.

    In the plane, the third row of a matrix whose columns have numbers is that of yaw.
    """
    whole = next((role for role in said if role in COUNTS), None)
    if whole is not None:
        first, dots, last = said[whole].partition("..")
        start, end = (column_named(place, names, name) for name in (first, last if dots else first))
        any_triangle = ("covariance", "lower", "upper") if whole == "covariance" else (whole,)
        readings = layout_readings(list(range(start, end + 1)), any_triangle)
        if not readings or len(said) > 1:
            raise OptionError(
                f"columns {whole}={said[whole]}: it names {COUNTS[whole]} columns side by side, "
                f"and nothing else names the covariance; {max(end + 1 - start, 0)} are named"
            )
        return tuple(map(Reading.in_plane, readings)) if planar else readings, ()
    parts = {column: role for column, role in enumerate(roles) if isinstance(role, NamedEntry)}
    if said:
        parts = {column_named(place, names, name): ROLE_PARTS[role] for role, name in said.items()}
    readings = readings_of(place, names, parts)
    if planar and all(parts[at].number for each in readings for at in each.entries.values()):
        readings = tuple(map(Reading.in_plane, readings))
    if len(readings) != 1:
        return readings, ()
    reading, incomplete = complete(place, readings[0])
    return (reading,), incomplete


def _degrees(
    place: str, names: list[str], pose: dict[str, int], readings: tuple[Reading, ...]
) -> frozenset[int]:
    """Columns of rotations in degrees; other units than these, metres and radians are refused."""
    entries = [each for reading in readings for each in reading.entries.items()]
    turned = {column for (i, j), column in entries if min(i, j) >= 3}
    turned |= {column for role, column in pose.items() if role in (*ANGLES, *GEODETIC[:2])}
    degrees = frozenset(column for column in turned if _unit(names[column]) in DEGREES)
    for column in (pose[role] for role in GEODETIC[:2] if role in pose):
        if column not in degrees and _unit(names[column]):
            raise FormatError(
                f"{place}: column {names[column]!r} is not in degrees, which are read"
            )
    for column in (*pose.values(), *(column for _, column in entries)):
        if column not in degrees and _unit(names[column]) not in METRE_UNITS:
            raise FormatError(
                f"{place}: column {names[column]!r} is not in metres or radians, which are read"
            )
    return degrees


def implied_convention(names: list[str], reading: Reading) -> str | None:
    """What names say of the axes: those of ROS, and axes beside x, y, z, are the world's."""
    columns = reading.entries.values()
    keys = [_normalise(names[column]) for column in columns]
    if any(key in TWO_BLOCKS for key in keys):
        return "world-position"
    by_ros = all(re.search(r"pose[\W_]+covariance", names[at], re.I) for at in columns)
    by_axes = all((part := part_named(key)) is not None and part.entry for key in keys)
    return "ros" if by_ros or by_axes or reading.role in ("sigma", "variance") else None
