"""How much spread is needed for k = 1, for a cause that lowers the NEES of every scan.

The interval of the size is the inverted test: all sizes for which 1 lies within the 95 % interval
of k.
"""

from collections.abc import Callable

import numpy as np

from smfeval.maths.arrays import Floats

STEPS = 50  # halvings of the logarithm of the size: far below any digit shown
SMALLEST = 1e-9  # of the largest size: what is less counts as nothing
DOUBLINGS = 20

Falling = Callable[[float], float]


def crossing(value: Falling, high: float, *, steps: int = STEPS) -> float | None:
    """The size at which a falling function comes down to 1; None where it does not up to `high`.

    0 where it is 1 or less from the start.
    """
    if value(0.0) <= 1:
        return 0.0
    if value(high) > 1:
        return None
    low = SMALLEST * high
    for _ in range(steps):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if value(middle) > 1 else (low, middle)
    return float(np.sqrt(low * high))


def median_of(relative: Callable[[float], Floats]) -> Falling:
    """k as a function of the size."""
    return lambda size: float(np.median(relative(size)))


def widened(value: Falling, high: float) -> float | None:
    """The first of `high`, 2 `high`, 4 `high` ... at which a function is 1 or less."""
    sizes = (high * 2.0**power for power in range(DOUBLINGS))
    return next((size for size in sizes if value(size) <= 1), None)
