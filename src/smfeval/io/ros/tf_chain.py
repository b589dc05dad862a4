"""Poses from a chain of transforms through the tf tree.

`PARENT:CHILD` names two frames; the transforms between them are composed, some of them inverted.
The chain is sampled at the stamps of that moving transform which was sent most often. The other
moving ones are interpolated between the transforms before and after, as tf2 does: position on a
straight line, rotation on a great circle; stamps outside their span are left out and counted.
Transforms that never change, from /tf_static or not, are held for the whole track.
"""

from collections import defaultdict, deque
from dataclasses import field
from functools import reduce
from operator import attrgetter

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io.options import ReadOptions
from smfeval.io.ros.bag import Bag
from smfeval.io.ros.poses import settle_stamps
from smfeval.io.ros.topics import KNOWN_SHAPES, TRANSFORM_STAMPED, named_topic, shape_of
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Bools, Ints
from smfeval.maths.stamps import seconds_text
from smfeval.track import About, DroppedRows, Provenance, Track

Frames = tuple[str, str]  # parent, child

STAMP, POSE = KNOWN_SHAPES[TRANSFORM_STAMPED].stamp, KNOWN_SHAPES[TRANSFORM_STAMPED].pose
FRAMES = attrgetter("header.frame_id", "child_frame_id")


@dataclass
class SentTransforms:
    """The transforms between two frames, as they were sent: receive time, stamp and pose."""

    every: list[tuple[int, tuple[int, int], tuple[float, ...]]] = field(default_factory=list)
    static: bool = True  # all of them came from a static topic: the latest is valid for ever


@dataclass(frozen=True)
class ChainLink:
    """One transform of the chain over time, from the parent's side to the child's."""

    name: str
    poses: Track
    inverted: bool
    static: bool

    @property
    def is_moving(self) -> bool:
        """Whether the transform ever changes."""
        both = np.concatenate([self.poses.position, self.poses.rotation], axis=1)
        return bool((both != both[0]).any())

    def covers(self, stamp: Ints) -> Bools:
        """Which stamps lie within the transforms that were sent."""
        if not self.is_moving:
            return np.ones(len(stamp), dtype=np.bool_)
        return (stamp >= self.poses.stamp[0]) & (stamp <= self.poses.stamp[-1])

    def pose_at(self, stamp: Ints) -> se3.Pose:
        """The transform at each stamp, interpolated between those before and after."""
        time, position, rotation = self.poses.stamp, self.poses.position, self.poses.rotation
        before = np.clip(np.searchsorted(time, stamp, side="right") - 1, 0, None)
        after = np.minimum(before + 1, len(time) - 1)
        step = np.maximum(time[after] - time[before], 1)
        share = np.where(after > before, (stamp - time[before]) / step, 0.0)[:, None]
        share = np.clip(share, 0.0, 1.0)
        turn = so3.log(so3.compose(so3.inverse(rotation[before]), rotation[after]))
        pose = (
            position[before] + share * (position[after] - position[before]),
            so3.compose(rotation[before], so3.exp(share * turn)),
        )
        return se3.inverse(pose) if self.inverted else pose


def read_chain(bag: Bag, options: ReadOptions) -> Track:
    """Read the poses of the child in the parent frame."""
    frames = parse_frames(options.tf or "")
    sent = read_transforms(bag, _transform_topics(bag, options))
    steps = _steps_between(sent, frames)
    if steps is None:
        known = ", ".join(sorted({name for pair in sent for name in pair})) or "none"
        raise FormatError(
            f"{bag.path}: no chain of transforms leads from {frames[0]!r} to {frames[1]!r}; "
            f"the frames are {known}"
        )
    links = [_read_link(bag, sent, step, options) for step in steps]
    sent_again = [link for link in links if not link.static]
    if not sent_again:
        raise FormatError(
            f"{bag.path}: the transform from {frames[0]!r} to {frames[1]!r} is static; "
            "it is an extrinsic, not a track"
        )
    moving = [link for link in sent_again if link.is_moving]
    leader = max(moving or sent_again, key=lambda link: len(link.poses))  # its stamps are taken
    stamp, dropped = _common_stamps(bag, links, leader)
    position, rotation = reduce(se3.compose, [link.pose_at(stamp) for link in links])

    others = [link for link in links if link is not leader]
    between = ", ".join(link.name for link in others if link.is_moving)
    fixed = ", ".join(link.name for link in others if not link.is_moving)
    note = f"tf chain sampled at the stamps of {leader.name}"
    note += f"; {between} interpolated" if between else ""
    note += f"; {fixed} held fixed" if fixed else ""
    provenance = Provenance(
        name=f"{bag.path} tf {options.tf}",
        format=f"{bag.kind}, tf chain",
        dropped=sum((link.poses.provenance.dropped for link in links), ()) + dropped,
        notes=(*sum((link.poses.provenance.notes for link in links), ()), note),
    )
    about = About(world=frames[0], body=frames[1])
    return Track(stamp, position, rotation, about=about, provenance=provenance)


def parse_frames(chain: str) -> Frames:
    """Parent and child of `PARENT:CHILD`."""
    names = [name.strip().lstrip("/") for name in chain.split(":")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise OptionError(f"a tf chain is written PARENT:CHILD with two frames, not {chain!r}")
    return names[0], names[1]


def read_transforms(bag: Bag, topics: list[str]) -> dict[Frames, SentTransforms]:
    """All transforms of the topics, by parent and child."""
    found: dict[Frames, SentTransforms] = defaultdict(SentTransforms)
    for topic, received, message in bag.messages(topics):
        for transform in message.transforms:
            parent, child = FRAMES(transform)
            sent = found[parent.lstrip("/"), child.lstrip("/")]
            sent.static &= topic.endswith("_static")
            sent.every.append((received, STAMP(transform), POSE(transform)))
    return dict(found)


ChainStep = tuple[Frames, bool]  # a transform, and whether it is to be inverted


def static_extrinsic(bag: Bag, frames: Frames) -> se3.Pose | None:
    """Pose of the second frame in the first by static transforms alone; None: no chain of them."""
    topics = [name for name in _carrying(bag) if name.endswith("_static")]
    sent = read_transforms(bag, topics) if topics else {}
    steps = _steps_between(sent, frames)
    if not steps:
        return None
    links = [_read_link(bag, sent, step, ReadOptions()) for step in steps]
    at = np.zeros(1, np.int64)
    position, rotation = reduce(se3.compose, [link.pose_at(at) for link in links])
    return position[0], rotation[0]


def _steps_between(sent: dict[Frames, SentTransforms], frames: Frames) -> list[ChainStep] | None:
    """The shortest way from parent to child, if there is one."""
    beside = defaultdict(list)
    for parent, child in sent:
        beside[parent].append((child, ((parent, child), False)))
        beside[child].append((parent, ((parent, child), True)))
    ways: dict[str, list[ChainStep]] = {frames[0]: []}
    queue = deque([frames[0]])
    while queue:
        frame = queue.popleft()
        for neighbour, step in beside[frame]:
            if neighbour not in ways:
                ways[neighbour] = [*ways[frame], step]
                queue.append(neighbour)
    return ways.get(frames[1])


def _carrying(bag: Bag) -> list[str]:
    """Topics that carry transforms."""
    shapes = {topic.name: shape_of(topic.type, bag.definitions) for topic in bag.topics.values()}
    return [name for name, shape in shapes.items() if shape and shape.kind == "transforms"]


def _transform_topics(bag: Bag, options: ReadOptions) -> list[str]:
    """The named topic or /tf, with its static sibling; without them, every tf topic."""
    carrying = _carrying(bag)
    wanted = "/tf" if options.topic is None else named_topic(bag, options.topic).name
    pair = [name for name in (wanted, f"{wanted}_static") if name in carrying]
    if options.topic is not None and wanted not in carrying:
        kind = bag.topics[wanted].type_words
        raise FormatError(f"{bag.path}:{wanted}: a tf chain needs tf messages, not {kind}")
    if not carrying:
        raise FormatError(f"{bag.path}: the bag has no tf messages to make a chain of")
    return pair or carrying


def _read_link(
    bag: Bag, sent: dict[Frames, SentTransforms], step: ChainStep, options: ReadOptions
) -> ChainLink:
    """The transforms of a step, without those that repeat an earlier one bit for bit."""
    frames, inverted = step
    name, static = ":".join(frames), sent[frames].static
    every = sent[frames].every[-1:] if static else sent[frames].every
    received, stamps, numbers = zip(*every, strict=True)
    stamp, doubts = settle_stamps(stamps, received)
    values = np.array(numbers, dtype=np.float64)
    bits = np.column_stack([stamp, values.view(np.int64)])
    rows = np.sort(np.unique(bits, axis=0, return_index=True)[1])
    notes = [] if static else [f"tf {name}: {doubt}" for doubt in doubts]
    if len(rows) < len(stamp):
        notes.append(f"tf {name}: {len(stamp) - len(rows)} transforms repeat another; left out")
    poses = Track(
        stamp[rows],
        values[rows, :3],
        values[rows, 3:],
        provenance=Provenance(notes=tuple(notes)),
        intake=options.intake(lambda row: f"{bag.path} tf {name} transform {rows[row] + 1}"),
    )
    return ChainLink(name, poses, inverted, static)


def _common_stamps(
    bag: Bag, links: list[ChainLink], leader: ChainLink
) -> tuple[Ints, tuple[DroppedRows, ...]]:
    """The leader's stamps at which every other link is known, and what was left out."""
    stamp, dropped = leader.poses.stamp, []
    for link in links:
        known = link.covers(stamp)
        if not known.any():
            raise FormatError(f"{bag.path}: tf {leader.name} and {link.name} share no time")
        if not known.all():
            first = f"stamp {seconds_text(int(stamp[~known][0]))}"
            reason = f"tf {link.name} is not known at this time"
            dropped.append(DroppedRows(reason, int((~known).sum()), first))
        stamp = stamp[known]
    return stamp, tuple(dropped)
