"""Distances to the surfaces of a scene from their definitions, without any rays."""

import numpy as np

from smfeval_lab.rays import tuft_height
from smfeval_lab.scene import Box, Ground, Scene


def textured_height(ground: Ground, x, y):
    """Height with the tufts, which a ray meets. (n,), (n,) -> (n,)."""
    shape = ground.shape
    places = zip(x / shape.cell_m, y / shape.cell_m, strict=True)
    tufts = np.array([tuft_height(u, v, shape.seed) for u, v in places])
    return ground.height(x, y) + shape.tuft_m * tufts


def from_box(box, point):
    outside = np.abs((point - box.centre) @ box.rotation) - box.half
    inner = np.minimum(outside.max(axis=-1), 0)
    return np.linalg.norm(np.maximum(outside, 0), axis=-1) - inner


def from_tube(tube, point):
    start = point - tube.centre
    along = start @ tube.axis
    radius = np.linalg.norm(start - along[..., None] * tube.axis, axis=-1)
    return np.hypot(radius - tube.radius, np.maximum(np.abs(along) - tube.half_length, 0))


def from_ground(ground: Ground, point):
    """A lower bound of the distance: the height above it, less what the steepest slope allows."""
    steepest = (np.abs(ground.amplitude) * np.linalg.norm(ground.wave, axis=1)).sum()
    if ground.tufts is not None:
        steepest += 2 * np.sqrt(2) * ground.tufts.highest_m / ground.tufts.cell_m
        height = textured_height(ground, point[:, 0], point[:, 1])
    else:
        height = ground.height(point[..., 0], point[..., 1])
    above = np.abs(point[..., 2] - height)
    return above / np.sqrt(1 + steepest**2)


def from_crowns(scene: Scene, point):
    """Zero in a crown, a metre or more outside of all. (n, 3) -> (n,)."""
    inside = np.zeros(len(point), dtype=bool)
    for crown in scene.crowns:
        inside |= (((point - crown.centre) / crown.half) ** 2).sum(axis=-1) < 1 + 1e-4
    return np.where(inside, 0.0, 1.0)


def from_moving(scene: Scene, point, time):
    """Distance to the nearest moving body, each point at its time. (n, 3), (n,) -> (n,)."""
    nearest = np.full(len(point), np.inf)
    for moving in scene.moving:
        x, y, z, yaw = moving.poses(time).T
        ahead, left = point[:, 0] - x, point[:, 1] - y
        cos, sin = np.cos(yaw), np.sin(yaw)
        local = np.stack([cos * ahead + sin * left, cos * left - sin * ahead, point[:, 2] - z], 1)
        for surface in moving.surfaces:
            distance = from_box if isinstance(surface, Box) else from_tube
            nearest = np.minimum(nearest, distance(surface, local))
    return nearest


def from_scene(scene: Scene, point):
    """Distance to the nearest surface. (n, 3) -> (n,)."""
    nearest = np.full(point.shape[:-1], np.inf)
    for surface in scene.surfaces:
        distance = from_box if isinstance(surface, Box) else from_tube
        nearest = np.minimum(nearest, distance(surface, point))
    if scene.ground is not None:
        nearest = np.minimum(nearest, from_ground(scene.ground, point))
    return nearest


def traced(scene: Scene, origin, direction, farthest: float):
    """Sphere tracing: step by the distance to the nearest surface until there is none left."""
    at, left = np.zeros(len(origin)), np.arange(len(origin))
    for _ in range(3000):
        gap = from_scene(scene, origin[left] + at[left, None] * direction[left])
        moving = (gap > 1e-9) & (at[left] < farthest)
        left = left[moving]
        if len(left) == 0:
            break
        at[left] += gap[moving]
    return np.where(at < farthest, at, np.inf)
