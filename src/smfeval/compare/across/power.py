"""How many tracks would separate two contenders, if the difference seen is the true one?

Noether's formula for the signed-rank test (JASA 82, 1987): with q = P(D + D' > 0) of two
independent differences, estimated from all pairs of tracks,

    n = (z_(1 - level/2) + z_power)^2 / (3 (q - 1/2)^2).

It reckons with the variance under the null, so it errs to the safe side for clear differences. The
difference seen is itself uncertain, and so is the number: it is an order of magnitude.
"""

from math import ceil, log2

import numpy as np
from scipy.special import ndtri

from smfeval.maths.arrays import Floats

POWER = 0.8  # probability with which that many tracks would separate the two
MOST = 10_000  # tracks; who would need more shows no sign of a difference


def side_probability(difference: Floats) -> float:
    """P(D + D' > 0), a tie counting half, over all pairs of tracks. (n,), n > 1."""
    ordered = np.sort(difference)
    # d_i + d_j > 0 is d_j > -d_i: counted by search, then the pairs i = j taken out again.
    above = len(ordered) - np.searchsorted(ordered, -ordered, side="right")
    level = np.searchsorted(ordered, -ordered, side="right") - np.searchsorted(ordered, -ordered)
    own = np.sum(ordered > 0) + 0.5 * np.sum(ordered == 0)
    pairs = len(ordered) * (len(ordered) - 1)
    return float((np.sum(above) + 0.5 * np.sum(level) - own) / pairs)


def tracks_needed(side: float, level: float) -> int | None:
    """Tracks for a two-sided test at a level; None: more than anyone will record."""
    reach = (ndtri(1 - level / 2) + ndtri(POWER)) ** 2
    if reach > 3 * MOST * (side - 0.5) ** 2:
        return None
    return max(ceil(reach / (3 * (side - 0.5) ** 2)), fewest_tracks(level))


def fewest_tracks(level: float) -> int:
    """Tracks below which not even a clean sweep is significant: 2 / 2^n <= level; 6 for 0.05."""
    return ceil(1 - log2(level))
