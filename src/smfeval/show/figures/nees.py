"""NEES over time, its autocorrelation, NEES over the condition of the geometry, k over horizons."""

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.judge.levels import TAIL
from smfeval.maths.arrays import Floats
from smfeval.maths.autocovariance import autocovariance, block_length
from smfeval.maths.special import normal_quantile
from smfeval.score.pit import effective_particles, honest_quantile
from smfeval.show.figures.style import (
    BAND_GREY,
    HONEST_GREY,
    colour,
    draw_series,
    estimator_names,
    finish,
    line_style,
)
from smfeval.show.series import (
    Evaluations,
    check_positive,
    check_same_length,
    estimate_name,
    nees_ratio,
    numbered_beliefs,
    origin_ns,
    polyline,
    single_belief,
)
from smfeval.summarise.inflation import median_chi_squared

HONEST_QUANTILES = (0.025, 0.975)  # the central 95 % of an honest belief's NEES
MAX_POINTS = 5000  # more are counted in hexagons instead of drawn on top of each other


def nees_over_time(axes: Axes, evaluations: Evaluations) -> None:
    """NEES of each scan on a logarithmic axis, medians dashed, over the honest band and median."""
    kept = numbered_beliefs(evaluations)
    found = list(kept.values())
    start = origin_ns(found)
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        stamp, nees = each.position.estimate.stamp, each.position.series["nees"]
        time, drawn = polyline(stamp, nees, origin_ns=start)
        median = float(np.median(nees))
        legend = f"{name} (median {words.number(median)})"
        draw_series(axes, time, drawn, **line_style(number), lw=0.7, label=legend)
        axes.axhline(median, color=colour(number), ls="--", lw=0.8)
    own = [effective_particles(each.position.residuals) is not None for each in found]
    laws = {  # Gaussians of one dimension share the law of their NEES
        number if particles else -each.position.residuals.dimension: each
        for number, (each, particles) in enumerate(zip(found, own, strict=True))
    }
    for _, each in sorted(laws.items(), key=lambda law: law[0] >= 0):
        _draw_honest_band(axes, each, start)
    axes.margins(x=0.01)
    finish(axes, "time (s)", "NEES", log="y")


def nees_of_spaces(axes: Axes, evaluation: Evaluation) -> None:
    """NEES over its honest median in each space: k of every scan, medians dashed."""
    evaluation = single_belief(evaluation)
    start = origin_ns([evaluation])
    for number, scored in enumerate(evaluation.spaces):
        ratio = nees_ratio(scored)
        time, drawn = polyline(scored.estimate.stamp, ratio, origin_ns=start)
        median = float(np.median(ratio))
        axis_names = ", ".join(scored.space.axis_names)
        legend = f"{scored.space.name} ({axis_names}): k = {words.number(median)}"
        draw_series(axes, time, drawn, **line_style(number), lw=0.7, label=legend)
        axes.axhline(median, color=colour(number), ls="--", lw=0.8)
    axes.axhline(1.0, color=HONEST_GREY, ls=":", lw=0.8, label="median if honest")
    axes.margins(x=0.01)
    finish(axes, "time (s)", "NEES over its honest median", log="y")


def _draw_honest_band(axes: Axes, evaluation: Evaluation, start: int) -> None:
    residuals, stamp = evaluation.position.residuals, evaluation.position.estimate.stamp
    low, middle, high = (
        honest_quantile(residuals, share)
        for share in (HONEST_QUANTILES[0], 0.5, HONEST_QUANTILES[1])
    )
    if effective_particles(residuals) is None:
        axes.axhspan(low[0], high[0], color=BAND_GREY, lw=0, zorder=0, label="if honest: 95 %")
        axes.axhline(
            middle[0],
            color=HONEST_GREY,
            ls="--",
            label=f"if honest: median {words.number(middle[0])}",
        )
        return
    time, low, middle, high = polyline(stamp, low, middle, high, origin_ns=start)
    axes.fill_between(
        time, low, high, color=BAND_GREY, lw=0, zorder=0, label="if honest: 95 % (particles)"
    )
    axes.plot(time, middle, color=HONEST_GREY, ls="--", label="if honest: median (particles)")


MIN_SCANS = 20  # scans: fewer have no lags to speak of
MIN_LAGS = 20
LAG_MARGIN = 1.5  # the axis ends this far beyond the longest mark


def autocorrelation(axes: Axes, evaluation: Evaluation) -> None:
    """Autocorrelation of |e| and of the NEES over the lag, in scans.

    Marked are the Politis-White block length of each and the memory, scans per independent scan,
    on which the interval of k rests. Gaps in time count as one step.
    """
    found = single_belief(evaluation)
    scored = {"error": found.position.series["ape"], "NEES": found.position.series["nees"]}
    scans = len(scored["error"])
    if scans < MIN_SCANS:
        raise SeriesError(
            f"{estimate_name(found)}: {scans} scans are too few for an autocorrelation"
        )
    for what, series in scored.items():
        if np.ptp(series) == 0:
            raise SeriesError(f"{estimate_name(found)}: the {what} never changes; it has no memory")
    blocks = {what: block_length(series).geometric for what, series in scored.items()}
    memory = memory_scans(found)
    longest = LAG_MARGIN * max(*blocks.values(), memory or 0.0)
    lags = min(scans - 1, max(MIN_LAGS, int(np.ceil(longest))))

    band = float(normal_quantile(0.975)) / np.sqrt(scans)
    axes.axhspan(-band, band, color=BAND_GREY, lw=0, zorder=0, label="95 % if independent")
    for i, (what, series) in enumerate(scored.items()):
        legend = f"{what} (block length {words.number(blocks[what])} scans)"
        axes.plot(np.arange(lags + 1), correlation(series, lags), color=colour(i), label=legend)
        axes.axvline(blocks[what], color=colour(i), ls=":")
    if memory is not None:
        legend = f"memory of k: {words.number(memory)} scans"
        axes.axvline(memory, color=HONEST_GREY, ls="--", label=legend)
    axes.set_xlim(0, lags)
    finish(axes, "lag (scans)", f"autocorrelation\nof {estimator_names([found])[0]}")


def correlation(series: Floats, lags: int) -> Floats:
    """Autocorrelation of a series that varies, for lags from 0 on. (n,) -> (lags + 1,)."""
    covariance = autocovariance(series, lags)
    return covariance / covariance[0]


def memory_scans(evaluation: Evaluation) -> float | None:
    """Scans per independent scan behind k; None where nobody can tell."""
    k = evaluation.get("k")
    if k is None or k.n_effective is None:
        return None
    return len(evaluation.position.residuals) / k.n_effective


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
    finish(axes, "condition number", "NEES", log="xy")


def fit_log_line(condition: Floats, nees: Floats) -> tuple[float, float]:
    """Slope and offset of log10 NEES over log10 condition."""
    x, y = np.log10(condition), np.log10(nees)
    if len(x) < 2 or np.ptp(x) == 0:
        raise SeriesError("the condition number never changes; there is no slope to fit")
    slope = float(np.cov(x, y, bias=True)[0, 1] / x.var())
    return slope, float(y.mean() - slope * x.mean())


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
        legend = "windows not independent, or claims unsteady"
        axes.plot(
            seconds[~usable],
            k[~usable],
            "o",
            ms=4,
            color=colour(0),
            mfc="white",
            label=legend,
            zorder=3,
        )
    name = estimator_names([found])[0]
    finish(axes, "horizon (s)", f"k of relative motion\nof {name}", log="xy")
