"""A million scans on a few thousand columns of pixels, without hiding what stands out.

Each column keeps its first and last scan and, of every series, the least and the greatest, at
their own stamps; both sides of every gap are kept too. A line through what is left covers the same
pixels.
"""

import numpy as np

from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS

COLUMNS = 2100  # pixels of a wide figure at 300 dpi
GAP = 2.5  # steps: a longer pause between scans is a gap, and no line may cross it


def gaps(stamp: Ints) -> Bools:
    """Whether a scan and the next are further apart than GAP median steps. (n,) -> (n - 1,)."""
    step = np.diff(stamp)
    return step > GAP * np.median(step) if len(step) else np.zeros(0, dtype=np.bool_)


def thinned(stamp: Ints, *series: Floats, columns: int = COLUMNS) -> Ints:
    """Scans to draw, ascending; all of them where they are few. (n,), (n,)... -> (kept,)."""
    n, span = len(stamp), int(stamp[-1] - stamp[0])
    if n <= 4 * columns:
        return np.arange(n)
    column = np.minimum((stamp - stamp[0]) / span * columns, columns - 1).astype(np.int64)
    start = np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1])
    last = np.concatenate([start[1:] - 1, [n - 1]])
    before = np.flatnonzero(gaps(stamp))

    kept = [start, last, before, before + 1]
    for values in series:
        kept += [_first_least(values, start), _first_least(-values, start)]
    return np.unique(np.concatenate(kept))


def _first_least(values: Floats, start: Ints) -> Ints:
    """Index of the first least value of each run that begins at `start`. (n,), (c,) -> (c,)."""
    least = np.repeat(np.minimum.reduceat(values, start), np.diff(start, append=len(values)))
    hit = np.flatnonzero(values == least)
    return hit[np.searchsorted(hit, start)]


def polyline(stamp: Ints, *series: Floats, origin_ns: int | None = None) -> list[Floats]:
    """Seconds since the origin and the series, thinned, with NaN in each gap. (drawn,) each."""
    kept = thinned(stamp, *series)
    origin = stamp[0] if origin_ns is None else origin_ns
    time = (stamp[kept] - origin) / NANOSECONDS
    at = np.flatnonzero(np.diff(stretches(stamp)[kept])) + 1
    middle = 0.5 * (time[at - 1] + time[at])
    return [np.insert(time, at, middle), *(np.insert(y[kept], at, np.nan) for y in series)]


def stretches(stamp: Ints) -> Ints:
    """Number of the gapless stretch that each scan belongs to. (n,)."""
    return np.concatenate([[0], np.cumsum(gaps(stamp))])
