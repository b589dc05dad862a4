"""How long do errors and NEES remember? Autocorrelation, block length and memory."""

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.maths.autocovariance import autocovariance
from smfeval.maths.block_length import block_length
from smfeval.show.figures.inputs import belief_of, name_of
from smfeval.show.figures.labels import estimator_names, legend_above
from smfeval.show.figures.style import HONEST, PALE, colour
from smfeval.show.words import number

FEWEST = 20  # scans: fewer have no lags to speak of
LEAST_LAGS = 20
BEYOND = 1.5  # the axis ends this far beyond the longest mark


def autocorrelation(axes: Axes, evaluation: Evaluation) -> None:
    """Autocorrelation of |e| and of the NEES over the lag, in scans.

    Marked are the Politis-White block length of each and the memory, scans per independent scan,
    on which the interval of k rests. Gaps in time count as one step.
    """
    found = belief_of(evaluation)
    scored = {"error": found.scored.series["ape"], "NEES": found.scored.series["nees"]}
    scans = len(scored["error"])
    if scans < FEWEST:
        raise SeriesError(f"{name_of(found)}: {scans} scans are too few for an autocorrelation")
    blocks = {what: _block(found, what, series) for what, series in scored.items()}
    memory = memory_scans(found)
    lags = _lags(scans, [*blocks.values(), memory or 0.0])

    band = float(ndtri(0.975)) / np.sqrt(scans)
    axes.axhspan(-band, band, color=PALE, lw=0, zorder=0, label="95 % if independent")
    for i, (what, series) in enumerate(scored.items()):
        words = f"{what} (block length {number(blocks[what])} scans)"
        axes.plot(np.arange(lags + 1), correlation(series, lags), color=colour(i), label=words)
        axes.axvline(blocks[what], color=colour(i), ls=":")
    if memory is not None:
        words = f"memory of k: {number(memory)} scans"
        axes.axvline(memory, color=HONEST, ls="--", label=words)
    axes.set_xlim(0, lags)
    axes.set_xlabel("lag (scans)")
    axes.set_ylabel(f"autocorrelation\nof {estimator_names([found])[0]}")
    legend_above(axes)


def correlation(series: Floats, lags: int) -> Floats:
    """Autocorrelation of a series that varies, for lags from 0 on. (n,) -> (lags + 1,)."""
    covariance = autocovariance(series, lags)
    return covariance / covariance[0]


def memory_scans(evaluation: Evaluation) -> float | None:
    """Scans per independent scan behind k; None where nobody can tell."""
    found = evaluation.calibration
    if found is None or found.k.n_effective is None:
        return None
    return len(evaluation.scored.residuals) / found.k.n_effective


def _block(evaluation: Evaluation, what: str, series: Floats) -> float:
    if np.ptp(series) == 0:
        raise SeriesError(f"{name_of(evaluation)}: the {what} never changes; it has no memory")
    return block_length(series).geometric


def _lags(scans: int, marks: list[float]) -> int:
    return min(scans - 1, max(LEAST_LAGS, int(np.ceil(BEYOND * max(marks)))))
