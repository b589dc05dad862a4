"""What a sweep over precision would show if the covariance were right, or only shrank.

With S scaled by c in d dimensions the precision P = -log det S grows by d log(1/c). A consistent
belief's error shrinks along: |e| ~ sqrt(c) = exp(-P / 2d), and NEES stays. If the error does not
change at all, NEES ~ 1/c = exp(P / d).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from smfeval.compare.slopes import Quantity
from smfeval.compare.sweep import SweepLine
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.style import GREY, MARKERS, colour, escape_name, finish
from smfeval.show.sweep import PREDICTIONS, predicted_ends, predicted_slopes
from smfeval.summarise.inflation import median_chi_squared

DASHES = ("--", ":")  # of the predictions
CREDIT_DASHES = (0, (5, 1, 1, 1))
PRECISION = r"precision $-\log\,\det\,\Sigma$ (nat)"


def sweep(axes: Sequence[Axes], lines: Sequence[SweepLine], *, dimension: int = 3) -> None:
    """Median NEES and mean error over the precision of all runs, with both predictions.

    Where telemetry tells the credit of the points, a panel above has reported precision and credit
    over the setting. Colours are estimators, markers settings; each of both has lines by track. The
    ends of the longest line have their values. If errors shrink as reported, NEES stays and the
    error falls by log10(e) / 2d per nat; if they stay, NEES rises by log10(e) / d per nat.
    """
    if not lines:
        raise SeriesError("no setting moves the precision: the sweep has nothing to draw")
    *first, above, below = axes
    for panel in first:
        _draw_credit(panel, lines)
    below.sharex(above)
    above.axhline(median_chi_squared(dimension), color=GREY, lw=0.8, label="median if consistent")
    for panel, of in zip((above, below), predicted_slopes(dimension).items(), strict=True):
        _draw_runs(panel, lines, *of)
    _name_ends(above, lines)
    finish(above, "", "median NEES", log="y")
    finish(below, PRECISION, "mean error (m)", log="y")


def panel_count(lines: Sequence[SweepLine]) -> int:
    """Two, and one for the credit where it is known."""
    return 2 + any(_relative_values(each) is not None for each in lines)


def _draw_runs(
    axes: Axes, lines: Sequence[SweepLine], quantity: Quantity, slopes: tuple[float, float]
) -> None:
    """Marks of every run, and of each estimator both predictions through the middle of its runs."""
    estimators, knobs = _names(lines)
    for each in lines:
        look = _look(each, lines)
        order = np.argsort(each.line.precision)
        drawn = 10 ** getattr(each.line, quantity)[order]
        axes.plot(each.line.precision[order], drawn, **look)
    for number, estimator in enumerate(estimators):
        own = [each.line for each in lines if each.estimator == estimator]
        axes.plot([], [], color=colour(number), label=escape_name(estimator))
        for dashes, slope in zip(DASHES, slopes, strict=True):
            ends = predicted_ends(own, quantity, slope)
            axes.plot(*ends, color=colour(number), ls=dashes, lw=0.8)
    for knob, marker in zip(knobs, MARKERS, strict=False):
        axes.plot([], [], color=GREY, marker=marker, ls="", ms=3.5, label=escape_name(knob))
    for legend, dashes in zip(PREDICTIONS, DASHES, strict=True):
        axes.plot([], [], color=GREY, ls=dashes, lw=0.8, label=legend)
    axes.margins(x=0.08, y=0.12)


def _name_ends(axes: Axes, lines: Sequence[SweepLine]) -> None:
    """The values at both ends of each estimator's longest line, below and above."""
    for number, estimator in enumerate(_names(lines)[0]):
        own = [each.line for each in lines if each.estimator == estimator]
        line = max(own, key=lambda line: line.reach_nats)
        for at, beside in ((line.precision.argmin(), -10), (line.precision.argmax(), 4)):
            axes.annotate(
                escape_name(line.values[at]),
                (line.precision[at], 10 ** line.log_nees[at]),
                (0, beside),  # points
                textcoords="offset points",
                ha="center",
                color=colour(number),
            )


def _draw_credit(axes: Axes, lines: Sequence[SweepLine]) -> None:
    """Reported precision, and the credit of the points, over each setting."""
    for each in lines:
        x, credit = _relative_values(each), each.line.credit
        if x is None or credit is None:
            continue
        order, look = np.argsort(x), _look(each, lines)
        axes.plot(x[order], each.line.precision[order], **look)
        axes.plot(x[order], credit[order], color=look["color"], ls=CREDIT_DASHES, lw=0.8)
    axes.plot([], [], color=GREY, ls=CREDIT_DASHES, lw=0.8, label="credit of the points")
    finish(axes, "setting, relative to the usual one", "precision (nat)", log="x")


def _relative_values(of: SweepLine) -> Floats | None:
    """Values of a knob over the usual one; None where they have no logarithm, or no credit."""
    if of.line.credit is None:
        return None
    try:
        values, usual = np.array([float(value) for value in of.line.values]), float(of.usual)
    except ValueError:  # words
        return None
    return values / usual if (values > 0).all() else None


def _look(each: SweepLine, lines: Sequence[SweepLine]) -> dict[str, Any]:
    """The colour of its estimator, the marker of its knob."""
    estimators, knobs = _names(lines)
    marker = MARKERS[knobs.index(each.knob) % len(MARKERS)]
    tint = colour(estimators.index(each.estimator))
    return {"color": tint, "marker": marker, "ms": 3.5, "lw": 0.6}


def _names(lines: Sequence[SweepLine]) -> tuple[list[str], list[str]]:
    """Estimators and knobs, each once."""
    estimators = dict.fromkeys(each.estimator for each in lines)
    return list(estimators), list(dict.fromkeys(each.knob for each in lines))
