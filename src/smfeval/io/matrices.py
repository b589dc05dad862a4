"""Rotation matrices in text: near enough to a rotation, or why not."""

import numpy as np

from smfeval.maths.arrays import Bools, Floats

ROTATION_TOLERANCE = 1e-3  # of R R^T; text with four decimals is this far from a rotation at worst
LARGEST = 1e9  # no entry of a rotation is beyond 1; the square of this is still finite


def off_rotation(matrix: Floats) -> Floats:
    """By how much R R^T differs from identity. (..., 3, 3) -> (...)."""
    matrix = np.clip(matrix, -LARGEST, LARGEST)
    return np.abs(matrix @ matrix.swapaxes(-1, -2) - np.eye(3)).max(axis=(-1, -2))


def is_rotation(matrix: Floats) -> Bools:
    """Whether a matrix is a rotation, as well as text can say. (..., 3, 3) -> (...)."""
    upright = np.linalg.det(np.clip(matrix, -LARGEST, LARGEST)) > 0
    return upright & (off_rotation(matrix) <= ROTATION_TOLERANCE)


def why_no_rotation(matrix: Floats) -> str:
    """In words, what keeps a matrix from being a rotation. (3, 3)."""
    off = float(off_rotation(matrix))
    if off > ROTATION_TOLERANCE:
        return f"R R^T differs from identity by {off:.2g}"
    return "it is a reflection, with determinant -1"
