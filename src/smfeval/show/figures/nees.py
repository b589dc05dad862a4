"""NEES over time, its autocorrelation, NEES over the condition of the geometry, k over horizons."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import ScoredScans, SpaceScores
from smfeval.judge.levels import TAIL
from smfeval.maths.arrays import Floats
from smfeval.maths.autocovariance import autocovariance, block_length
from smfeval.maths.special import normal_quantile
from smfeval.score.pit import effective_particles, honest_quantile
from smfeval.show.figures.style import (
    BAND_GREY,
    GREY,
    colour,
    draw_band,
    draw_series,
    estimator_names,
    finish,
    line_style,
    marker_style,
)
from smfeval.show.series import (
    Evaluations,
    check_positive,
    estimate_name,
    numbered_beliefs,
    origin_ns,
    single_belief,
    time_series,
)
from smfeval.summarise.inflation import median_chi_squared

SPACES = ("position", "rotation", "pose")
CONSISTENT_QUANTILES = (0.025, 0.5, 0.975)  # the central 95 % of a consistent NEES, and its median
MAX_POINTS = 5000  # more are counted in hexagons instead of drawn on top of each other


def nees_over_time(axes: Axes | Sequence[Axes], evaluations: Evaluations) -> None:
    """NEES of each scan over the 95 % band and the median of a consistent belief, logarithmic.

    One of the axes for each space, with the lines of all estimates that are scored there.
    """
    panels = [axes] if isinstance(axes, Axes) else list(axes)
    kept = numbered_beliefs(evaluations)
    start, names = origin_ns(list(kept.values())), estimator_names(list(kept.values()))
    for panel, space in zip(panels, SPACES, strict=False):
        scored = {at: getattr(each, space) for at, each in kept.items()}
        laws: dict[int, SpaceScores] = {}  # Gaussians of one dimension share the law of their NEES
        for (number, each), name in zip(scored.items(), names, strict=True):
            if each is None:
                continue
            time, drawn = time_series(each.estimate.stamp, each.series["nees"], origin_ns=start)
            draw_series(panel, time, drawn, **line_style(number), label=name)
            own = effective_particles(each.residuals) is not None
            laws[number if own else -each.residuals.dimension] = each
        for _, each in sorted(laws.items(), key=lambda law: law[0] >= 0):
            _draw_consistent_band(panel, each, start)
        panel.margins(x=0.01)
        panel.set_title(space if len(panels) > 1 else "")
        finish(panel, "time (s)" if panel is panels[-1] else "", "NEES", log="y")


def space_count(evaluations: Evaluations) -> int:
    """Spaces in which some belief is scored: position, then rotation and pose."""
    return max(len(each.spaces) for each in numbered_beliefs(evaluations).values())


def _draw_consistent_band(axes: Axes, scored: ScoredScans, start: int) -> None:
    """The band of Gaussians is constant; that of particles depends on the effective ones."""
    quantiles = [honest_quantile(scored.residuals, q) for q in CONSISTENT_QUANTILES]
    label = "95 % if consistent"
    if effective_particles(scored.residuals) is None:
        low, middle, high = (float(each[0]) for each in quantiles)
        axes.axhspan(low, high, color=BAND_GREY, lw=0, zorder=0, label=label)
        line = axes.axhline(middle)
    else:
        time, *curves = time_series(scored.estimate.stamp, *quantiles, origin_ns=start)
        lows, medians, highs = (curve[1] for curve in curves)
        draw_band(axes, time, lows, highs, color=BAND_GREY, label=label)
        (line,) = axes.plot(time, medians)
    line.set(color=GREY, lw=0.8, zorder=1, label="median if consistent")


MIN_SCANS = 20  # scans: fewer have no lags to speak of
MIN_LAGS = 20
LAG_MARGIN = 1.5  # the axis ends this far beyond the longest mark


def autocorrelation(axes: Axes, evaluation: Evaluation) -> None:
    """Autocorrelation of |e| and of the NEES over the lag, in scans.

    Marked are the Politis-White block length of each (dotted) and the scans per effective one, on
    which the interval of k rests (dashed). Gaps in time count as one step.
    """
    found = single_belief(evaluation)
    scored = {"error": found.position.series["ape"], "NEES": found.position.series["nees"]}
    scans, name = len(scored["error"]), estimate_name(found)
    if scans < MIN_SCANS:
        raise SeriesError(f"{name}: {scans} scans are too few for an autocorrelation")
    for what, series in scored.items():
        if np.ptp(series) == 0:
            raise SeriesError(f"{name}: the {what} never changes; it has no autocorrelation")
    blocks = {what: block_length(series).geometric for what, series in scored.items()}
    per_effective = scans_per_effective(found)
    longest = LAG_MARGIN * max(*blocks.values(), per_effective or 0.0)
    lags = min(scans - 1, max(MIN_LAGS, int(np.ceil(longest))))

    band = float(normal_quantile(0.975)) / np.sqrt(scans)
    axes.axhspan(-band, band, color=BAND_GREY, lw=0, zorder=0, label="95 % if independent")
    for i, (what, series) in enumerate(scored.items()):
        axes.plot(np.arange(lags + 1), correlation(series, lags), **line_style(i), label=what)
        axes.axvline(blocks[what], color=colour(i), ls=":", label="block length")
    if per_effective is not None:
        axes.axvline(per_effective, color=GREY, ls="-.", label="scans per effective scan")
    lengths = words.join(words.number(length) for length in blocks.values())
    axes.set_title(f"{estimator_names([found])[0]}: blocks of {lengths} scans")
    axes.set_xlim(0, lags)
    finish(axes, "lag (scans)", "autocorrelation")


def correlation(series: Floats, lags: int) -> Floats:
    """Autocorrelation of a series that varies, for lags from 0 on. (n,) -> (lags + 1,)."""
    covariance = autocovariance(series, lags)
    return covariance / covariance[0]


def scans_per_effective(evaluation: Evaluation) -> float | None:
    """Scans over the effective sample size behind k; None where it is unknown."""
    k = evaluation.get("k")
    if k is None or k.n_effective is None:
        return None
    return len(evaluation.position.residuals) / k.n_effective


def degeneracy(axes: Axes, condition: Floats, nees: Floats, *, dimension: int = 3) -> None:
    """NEES over the condition number of the information, both logarithmic, with the fitted line.

    The line is the least-squares fit of log10 NEES on log10 condition. Scans depend on each other,
    so no interval is given.
    """
    if len(condition) != len(nees):
        raise SeriesError(
            f"{len(condition)} and {len(nees)} numbers; condition number and NEES come in pairs"
        )
    x, y = check_positive(condition, "condition number"), check_positive(nees, "NEES")
    slope, offset = fit_log_line(x, y)
    if len(x) > MAX_POINTS:
        axes.hexbin(x, y, xscale="log", yscale="log", bins="log", gridsize=60, mincnt=1, lw=0)
    else:
        axes.plot(x, y, ".", ms=2.5, alpha=0.5, mew=0, color=colour(0), label="scans")
        axes.set(xscale="log", yscale="log")
    ends = np.array([x.min(), x.max()])
    legend = f"fit, slope {words.fixed(slope, 2, signed=True)}".replace("-", "\N{MINUS SIGN}")
    axes.plot(ends, 10**offset * ends**slope, color=colour(1), lw=1.4, label=legend)
    axes.axhline(median_chi_squared(dimension), color=GREY, ls="--", label="median if consistent")
    finish(axes, "condition number", "NEES", log="xy")


def fit_log_line(condition: Floats, nees: Floats) -> tuple[float, float]:
    """Slope and offset of log10 NEES over log10 condition."""
    x, y = np.log10(condition), np.log10(nees)
    if len(x) < 2 or np.ptp(x) == 0:
        raise SeriesError("the condition number never changes; there is no slope to fit")
    slope = float(np.cov(x, y, bias=True)[0, 1] / x.var())
    return slope, float(y.mean() - slope * x.mean())


def k_over_horizon(axes: Axes, evaluation: Evaluation) -> None:
    """k of windows that do not overlap over their duration, with its 95 % CI, both logarithmic.

    Filled marks are horizons that a verdict may rest on: of independent windows and a reported
    covariance that is steady.
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

    axes.axhline(1.0, color=GREY, ls="--", label="k if consistent")
    bars = np.stack([k - low, high - k])
    look = marker_style(0)
    axes.errorbar(seconds, k, yerr=bars, **look, capsize=2, label="k, 95 % CI")
    if not usable.all():
        hollow = look | {"ls": "none", "mfc": "white", "label": "no verdict rests on it"}
        axes.plot(seconds[~usable], k[~usable], **hollow, zorder=3)
    windows = words.number_range([row.windows for row in motion.rows])
    axes.set_title(f"{estimator_names([found])[0]}: {windows} windows")
    finish(axes, "horizon (s)", "k of relative motion", log="xy")
