"""Motion made on the spot: draws of the motion prior, and a walk that is none."""

import numpy as np

from smfeval.associate.motion_prior import MotionPrior, process_covariance, transition


def draw(step: np.ndarray, motion: MotionPrior, rng: np.random.Generator) -> np.ndarray:
    """A curve of the prior, seen with its noise. (n - 1,) -> (n, d)."""
    order, root = motion.order, np.linalg.cholesky(motion.density)
    dimension = len(root)
    shocks = np.linalg.cholesky(process_covariance(step, order)) @ rng.normal(
        size=(len(step), order, dimension)
    )
    states = [rng.normal(size=(order, dimension))]
    for phi, shock in zip(transition(step, order), shocks, strict=True):
        states.append(phi @ states[-1] + shock)
    noise = np.sqrt(motion.ratio) * rng.normal(size=(len(states), dimension))
    return (np.array(states)[:, 0] + noise) @ root.T


def walk(time: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and rotation vectors (n, 3) of a sensor carried by somebody who walks.

    Two steps a second whose phase and strength wander, a heading that wanders, sway and bounce.
    """
    dt = np.diff(time, prepend=time[0])

    def wander(sigma: float, memory_s: float) -> np.ndarray:
        kick = rng.normal(size=len(time))
        value = np.zeros(len(time))
        for k in range(1, len(time)):
            keep = np.exp(-dt[k] / memory_s)
            value[k] = keep * value[k - 1] + sigma * np.sqrt(1 - keep**2) * kick[k]
        return value

    phase = 2 * np.pi * np.cumsum(dt * (1.9 + 0.1 * wander(1.0, 3.0)))
    strength = 1 + 0.3 * wander(1.0, 2.0)
    heading = np.cumsum(dt * wander(0.3, 4.0))
    speed = 1.3 + 0.2 * wander(1.0, 3.0) + 0.15 * strength * np.sin(phase)
    forward = np.stack([np.cos(heading), np.sin(heading)], axis=1)
    aside = np.stack([-np.sin(heading), np.cos(heading)], axis=1)
    flat = np.cumsum(dt[:, None] * speed[:, None] * forward, axis=0)
    flat += 0.02 * (strength * np.sin(phase / 2))[:, None] * aside
    height = 1.2 + 0.025 * strength * np.cos(phase) + 0.1 * np.cumsum(dt * wander(0.3, 2.0))
    tilt = np.stack([0.03 * strength * np.sin(phase / 2), 0.04 * strength * np.cos(phase)], axis=1)
    return np.column_stack([flat, height]), np.column_stack([tilt, heading])
