"""Which topics of a bag can be read, and which one to read."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal

import numpy as np
from rosbags.interfaces import Nodetype

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.io.options import ReadOptions
from smfeval.io.presets import Preset, preset_named
from smfeval.io.ros.bag import Bag, Topic
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.why.one_track import UNKNOWN_VARIANCE

POSE = "geometry_msgs/msg/Pose"
POSE_WITH_COVARIANCE = "geometry_msgs/msg/PoseWithCovariance"
TRANSFORM_STAMPED = "geometry_msgs/msg/TransformStamped"

SUPPORTED = (
    "nav_msgs/Odometry, geometry_msgs/PoseWithCovarianceStamped, geometry_msgs/PoseStamped, "
    "geometry_msgs/TransformStamped, geometry_msgs/PoseArray, nav2_msgs/ParticleCloud, "
    "tf2_msgs/TFMessage by a chain, sensor_msgs/NavSatFix, gps_msgs/GPSFix, and any message with "
    "a header, a pose and a float64[36]"
)

MessageKind = Literal["poses", "particles", "transforms", "fixes"]
Definitions = Mapping[str, Any]
Fields = list[tuple[str, Any]]


@dataclass(frozen=True)
class MessageShape:
    """Where a message type keeps its parts.

    `documented` says that ROS defines what the covariance means: that of PoseWithCovariance. The
    bare float64[36] of a patched filter is the filter's own.
    """

    kind: MessageKind
    header: str = "header"
    position: str = "pose.position"
    rotation: str = "pose.orientation"
    covariance: str | None = None
    body: str | None = None
    gauge: str | None = None
    particles: str = ""
    weight: str | None = None
    documented: bool = True

    @cached_property
    def stamp(self) -> Callable[[Any], Any]:
        """Takes seconds and nanoseconds out of a message."""
        return attrgetter(f"{self.header}.stamp.sec", f"{self.header}.stamp.nanosec")

    @cached_property
    def pose(self) -> Callable[[Any], Any]:
        """Takes x y z and the quaternion xyzw out of a message, or out of a particle."""
        position = (f"{self.position}.{axis}" for axis in "xyz")
        return attrgetter(*position, *(f"{self.rotation}.{axis}" for axis in "xyzw"))


KNOWN_SHAPES = {
    "geometry_msgs/msg/PoseStamped": MessageShape("poses"),
    TRANSFORM_STAMPED: MessageShape(
        "poses",
        position="transform.translation",
        rotation="transform.rotation",
        body="child_frame_id",
    ),
    "geometry_msgs/msg/PoseArray": MessageShape(
        "particles", particles="poses", position="position", rotation="orientation"
    ),
    "nav2_msgs/msg/ParticleCloud": MessageShape(
        "particles", particles="particles", weight="weight"
    ),
    "tf2_msgs/msg/TFMessage": MessageShape("transforms"),
    "tf/msg/tfMessage": MessageShape("transforms"),
}

FIX_FIELDS = {"latitude", "longitude", "altitude", "position_covariance_type"}


def shape_of(type_name: str | None, definitions: Definitions) -> MessageShape | None:
    """The shape of a message type, or None if it holds no belief or is not defined."""
    if type_name is None or type_name not in definitions:
        return None
    if type_name in KNOWN_SHAPES:
        return KNOWN_SHAPES[type_name]
    fields: Fields = definitions[type_name][1]
    by_type = {kind: name for name, kind in reversed(fields)}  # the first field of each type
    header = by_type.get((Nodetype.NAME, "std_msgs/msg/Header"))
    if header is None:
        return None
    if {name for name, _ in fields} >= FIX_FIELDS:
        return MessageShape("fixes", header, covariance="position_covariance")
    both = by_type.get((Nodetype.NAME, POSE_WITH_COVARIANCE))
    bare = by_type.get((Nodetype.NAME, POSE))
    matrix = by_type.get((Nodetype.ARRAY, ((Nodetype.BASE, ("float64", 0)), 36)))
    if both is None and (bare is None or matrix is None):
        return None
    pose = bare if matrix is not None and bare is not None else f"{both}.pose"
    texts = [name for name, kind in fields if kind == (Nodetype.BASE, ("string", 0))]
    return MessageShape(
        "poses",
        header,
        f"{pose}.position",
        f"{pose}.orientation",
        covariance=matrix or f"{both}.covariance",
        body="child_frame_id" if "child_frame_id" in texts else None,
        gauge="gauge" if "gauge" in texts else None,
        documented=matrix is None,
    )


REFERENCE_NAME = re.compile(
    r"truth|mocap|vicon|vrpn|optitrack|(^|[/_])(gt|ref|reference)([/_]|$)", re.IGNORECASE
)
UNKNOWN_MARK = -1.0  # ROS drivers write this where they have no covariance


def describe_covariance(covariance: Floats) -> str:
    """In words: filled, constant, all zero, or marked unknown. (n, d, d), n > 0."""
    zero, unknown = _is_zero(covariance), _is_unknown(covariance)
    if zero.all():
        return "all zero"
    if (zero | unknown).all():
        return "marked unknown (-1)"
    if len(covariance) > 1 and (covariance == covariance[0]).all():
        return "constant"
    if zero.any():
        return f"filled, but all zero in {zero.sum()} of {len(covariance)} messages"
    return "filled"


def is_filled(covariance: Floats) -> bool:
    """Whether any message has a covariance that is neither zero nor marked unknown."""
    return not (_is_zero(covariance) | _is_unknown(covariance)).all()


def health_notes(covariance: Floats) -> tuple[str, ...]:
    """What the numbers in the messages look like, where that is a reason for doubt."""
    described, notes = describe_covariance(covariance), []
    if described != "filled":
        notes.append(f"the covariance is {described}")
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    largest = np.fmax.reduce(variance, axis=None, initial=0.0)
    if UNKNOWN_VARIANCE <= largest < np.inf:
        notes.append(f"a variance of {words.number(largest)} stands for an axis that is not known")
    return tuple(notes)


def _is_zero(covariance: Floats) -> Bools:
    return (covariance == 0).all(axis=(-2, -1))


def _is_unknown(covariance: Floats) -> Bools:
    return (np.diagonal(covariance, axis1=-2, axis2=-1) == UNKNOWN_MARK).any(axis=-1)


@dataclass(frozen=True)
class Candidate:
    """A topic that can be read. `covariance`: filled, constant, all zero, none, particles ..."""

    topic: str
    type: str
    count: int
    covariance: str

    def __str__(self) -> str:
        messages = words.count(self.count, "message")
        return f"{self.topic}  {self.type}, {messages}, {self.covariance_words}"

    @property
    def covariance_words(self) -> str:
        """What the covariance looks like."""
        others = {
            "none": "no covariance",
            "particles": "particles",
            "tf": "transforms; name a chain PARENT:CHILD",
        }
        return others.get(self.covariance, f"covariance {self.covariance}")

    @property
    def is_reference(self) -> bool:
        """Whether the topic is called as references are."""
        return REFERENCE_NAME.search(self.topic) is not None

    @property
    def is_belief(self) -> bool:
        """Whether it reports an uncertainty, be it a constant one."""
        return self.covariance.startswith(("filled", "constant", "particles"))


def list_candidates(bag: Bag) -> list[Candidate]:
    """All topics that can be read, by name; reads their covariances in one pass."""
    shapes = readable_topics(bag)
    kinds = {"poses": "none", "particles": "particles", "transforms": "tf", "fixes": "none"}
    described = {name: kinds[shape.kind] for name, shape in shapes.items()}
    paths = {name: shape.covariance for name, shape in shapes.items() if shape.covariance}
    getters = {name: attrgetter(path) for name, path in paths.items()}
    matrices, types = defaultdict(list), defaultdict(list)
    for name, _, message in bag.messages(getters) if getters else ():
        matrices[name].append(getters[name](message))
        if shapes[name].kind == "fixes":
            types[name].append(message.position_covariance_type)
    for name, rows in matrices.items():
        size = 3 if name in types else 6
        described[name] = describe_covariance(np.reshape(rows, (-1, size, size)))
        if name in types:
            described[name] += f", {describe_types(types[name])}"
    topics = (bag.topics[name] for name in sorted(shapes))
    return [Candidate(t.name, t.type_words, t.count, described[t.name]) for t in topics]


def readable_topics(bag: Bag) -> dict[str, MessageShape]:
    """Shapes of the topics that hold messages of a type that can be read."""
    found = {
        topic.name: shape_of(topic.type, bag.definitions)
        for topic in bag.topics.values()
        if topic.count
    }
    return {name: shape for name, shape in found.items() if shape is not None}


def choose_topic(bag: Bag, options: ReadOptions) -> tuple[Topic, MessageShape, tuple[str, ...]]:
    """The topic to read, its shape, and a note if it was not named."""
    shapes = readable_topics(bag)
    if options.topic is None:
        preset = preset_named(options.preset)
        published = [name for name in (preset.topics if preset else ()) if name in shapes]
        if published:
            name = published[0]
            note = f"topic {name} was chosen: preset {options.preset} publishes it"
        else:
            name, note = _only_topic(bag, shapes, preset)
        return bag.topics[name], shapes[name], (note,)

    topic = named_topic(bag, options.topic)
    if topic.count == 0:
        raise FormatError(f"{bag.path}:{topic.name}: the topic has no message")
    shape = shape_of(topic.type, bag.definitions)
    if shape is None:
        undefined = topic.type is not None and topic.type not in bag.definitions
        why = ", whose definition is not in the bag" if undefined else ""
        raise FormatError(
            f"{bag.path}:{topic.name}: the messages are {topic.type_words}{why}; "
            f"what can be read is {SUPPORTED}"
        )
    return topic, shape, ()


def named_topic(bag: Bag, name: str) -> Topic:
    """A topic by its name, with or without the leading slash."""
    for spelled in (name, f"/{name}", name.rstrip("/")):
        if spelled in bag.topics:
            return bag.topics[spelled]
    near = get_close_matches(name, bag.topics, n=3)
    known = ", ".join(sorted(readable_topics(bag))) or "none"
    hint = f"; near it: {', '.join(near)}" if near else ""
    raise FormatError(f"{bag.path}: there is no topic {name}{hint}; topics to read: {known}")


def _only_topic(
    bag: Bag, shapes: dict[str, MessageShape], preset: Preset | None
) -> tuple[str, str]:
    """The one topic that is meant, and why; raises where there are several or none."""
    found = [name for name, shape in shapes.items() if shape.kind != "transforms"]
    poses = [name for name in found if shapes[name].kind != "fixes"]
    if len(poses) == 1 < len(found):
        return poses[0], f"topic {poses[0]} was chosen: the others that can be read are GNSS fixes"
    if len(found) == 1:
        return found[0], f"topic {found[0]} was chosen: no other can be read"
    if not shapes:
        names = ", ".join(sorted(bag.topics)) or "none"
        raise FormatError(
            f"{bag.path}: no topic can be read (there are: {names}); what can is {SUPPORTED}"
        )
    missing = f" has none of {', '.join(preset.topics)} and" if preset else ""
    listed = [f"{bag.path}:{each.topic} ({each.covariance_words})" for each in list_candidates(bag)]
    raise FormatError(
        f"{bag.path}: the bag{missing} needs a topic to be named: {', '.join(listed)}"
    )


COVARIANCE_TYPES = ("unknown", "approximated", "diagonal", "known")  # of NavSatFix, 0 to 3


def describe_types(types: Sequence[int] | Ints) -> str:
    """How often each `position_covariance_type` occurs, in words."""
    counts = Counter(int(each) for each in types)
    names = dict(enumerate(COVARIANCE_TYPES))
    titles = {each: f"type {each} ({names.get(each, 'not defined')})" for each in sorted(counts)}
    if len(counts) == 1:
        return next(iter(titles.values()))
    return ", ".join(f"{counts[each]} of {title}" for each, title in titles.items())
