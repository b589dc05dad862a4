"""The log score split in two over time: consistency (NEES / 2) and sharpness (log det S / 2)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.score.log import consistency, sharpness
from smfeval.show.figures.inputs import Evaluations, name_of, numbered_beliefs, origin_ns
from smfeval.show.figures.labels import estimator_names, legend_above
from smfeval.show.figures.lines import read_well, trace
from smfeval.show.figures.style import HONEST, line
from smfeval.show.figures.thinning import polyline
from smfeval.show.words import number as as_text


def log_score(axes: Sequence[Axes], evaluations: Evaluations) -> None:
    """Consistency above, on a logarithmic axis; sharpness below. Their sum is the log score.

    LS = consistency + sharpness + d/2 log 2 pi, in nats. An honest belief has a mean consistency
    of d/2; sharpness is only worth having as long as consistency does not pay for it.
    """
    above, below = axes
    kept = _gaussians(evaluations)
    found = list(kept.values())
    start = origin_ns(found)
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        stamp, residuals = each.scored.estimate.stamp, each.scored.residuals
        parts = consistency(residuals), sharpness(residuals)
        time, first, second = polyline(stamp, *parts, origin_ns=start)
        words = f"{name} (means {' and '.join(as_text(float(p.mean())) for p in parts)} nat)"
        trace(above, time, first, **line(number), lw=0.8, label=words)
        trace(below, time, second, **line(number), lw=0.8)
    _honest(above, found)
    above.set_yscale("log")
    read_well(above.yaxis)
    above.set_ylabel("consistency (nat)")
    below.set_ylabel("sharpness (nat)")
    below.set_xlabel("time (s)")
    below.margins(x=0.01)
    legend_above(above)


def _honest(axes: Axes, found: list[Evaluation]) -> None:
    for d in np.unique([each.scored.residuals.dimension for each in found]):
        words = f"if honest: mean {d / 2:g} nat"
        axes.axhline(d / 2, color=HONEST, ls="--", label=words)


def splits(evaluation: Evaluation) -> bool:
    """Whether the log score has two parts: that of particles has not."""
    return evaluation.scored.residuals.ensemble is None


def _gaussians(evaluations: Evaluations) -> dict[int, Evaluation]:
    found = numbered_beliefs(evaluations)
    kept = {at: each for at, each in found.items() if splits(each)}
    if not kept:
        first = next(iter(found.values()))
        raise SeriesError(
            f"{name_of(first)} has particles; only the log score of a Gaussian splits in two"
        )
    return kept
