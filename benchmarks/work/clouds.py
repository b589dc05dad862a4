"""Particles of some scans as both sides see them: (scans, particles, 3), the reference at zero.

Needs nothing but NumPy, for it runs in the environments of all peers.
"""

import numpy as np


def clouds(scans: int, particles: int) -> np.ndarray:
    """Skewed clouds, each drawn about an error of its own."""
    rng = np.random.default_rng(0)
    error = rng.normal(size=(scans, 1, 3))
    draws = rng.normal(size=(scans, particles, 3))
    return 0.1 * (error + draws + 0.3 * draws[..., ::-1] ** 2)
