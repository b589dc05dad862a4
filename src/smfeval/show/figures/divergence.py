"""Error against three sigma on a linear axis: does the error leave the belief for good?"""

import numpy as np
from matplotlib.axes import Axes

from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.show.figures.inputs import belief_of, sigma
from smfeval.show.figures.labels import MEANING, SIGMA, error_label, estimator_names, legend_above
from smfeval.show.figures.lines import trace
from smfeval.show.figures.style import colour, shade
from smfeval.show.figures.thinning import polyline
from smfeval.show.words import number

BAND = 3.0  # of sigma = sqrt(tr S): an honest round error in space is beyond it once in 169,856


def divergence(axes: Axes, evaluation: Evaluation) -> None:
    """|e| over the band up to 3 sigma, and the first scan after which it stays outside."""
    found = belief_of(evaluation)
    stamp, error = found.scored.estimate.stamp, found.scored.series["ape"]
    band = BAND * sigma(found)
    time, line, edge = polyline(stamp, error, band)
    trace(axes, time, line, color=colour(0), label=f"{estimator_names([found])[0]}: error")
    words = f"reported 3{SIGMA} ({SIGMA}: {MEANING})"
    axes.fill_between(time, 0 * edge, edge, **shade(0.35), label=words)
    outside = error > band
    axes.plot([], [], ls="none", label=f"{_percent(outside)} of scans outside 3{SIGMA}")
    _mark(axes, (stamp - stamp[0]) / NANOSECONDS, error, leaves_for_good(outside))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(error_label(found))
    legend_above(axes)


def leaves_for_good(outside: Bools) -> int | None:
    """First scan from which on all are outside; None if the last one is inside."""
    inside = np.flatnonzero(~outside)
    first = int(inside[-1]) + 1 if len(inside) else 0
    return first if first < len(outside) else None


def _percent(outside: Bools) -> str:
    """Share in percent; one scan of many is not written as none, nor all but one as all."""
    share = 100 * float(outside.mean())
    return f"{number(share)} %" if share < 99.5 else f"{share:.6g} %"


def _mark(axes: Axes, time: Floats, error: Floats, scan: int | None) -> None:
    if scan is None:
        axes.plot([], [], ls="none", label=f"never outside 3{SIGMA} for good")
        return
    at = float(time[scan])
    since = f"for good from {number(at)} s" if scan else "from start to end"
    words = f"outside 3{SIGMA} {since}"
    axes.axvline(at, color=colour(1), ls="--", lw=0.8, label=words)
    axes.plot([at], [error[scan]], "o", color=colour(1), clip_on=False)
