"""One cloud of particles per message: PoseArray (equal weights) and nav2 ParticleCloud."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from smfeval.errors import FormatError, TrackError
from smfeval.io.options import ReadOptions
from smfeval.io.ros.bag import Bag, Topic
from smfeval.io.ros.poses import common_name, settle_stamps
from smfeval.io.ros.topics import MessageShape
from smfeval.maths.arrays import Floats, Ints
from smfeval.track import About, DroppedRows, ParticleTrack, Provenance


@dataclass(frozen=True)
class ParticleClouds:
    """The messages of a topic: how many particles each holds, and all particles in one array.

    A row of `particle` is x y z, quaternion xyzw, weight.
    """

    name: str
    stamp: Ints
    count: Ints
    particle: Floats
    world: str | None
    notes: tuple[str, ...]

    def where(self, message: int) -> str:
        """The place of a message, for people."""
        return f"{self.name} message {message + 1}"


def read_particles(
    bag: Bag, topic: Topic, shape: MessageShape, options: ReadOptions
) -> ParticleTrack:
    """Read a topic with one cloud per message."""
    clouds = read_clouds(bag, topic, shape)
    full = np.flatnonzero(clouds.count)
    dropped = _empty_clouds(clouds, options)
    offset = np.concatenate([[0], np.cumsum(clouds.count[full])])

    def where(particle: int) -> str:
        scan = int(np.searchsorted(offset, particle, side="right")) - 1
        return clouds.where(int(full[scan]))

    return ParticleTrack(
        clouds.stamp[full],
        offset,
        clouds.particle[:, :3],
        clouds.particle[:, 3:7],
        clouds.particle[:, 7],
        weighted=shape.weight is not None,
        about=About(world=clouds.world),
        provenance=Provenance(
            clouds.name, f"{bag.kind}, {topic.type_words}", dropped=dropped, notes=clouds.notes
        ),
        intake=options.intake(where),
    )


def read_clouds(bag: Bag, topic: Topic, shape: MessageShape) -> ParticleClouds:
    """All messages of a topic as arrays."""
    name = f"{bag.path}:{topic.name}"
    frame, members = attrgetter(f"{shape.header}.frame_id"), attrgetter(shape.particles)
    taken = [
        (when, shape.stamp(message), frame(message), _particle_array(members(message), shape))
        for _, when, message in bag.messages([topic.name])
    ]
    received, stamps, frames, arrays = zip(*taken, strict=True)
    stamp, notes = settle_stamps(stamps, received)
    return ParticleClouds(
        name=name,
        stamp=stamp,
        count=np.array([len(array) for array in arrays], dtype=np.int64),
        particle=np.concatenate(arrays),
        world=common_name(name, frames),
        notes=tuple(notes),
    )


def _particle_array(members: list[Any], shape: MessageShape) -> Floats:
    """The particles of one message, one row each."""
    rows = np.ones((len(members), 8))
    if members:
        rows[:, :7] = list(map(shape.pose, members))
    if members and shape.weight:
        rows[:, 7] = list(map(attrgetter(shape.weight), members))
    return rows


def _empty_clouds(clouds: ParticleClouds, options: ReadOptions) -> tuple[DroppedRows, ...]:
    """Messages without a particle: refused, or left out and counted."""
    empty = np.flatnonzero(clouds.count == 0)
    if len(empty) == 0:
        return ()
    if len(empty) == len(clouds.count):
        raise FormatError(f"{clouds.name}: none of the {len(empty)} messages holds a particle")
    first = int(empty[0])
    if options.bad_rows == "refuse":
        reason = "the message holds no particle"
        raise TrackError(reason, place=clouds.where(first), row=first, remedy="bad_rows")
    return (DroppedRows("no particle in the message", len(empty), clouds.where(first)),)
