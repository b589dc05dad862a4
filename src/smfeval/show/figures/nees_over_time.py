"""NEES over time, with the band in which an honest belief's would lie."""

import numpy as np
from matplotlib.axes import Axes

from smfeval.evaluation import Evaluation
from smfeval.score.pit import effective_particles
from smfeval.show.figures.honest import honest_quantile
from smfeval.show.figures.inputs import Evaluations, numbered_beliefs, origin_ns
from smfeval.show.figures.labels import estimator_names, legend_above
from smfeval.show.figures.lines import read_well, trace
from smfeval.show.figures.style import HONEST, PALE, colour, line
from smfeval.show.figures.thinning import polyline
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
