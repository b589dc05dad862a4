"""Degeneracy: is the belief worse where the geometry says little?"""

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.inputs import check_positive, check_same_length
from smfeval.show.figures.style import HONEST_GREY, colour, legend_above, set_log_ticks
from smfeval.summarise.inflation import median_chi_squared

MAX_POINTS = 5000  # points: more are counted in hexagons instead of drawn on top of each other


def degeneracy(axes: Axes, condition: Floats, nees: Floats, *, dimension: int = 3) -> None:
    """NEES over the condition number of the information, both logarithmic, with the fitted line.

    The line is the least-squares fit of log10 NEES on log10 condition. Scans depend on each other,
    so no interval is given.
    """
    check_same_length(condition, nees, "condition number and NEES")
    x, y = check_positive(condition, "condition number"), check_positive(nees, "NEES")
    slope, offset = fit_log_line(x, y)
    if len(x) > MAX_POINTS:
        axes.hexbin(x, y, xscale="log", yscale="log", bins="log", gridsize=60, mincnt=1, lw=0)
    else:
        axes.plot(x, y, ".", ms=2.5, alpha=0.5, mew=0, color=colour(0), label="scans")
        axes.set(xscale="log", yscale="log")
    ends = np.array([x.min(), x.max()])
    legend = f"fit: slope {words.fixed(slope, 2, signed=True)} of the logarithms".replace(
        "-", "\N{MINUS SIGN}"
    )
    axes.plot(ends, 10**offset * ends**slope, color=colour(1), lw=1.4, label=legend)
    honest = median_chi_squared(dimension)
    axes.axhline(
        honest, color=HONEST_GREY, ls="--", label=f"if honest: median {words.number(honest)}"
    )
    set_log_ticks(axes.xaxis)
    set_log_ticks(axes.yaxis)
    axes.set_xlabel("condition number")
    axes.set_ylabel("NEES")
    legend_above(axes)


def fit_log_line(condition: Floats, nees: Floats) -> tuple[float, float]:
    """Slope and offset of log10 NEES over log10 condition."""
    x, y = np.log10(condition), np.log10(nees)
    if len(x) < 2 or np.ptp(x) == 0:
        raise SeriesError("the condition number never changes; there is no slope to fit")
    slope = float(np.cov(x, y, bias=True)[0, 1] / x.var())
    return slope, float(y.mean() - slope * x.mean())
