"""A sweep of one knob: NEES against precision."""

from matplotlib.axes import Axes

from smfeval.show.figures.labels import legend_above
from smfeval.show.figures.prediction import Runs, growth_of_nees, predicted, scattered
from smfeval.show.figures.style import HONEST
from smfeval.summarise.inflation import median_chi_squared


def sweep_nees(axes: Axes, runs: Runs, *, dimension: int = 3) -> None:
    """Median NEES of each run over its precision, with what two worlds predict.

    Slope 0: the errors shrink as the covariance says. Slope log10(e) / d per nat: the errors do
    not change, the belief only grows more confident.
    """
    scattered(axes, runs, "NEES")
    predicted(axes, runs, 0.0, "--", "errors shrink as reported (slope 0)")
    slope = growth_of_nees(dimension)
    predicted(axes, runs, slope, ":", f"errors stay (slope {slope:.3f} per nat)")
    axes.axhline(median_chi_squared(dimension), color=HONEST, ls="-", lw=0.8, label="if honest")
    axes.set_ylabel("median NEES")
    legend_above(axes)
