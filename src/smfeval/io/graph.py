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
"""

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smfeval import words
from smfeval.errors import FormatError
from smfeval.io.gtsam_marginals import from_gtsam, in_time
from smfeval.io.options import ReadOptions
from smfeval.io.source import import_extra, open_input
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import About, Provenance, Track

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
    vertices: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    edges: list[tuple[int, int, tuple[Floats, Floats], Floats]] = field(default_factory=list)
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
        provenance = found.provenance
        left_out = words.count(len(graph.vertices) - len(found), "vertex", "vertices")
        remarks += (f"{left_out} held fixed, without uncertainty: left out",)
        return found.with_arrays(
            {},
            about=about,
            provenance=Provenance(
                str(path), kind, provenance.convention, (), provenance.notes, remarks
            ),
        )
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


def _pose(numbers: Floats) -> tuple[Floats, Floats]:
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

    def pose_of(pose: tuple[Floats, Floats]) -> Any:
        matrix = so3.matrix(pose[1])
        if graph.planar:
            return gtsam.Pose2(*pose[0][:2], np.arctan2(matrix[1, 0], matrix[0, 0]))
        return gtsam.Pose3(gtsam.Rot3(matrix), pose[0])

    values, factors = gtsam.Values(), gtsam.NonlinearFactorGraph()
    for key, pose in graph.vertices.items():
        values.insert(key, pose_of(pose))
    between = gtsam.BetweenFactorPose2 if graph.planar else gtsam.BetweenFactorPose3
    prior = gtsam.PriorFactorPose2 if graph.planar else gtsam.PriorFactorPose3
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
