"""Coverage curve: how often do regions of each nominal level hold the reference?"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.score.log import consistency, sharpness
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
    LEVELS,
    Evaluations,
    coverage_curve,
    estimate_name,
    numbered_beliefs,
    origin_ns,
    polyline,
    single_belief,
)

AXIS_LIMITS = (-0.01, 1.01)  # a curve along the frame is seen whole


def coverage(axes: Axes, evaluations: Evaluations) -> None:
    """Share of scans whose PIT is at most the level, with pointwise intervals.

    The intervals know that neighbouring scans depend on each other; a level that has none has the
    ends of its neighbours (`coverage_curve`), and the legend counts how often.
    """
    kept = numbered_beliefs(evaluations)
    found = list(kept.values())
    axes.plot([0, 1], [0, 1], color=HONEST_GREY, ls="--", label="if honest")
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        curve = coverage_curve(each)
        nominal = np.concatenate([[0.0], LEVELS, [1.0]])
        inside = np.concatenate([[0.0], curve.share, [1.0]])
        banded = not np.isnan(curve.low).all()
        note = ""  # how many levels have no interval of their own
        if each.options.intervals.method is not None and not banded:
            note = " (no interval)"
        elif each.options.intervals.method is not None and curve.borrowed:
            note = f" (interval of neighbours at {curve.borrowed} of {len(LEVELS)} levels)"
        axes.plot(nominal, inside, **line_style(number), label=f"{name}{note}")
        if banded:
            ends = np.concatenate([[0.0], curve.low, [1.0]]), np.concatenate([[0], curve.high, [1]])
            axes.fill_between(nominal, *ends, color=colour(number), alpha=0.2, lw=0)
    axes.set(xlim=AXIS_LIMITS, ylim=AXIS_LIMITS, aspect="equal")
    finish(axes, "nominal level", "share of scans inside")


BINS = 20
BAND_LEVEL = 0.95
PIT_WORDS = "probability integral transform of the NEES"


def pit_histogram(axes: Axes, evaluation: Evaluation) -> None:
    """Share of scans in each of BINS equal bins of the PIT, times BINS.

    The band holds a bar of an honest belief with probability 95 %, for as many independent scans
    as the mean log NEES is worth; bars forget faster than that, so the band is rather too wide.
    """
    found = single_belief(evaluation)
    pit = found.position.series["pit"]
    density, edges = np.histogram(pit, bins=BINS, range=(0, 1), density=True)
    name = estimator_names([found])[0]
    band = honest_band(independent_scans(found))
    legend = "if honest (nobody can tell how many scans are independent)"
    if band is not None:
        axes.axhspan(*band, color=BAND_GREY, lw=0, zorder=0)
        legend = (
            f"if honest, 95 % for {words.number(independent_scans(found) or 0)} independent scans"
        )
    axes.stairs(density, edges, fill=True, color=colour(0), alpha=0.75, label=name)
    axes.axhline(1.0, color=HONEST_GREY, ls="--", label=legend)
    axes.set_xlim(0, 1)
    particles = found.position.residuals.ensemble is not None
    what = "rank of the reference among the particles" if particles else PIT_WORDS
    finish(axes, what, "density")


def independent_scans(evaluation: Evaluation) -> float | None:
    """Scans, if independent, that would tell as much about the mean log NEES; None: unknown.

    The PIT itself will not do: that of an overconfident belief is stuck at 1.
    """
    nees = evaluation.position.series["nees"]
    log_nees = np.log(np.maximum(nees, np.finfo(np.float64).tiny))
    return evaluation.options.intervals.of(log_nees, "mean", "nat").n_effective


def honest_band(scans: float | None) -> tuple[float, float] | None:
    """Ends of the density of one bin, by the binomial law; None for less than one scan."""
    whole = int(scans or 0)
    if whole < 1:
        return None
    from scipy.stats import binom  # noqa: PLC0415  slow to import, for this figure only

    low, high = binom.interval(BAND_LEVEL, whole, 1 / BINS)
    return float(low) * BINS / whole, float(high) * BINS / whole


def log_score(axes: Sequence[Axes], evaluations: Evaluations) -> None:
    """Consistency above, on a logarithmic axis; sharpness below. Their sum is the log score.

    LS = consistency + sharpness + d/2 log 2 pi, in nats. An honest belief has a mean consistency
    of d/2; sharpness is only worth having as long as consistency does not pay for it.
    """
    above, below = axes
    beliefs = numbered_beliefs(evaluations)
    kept = {at: each for at, each in beliefs.items() if has_log_parts(each)}
    if not kept:
        name = estimate_name(next(iter(beliefs.values())))
        raise SeriesError(f"{name} has particles; only the log score of a Gaussian splits in two")
    found = list(kept.values())
    start = origin_ns(found)
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        stamp, residuals = each.position.estimate.stamp, each.position.residuals
        parts = consistency(residuals), sharpness(residuals)
        time, first, second = polyline(stamp, *parts, origin_ns=start)
        legend = f"{name} (means {words.join(words.number(float(p.mean())) for p in parts)} nat)"
        draw_series(above, time, first, **line_style(number), lw=0.8, label=legend)
        draw_series(below, time, second, **line_style(number), lw=0.8)
    for d in np.unique([each.position.residuals.dimension for each in found]):
        legend = f"if honest: mean {words.exact(d / 2)} nat"
        above.axhline(d / 2, color=HONEST_GREY, ls="--", label=legend)
    below.margins(x=0.01)
    finish(above, "", "consistency (nat)", log="y")
    finish(below, "time (s)", "sharpness (nat)")


def has_log_parts(evaluation: Evaluation) -> bool:
    """Whether the log score has two parts: that of particles has not."""
    return evaluation.position.residuals.ensemble is None
