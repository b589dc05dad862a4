"""A sweep of one knob: error against precision."""

from matplotlib.axes import Axes

from smfeval.show.figures.labels import legend_above
from smfeval.show.figures.prediction import Runs, decline_of_error, predicted, scattered


def sweep_error(axes: Axes, runs: Runs, *, dimension: int = 3) -> None:
    """Mean error of each run, in metres, over its precision.

    The line falls by log10(e) / 2d per nat: errors that shrink as the covariance says.
    """
    scattered(axes, runs, "error")
    slope = decline_of_error(dimension)
    words = f"errors shrink as reported (slope {slope:.3f} per nat)".replace("-", "\N{MINUS SIGN}")
    predicted(axes, runs, slope, "--", words)
    axes.set_ylabel("mean error (m)")
    legend_above(axes)
