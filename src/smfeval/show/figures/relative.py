"""k of relative motion over the horizon: is a belief wrong locally, or by drift?"""

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.judge.levels import TAIL
from smfeval.show.figures.style import (
    HONEST_GREY,
    colour,
    estimator_names,
    legend_above,
    set_log_ticks,
)
from smfeval.show.series import estimate_name, single_belief

BAND_OPACITY = 0.2


def k_over_horizon(axes: Axes, evaluation: Evaluation) -> None:
    """k of windows that do not overlap over their duration, with its 95 % band, both logarithmic.

    Filled marks are horizons that a verdict may rest on.
    """
    found = single_belief(evaluation)
    motion = found.relative_motion
    if motion is None or not motion.rows:
        why = "cross-covariances are unknown" if motion is None else motion.reason
        reason = why or "no horizon has enough windows"
        raise SeriesError(f"{estimate_name(found)}: no k over horizons: {reason}")
    seconds = np.array([row.seconds for row in motion.rows])
    k = np.array([row.k for row in motion.rows])
    low, high = np.array([row.interval(TAIL) for row in motion.rows]).T
    usable = np.array([motion.why_not(row) is None for row in motion.rows])
    if not ((seconds > 0).all() and (k > 0).all()):
        raise SeriesError(f"{estimate_name(found)}: a k of zero has no place on a logarithmic axis")

    axes.axhline(1.0, color=HONEST_GREY, ls="--", label="if honest: 1")
    if len(k) > 1:
        axes.fill_between(seconds, low, high, color=colour(0), alpha=BAND_OPACITY, lw=0)
    bars = np.stack([k - low, high - k])
    legend = f"k and 95 % ({words.number_range([row.windows for row in motion.rows])} windows)"
    axes.errorbar(seconds, k, yerr=bars, color=colour(0), marker="o", ms=4, lw=1.2, label=legend)
    if not usable.all():
        axes.plot(
            *(seconds[~usable], k[~usable]),
            ls="none",
            marker="o",
            ms=4,
            color=colour(0),
            mfc="white",
            label="windows not independent, or claims unsteady",
            zorder=3,
        )
    axes.set(xscale="log", yscale="log")
    set_log_ticks(axes.xaxis)
    set_log_ticks(axes.yaxis)
    axes.set_xlabel("horizon (s)")
    axes.set_ylabel(f"k of relative motion\nof {estimator_names([found])[0]}")
    legend_above(axes)
