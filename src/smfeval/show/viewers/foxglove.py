"""A scene as an MCAP file for Foxglove: paths and ellipsoids in 3D, numbers of each scan as plots.

Messages are JSON, each topic with its JSON schema. Paths have topics of their own, since a viewer
that jumps in time shows the last message of each topic:

- `/reference/path`, `/NAME/path`: `foxglove.SceneUpdate`, once, at the start;
- `/NAME/ellipsoid`: `foxglove.SceneUpdate`, at each scan;
- `/NAME/scores`: `smfeval.Scores`, at each scan.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from smfeval import __version__
from smfeval.errors import OptionError
from smfeval.io.atomic import writing
from smfeval.io.progress import report
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.show.viewers.scene import OUTSIDE_COLOUR, Ellipsoids, ScenePath, SceneRun, ViewerScene

SCENE_UPDATE, SCORES = "foxglove.SceneUpdate", "smfeval.Scores"
FRAME = "world"
LAST_SECOND = 2**32 - 1  # of a time in Foxglove
LINE_STRIP = 0
LINE_PIXELS = 2.0
ELLIPSOID_ALPHA = 0.5
PRIMITIVES = (
    *("arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models"),
)

Message = tuple[int, str, dict[str, Any]]  # stamp in ns, topic, content


def write(scene: ViewerScene, path: Path) -> None:
    """Write a scene to an MCAP file."""
    from mcap.writer import Writer  # noqa: PLC0415  an extra

    last = max(int(each.stamp[-1]) for each in (scene.reference, *scene.runs))
    for stamp in (scene.start_ns, last):
        if not 0 <= stamp // NANOSECONDS <= LAST_SECOND:
            raise OptionError(f"{path}: MCAP has no stamp {seconds_text(stamp)} s; 1970 to 2106")
    with writing(path) as stream:
        writer = Writer(stream)
        writer.start(profile="", library=f"smfeval {__version__}")
        schema = {
            name: writer.register_schema(name, "jsonschema", json.dumps(content).encode())
            for name, content in ((SCENE_UPDATE, scene_schema()), (SCORES, scores_schema(scene)))
        }
        channel = {
            topic: writer.register_channel(topic, "json", schema[name])
            for topic, name in topics(scene).items()
        }
        verdicts = {run.title: run.verdict for run in scene.runs}
        writer.add_metadata("smfeval", {"version": __version__, **verdicts})
        total = sum(len(run.stamp) for run in scene.runs)
        for done, (stamp, topic, content) in enumerate(messages(scene)):
            data = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
            writer.add_message(channel[topic], stamp, data, stamp)
            report(min(done, total), total)
        writer.finish()


def topics(scene: ViewerScene) -> dict[str, str]:
    """Topics of a scene, and the name of the schema of each."""
    found = {_topic(scene.reference, "path"): SCENE_UPDATE}
    for run in scene.runs:
        found[_topic(run, "path")] = SCENE_UPDATE
        if run.ellipsoids is not None:
            found[_topic(run, "ellipsoid")] = SCENE_UPDATE
        found[_topic(run, "scores")] = SCORES
    return found


def _topic(path: ScenePath, what: str) -> str:
    return f"/{path.name}/{what}"


def messages(scene: ViewerScene) -> Iterator[Message]:
    """All messages in the order of their stamps; paths first."""
    start = scene.start_ns
    for path in (scene.reference, *scene.runs):
        yield start, _topic(path, "path"), _path_update(path, start)
    sources: list[tuple[Ints, str, Callable[[int], dict[str, Any]]]] = []  # a message by its row
    for run in scene.runs:
        if run.ellipsoids is not None:
            update = partial(_ellipsoid_update, run, run.ellipsoids)
            sources.append((run.ellipsoids.stamp, _topic(run, "ellipsoid"), update))
        sources.append((run.stamp, _topic(run, "scores"), partial(_scores, run)))
    stamp = np.concatenate([stamps for stamps, _, _ in sources])
    source = np.repeat(np.arange(len(sources)), [len(stamps) for stamps, _, _ in sources])
    row = np.concatenate([np.arange(len(stamps)) for stamps, _, _ in sources])
    for at in np.argsort(stamp, kind="stable").tolist():
        _, topic, content = sources[source[at]]
        yield int(stamp[at]), topic, content(int(row[at]))


def _scores(run: SceneRun, row: int) -> dict[str, Any]:
    values = ((name, float(values[row])) for name, values in run.series.items())
    return {
        "stamp": _time(int(run.stamp[row])),
        **{name: value if isfinite(value) else None for name, value in values},
    }


def _path_update(path: ScenePath, stamp: int) -> dict[str, Any]:
    lines = [
        {
            "type": LINE_STRIP,
            "pose": _pose([0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
            "thickness": LINE_PIXELS,
            "scale_invariant": True,
            "points": [_vector(point) for point in strip.tolist()],
            "color": _colour(path.colour, 1.0),
            "colors": [],
            "indices": [],
        }
        for strip in path.strips
    ]
    return _update(path.name, stamp, lines=lines)


def _ellipsoid_update(run: SceneRun, found: Ellipsoids, row: int) -> dict[str, Any]:
    sphere = {
        "pose": _pose(found.centre[row].tolist(), found.rotation[row].tolist()),
        "size": _vector((2.0 * found.half_axes[row]).tolist()),
        "color": _colour(OUTSIDE_COLOUR if found.outside[row] else run.colour, ELLIPSOID_ALPHA),
    }
    return _update(f"{run.name} 95 %", int(found.stamp[row]), spheres=[sphere])


def _update(name: str, stamp: int, **primitives: list[dict[str, Any]]) -> dict[str, Any]:
    """One entity, which replaces the one of the same name before it."""
    entity = {
        "timestamp": _time(stamp),
        "frame_id": FRAME,
        "id": name,
        "lifetime": {"sec": 0, "nsec": 0},
        "frame_locked": False,
        "metadata": [],
        **{kind: primitives.get(kind, []) for kind in PRIMITIVES},
    }
    return {"deletions": [], "entities": [entity]}


def _time(stamp_ns: int) -> dict[str, int]:
    second, rest = divmod(stamp_ns, NANOSECONDS)
    return {"sec": second, "nsec": rest}


def _vector(values: list[float]) -> dict[str, float]:
    return dict(zip("xyz", values, strict=True))


def _pose(position: list[float], quaternion: list[float]) -> dict[str, Any]:
    orientation = dict(zip("xyzw", quaternion, strict=True))
    return {"position": _vector(position), "orientation": orientation}


def _colour(text: str, alpha: float) -> dict[str, float]:
    parts = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return dict(zip("rgba", (*parts, alpha), strict=True))


NUMBER, WHOLE, TEXT, TRUTH = ({"type": k} for k in ("number", "integer", "string", "boolean"))


def _object(title: str, **properties: Any) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TIME = _object("time", sec=WHOLE, nsec=WHOLE)


def scene_schema() -> dict[str, Any]:
    """JSON schema of `foxglove.SceneUpdate`, with the primitives that we use in full."""
    vector = partial(_object, x=NUMBER, y=NUMBER, z=NUMBER)
    pose = _object(
        "foxglove.Pose",
        position=vector("foxglove.Vector3"),
        orientation=_object("foxglove.Quaternion", x=NUMBER, y=NUMBER, z=NUMBER, w=NUMBER),
    )
    colour = _object("foxglove.Color", r=NUMBER, g=NUMBER, b=NUMBER, a=NUMBER)
    sphere = _object(
        "foxglove.SpherePrimitive", pose=pose, size=vector("foxglove.Vector3"), color=colour
    )
    line = _object(
        "foxglove.LinePrimitive",
        type=WHOLE,
        pose=pose,
        thickness=NUMBER,
        scale_invariant=TRUTH,
        points=_list(vector("foxglove.Point3")),
        color=colour,
        colors=_list(colour),
        indices=_list(WHOLE),
    )
    own = {"spheres": sphere, "lines": line}
    entity = _object(
        "foxglove.SceneEntity",
        timestamp=TIME,
        frame_id=TEXT,
        id=TEXT,
        lifetime=_object("duration", sec=WHOLE, nsec=WHOLE),
        frame_locked=TRUTH,
        metadata=_list(_object("foxglove.KeyValuePair", key=TEXT, value=TEXT)),
        **{kind: _list(own.get(kind, {"type": "object"})) for kind in PRIMITIVES},
    )
    deletion = _object("foxglove.SceneEntityDeletion", timestamp=TIME, type=WHOLE, id=TEXT)
    return _object(SCENE_UPDATE, deletions=_list(deletion), entities=_list(entity))


def scores_schema(scene: ViewerScene) -> dict[str, Any]:
    """JSON schema of the numbers of a scan; null where there is none."""
    names = dict.fromkeys(name for run in scene.runs for name in run.series)
    numbers = {name: {"type": ["number", "null"]} for name in names}
    return _object(SCORES, stamp=TIME, **numbers)
