"""A walk with a gait of 2 Hz, seen at 100 Hz with 1 mm of noise."""

import numpy as np

STEP_S = 0.01
NOISE_M = 1e-3


def walk(poses: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds (n,), positions (n, 3) and rotation vectors (n, 3)."""
    rng = np.random.default_rng(0)
    t = STEP_S * np.arange(poses)
    position = np.stack([t, 5 * np.sin(0.2 * t), 0.02 * np.sin(12.5 * t)], axis=1)
    turn = np.stack([0.03 * np.sin(6.3 * t), 0.03 * np.cos(12.5 * t), np.sin(0.2 * t)], axis=1)
    return t, position + NOISE_M * rng.normal(size=(poses, 3)), turn


def between(t: np.ndarray) -> np.ndarray:
    """The stamps asked for: half a step after each pose but the last."""
    return t[:-1] + 0.5 * STEP_S
