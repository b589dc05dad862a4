"""Scenes: boxes, tubes, porous crowns and ground, at rest or moving, and rays cast into them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats, Ints

if TYPE_CHECKING:
    from smfeval_lab.rays import Crowns, GroundShape, Slices, Solids


@dataclass(frozen=True)
class Footprint:
    """A rectangle on the ground, turned by `yaw`, that contains all of a surface."""

    x: float
    y: float
    half_x: float
    half_y: float
    yaw: float


@dataclass(frozen=True)
class Footprints:
    """The rectangles of many surfaces. All (k,) but `corner`, (k, 4, 2)."""

    centre: Floats  # (k, 2)
    half: Floats  # (k, 2)
    yaw: Floats  # (k,)
    corner: Floats  # (k, 4, 2)

    def gap(self, point: Floats) -> Floats:
        """Distance from a point (2,) to each rectangle, zero inside. -> (k,)."""
        to_point = point - self.centre
        cos, sin = np.cos(self.yaw), np.sin(self.yaw)
        along = np.abs(cos * to_point[:, 0] + sin * to_point[:, 1]) - self.half[:, 0]
        across = np.abs(cos * to_point[:, 1] - sin * to_point[:, 0]) - self.half[:, 1]
        return np.hypot(np.maximum(along, 0), np.maximum(across, 0))


def stack_footprints(prints: list[Footprint]) -> Footprints:
    """Many rectangles as arrays."""
    rows = np.array([(f.x, f.y, f.half_x, f.half_y, f.yaw) for f in prints]).reshape(-1, 5)
    return _frame_rectangles(rows[:, :2], rows[:, 2:4], rows[:, 4])


def _frame_rectangles(centre: Floats, half: Floats, yaw: Floats) -> Footprints:
    signs = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])
    local = half[:, None] * signs
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    turned = [cos * local[..., 0] - sin * local[..., 1], sin * local[..., 0] + cos * local[..., 1]]
    return Footprints(centre, half, yaw, centre[:, None] + np.stack(turned, axis=-1))


@dataclass(frozen=True, eq=False)
class Box:
    """All points c + R x with |x_i| <= half_i; its faces are met from outside and from inside."""

    centre: Floats  # (3,) m
    half: Floats  # (3,) m; one of them may be zero
    rotation: Floats = field(default_factory=lambda: np.eye(3))  # world_R_box

    @cached_property
    def footprint(self) -> Footprint:
        """Exact for a box that is only turned about the vertical."""
        yaw = float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))
        cos, sin = np.cos(yaw), np.sin(yaw)
        level = np.array([[cos, sin, 0], [-sin, cos, 0]]) @ self.rotation
        half_x, half_y = np.abs(level) @ self.half
        return Footprint(self.centre[0], self.centre[1], half_x, half_y, yaw)

    @property
    def row(self) -> Floats:
        """Centre, rotation and half edges. (15,)."""
        return np.concatenate([self.centre, self.rotation.ravel(), self.half])


def box(
    centre: tuple[float, float, float], size: tuple[float, float, float], yaw: float = 0
) -> Box:
    """A box of full edge lengths `size` that stands upright, turned by `yaw` in radians."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    rotation = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1.0]])
    return Box(np.array(centre, dtype=float), np.array(size) / 2, rotation)


@dataclass(frozen=True, eq=False)
class Tube:
    """All points at `radius` from the axis and within `half_length` of the centre along it."""

    centre: Floats  # (3,) m
    axis: Floats  # (3,) unit vector
    radius: float  # m
    half_length: float  # m

    @cached_property
    def footprint(self) -> Footprint:
        """A rectangle along the axis."""
        x, y, _ = self.axis
        along = self.half_length * float(np.hypot(x, y)) + self.radius
        yaw = float(np.arctan2(y, x))
        return Footprint(self.centre[0], self.centre[1], along, self.radius, yaw)

    @property
    def row(self) -> Floats:
        """Centre, axis, radius and half length, filled up with zeros. (15,)."""
        size = [self.radius, self.half_length]
        return np.concatenate([self.centre, self.axis, size, np.zeros(7)])


def pillar(x: float, y: float, radius: float, low: float, high: float) -> Tube:
    """A vertical tube from height `low` to height `high`."""
    centre = np.array([x, y, (low + high) / 2])
    return Tube(centre, np.array([0.0, 0.0, 1.0]), radius, (high - low) / 2)


@dataclass(frozen=True, eq=False)
class Crown:
    """Leaves in an ellipsoid: a ray of length L in it meets none with probability exp(-mu L).

    The leaves stay where they are, in clumps of some 20 cm; returns come from the depth of the
    crown, at distances from where the ray enters it with the density mu exp(-mu x). `extinction`,
    mu, is half the leaf area in a cubic metre for leaves that look in all directions.
    """

    centre: Floats  # (3,) m
    half: Floats  # (3,) m, semi-axes along x, y and z
    extinction: float  # 1/m

    @cached_property
    def footprint(self) -> Footprint:
        """The rectangle around it."""
        return Footprint(self.centre[0], self.centre[1], self.half[0], self.half[1], 0.0)


@dataclass(frozen=True)
class Tufts:
    """Texture of the ground: heights drawn for the corners of a grid, bilinear in between."""

    rms_m: float  # of the height over the waves
    cell_m: float  # edge of a cell of the grid
    seed: int = 0

    @property
    def highest_m(self) -> float:
        """What corners are drawn from, evenly: uniform has variance 1/3, and 4/9 of it is left."""
        return self.rms_m * np.sqrt(27 / 4)


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane at height `level` with waves on it, and perhaps tufts; no waves: flat."""

    level: float = 0.0  # m
    amplitude: Floats = field(default_factory=lambda: np.zeros(0))  # (w,) m
    wave: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # (w, 2) rad/m
    phase: Floats = field(default_factory=lambda: np.zeros(0))  # (w,) rad
    tufts: Tufts | None = None

    def height(self, x: Floats, y: Floats) -> Floats:
        """Height of the waves at points, which a foot levels. (...), (...) -> (...)."""
        angle = self.wave[:, 0] * x[..., None] + self.wave[:, 1] * y[..., None] + self.phase
        return self.level + (self.amplitude * np.sin(angle)).sum(axis=-1)

    @property
    def shape(self) -> "GroundShape":
        """What rays are cast against."""
        from smfeval_lab.rays import GroundShape  # noqa: PLC0415  numba only when rays are cast

        tufts = self.tufts or Tufts(0.0, 1.0)
        return GroundShape(
            float(self.level),
            self.amplitude,
            np.ascontiguousarray(self.wave),  # one layout: compiled once
            self.phase,
            float(tufts.highest_m),
            float(tufts.cell_m),
            int(tufts.seed),
        )


KNOT_S = 0.1  # paths of moving bodies are straight in between


@dataclass(frozen=True, eq=False)
class Moving:
    """Surfaces that move together: in the axes of a body whose path is given every 0.1 s."""

    surfaces: tuple[Box | Tube, ...]  # in the body's axes: x ahead, y left, z up
    pose: Floats  # (knots, 4) x, y, z in m and yaw in rad, without jumps of a turn

    def __post_init__(self) -> None:
        if self.pose.ndim != 2 or self.pose.shape[1] != 4 or len(self.pose) < 2:
            raise OptionError("the path of a moving body has two knots of x, y, z and yaw or more")

    def poses(self, time: Floats) -> Floats:
        """x, y, z and yaw at times in s; it rests before its path begins and after. (n, 4)."""
        knot = np.arange(len(self.pose)) * KNOT_S
        return np.stack([np.interp(time, knot, column) for column in self.pose.T], axis=-1)

    @cached_property
    def reach_m(self) -> list[float]:
        """How far each surface reaches from the body's origin, seen from above."""
        prints = (surface.footprint for surface in self.surfaces)
        return [float(np.hypot(f.x, f.y) + np.hypot(f.half_x, f.half_y)) for f in prints]


def _find_slices(
    prints: Footprints, centre: Floats, spread: float, azimuth: Floats, farthest: float
) -> "Slices":
    """Surfaces within reach, nearest first, and the rays that may meet them."""
    from smfeval_lab.rays import Slices  # noqa: PLC0415  numba only when rays are cast

    gap, to_corner = prints.gap(centre), prints.corner - centre
    bearing = np.arctan2(to_corner[..., 1], to_corner[..., 0])
    turn = np.mod(bearing - bearing[:, :1] + np.pi, 2 * np.pi) - np.pi
    around = gap <= spread
    margin = np.arcsin(np.where(around, 1.0, spread / np.where(around, 1.0, gap))) + GRAIN_RAD
    # first azimuth in [-pi, pi) and width of what each footprint covers, seen from the batch
    low = bearing[:, 0] + turn.min(axis=1) - margin
    low = np.mod(low + np.pi, 2 * np.pi) - np.pi
    width = np.where(around, 2 * np.pi, np.ptp(turn, axis=1) + 2 * margin)

    first = np.searchsorted(azimuth, low, side="left")
    last = np.searchsorted(azimuth, low + width, side="right")
    again = np.searchsorted(azimuth, low + width - 2 * np.pi, side="right")
    whole = width >= 2 * np.pi
    first, last = np.where(whole, 0, first), np.where(whole, len(azimuth), last)
    again = np.where(whole, 0, again)  # the view goes on beyond pi, at the start of the azimuths

    index: Ints = np.tile(np.arange(len(gap)), 2)
    first, last = np.concatenate([first, 0 * again]), np.concatenate([last, again])
    used = np.flatnonzero((gap[index] <= farthest + spread) & (last > first))
    used = used[np.argsort(gap[index[used]], kind="stable")]
    return Slices(index[used], first[used], last[used], gap[index[used]] - spread)


GRAIN_RAD = 2 * np.pi / 65535  # rays are sorted by azimuth to this
BATCH = 2**15  # rays that are cast together: their coordinates stay in cache
RELIEF_CELL_M = 0.25  # edge of a cell of the relief: half a stone
LEAF_SEED = 0  # crowns differ by their places: leaves are drawn for places in the world
REST = -1  # the path of a surface that does not move


@dataclass(frozen=True, eq=False)
class Scene:
    """Surfaces that stand on the ground, crowns, and bodies that move among them."""

    surfaces: tuple[Box | Tube, ...]
    ground: Ground | None = None
    crowns: tuple[Crown, ...] = ()
    moving: tuple[Moving, ...] = ()
    relief_m: float = 0.0  # rms by which surfaces at rest are rough

    @cached_property
    def footprints(self) -> Footprints:
        """What each surface covers, seen from above."""
        return stack_footprints([surface.footprint for surface in self.surfaces])

    @cached_property
    def crown_footprints(self) -> Footprints:
        """What each crown covers, seen from above."""
        return stack_footprints([crown.footprint for crown in self.crowns])

    def moving_footprints(self, start_s: float, end_s: float) -> Footprints:
        """Squares that contain each surface of a moving body from one time to another."""
        solids = self.moving_solids
        last = solids.pose.shape[1] - 1
        first, end = (int(np.clip(t // KNOT_S, 0, last - 1)) for t in (start_s, end_s))
        places = solids.pose[:, first : end + 2, :2]
        low, high = places.min(axis=1)[solids.path], places.max(axis=1)[solids.path]
        reach = np.concatenate([body.reach_m for body in self.moving])[:, None]
        return _frame_rectangles((low + high) / 2, (high - low) / 2 + reach, np.zeros(len(low)))

    @cached_property
    def packed_crowns(self) -> "Crowns":
        """Crowns as arrays."""
        from smfeval_lab.rays import Crowns  # noqa: PLC0415  numba only when rays are cast

        centre, half = (np.array([getattr(c, n) for c in self.crowns]) for n in ("centre", "half"))
        return Crowns(centre, half, np.array([c.extinction for c in self.crowns]), LEAF_SEED)

    @cached_property
    def solids(self) -> "Solids":
        """Surfaces at rest."""
        return _pack_solids(self.surfaces, [REST] * len(self.surfaces), np.zeros((1, 2, 4)))

    @cached_property
    def moving_solids(self) -> "Solids":
        """Surfaces of all moving bodies."""
        surfaces = [surface for body in self.moving for surface in body.surfaces]
        path = [i for i, body in enumerate(self.moving) for _ in body.surfaces]
        knots = max(len(body.pose) for body in self.moving)
        rests = [np.tile(body.pose[-1:], (knots - len(body.pose), 1)) for body in self.moving]
        poses = zip((body.pose for body in self.moving), rests, strict=True)
        return _pack_solids(surfaces, path, np.stack([np.concatenate(pair) for pair in poses]))


def _pack_solids(surfaces: Sequence[Box | Tube], path: list[int], pose: Floats) -> "Solids":
    from smfeval_lab.rays import BOX, Solids  # noqa: PLC0415  numba only when rays are cast

    kind = np.array([BOX if isinstance(each, Box) else BOX + 1 for each in surfaces], dtype=int)
    row = np.array([each.row for each in surfaces], dtype=float).reshape(-1, 15)
    return Solids(kind, row, np.array(path, dtype=int), pose, KNOT_S)


def cast(
    scene: Scene,
    origin: Floats,
    direction: Floats,
    farthest_m: float,
    *,
    time: Floats | None = None,
) -> Floats:
    """Distance to the first surface along each ray, inf if none is near enough.

    Rays (n, 3) with unit directions; neighbours should start near each other. `time` (n,) in s
    is when each is sent, for bodies that move; all at 0 unless given. -> (n,).
    """
    time = np.zeros(len(origin)) if time is None else time
    out = np.empty(len(origin))
    for first in range(0, len(origin), BATCH):
        part = slice(first, first + BATCH)
        out[part] = _batch(scene, origin[part], direction[part], time[part], farthest_m)
    return out


def _batch(
    scene: Scene, origin: Floats, direction: Floats, time: Floats, farthest_m: float
) -> Floats:
    from smfeval_lab import rays as compiled  # noqa: PLC0415  numba only when rays are cast

    azimuth = np.arctan2(direction[:, 1], direction[:, 0])
    grain = ((azimuth + np.pi) / GRAIN_RAD).astype(np.uint16)
    order = np.argsort(grain, kind="stable")  # 16 bits are sorted in linear time
    azimuth = GRAIN_RAD * grain[order].astype(np.float64) - np.pi
    low, high = (np.array([end(origin[:, i]) for i in range(2)]) for end in (np.min, np.max))
    centre = (low + high) / 2
    spread = float(np.hypot(*(high - low))) / 2

    nearest = np.full(len(order), np.nextafter(farthest_m, np.inf))
    rays = compiled.Rays(origin[order], direction[order], time[order], nearest)
    if scene.surfaces:
        slices = _find_slices(scene.footprints, centre, spread, azimuth, farthest_m)
        compiled.cast_solids(rays, slices, scene.solids)
        if scene.relief_m:  # uniform corners have variance 1/3, of which (2/3)^3 is left
            highest = scene.relief_m * np.sqrt(81 / 8)
            compiled.roughen(rays, farthest_m, float(highest), RELIEF_CELL_M)
    if scene.moving:
        prints = scene.moving_footprints(float(time.min()), float(time.max()))
        slices = _find_slices(prints, centre, spread, azimuth, farthest_m)
        compiled.cast_solids(rays, slices, scene.moving_solids)
    if scene.ground is not None:
        compiled.cast_ground(rays, scene.ground.shape)
    if scene.crowns:
        slices = _find_slices(scene.crown_footprints, centre, spread, azimuth, farthest_m)
        compiled.cast_crowns(rays, slices, scene.packed_crowns)

    out = np.empty(len(order))
    out[order] = np.where(nearest <= farthest_m, nearest, np.inf)
    return out
