"""Distances to the surfaces of a scene from their definitions, without any rays."""

import numpy as np

from smfeval.lab.scene import Box, Ground, Scene


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
    above = np.abs(point[..., 2] - ground.height(point[..., 0], point[..., 1]))
    return above / np.sqrt(1 + steepest**2)


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
    at = np.zeros(len(origin))
    for _ in range(3000):
        gap = from_scene(scene, origin + at[:, None] * direction)
        moving = (gap > 1e-9) & (at < farthest)
        if not moving.any():
            break
        at = np.where(moving, at + gap, at)
    return np.where(at < farthest, at, np.inf)
