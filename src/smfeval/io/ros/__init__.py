"""ROS 1 bags, ROS 2 bags and MCAP: one topic, or a chain of transforms, becomes a track.

Stamps are those of the message headers, to the nanosecond; the world is the header's frame, the
body the child frame where a message has one.
"""

from collections.abc import Callable
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.io.geodetic import ABOUT
from smfeval.io.options import ReadOptions
from smfeval.io.ros.bag import Bag, Topic, open_bag
from smfeval.io.ros.poses import read_fixes, read_particles, read_poses
from smfeval.io.ros.tf_chain import read_chain, read_transforms, static_extrinsic
from smfeval.io.ros.topics import Candidate, MessageShape, choose_topic, list_candidates
from smfeval.io.ros.write import write
from smfeval.maths import se3
from smfeval.track import AnyTrack

__all__ = ["candidates", "declared_gauge", "extrinsic_between", "holds_fixes", "read", "write"]


def read(path: Path, options: ReadOptions) -> AnyTrack:
    """Read a topic of a bag, or a chain of transforms."""
    with open_bag(path) as bag:
        if options.tf is not None:
            _refuse_origin(f"{path} tf {options.tf}", options)
            return read_chain(bag, options)
        topic, shape, notes = choose_topic(bag, options)
        if shape.kind != "fixes":
            _refuse_origin(f"{path}:{topic.name}", options)
        if shape.kind == "transforms":  # between many frames: no track until two are named
            pairs = ", ".join(":".join(pair) for pair in sorted(read_transforms(bag, [topic.name])))
            raise OptionError(
                f"{path}:{topic.name}: transforms need a chain PARENT:CHILD to become a track; "
                f"there are {pairs}"
            )
        return READERS[shape.kind](bag, topic, shape, options).with_notes(*notes)


def declared_gauge(path: Path, options: ReadOptions) -> str | None:
    """The gauge that messages name; those of most types name none."""
    shape = _shape(path, options)
    if shape is None or shape.kind == "fixes":
        return None if shape is None else ABOUT.gauge
    return None if shape.gauge is None else read(path, options).about.gauge


def holds_fixes(path: Path, options: ReadOptions) -> bool:
    """Whether what would be read are latitudes and longitudes."""
    shape = _shape(path, options)
    return shape is not None and shape.kind == "fixes"


def _shape(path: Path, options: ReadOptions) -> MessageShape | None:
    """The shape of the messages that would be read; None: transforms."""
    if options.tf is not None:
        return None
    with open_bag(path) as bag:
        return choose_topic(bag, options)[1]


def _refuse_origin(name: str, options: ReadOptions) -> None:
    """Raise on an origin for poses, which have a frame of their own."""
    if options.origin is not None:
        raise OptionError(f"{name}: option origin means nothing for poses; it is for GNSS fixes")


def extrinsic_between(path: Path, body: str, other: str) -> se3.Pose | None:
    """Pose of another body in a body by the bag's static transforms; None: they lead nowhere."""
    with open_bag(path) as bag:
        return static_extrinsic(bag, (body.lstrip("/"), other.lstrip("/")))


def candidates(path: Path) -> list[Candidate]:
    """The topics of a bag that can be read, with what their covariance looks like."""
    with open_bag(path) as bag:
        return list_candidates(bag)


READERS: dict[str, Callable[[Bag, Topic, MessageShape, ReadOptions], AnyTrack]] = {
    "poses": read_poses,
    "particles": read_particles,
    "fixes": read_fixes,
}
