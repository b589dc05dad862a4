"""View: a surface that is not flat is seen otherwise from afar, and the map keeps the first view.

Far rays meet the tops of grass and the outermost leaves, near ones what lies below. The mean of
what is seen moves with the range by a part tau of the surface's own roughness for each e-fold, so a
row whose plane was mapped from another range errs by tau phi, phi = roughness x log(range now /
range at birth). tau is one constant for surfaces that face up and one for the others: the pose
takes up most of it, residuals hardly show it, and it adds up over the whole way. In the worlds of
the lab it explains most of the error outdoors (docs/research/map.md).
"""

from typing import TYPE_CHECKING

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval_lab.compiled import jit_compile

if TYPE_CHECKING:
    from smfeval_lab.filters.scan_sums import Matches

UPRIGHT = 0.8  # |n_z| above which a surface faces up; the world is level at the start
LEAST_RANGE_M = 0.5
TAU = (0.7, 0.25)  # sigmas: surfaces that face up, and others; by four walks (docs/research/map.md)


def view_pull(rows: "Matches", position: Floats, rough_m2: Floats) -> Floats:
    """Sums of w h phi, of surfaces that face up and of others; zero if births are unknown. (6, 2).

    `rough_m2` (m,) are the variances of map points across their planes. The noise of ranges makes
    a part of them: (k - 3) / k of its variance along the normal.
    """
    if rows.seen_from is None:
        return np.zeros((6, 2))
    arm, normal, k = rows.place - position, rows.H[:, :3], rows.birth.shape[1]
    square = np.einsum("mi,mi->m", arm, arm) + LEAST_RANGE_M**2
    noise = (k - 3) / k * rows.range_m2 * np.einsum("mi,mi->m", arm, normal) ** 2 / square
    rough = np.sqrt(np.maximum(rough_m2 - noise, 0.0))
    then = log_square_range(rows.place, rows.birth, rows.seen_from)
    phi = rows.weight * rough * 0.5 * (np.log(square) - then)
    up = np.abs(normal[:, 2]) > UPRIGHT
    return np.asarray(rows.H.T @ np.stack([phi * up, phi * ~up], axis=1), dtype=np.float64)


@jit_compile
def log_square_range(place: Floats, birth: Ints, seen_from: Floats) -> Floats:
    """Mean log of the squared range of each place from where its map points were seen. (m,)."""
    out, k = np.zeros(len(place)), birth.shape[1]
    for row in range(len(place)):
        for m in range(k):
            square, eye = LEAST_RANGE_M**2, seen_from[birth[row, m]]
            for i in range(3):
                square += (eye[i] - place[row, i]) ** 2
            out[row] += np.log(square) / k
    return out
