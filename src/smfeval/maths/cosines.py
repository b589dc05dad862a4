"""The slow part of a series: its lowest cosine coefficients.

y_j = sqrt(2 / n) * sum over t of x_t cos(pi j (t - 1/2) / n), j = 1 .. count.

For a series with spectrum S, y_j is close to N(0, S(pi j / n)) and nearly independent of its
neighbours (Mueller 2014). The low frequencies decide how far the mean can wander; fast noise on top
of slow errors does not enter.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfeval.maths.arrays import Bools, Floats, frozen
from smfeval.maths.symmetric import CHUNK

FINEST = (
    8192  # sums of neighbours replace scans beyond this; for 24 cosines the change is below 1e-5
)


def cosines(series: Floats | Bools, count: int) -> Floats:
    """Lowest cosine coefficients, without the mean. (..., n) -> (..., count)."""
    return cosines_of_sums(neighbour_sums(series), series.shape[-1], count)


def cosines_of_sums(sums: Floats, n: int, count: int) -> Floats:
    """The same from the sums over neighbours of a series of n scans. (..., m) -> (..., count)."""
    return sums @ _basis(n, stretch_width(n), count)


def stretch_width(n: int) -> int:
    """How many neighbours are summed in a series of n scans."""
    return -(-n // FINEST)


def neighbour_sums(series: Floats | Bools) -> Floats:
    """Sums over so many neighbours each, and over what remains. (..., n) -> (..., m).

    Of numbers the mean is taken off first: far from zero they would drown what varies.
    """
    n, width = series.shape[-1], stretch_width(series.shape[-1])
    if series.dtype == bool:
        return _counts(series, width)
    mean = series.mean(axis=-1, keepdims=True)
    if width == 1:
        return series - mean
    sums = np.empty((*series.shape[:-1], -(-n // width)))
    step = -(-CHUNK // width)  # stretches at once
    for first in range(0, sums.shape[-1], step):
        part = series[..., first * width : (first + step) * width] - mean
        sums[..., first : first + step] = _summed(part, width)
    return sums


def _counts(member: Floats | Bools, width: int) -> Floats:
    """Members among so many neighbours each. (..., n) -> (..., m)."""
    if width == 1:
        return member.astype(float)
    ones = member.view(np.uint8)  # narrow sums are quicker, as long as they hold the count
    enough = width <= np.iinfo(np.uint8).max
    return _summed(ones if enough else ones.astype(np.uint32), width).astype(float)


def _summed(series: NDArray[Any], width: int) -> NDArray[Any]:
    """Sums over `width` neighbours each, and over what remains. (..., n) -> (..., m)."""
    whole = series.shape[-1] // width * width
    grouped = series[..., :whole].reshape(*series.shape[:-1], -1, width)
    sums = np.einsum("...w->...", grouped)  # over few neighbours, much faster than `sum`
    if whole == series.shape[-1]:
        return sums
    rest = np.einsum("...w->...", series[..., whole:])
    return np.concatenate([sums, rest[..., None]], axis=-1)


@lru_cache(maxsize=8)
def _basis(n: int, width: int, count: int) -> Floats:
    """Cosines at the centre of each stretch, (m, count), blind to the mean of the series."""
    edge = np.append(np.arange(0, n, width), n)
    centre = (edge[1:] + edge[:-1]) / (2 * n)
    basis = np.sqrt(2 / n) * np.cos(np.pi * np.outer(centre, np.arange(1, count + 1)))
    weight = np.diff(edge) / n
    return frozen(basis - weight @ basis)
