"""Which message types hold a belief, and where in the message, as attribute paths.

Messages are recognised by the definition that the bag stores, so any type with a header and a
`PoseWithCovariance`, or with a header, a `Pose` and a `float64[36]`, is read, whatever its name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal

from rosbags.interfaces import Nodetype

POSE = "geometry_msgs/msg/Pose"
POSE_WITH_COVARIANCE = "geometry_msgs/msg/PoseWithCovariance"
TRANSFORM_STAMPED = "geometry_msgs/msg/TransformStamped"

SUPPORTED = (
    "nav_msgs/Odometry, geometry_msgs/PoseWithCovarianceStamped, geometry_msgs/PoseStamped, "
    "geometry_msgs/TransformStamped, geometry_msgs/PoseArray, nav2_msgs/ParticleCloud, "
    "tf2_msgs/TFMessage by a chain, and any message with a header, a pose and a float64[36]"
)

Kind = Literal["poses", "particles", "transforms"]
Definitions = Mapping[str, Any]
Fields = list[tuple[str, Any]]


@dataclass(frozen=True)
class Shape:
    """Where a message type keeps its parts.

    `documented` says that ROS defines what the covariance means: that of PoseWithCovariance. The
    bare float64[36] of a patched filter is the filter's own.
    """

    kind: Kind
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


NAMED = {
    "geometry_msgs/msg/PoseStamped": Shape("poses"),
    TRANSFORM_STAMPED: Shape(
        "poses",
        position="transform.translation",
        rotation="transform.rotation",
        body="child_frame_id",
    ),
    "geometry_msgs/msg/PoseArray": Shape(
        "particles", particles="poses", position="position", rotation="orientation"
    ),
    "nav2_msgs/msg/ParticleCloud": Shape("particles", particles="particles", weight="weight"),
    "tf2_msgs/msg/TFMessage": Shape("transforms"),
    "tf/msg/tfMessage": Shape("transforms"),
}


def shape_of(type_name: str | None, definitions: Definitions) -> Shape | None:
    """The shape of a message type, or None if it holds no belief or is not defined."""
    if type_name is None or type_name not in definitions:
        return None
    return NAMED.get(type_name) or _by_structure(definitions[type_name][1])


def _by_structure(fields: Fields) -> Shape | None:
    header = _first(fields, lambda kind: _is_named(kind, "std_msgs/msg/Header"))
    if header is None:
        return None
    words = {"body": _text(fields, "child_frame_id"), "gauge": _text(fields, "gauge")}
    both = _first(fields, lambda kind: _is_named(kind, POSE_WITH_COVARIANCE))
    bare = _first(fields, lambda kind: _is_named(kind, POSE))
    matrix = _first(fields, _is_matrix)
    if matrix is not None and (both or bare) is not None:
        pose = bare or f"{both}.pose"
        return _posed(pose, header=header, covariance=matrix, documented=False, **words)
    if both is not None:
        return _posed(f"{both}.pose", header=header, covariance=f"{both}.covariance", **words)
    return None


def _posed(pose: str, **parts: Any) -> Shape:
    return Shape("poses", position=f"{pose}.position", rotation=f"{pose}.orientation", **parts)


def _first(fields: Fields, fits: Callable[[Any], bool]) -> str | None:
    return next((name for name, kind in fields if fits(kind)), None)


def _text(fields: Fields, wanted: str) -> str | None:
    is_text = (wanted, (Nodetype.BASE, ("string", 0)))
    return wanted if is_text in fields else None


def _is_named(kind: Any, type_name: str) -> bool:
    return bool(kind == (Nodetype.NAME, type_name))


def _is_matrix(kind: Any) -> bool:
    """A float64[36]."""
    return bool(kind == (Nodetype.ARRAY, ((Nodetype.BASE, ("float64", 0)), 36)))
