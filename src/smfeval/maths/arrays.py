"""The array types that every signature speaks of, the median, spread indices and gaps."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smfeval.maths.stamps import NANOSECONDS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Choice = Callable[[int], Ints]  # which of so many rows

GAP_STEPS = 2.5  # steps: a longer pause between scans is a gap, and no line may cross it
LONG_GAP_STEPS = 10.0  # steps: across a longer one nothing is known of the motion

_Scalar = TypeVar("_Scalar", bound=np.generic)


def read_only(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return the same memory as an array that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


def median_of(values: ArrayLike, axis: int | None = None) -> Any:
    """The median, nan where there is one: as np.median, which imports numpy.ma in 10 ms."""
    array = np.asarray(values)
    array, axis = (array.ravel(), 0) if axis is None else (array, axis)
    count = array.shape[axis]
    if count == 0:
        return array.mean(axis=axis)
    places = [count // 2] if count % 2 else [count // 2 - 1, count // 2]
    ordered = np.partition(array, [*places, count - 1], axis=axis)
    middle, last = ordered.take(places, axis=axis).mean(axis=axis), ordered.take(-1, axis=axis)
    return np.where(np.isnan(last), last, middle)[()]  # nan comes last


def quantile_of(values: ArrayLike, probability: ArrayLike, axis: int | None = None) -> Any:
    """Quantiles, between two values by a straight line: as np.quantile, without numpy.ma again."""
    array = np.asarray(values)
    array = array.ravel() if axis is None else np.moveaxis(array, axis, 0)
    last = len(array) - 1
    at = last * np.asarray(probability, dtype=np.float64)
    below = np.floor(at).astype(np.intp)
    above = np.minimum(below + 1, last)
    ordered = np.partition(array, sorted({*below.flat, *above.flat, last}), axis=0)
    low, high = ordered[below], ordered[above]
    part, step = (at - below).reshape(at.shape + (1,) * (array.ndim - 1)), high - low
    value = np.where(part < 0.5, low + step * part, high - step * (1 - part))
    return np.where(np.isnan(ordered[-1]), np.nan, value)[()]  # nan comes last


def spaced_indices(count: int, most: int) -> Ints:
    """At most so many indices of `count` rows, evenly spaced from the first to the last."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).astype(np.int64)


def inverse(matrix: Floats) -> Floats:
    """By cofactors up to 3 x 3, several times as fast as LAPACK one by one. (..., d, d)."""
    size, out = matrix.shape[-1], np.empty_like(matrix)
    if size > 3:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    entry = [[np.ascontiguousarray(matrix[..., i, j]) for j in range(size)] for i in range(size)]
    if size == 1:
        out[...] = 1 / matrix
    elif size == 2:
        (a, b), (c, d) = entry
        over = 1 / (a * d - b * c)
        out[..., 0, 0], out[..., 0, 1] = d * over, -b * over
        out[..., 1, 0], out[..., 1, 1] = -c * over, a * over
    else:
        for i in range(3):
            (a, b, c), (d, e, f) = entry[(i + 1) % 3], entry[(i + 2) % 3]
            out[..., 0, i], out[..., 1, i], out[..., 2, i] = (
                b * f - c * e,
                c * d - a * f,
                a * e - b * d,
            )
        out /= np.einsum("j...,...j->...", np.array(entry[0]), out[..., 0])[..., None, None]
    return out


def nanoseconds(seconds: Floats) -> Ints:
    """Stamps of times in seconds, whole seconds apart from the rest: to half a nanosecond. (n,)."""
    whole = np.floor(seconds)
    rest = np.rint((seconds - whole) * NANOSECONDS)
    return whole.astype(np.int64) * NANOSECONDS + rest.astype(np.int64)


def gap_mask(stamp: Ints, steps: float = GAP_STEPS) -> Bools:
    """Whether the next scan is further away than so many median steps. (n,) -> (n - 1,)."""
    step = np.diff(stamp)
    return step > steps * median_of(step) if len(step) else np.zeros(0, dtype=np.bool_)


def bridges_gap(stamp: Ints, first: Ints, second: Ints) -> Bools:
    """Whether a gap of more than LONG_GAP_STEPS lies between two scans. (n,), (m,) -> (m,)."""
    gaps = count_gaps(stamp)
    return gaps[second] > gaps[first]


def count_gaps(stamp: Ints) -> Ints:
    """Gaps of more than LONG_GAP_STEPS before each scan. (n,) -> (n,)."""
    return np.concatenate([[0], np.cumsum(gap_mask(stamp, LONG_GAP_STEPS))])
