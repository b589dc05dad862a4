"""Lines over time, and axes that read well on a logarithmic scale."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import (
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from smfeval.maths.arrays import Floats

FEWEST_TICKS = 3  # labelled: with fewer, nobody can tell how far a decade reaches


def trace(axes: Axes, time: Floats, values: Floats, **look: Any) -> None:
    """A line that breaks at NaN; a scan alone between two breaks is a dot."""
    (line,) = axes.plot(time, values, **look)
    alone = lonely(values)
    if alone.any():
        axes.plot(time[alone], values[alone], ".", ms=3, color=line.get_color())


def lonely(values: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Numbers with NaN, or nothing, on either side. (n,) -> (n,)."""
    missing = np.concatenate([[True], np.isnan(values), [True]])
    return missing[:-2] & ~missing[1:-1] & missing[2:]


def read_well(axis: Axis) -> None:
    """Ticks of a logarithmic axis: at 1, 2 and 5 where it is short, and evenly where it is shorter.

    At least FEWEST_TICKS are labelled, and none that crowd.
    """
    low, high = sorted(axis.get_view_interval())
    axis.set_minor_formatter(NullFormatter())
    if _labelled(LogLocator(), low, high) >= FEWEST_TICKS:
        return
    finer: Locator = LogLocator(subs=(1, 2, 5))
    if _labelled(finer, low, high) < FEWEST_TICKS:
        finer = MaxNLocator(nbins=5, min_n_ticks=FEWEST_TICKS)
        axis.set_minor_locator(NullLocator())
    axis.set_major_locator(finer)
    axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))


def _labelled(locator: Locator, low: float, high: float) -> int:
    """Ticks between the ends of the axis."""
    ticks = np.asarray(locator.tick_values(low, high))
    return int(np.count_nonzero((ticks >= low) & (ticks <= high)))
