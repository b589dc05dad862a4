"""Coverage curves, PIT, parts of the log score, and the Stanford diagram of protection levels."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from smfeval import words
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.score.log import consistency, sharpness
from smfeval.show import series
from smfeval.show.figures.style import (
    BAND_GREY,
    GREY,
    HANDLE_LETTERS,
    colour,
    draw_series,
    estimator_names,
    finish,
    line_style,
)
from smfeval.show.integrity import StanfordDiagram, stanford_diagram
from smfeval.show.series import Evaluations

LETTER_SHARE, LINE_SHARE = 0.026, 0.075  # of the axes: a letter and a line of the legend
AXIS_LIMITS = (-0.01, 1.01)  # a curve along the frame is seen whole


def coverage(axes: Axes, evaluations: Evaluations) -> None:
    """Share of scans whose PIT is at most the level, with pointwise 95 % CIs as a band.

    The intervals know that neighbouring scans are correlated. A level that has none has the ends
    of its neighbours (`coverage_curve`); the band has an edge where the interval is its own. The
    legend stands in a corner that is free, if there is one.
    """
    kept = series.numbered_beliefs(evaluations)
    found = list(kept.values())
    nominal = np.concatenate([[0.0], series.LEVELS, [1.0]])
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.8, label="consistent")
    curves, labels = [nominal], estimator_names(found)
    for i, (number, each) in enumerate(kept.items()):
        curve = series.coverage_curve(each)
        parts = (curve.share, curve.low, curve.high)
        inside, low, high = (np.concatenate([[0.0], part, [1.0]]) for part in parts)
        if curve.own.any():
            axes.fill_between(nominal, low, high, color=colour(number), alpha=0.12, lw=0, zorder=1)
            for end in (curve.low, curve.high):
                edge = np.where(curve.own, end, np.nan)
                axes.plot(series.LEVELS, edge, color=colour(number), lw=0.4, zorder=1.5)
        elif each.options.intervals.method is not None:
            labels[i] += " (no CI)"
        axes.plot(nominal, inside, **line_style(number), lw=1.3, label=labels[i])
        curves.append(inside)
    axes.set(xlim=AXIS_LIMITS, ylim=AXIS_LIMITS, aspect="equal")
    finish(axes, "nominal coverage", "share of scans inside")

    wide = LETTER_SHARE * (HANDLE_LETTERS + max(map(len, [*labels, "consistent"])))
    tall = LINE_SHARE * (len(labels) + 1)
    if np.interp(wide, nominal, np.max(curves, axis=0)) < 1 - tall:
        axes.legend(loc="upper left")
    elif np.interp(1 - wide, nominal, np.min(curves, axis=0)) > tall:
        axes.legend(loc="lower right")


BINS = 20
BAND_LEVEL = 0.95


def pit_histogram(axes: Axes, evaluation: Evaluation) -> None:
    """Share of scans in each of BINS equal bins of the PIT, times BINS.

    The band holds a bar of a consistent belief with probability 95 %, for as many independent
    scans as the mean log NEES is worth; the correlation of a bar is shorter, so the band is rather
    too wide.
    """
    found = series.single_belief(evaluation)
    pit = found.position.series["pit"]
    density, edges = np.histogram(pit, bins=BINS, range=(0, 1), density=True)
    scans = effective_scans(found)
    band, counted = consistent_band(scans), "effective sample size unknown"
    if band is not None:
        axes.axhspan(*band, color=BAND_GREY, lw=0, zorder=0, label="95 % if consistent")
        counted = f"{words.number(scans or 0)} effective scans"
    axes.stairs(density, edges, fill=True, color=colour(0), alpha=0.75, label="scans")
    axes.axhline(1.0, color=GREY, ls="--", label="consistent")
    axes.set_title(f"{estimator_names([found])[0]}: {counted}")
    axes.set_xlim(0, 1)
    particles = found.position.residuals.ensemble is not None
    finish(axes, "rank among the particles" if particles else "PIT of the NEES", "density")


def effective_scans(evaluation: Evaluation) -> float | None:
    """Effective sample size of the mean log NEES; None: unknown.

    The PIT itself will not do: that of an overconfident belief is stuck at 1.
    """
    nees = evaluation.position.series["nees"]
    log_nees = np.log(np.maximum(nees, np.finfo(np.float64).tiny))
    return evaluation.options.intervals.of(log_nees, "mean", "nat").n_effective


def consistent_band(scans: float | None) -> tuple[float, float] | None:
    """Ends of the density of one bin, by the binomial law; None for less than one scan."""
    whole = int(scans or 0)
    if whole < 1:
        return None
    from scipy.stats import binom  # noqa: PLC0415  slow to import, for this figure only

    low, high = binom.interval(BAND_LEVEL, whole, 1 / BINS)
    return float(low) * BINS / whole, float(high) * BINS / whole


def log_score(axes: Sequence[Axes], evaluations: Evaluations) -> None:
    """Consistency above, on a logarithmic axis; sharpness below. Their sum is the log score.

    LS = consistency + sharpness + d/2 log 2 pi, in nats. A consistent belief has a mean
    of d/2; sharpness is only worth having as long as consistency does not pay for it.
    """
    above, below = axes
    beliefs = series.numbered_beliefs(evaluations)
    kept = {at: each for at, each in beliefs.items() if has_log_parts(each)}
    if not kept:
        name = series.estimate_name(next(iter(beliefs.values())))
        raise SeriesError(f"{name} has particles; only the log score of a Gaussian splits in two")
    found = list(kept.values())
    start = series.origin_ns(found)
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        stamp, residuals = each.position.estimate.stamp, each.position.residuals
        parts = consistency(residuals), sharpness(residuals)
        time, first, second = series.time_series(stamp, *parts, origin_ns=start)
        draw_series(above, time, first, **line_style(number), label=name)
        draw_series(below, time, second, **line_style(number))
    for d in np.unique([each.position.residuals.dimension for each in found]):
        legend = f"mean if consistent, {words.exact(d / 2)} nat"
        above.axhline(d / 2, color=GREY, lw=0.8, zorder=1, label=legend)
    below.margins(x=0.01)
    finish(above, "", "consistency (nat)", log="y")
    finish(below, "time (s)", "sharpness (nat)")


def has_log_parts(evaluation: Evaluation) -> bool:
    """Whether the log score has two parts: that of particles has not."""
    return evaluation.position.residuals.ensemble is None


HAZARDOUS, MISLEADING = "#f6d2c4", "#fbeeca"  # light, so that counts are seen on them


def diagram_count(evaluation: Evaluation) -> int:
    """Components that have a protection level; one where there is none, to say so."""
    found = evaluation.integrity
    return 1 if found is None else len(found.regions.components)


def stanford(axes: Sequence[Axes], evaluation: Evaluation) -> None:
    """One of the axes for each component: scans by error and protection level, log counts.

    Right of the alert limit and below it the information is hazardously misleading; below the
    diagonal and left of the limit misleading; above the limit the estimate is not available.
    """
    (found,) = series.evaluation_list(evaluation)
    if found.integrity is None:
        raise SeriesError(f"{series.estimate_name(found)}: no alert limit, or no protection level")
    for place, component in zip(axes, found.integrity.regions.components, strict=True):
        _draw(place, stanford_diagram(component), estimator_names([found])[0])


def _draw(axes: Axes, diagram: StanfordDiagram, name: str) -> None:
    low, high, limit = diagram.edges[0], diagram.edges[-1], diagram.limit
    axes.fill([low, limit, limit], [low, limit, low], color=MISLEADING, lw=0, zorder=0)
    axes.fill([limit, high, high, limit], [low, low, limit, limit], color=HAZARDOUS, lw=0, zorder=0)
    axes.fill([low, high, high, low], [limit, limit, high, high], color=BAND_GREY, lw=0, zorder=0)
    counts = np.ma.masked_equal(diagram.counts.T, 0)
    norm = LogNorm(1, max(10.0, float(diagram.counts.max())))
    mesh = axes.pcolormesh(diagram.edges, diagram.edges, counts, norm=norm, zorder=2)
    mesh.set_rasterized(True)
    axes.figure.colorbar(mesh, ax=axes, label="scans", aspect=30)
    axes.plot([low, high], [low, high], color=GREY, lw=0.8, zorder=3, label="error = level")
    for line in (axes.axhline, axes.axvline):
        line(limit, color=GREY, ls="--", lw=0.8, zorder=3, label="alert limit")
    of_region = {  # where its words hide the fewest scans: x in data, y of the axes
        "unavailable": (1.1 * low, 0.98, "left", "top"),
        "nominal": (1.1 * low, 0.42, "left", "center"),
        "MI": (0.92 * limit, 0.1, "right", "bottom"),
        "HMI": (0.96 * high, 0.02, "right", "bottom"),
    }
    for region, (x, y, ha, va) in of_region.items():
        text = f"{region} {words.share(diagram.shares[region])}"
        paper = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}
        place = axes.get_xaxis_transform()
        axes.text(x, y, text, transform=place, ha=ha, va=va, zorder=4, bbox=paper)
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set_title(f"{name}: {diagram.name} error, limit {words.exact(limit)} {diagram.unit}")
    finish(axes, f"error ({diagram.unit})", f"protection level ({diagram.unit})", log="xy")
