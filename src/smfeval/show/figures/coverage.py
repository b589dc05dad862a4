"""Coverage curve: how often do regions of each nominal level hold the reference?"""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats
from smfeval.score.pit import honest_median
from smfeval.show.figures.inputs import Evaluations, numbered_beliefs
from smfeval.show.figures.labels import estimator_names, legend_above
from smfeval.show.figures.style import HONEST, colour, line
from smfeval.summarise.number import Number

ROOM = (-0.01, 1.01)  # a curve along the frame is seen whole
LEVELS = np.linspace(0, 1, 41)[1:-1]


def coverage(axes: Axes, evaluations: Evaluations) -> None:
    """Share of scans whose PIT is at most the level, with pointwise intervals.

    The intervals know that neighbouring scans depend on each other; where there are too few
    independent scans for one, the band is missing and the legend counts how often.
    """
    kept = numbered_beliefs(evaluations)
    found = list(kept.values())
    axes.plot([0, 1], [0, 1], color=HONEST, ls="--", label="if honest")
    for number, name, each in zip(kept, estimator_names(found), found, strict=True):
        shares = [held(each, level) for level in LEVELS]
        low, high = _ends(shares)
        words = f"{name}{_missing(each, low)}"
        nominal, held_share = _with_ends([share.value for share in shares])
        axes.plot(nominal, held_share, **line(number), label=words)
        axes.fill_between(LEVELS, low, high, color=colour(number), alpha=0.2, lw=0)
    axes.set(xlim=ROOM, ylim=ROOM, aspect="equal")
    axes.set_xlabel("nominal level")
    axes.set_ylabel("share of scans inside")
    legend_above(axes)


def held(evaluation: Evaluation, level: float) -> Number:
    """Share of scans that the region of this level holds, with its interval."""
    scored = evaluation.scored
    relative = scored.series["nees"] / honest_median(scored.residuals)
    related = np.log(np.maximum(relative, np.finfo(np.float64).tiny))
    inside = (scored.series["pit"] <= level).astype(np.float64)
    number = evaluation.options.intervals.of(inside, "mean", "1", related=related)
    low, high = (
        None if end is None else min(max(end, 0.0), 1.0) for end in (number.low, number.high)
    )
    return replace(number, low=low, high=high)


def _ends(shares: list[Number]) -> tuple[Floats, Floats]:
    """Ends of the intervals, NaN where there is none."""
    ends = [(s.low, s.high) if s.low is not None else (np.nan, np.nan) for s in shares]
    low, high = np.array(ends, dtype=np.float64).T
    return low, high


def _missing(evaluation: Evaluation, low: Floats) -> str:
    lost = int(np.isnan(low).sum())
    if not lost or evaluation.options.intervals.method is None:
        return ""
    return f" (no interval at {lost} of {len(LEVELS)} levels)"


def _with_ends(shares: list[float]) -> tuple[Floats, Floats]:
    """The curve from (0, 0) to (1, 1)."""
    return np.concatenate([[0.0], LEVELS, [1.0]]), np.array([0.0, *shares, 1.0])
