"""PIT histogram: flat if honest, piled up at one if overconfident, at zero if too wide."""

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import binom

from smfeval.evaluation import Evaluation
from smfeval.show.figures.inputs import belief_of
from smfeval.show.figures.labels import estimator_names, legend_above
from smfeval.show.figures.style import HONEST, PALE, colour
from smfeval.show.words import number

BINS = 20
BAND = 0.95


def pit_histogram(axes: Axes, evaluation: Evaluation) -> None:
    """Share of scans in each of BINS equal bins of the PIT, times BINS.

    The band holds a bar of an honest belief with probability 95 %, for as many independent scans
    as the mean log NEES is worth; bars forget faster than that, so the band is rather too wide.
    """
    found = belief_of(evaluation)
    pit = found.scored.series["pit"]
    density, edges = np.histogram(pit, bins=BINS, range=(0, 1), density=True)
    name = estimator_names([found])[0]
    band = honest_band(independent_scans(found))
    words = "if honest (nobody can tell how many scans are independent)"
    if band is not None:
        axes.axhspan(*band, color=PALE, lw=0, zorder=0)
        words = f"if honest, 95 % for {number(independent_scans(found) or 0)} independent scans"
    axes.stairs(density, edges, fill=True, color=colour(0), alpha=0.75, label=name)
    axes.axhline(1.0, color=HONEST, ls="--", label=words)
    axes.set_xlim(0, 1)
    axes.set_xlabel("probability integral transform of the NEES")
    axes.set_ylabel("density")
    legend_above(axes)


def independent_scans(evaluation: Evaluation) -> float | None:
    """Scans, if independent, that would tell as much about the mean log NEES; None: unknown.

    The PIT itself will not do: that of an overconfident belief is stuck at 1.
    """
    nees = evaluation.scored.series["nees"]
    log_nees = np.log(np.maximum(nees, np.finfo(np.float64).tiny))
    return evaluation.options.intervals.of(log_nees, "mean", "nat").n_effective


def honest_band(scans: float | None) -> tuple[float, float] | None:
    """Ends of the density of one bin, by the binomial law; None for less than one scan."""
    whole = int(scans or 0)
    if whole < 1:
        return None
    low, high = binom.interval(BAND, whole, 1 / BINS)
    return float(low) * BINS / whole, float(high) * BINS / whole
