"""Which topics of a bag can be read, and which one to read."""

from collections import defaultdict
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named
from smfeval.io.ros.covariance import filling
from smfeval.io.ros.recording import Recording, Topic
from smfeval.io.ros.shapes import SUPPORTED, Shape, shape_of


@dataclass(frozen=True)
class Candidate:
    """A topic that can be read. `covariance`: filled, constant, all zero, none, particles ..."""

    topic: str
    type: str
    count: int
    covariance: str

    def __str__(self) -> str:
        words = {
            "none": "no covariance",
            "particles": "particles",
            "tf": "transforms; name a chain PARENT:CHILD",
        }
        tail = words.get(self.covariance, f"covariance {self.covariance}")
        messages = "1 message" if self.count == 1 else f"{self.count:,} messages"
        return f"{self.topic}  {self.type}, {messages}, {tail}"


def listed(bag: Recording) -> list[Candidate]:
    """All topics that can be read, by name; reads their covariances."""
    shapes = readable(bag)
    words = _covariance_words(bag, shapes)
    topics = (bag.topics[name] for name in sorted(shapes))
    return [Candidate(t.name, t.type_words, t.count, words[t.name]) for t in topics]


def readable(bag: Recording) -> dict[str, Shape]:
    """Shapes of the topics that hold messages of a type that can be read."""
    found = {
        topic.name: shape_of(topic.type, bag.definitions)
        for topic in bag.topics.values()
        if topic.count
    }
    return {name: shape for name, shape in found.items() if shape is not None}


def chosen_topic(bag: Recording, options: ReadOptions) -> tuple[Topic, Shape, tuple[str, ...]]:
    """The topic to read, its shape, and a note if it was not named."""
    shapes = readable(bag)
    if options.topic is not None:
        topic = named_topic(bag, options.topic)
        return topic, _supported(bag, topic), ()
    name, note = _by_preset(shapes, options) or _only_one(bag, shapes, options)
    return bag.topics[name], shapes[name], (note,)


def named_topic(bag: Recording, name: str) -> Topic:
    """A topic by its name, with or without the leading slash."""
    for spelled in (name, f"/{name}", name.rstrip("/")):
        if spelled in bag.topics:
            return bag.topics[spelled]
    near = get_close_matches(name, bag.topics, n=3)
    known = ", ".join(sorted(readable(bag))) or "none"
    hint = f"; near it: {', '.join(near)}" if near else ""
    raise FormatError(f"{bag.path}: there is no topic {name}{hint}; topics to read: {known}")


def _supported(bag: Recording, topic: Topic) -> Shape:
    if topic.count == 0:
        raise FormatError(f"{bag.path}:{topic.name}: the topic has no message")
    shape = shape_of(topic.type, bag.definitions)
    if shape is not None:
        return shape
    undefined = topic.type is not None and topic.type not in bag.definitions
    why = ", whose definition is not in the bag" if undefined else ""
    raise FormatError(
        f"{bag.path}:{topic.name}: the messages are {topic.type_words}{why}; "
        f"what can be read is {SUPPORTED}"
    )


def _by_preset(shapes: dict[str, Shape], options: ReadOptions) -> tuple[str, str] | None:
    preset = preset_named(options.preset)
    for name in preset.topics if preset else ():
        if name in shapes:
            return name, f"topic {name} was chosen: preset {options.preset} publishes it"
    return None


def _only_one(bag: Recording, shapes: dict[str, Shape], options: ReadOptions) -> tuple[str, str]:
    found = [name for name, shape in shapes.items() if shape.kind != "transforms"]
    if len(found) == 1:
        return found[0], f"topic {found[0]} was chosen: no other can be read"
    if not shapes:
        names = ", ".join(sorted(bag.topics)) or "none"
        raise FormatError(
            f"{bag.path}: no topic can be read (there are: {names}); what can is {SUPPORTED}"
        )
    preset = preset_named(options.preset)
    missing = f" has none of {', '.join(preset.topics)} and" if preset else ""
    lines = "".join(f"\n  {candidate}" for candidate in listed(bag))
    raise FormatError(f"{bag.path}: the bag{missing} needs a topic to be named, one of{lines}")


def _covariance_words(bag: Recording, shapes: dict[str, Shape]) -> dict[str, str]:
    """What can be said of the covariance of each topic, in one pass through the bag."""
    kinds = {"poses": "none", "particles": "particles", "transforms": "tf"}
    words = {name: kinds[shape.kind] for name, shape in shapes.items()}
    paths = {name: shape.covariance for name, shape in shapes.items() if shape.covariance}
    getters = {name: attrgetter(path) for name, path in paths.items()}
    matrices = defaultdict(list)
    for name, _, message in bag.messages(getters) if getters else ():
        matrices[name].append(getters[name](message))
    filled = {name: filling(np.reshape(rows, (-1, 6, 6))) for name, rows in matrices.items()}
    return words | filled
