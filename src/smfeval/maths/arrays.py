"""The array types that every signature speaks of, spread indices, and gaps between stamps."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

GAP_STEPS = 2.5  # steps: a longer pause between scans is a gap, and no line may cross it

_Scalar = TypeVar("_Scalar", bound=np.generic)


def read_only(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return the same memory as an array that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


def distinct(values: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The values without repeats, ascending: as np.unique, which imports numpy.ma in 10 ms."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def spaced_indices(count: int, most: int) -> Ints:
    """At most so many indices of `count` rows, evenly spaced from the first to the last."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).astype(np.int64)


def gap_mask(stamp: Ints) -> Bools:
    """Whether the next scan is further away than GAP_STEPS median steps. (n,) -> (n - 1,)."""
    step = np.diff(stamp)
    return step > GAP_STEPS * np.median(step) if len(step) else np.zeros(0, dtype=np.bool_)
