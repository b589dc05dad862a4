"""Error along each axis with the bands that the belief reports for it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import OptionError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.show.figures.error_and_sigma import SHADES
from smfeval.show.figures.inputs import belief_of
from smfeval.show.figures.labels import SIGMA, estimator_names, legend_above
from smfeval.show.figures.lines import trace
from smfeval.show.figures.style import HONEST, colour, shade
from smfeval.show.figures.thinning import polyline


def axis_errors(axes: Sequence[Axes], evaluation: Evaluation) -> None:
    """One of the axes for each scored axis: error in metres, bands of 1, 2 and 3 sigma."""
    found = belief_of(evaluation)
    letters = found.options.axes
    if len(axes) != len(letters):
        raise OptionError(f"{len(axes)} axes to draw on; the scored {letters} need {len(letters)}")
    residuals, stamp = found.scored.residuals, found.scored.estimate.stamp
    for i, (panel, letter) in enumerate(zip(axes, letters, strict=True)):
        spread = np.sqrt(residuals.predicted[:, i, i])
        _panel(panel, polyline(stamp, residuals.error[:, i], spread), estimator_names([found])[0])
        panel.set_ylabel(f"{letter} error (m)")
        panel.margins(x=0.01)
    axes[-1].set_xlabel("time (s)")
    legend_above(axes[0])


def _panel(axes: Axes, drawn: list[Floats], name: str) -> None:
    time, error, spread = drawn
    trace(axes, time, error, color=colour(0), label=f"{name}: error")
    axes.fill_between(time, -spread, spread, **shade(SHADES[1]), label=f"±1{SIGMA}")
    for times in (2, 3):
        inner, outer, words = (times - 1) * spread, times * spread, f"±{times}{SIGMA}"
        axes.fill_between(time, inner, outer, **shade(SHADES[times]), label=words)
        axes.fill_between(time, -outer, -inner, **shade(SHADES[times]))
    axes.axhline(0, color=HONEST, ls="--", lw=0.6)
