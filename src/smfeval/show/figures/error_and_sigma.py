"""Error against the reported sigma over time: does the belief know how wrong it is?"""

import numpy as np
from matplotlib.axes import Axes

from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.show.figures.inputs import Evaluations, beliefs, origin_ns, sigma
from smfeval.show.figures.labels import SIGMA, error_label, estimator_names, legend_above
from smfeval.show.figures.lines import read_well, trace
from smfeval.show.figures.style import colour, line, shade
from smfeval.show.figures.thinning import polyline

SHADES = {1: 0.45, 2: 0.27, 3: 0.13}  # opacity of the bands up to 1, 2 and 3 sigma
MARGIN = 0.6  # the axis begins at this part of the least error or sigma
NO_ERROR_M = 1e-3  # where the axis begins if there is neither error nor sigma


def error_and_sigma(axes: Axes, evaluations: Evaluations) -> None:
    """|e| and the reported sigma, sqrt(tr S), on a logarithmic axis.

    One estimate has bands of 1, 2 and 3 sigma; of several, each has its sigma as a dashed line.
    """
    found = beliefs(evaluations)
    start = origin_ns(found)
    drawn = [_drawn(each, start) for each in found]
    floor = MARGIN * min(_least(error, spread) for _, error, spread in drawn)
    for number, (name, each) in enumerate(zip(estimator_names(found), drawn, strict=True)):
        time, error, spread = each
        trace(axes, time, error, **line(number), label=f"{name}: error")
        if len(found) > 1:
            dashed = {"color": colour(number), "ls": "--", "lw": 0.8}
            trace(axes, time, spread, **dashed, label=f"{name}: reported {SIGMA}")
    if len(found) == 1:
        _bands(axes, drawn[0], floor)
    axes.set_yscale("log")  # at last: until there are bands, errors of zero have no place on it
    axes.set_ylim(bottom=floor)
    axes.margins(x=0.01)
    read_well(axes.yaxis)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(error_label(found[0]))
    legend_above(axes)


def _drawn(evaluation: Evaluation, start: int) -> list[Floats]:
    """Time, error and sigma, ready to draw."""
    scored = evaluation.scored
    return polyline(scored.estimate.stamp, scored.series["ape"], sigma(evaluation), origin_ns=start)


def _bands(axes: Axes, drawn: list[Floats], floor: float) -> None:
    time, _, spread = drawn
    low = np.where(np.isnan(spread), np.nan, floor)
    for times, opacity in SHADES.items():
        high = times * spread
        words = f"reported {times}{SIGMA}"
        axes.fill_between(time, low, high, **shade(opacity), label=words)
        low = high


def _least(*series: Floats) -> float:
    """Least positive number; zeros lie below every logarithmic axis."""
    values = np.concatenate(series)
    positive = values[values > 0]
    return float(positive.min()) if positive.size else NO_ERROR_M
