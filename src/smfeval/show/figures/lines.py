"""Lines over time, and axes that read well on a logarithmic scale."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from smfeval.maths.arrays import Floats

SHORT = 2.0  # decades: a shorter axis has ticks at 2 and 5 too


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
    """Ticks of a logarithmic axis: at 1, 2 and 5 where it is short, and none that crowd."""
    low, high = sorted(axis.get_view_interval())
    if np.log10(high / low) < SHORT:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
