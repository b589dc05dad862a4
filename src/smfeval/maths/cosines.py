"""The slow part of a series: its lowest cosine coefficients.

y_j = sqrt(2 / n) * sum over t of x_t cos(pi j (t - 1/2) / n), j = 1 .. count.

For a series with spectrum S, y_j is close to N(0, S(pi j / n)) and nearly independent of its
neighbours (Mueller 2014). The low frequencies decide how far the mean can wander; fast noise on top
of slow errors does not enter.
"""

from functools import lru_cache

import numpy as np

from smfeval.maths.arrays import Bools, Floats, frozen

FINEST = (
    8192  # sums of neighbours replace scans beyond this; for 24 cosines the change is below 1e-5
)


def cosines(series: Floats | Bools, count: int) -> Floats:
    """Lowest cosine coefficients, without the mean. (..., n) -> (..., count)."""
    n = series.shape[-1]
    width = -(-n // FINEST)
    if series.dtype != bool:  # numbers far from zero would drown what varies
        series = series - series.mean(axis=-1, keepdims=True)
    return _neighbour_sums(series, width) @ _basis(n, width, count)


def _neighbour_sums(series: Floats | Bools, width: int) -> Floats:
    """Sums over `width` neighbours each, and over what remains. (..., n) -> (..., m)."""
    if width == 1:
        return series.astype(float, copy=False)
    whole = series.shape[-1] // width * width
    grouped = series[..., :whole].reshape(*series.shape[:-1], -1, width)
    kind = np.int64 if series.dtype == bool else np.float64
    sums = grouped.sum(axis=-1, dtype=kind).astype(float)
    rest = series[..., whole:].sum(axis=-1, keepdims=True, dtype=float)
    return np.concatenate([sums, rest], axis=-1) if whole < series.shape[-1] else sums


@lru_cache(maxsize=8)
def _basis(n: int, width: int, count: int) -> Floats:
    """Cosines at the centre of each stretch, (m, count), blind to the mean of the series."""
    edge = np.append(np.arange(0, n, width), n)
    centre = (edge[1:] + edge[:-1]) / (2 * n)
    basis = np.sqrt(2 / n) * np.cos(np.pi * np.outer(centre, np.arange(1, count + 1)))
    weight = np.diff(edge) / n
    return frozen(basis - weight @ basis)
