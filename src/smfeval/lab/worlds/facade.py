"""Walls of an old college: piers, windows set back between them, and a gate where one passes."""

import numpy as np

from smfeval.lab.scene.box import box
from smfeval.lab.worlds.build import Place, Surface

RECESS_M = 0.3  # how far windows are set back
GATE_M = 3.0
GATE_HEIGHT_M = 3.2


def facade(
    start: Place, end: Place, rng: np.random.Generator, *, gate: float | None = None
) -> list[Surface]:
    """A wall that faces left of its way from `start`; a gate at this distance from the start."""
    (x0, y0), (x1, y1) = start, end
    length, yaw = float(np.hypot(x1 - x0, y1 - y0)), float(np.arctan2(y1 - y0, x1 - x0))
    height = rng.uniform(5.0, 8.0)
    parts: list[Surface] = []

    def add(first: float, last: float, depth: float, low: float, high: float) -> None:
        """A block along the wall, whose face stands `depth` in front of the windows."""
        along, across = (first + last) / 2, depth - RECESS_M - (depth + 0.3) / 2
        x = x0 + along * np.cos(yaw) - across * np.sin(yaw)
        y = y0 + along * np.sin(yaw) + across * np.cos(yaw)
        size = (last - first, depth + 0.3, high - low)
        parts.append(box((float(x), float(y), (low + high) / 2), size, yaw))

    for first, last in _stretches(length, gate):
        add(first, last, 0.0, 0.0, height)
        add(first, last, RECESS_M, -0.5, rng.uniform(0.7, 1.1))
        add(first, last, RECESS_M, rng.uniform(2.6, 3.4), height)
        for middle in _piers(first, last, rng):
            half = rng.uniform(0.3, 0.8)
            add(middle - half, middle + half, RECESS_M + rng.uniform(0, 0.6), -0.5, height)
    if gate is not None:
        add(gate - GATE_M / 2, gate + GATE_M / 2, RECESS_M, GATE_HEIGHT_M, height)
    return parts


def _stretches(length: float, gate: float | None) -> list[tuple[float, float]]:
    if gate is None:
        return [(0.0, length)]
    return [(0.0, gate - GATE_M / 2), (gate + GATE_M / 2, length)]


def _piers(first: float, last: float, rng: np.random.Generator) -> list[float]:
    """Middles of piers, some 5 m apart."""
    count = max(1, round((last - first) / 5))
    even = first + (np.arange(count) + 0.5) * (last - first) / count
    return [float(x) for x in even + rng.uniform(-0.8, 0.8, size=count)]
