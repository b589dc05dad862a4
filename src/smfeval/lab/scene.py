"""Scenes of boxes, tubes and ground, and the distance to the nearest surface along each ray."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints


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
    centre, half, yaw = rows[:, :2], rows[:, 2:4], rows[:, 4]
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

    def hit(self, origin: Floats, direction: Floats) -> Floats:
        """Distance to the first face along each ray, inf without one. (3, n), (3, n) -> (n,).

        Along axis i the ray is inside while |o_i + t d_i| <= half_i (slab method); it is inside
        the box while it is so along all three.
        """
        back = self.rotation.T
        start, half = back @ (origin - self.centre[:, None]), self.half[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # a ray in a face: NaN, a miss
            inverse = 1 / (back @ direction)
            one, other = (-half - start) * inverse, (half - start) * inverse
            enter = np.minimum(one, other).max(axis=0)
            leave = np.maximum(one, other).min(axis=0)
            first = np.where(enter > 0, enter, leave)
            is_hit = (enter <= leave) & (first > 0)
        return np.where(is_hit, first, np.inf)


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

    def hit(self, origin: Floats, direction: Floats) -> Floats:
        """Distance to the first wall along each ray, inf without one. (3, n), (3, n) -> (n,).

        With both parts across the axis, |o + t d|^2 = radius^2 is quadratic in t.
        """
        start = origin - self.centre[:, None]
        start_along, step_along = self.axis @ start, self.axis @ direction
        start = start - self.axis[:, None] * start_along
        step = direction - self.axis[:, None] * step_along
        a, b = (step * step).sum(axis=0), (start * step).sum(axis=0)
        c = (start * start).sum(axis=0) - self.radius**2
        with np.errstate(divide="ignore", invalid="ignore"):  # no root, or along the axis: a miss
            root = np.sqrt(b * b - a * c)
            near, far = (-b - root) / a, (-b + root) / a
            near_hit = self._is_hit(near, start_along, step_along)
            far_hit = self._is_hit(far, start_along, step_along)
        return np.where(near_hit, near, np.where(far_hit, far, np.inf))

    def _is_hit(self, distance: Floats, start: Floats, step: Floats) -> Bools:
        return (distance > 0) & (np.abs(start + distance * step) <= self.half_length)


def pillar(x: float, y: float, radius: float, low: float, high: float) -> Tube:
    """A vertical tube from height `low` to height `high`."""
    centre = np.array([x, y, (low + high) / 2])
    return Tube(centre, np.array([0.0, 0.0, 1.0]), radius, (high - low) / 2)


CLOSE_M = 1e-9  # clearance that counts as contact
STEPS = 60  # grazing rays need some 20; what is not met by then passes over the ground


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane at height `level` with waves on it; no waves: flat."""

    level: float = 0.0  # m
    amplitude: Floats = field(default_factory=lambda: np.zeros(0))  # (w,) m
    wave: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # (w, 2) rad/m
    phase: Floats = field(default_factory=lambda: np.zeros(0))  # (w,) rad

    def height(self, x: Floats, y: Floats) -> Floats:
        """Height of the ground at points. (...), (...) -> (...)."""
        angle = self.wave[:, 0] * x[..., None] + self.wave[:, 1] * y[..., None] + self.phase
        return self.level + (self.amplitude * np.sin(angle)).sum(axis=-1)

    def hit(self, origin: Floats, direction: Floats, limit: Floats) -> Floats:
        """Distance to the ground along each ray, inf if not before `limit`. (3, n) -> (n,)."""
        crest = self.level + np.abs(self.amplitude).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = (crest - origin[2]) / direction[2]  # where the ray sinks below all crests
        above = origin[2] > crest
        start = np.where(above, np.where(direction[2] < 0, fall, np.inf), 0.0)
        reached = start <= limit
        if not len(self.amplitude):
            return np.where(reached & above, start, np.inf)
        out = np.full(len(limit), np.inf)
        rays = np.flatnonzero(reached)
        out[rays] = self._march_rays(origin[:, rays], direction[:, rays], start[rays], limit[rays])
        return out

    def _march_rays(
        self, origin: Floats, direction: Floats, start: Floats, limit: Floats
    ) -> Floats:
        """Walk along the rays from `start` without ever passing the ground."""
        distance = np.full(len(start), np.inf)
        rate = self.wave @ direction[:2]
        bend = np.abs(self.amplitude) @ (rate * rate)
        angle = self.wave @ origin[:2] + self.phase[:, None]
        at, active = start.copy(), np.arange(len(start))
        for _ in range(STEPS):
            wave_angle = angle + rate * at
            gap = origin[2] + direction[2] * at - self.level - self.amplitude @ np.sin(wave_angle)
            slope = direction[2] - self.amplitude @ (rate * np.cos(wave_angle))
            touched = gap <= CLOSE_M
            distance[active[touched]] = at[touched]
            with np.errstate(divide="ignore"):  # a vertical ray does not bend
                step = 2 * gap / (np.sqrt(slope * slope + 2 * bend * gap) - slope)
            at = at + step
            on = ~touched & (at < limit)
            if not on.any():
                break
            active, at, limit, bend = active[on], at[on], limit[on], bend[on]
            origin, direction, angle, rate = (
                origin[:, on],
                direction[:, on],
                angle[:, on],
                rate[:, on],
            )
        return distance


def candidates(
    prints: Footprints, centre: Floats, spread: float, azimuth: Floats, farthest: float
) -> Iterator[tuple[int, slice]]:
    """Surfaces within reach and the rays that may meet them, as slices of sorted azimuths."""
    gap = prints.gap(centre)
    low, width = _views(prints, centre, gap, spread)
    first = np.searchsorted(azimuth, low, side="left")
    last = np.searchsorted(azimuth, low + width, side="right")
    again = np.searchsorted(azimuth, low + width - 2 * np.pi, side="right")
    near: Ints = np.flatnonzero(gap <= farthest + spread)
    for i in near[np.argsort(gap[near], kind="stable")]:
        if width[i] >= 2 * np.pi:
            yield int(i), slice(0, len(azimuth))
            continue
        if last[i] > first[i]:
            yield int(i), slice(int(first[i]), int(last[i]))
        if again[i] > 0:  # the view goes on beyond pi, at the start of the azimuths
            yield int(i), slice(0, int(again[i]))


def _views(prints: Footprints, centre: Floats, gap: Floats, spread: float) -> tuple[Floats, Floats]:
    """First azimuth in [-pi, pi) and width of what each footprint covers, seen from the batch."""
    to_corner = prints.corner - centre
    bearing = np.arctan2(to_corner[..., 1], to_corner[..., 0])
    turn = np.mod(bearing - bearing[:, :1] + np.pi, 2 * np.pi) - np.pi
    around = gap <= spread
    margin = np.arcsin(np.where(around, 1.0, spread / np.where(around, 1.0, gap))) + 1e-9
    low = bearing[:, 0] + turn.min(axis=1) - margin
    width = np.where(around, 2 * np.pi, np.ptp(turn, axis=1) + 2 * margin)
    return np.mod(low + np.pi, 2 * np.pi) - np.pi, width


BATCH = 2**15  # rays that are cast together: their coordinates stay in cache


@dataclass(frozen=True, eq=False)
class Scene:
    """Surfaces that stand on the ground."""

    surfaces: tuple[Box | Tube, ...]
    ground: Ground | None = None

    @cached_property
    def footprints(self) -> Footprints:
        """What each surface covers, seen from above."""
        return stack_footprints([surface.footprint for surface in self.surfaces])


def cast(scene: Scene, origin: Floats, direction: Floats, farthest_m: float) -> Floats:
    """Distance to the first surface along each ray, inf if none is near enough.

    Rays (n, 3) with unit directions; neighbours should start near each other. -> (n,).
    """
    out = np.empty(len(origin))
    for first in range(0, len(origin), BATCH):
        part = slice(first, first + BATCH)
        out[part] = _batch(scene, origin[part], direction[part], farthest_m)
    return out


def _batch(scene: Scene, origin: Floats, direction: Floats, farthest_m: float) -> Floats:
    azimuth = np.arctan2(direction[:, 1], direction[:, 0])
    order = np.argsort(azimuth, kind="stable")
    azimuth, start, step = azimuth[order], origin[order].T.copy(), direction[order].T.copy()
    centre = (start[:2].min(axis=1) + start[:2].max(axis=1)) / 2
    spread = float(np.hypot(*(start[:2] - centre[:, None])).max())

    nearest = np.full(len(order), np.nextafter(farthest_m, np.inf))
    for i, rays in candidates(scene.footprints, centre, spread, azimuth, farthest_m):
        distance = scene.surfaces[i].hit(start[:, rays], step[:, rays])
        np.minimum(nearest[rays], distance, out=nearest[rays])
    if scene.ground is not None:
        np.minimum(nearest, scene.ground.hit(start, step, nearest), out=nearest)

    out = np.empty(len(order))
    out[order] = np.where(nearest <= farthest_m, nearest, np.inf)
    return out
