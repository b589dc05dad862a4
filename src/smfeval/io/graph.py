"""Pose graphs of g2o and TORO: the vertices as a track, with gtsam also the graph's marginals.

=================  ======================================================  =====================
tag                numbers behind the id, or the two ids                   information
=================  ======================================================  =====================
VERTEX_SE3:QUAT    x y z qx qy qz qw
VERTEX3            x y z roll pitch yaw
VERTEX_SE2         x y yaw (also VERTEX2)
EDGE_SE3:QUAT      as its vertex, pose of the second in the first           upper triangle, 21
EDGE3              as its vertex                                            upper triangle, 21
EDGE_SE2           x y yaw                                                  upper triangle, 6
EDGE2              x y yaw                                                  xx xy yy tt xt yt
=================  ======================================================  =====================

Landmarks and their edges are counted, not used. The vertex of the tag `FIX`, else the first one, is
held and left out: the marginals are relative to it. They are computed at the vertices as the
file has them, which should be the optimum. Rotation information is per rad^2, as gtsam takes it.

Poses and marginals of a smoother that a program runs itself become a track by `from_gtsam`. The
tangent of `gtsam.Pose3` is a right perturbation, T = T_mean Exp(phi, rho), rotation first: the
blocks are exchanged, and nothing else. A `gtsam.Pose2` (x, y, yaw) says nothing of z, roll and
pitch. Cross-covariances come from joint marginals of two poses. For this gtsam itself is not
imported: values and marginals bring their own methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smfeval import words
from smfeval.errors import FormatError, OptionError, TrackError
from smfeval.io.convention import CONVENTIONS
from smfeval.io.options import ReadOptions
from smfeval.io.source import import_extra, open_input
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.se3 import Pose
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import Gauge
from smfeval.track import About, CrossCovariance, GaussianTrack, Provenance, Track

HELD_SIGMA = 1e-9  # m and rad, of the vertex that is held
CROSS_LAGS = 3  # poses apart whose cross-covariances are taken
MISSING = 'poses alone: marginal covariances need gtsam (pip install ".[graph]")'


class Element(NamedTuple):
    """What a tag holds: ids, numbers of a pose, numbers of an information matrix."""

    ids: int
    pose: int
    information: int = 0
    order: tuple[int, ...] | None = None  # of the upper triangle; None: row by row


ELEMENTS = {
    "VERTEX_SE3:QUAT": Element(1, 7),
    "VERTEX3": Element(1, 6),
    "VERTEX_SE2": Element(1, 3),
    "VERTEX2": Element(1, 3),
    "EDGE_SE3:QUAT": Element(2, 7, 21),
    "EDGE3": Element(2, 6, 21),
    "EDGE_SE2": Element(2, 3, 6),
    "EDGE2": Element(2, 3, 6, order=(0, 1, 4, 2, 5, 3)),
    "FIX": Element(1, 0),
}
TAGS = tuple(tag for tag in ELEMENTS if tag.startswith("VERTEX"))


@dataclass
class Graph:
    """Poses by id, and edges: two ids, a relative pose and its information, translation first."""

    planar: bool = False
    vertices: dict[int, Pose] = field(default_factory=dict)
    edges: list[tuple[int, int, Pose, Floats]] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    unused: dict[str, int] = field(default_factory=dict)


def read(path: Path, options: ReadOptions) -> Track:
    """The vertices in the order of their ids, with the marginals of the graph if gtsam is there."""
    del options
    graph = _parse(path)
    if not graph.vertices:
        raise FormatError(f"{path}: the graph has no vertices ({', '.join(TAGS)})")
    kind = "planar pose graph" if graph.planar else "pose graph"
    remarks = tuple(
        f"{words.count(n, 'line')} of {tag} not used" for tag, n in sorted(graph.unused.items())
    )
    about = About(gauge="se3", algorithm=kind)
    if graph.edges and find_spec("gtsam") is not None:
        found = _marginals(path, graph)
        left_out = words.count(len(graph.vertices) - len(found), "vertex", "vertices")
        remarks += (f"{left_out} held fixed, without uncertainty: left out",)
        provenance = replace(found.provenance, name=str(path), format=kind, remarks=remarks)
        return found.with_arrays({}, about=about, provenance=provenance)
    order, stamp, notes = in_time(list(graph.vertices), None)
    position, rotation = map(np.array, zip(*(graph.vertices[key] for key in order), strict=True))
    remarks += (MISSING,) if graph.edges else ()
    provenance = Provenance(str(path), kind, notes=notes, remarks=remarks)
    return Track(stamp, position, rotation, about=about, provenance=provenance)


def _parse(path: Path) -> Graph:
    """Every line of the file; a line that is cut or holds no numbers is refused with its place."""
    graph = Graph()
    with open_input(path) as stream:
        text = stream.read().decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        tag, *rest = line.split() or [""]
        element = ELEMENTS.get(tag)
        if element is None:
            if tag and not tag.startswith("#"):
                graph.unused[tag] = graph.unused.get(tag, 0) + 1
            continue
        try:
            _add(graph, tag, element, rest)
        except ValueError as error:
            raise FormatError(f"{path}:{number}: {tag}: {error}") from error
    return graph


def _add(graph: Graph, tag: str, element: Element, texts: list[str]) -> None:
    ids = [int(text) for text in texts[: element.ids]]
    numbers = np.array([float(text) for text in texts[element.ids :]])
    wanted = element.pose + element.information
    if len(ids) < element.ids or (tag != "FIX" and len(numbers) != wanted):
        found = words.count(len(texts), "number")
        raise ValueError(f"{found}; {element.ids} id and {wanted} numbers are needed")
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    if tag == "FIX":
        graph.held += [int(text) for text in texts]
        return
    planar = element.pose == 3
    if (graph.vertices or graph.edges) and planar != graph.planar:
        raise ValueError("planar and spatial poses in one graph")
    graph.planar = planar
    pose = _pose(numbers[: element.pose])
    if element.ids == 1:
        if ids[0] in graph.vertices:
            raise ValueError(f"vertex {ids[0]} stands already above")
        graph.vertices[ids[0]] = pose
        return
    upper = numbers[element.pose :][list(element.order or range(element.information))]
    size = 3 if planar else 6
    information = np.zeros((size, size))
    information[np.triu_indices(size)] = upper
    information += np.triu(information, 1).T
    graph.edges.append((ids[0], ids[1], pose, information))


def _pose(numbers: Floats) -> Pose:
    """Position and quaternion of x y yaw, x y z roll pitch yaw, or x y z qx qy qz qw."""
    if len(numbers) == 3:
        x, y, yaw = numbers
        return np.array([x, y, 0.0]), so3.exp(np.array([0.0, 0.0, yaw]))
    if len(numbers) == 7:
        norm = float(np.linalg.norm(numbers[3:]))
        if not 0.99 <= norm <= 1.01:
            raise ValueError(f"the quaternion has length {norm:.3g}")
        return numbers[:3], numbers[3:] / norm
    roll, pitch, yaw = (
        so3.exp(angle * axis) for angle, axis in zip(numbers[3:], np.eye(3), strict=True)
    )
    return numbers[:3], so3.compose(so3.compose(yaw, pitch), roll)


def _marginals(path: Path, graph: Graph) -> Any:
    """The belief of the graph at its vertices."""
    gtsam = import_extra("gtsam", "graph", "marginals of pose graphs")

    def pose_of(pose: Pose) -> Any:
        matrix = so3.matrix(pose[1])
        if graph.planar:
            return gtsam.Pose2(*pose[0][:2], np.arctan2(matrix[1, 0], matrix[0, 0]))
        return gtsam.Pose3(gtsam.Rot3(matrix), pose[0])

    values, factors = gtsam.Values(), gtsam.NonlinearFactorGraph()
    for key, pose in graph.vertices.items():
        values.insert(key, pose_of(pose))
    kind = "Pose2" if graph.planar else "Pose3"
    between, prior = (getattr(gtsam, f"{name}Factor{kind}") for name in ("Between", "Prior"))
    swap = [0, 1, 2] if graph.planar else [3, 4, 5, 0, 1, 2]  # rotation first
    for first, second, pose, information in graph.edges:
        missing = next((key for key in (first, second) if key not in graph.vertices), None)
        if missing is not None:
            raise FormatError(f"{path}: an edge names vertex {missing}, which is not there")
        try:
            noise = gtsam.noiseModel.Gaussian.Information(information[np.ix_(swap, swap)])
        except RuntimeError as error:
            text = "is not positive definite"
            raise FormatError(f"{path}: information of edge {first} {second} {text}") from error
        factors.add(between(first, second, pose_of(pose), noise))
    held = gtsam.noiseModel.Isotropic.Sigma(len(swap), HELD_SIGMA)
    fixed = graph.held or [min(graph.vertices)]
    for key in fixed:
        factors.add(prior(key, pose_of(graph.vertices[key]), held))
    free = [key for key in graph.vertices if key not in fixed]
    try:
        marginals = gtsam.Marginals(factors, values)
        return from_gtsam(values, marginals, keys=free, cross_lags=CROSS_LAGS)
    except (RuntimeError, IndexError) as error:
        text = "the graph leaves some poses undetermined (is it connected?)"
        raise FormatError(f"{path}: {text}") from error


INDEX_BITS = 56  # of a key; the letter of a symbol is above them
INDEX_NOTE = "stamps are the indices of the keys, as seconds: none were given"
RIGHT = CONVENTIONS["right"]
READ_AS = {
    "Pose3": f"{RIGHT.words} (gtsam.Pose3); rotation-first (gtsam.Pose3)",
    "Pose2": f"{RIGHT.words} (gtsam.Pose2); x, y, yaw (gtsam.Pose2)",
}
PLACES = {"Pose3": [3, 4, 5, 0, 1, 2], "Pose2": [0, 1, 5]}  # in a tangent with translation first


def from_gtsam(
    values: Any,
    marginals: Any,
    *,
    stamps: Mapping[int, int] | None = None,
    keys: Iterable[int] | None = None,
    cross_lags: int = 0,
    body: str | None = None,
    world: str | None = None,
    gauge: Gauge | None = None,
) -> GaussianTrack:
    """Take the poses of a gtsam smoother, with their marginal covariances, as a track.

    Parameters
    ----------
    values
        `gtsam.Values` with `Pose3`, or `Pose2`: world from body.
    marginals
        `gtsam.Marginals` of the graph at these values.
    stamps
        Nanoseconds by key. None: the index of each key counts seconds, and a note says so.
    keys
        Keys of the poses; None: those of `stamps`, or else all poses.
    cross_lags
        Also take the cross-covariances of poses so many places apart or fewer (0: none). The
        joint marginals of n poses and k lags are n k calls of gtsam.
    body, world, gauge
        What the track says of itself.
    """
    kind, chosen = _pose_keys(values, keys if keys is not None else stamps)
    skipped = 0 if keys is not None or stamps is not None else len(values.keys()) - len(chosen)
    order, stamp, notes = in_time(chosen, stamps)
    poses = [getattr(values, f"at{kind}")(key) for key in order]
    size = 3 if kind == "Pose3" else 2
    position, matrices = np.zeros((len(poses), 3)), np.tile(np.eye(3), (len(poses), 1, 1))
    position[:, :size] = [pose.translation() for pose in poses]
    matrices[:, :size, :size] = [pose.rotation().matrix() for pose in poses]
    own = np.array([marginals.marginalCovariance(key) for key in order], dtype=np.float64)
    own = (own + np.swapaxes(own, 1, 2)) / 2  # symmetric up to the rounding of a Cholesky factor
    remarks = (f"{skipped} variables that are no {kind} were left out",) if skipped else ()
    about = Provenance("gtsam", "gtsam values and marginals", READ_AS[kind], (), notes, remarks)
    return GaussianTrack(
        stamp,
        position,
        so3.quaternion(matrices),
        _translation_first(own, kind),
        cross=_cross(marginals, order, cross_lags, kind),
        about=About(body, world, gauge, algorithm="gtsam"),
        provenance=about,
    )


def _translation_first(blocks: Floats, kind: str) -> Floats:
    """Blocks of 6x6 with the translation first; zero where a planar pose says nothing."""
    found = np.zeros((len(blocks), 6, 6))
    rows = np.array(PLACES[kind])
    found[:, rows[:, None], rows] = blocks
    return found


def _pose_keys(values: Any, wanted: Iterable[int] | None) -> tuple[str, list[int]]:
    """What kind the poses are, and the keys that were asked for, or those of all poses."""
    if wanted is not None:
        chosen = [int(key) for key in wanted]
        missing = next((key for key in chosen if not values.exists(key)), None)
        if missing is not None:
            raise OptionError(f"there is no variable {_symbol(missing)} among the values")
    else:
        chosen = list(map(int, values.keys()))
    for kind in READ_AS:
        found = [key for key in chosen if _is_pose(values, key, kind)]
        if found:
            return kind, chosen if wanted is not None else found
    raise TrackError("there is no Pose3 and no Pose2 among the values")


def _is_pose(values: Any, key: int, kind: str) -> bool:
    try:
        getattr(values, f"at{kind}")(key)
    except (AttributeError, RuntimeError, ValueError, TypeError):  # it is something else
        return False
    return True


def _symbol(key: int) -> str:
    """A key as gtsam shows it: x12."""
    letter, index = key >> INDEX_BITS, key & ((1 << INDEX_BITS) - 1)
    return f"{chr(letter)}{index}" if letter else str(index)


def in_time(
    keys: list[int], stamps: Mapping[int, int] | None
) -> tuple[list[int], Ints, tuple[str, ...]]:
    """Keys in the order of their stamps, the stamps, and a note where none were given."""
    if stamps is None:
        index = {key: key & ((1 << INDEX_BITS) - 1) for key in keys}
        if len(set(index.values())) < len(index):
            raise OptionError("two poses have keys of the same index; name their keys or stamps")
        stamps = {key: value * NANOSECONDS for key, value in index.items()}
        notes: tuple[str, ...] = (INDEX_NOTE,)
    else:
        missing = next((key for key in keys if key not in stamps), None)
        if missing is not None:
            raise OptionError(f"pose {_symbol(missing)} has no stamp")
        notes = ()
    when = {key: int(stamps[key]) for key in keys}
    order = sorted(keys, key=when.__getitem__)
    return order, np.array([when[key] for key in order], dtype=np.int64), notes


def _cross(marginals: Any, keys: list[int], lags: int, kind: str) -> CrossCovariance | None:
    """Cov(xi_i, xi_j) of poses at most `lags` places apart."""
    pairs = [(i, j) for i in range(len(keys)) for j in range(i + 1, min(i + lags + 1, len(keys)))]
    if not pairs:
        return None
    blocks = [
        marginals.jointMarginalCovariance([keys[i], keys[j]]).at(keys[i], keys[j]) for i, j in pairs
    ]
    return CrossCovariance(np.array(pairs), _translation_first(np.array(blocks), kind))
