"""NEES over time, with the band in which an honest belief's would lie."""

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.maths.autocovariance import autocovariance, block_length
from smfeval.score.pit import effective_particles
from smfeval.show.figures.inputs import (
    Evaluations,
    belief_of,
    honest_quantile,
    name_of,
    numbered_beliefs,
    origin_ns,
)
from smfeval.show.figures.style import (
    HONEST,
    PALE,
    colour,
    estimator_names,
    legend_above,
    line,
    polyline,
    read_well,
    trace,
)
from smfeval.show.words import number as as_text

BAND = (0.025, 0.975)  # the central 95 % of an honest belief's NEES


def nees_over_time(axes: Axes, evaluations: Evaluations) -> None:
    """NEES of each scan on a logarithmic axis, medians dashed, over the honest band and median."""
    kept = numbered_beliefs(evaluations)
    found = list(kept.values())
    start = origin_ns(found)
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        stamp, nees = each.scored.estimate.stamp, each.scored.series["nees"]
        time, drawn = polyline(stamp, nees, origin_ns=start)
        median = float(np.median(nees))
        words = f"{name} (median {as_text(median)})"
        trace(axes, time, drawn, **line(number), lw=0.7, label=words)
        axes.axhline(median, color=colour(number), ls="--", lw=0.8)
    for kind in _kinds(found):
        _honest(axes, kind, start)
    axes.set_yscale("log")  # at last: a NEES of zero alone has no place on it
    axes.margins(x=0.01)
    read_well(axes.yaxis)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("NEES")
    legend_above(axes)


def _kinds(found: list[Evaluation]) -> list[Evaluation]:
    """One evaluation for each law of the honest NEES: Gaussians of one dimension share theirs."""
    gaussian = {
        each.scored.residuals.dimension: each
        for each in found
        if effective_particles(each.scored.residuals) is None
    }
    particles = [e for e in found if effective_particles(e.scored.residuals) is not None]
    return [*gaussian.values(), *particles]


def _honest(axes: Axes, evaluation: Evaluation, start: int) -> None:
    residuals, stamp = evaluation.scored.residuals, evaluation.scored.estimate.stamp
    low, middle, high = (honest_quantile(residuals, share) for share in (BAND[0], 0.5, BAND[1]))
    if effective_particles(residuals) is None:
        axes.axhspan(low[0], high[0], color=PALE, lw=0, zorder=0, label="if honest: 95 %")
        axes.axhline(
            middle[0], color=HONEST, ls="--", label=f"if honest: median {as_text(middle[0])}"
        )
        return
    time, low, middle, high = polyline(stamp, low, middle, high, origin_ns=start)
    axes.fill_between(
        time, low, high, color=PALE, lw=0, zorder=0, label="if honest: 95 % (particles)"
    )
    axes.plot(time, middle, color=HONEST, ls="--", label="if honest: median (particles)")


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
        words = f"{what} (block length {as_text(blocks[what])} scans)"
        axes.plot(np.arange(lags + 1), correlation(series, lags), color=colour(i), label=words)
        axes.axvline(blocks[what], color=colour(i), ls=":")
    if memory is not None:
        words = f"memory of k: {as_text(memory)} scans"
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
