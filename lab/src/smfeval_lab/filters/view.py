"""View: a surface that is not flat is seen otherwise from afar, and the map keeps the first view.

Far rays meet the tops of grass and the outermost leaves, near ones what lies below. The mean of
what is seen moves with the range by a part tau of the surface's own roughness for each e-fold, so a
row whose plane was mapped from another range errs by tau phi, phi = roughness x log(range now /
range at birth). tau is one constant for surfaces that face up and one for the others: the pose
takes up most of it, residuals hardly show it, and it adds up over the whole way. In the worlds of
the lab it explains most of the error outdoors (docs/research/map.md).
"""

from typing import TYPE_CHECKING, NamedTuple

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
    each = ViewRows(rows.H, rows.weight, rows.place, rows.birth)
    return sum_pulls(each, rough_m2, rows.range_m2, position, rows.seen_from)


class ViewRows(NamedTuple):
    """What the compiled loop reads of `Matches`."""

    H: Floats
    weight: Floats
    place: Floats
    birth: Ints


@jit_compile
def sum_pulls(
    rows: ViewRows, rough_m2: Floats, range_m2: float, position: Floats, seen_from: Floats
) -> Floats:
    """Row by row. (6, 2)."""
    H, weight, place, birth = rows
    out, k = np.zeros((6, 2)), birth.shape[1]
    for row in range(len(H)):
        square, along, then = LEAST_RANGE_M**2, 0.0, 1.0
        for i in range(3):
            arm = place[row, i] - position[i]
            square += arm * arm
            along += arm * H[row, i]
        rough = rough_m2[row] - (k - 3) / k * range_m2 * along**2 / square
        if rough <= 0.0:
            continue
        for m in range(k):
            b, apart = birth[row, m], LEAST_RANGE_M**2
            for i in range(3):
                apart += (seen_from[b, i] - place[row, i]) ** 2
            then *= apart  # of logs the sum
        phi = weight[row] * np.sqrt(rough) * 0.5 * (np.log(square) - np.log(then) / k)
        facing = 0 if abs(H[row, 2]) > UPRIGHT else 1
        for i in range(6):
            out[i, facing] += phi * H[row, i]
    return out
