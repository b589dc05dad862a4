"""What a sweep over precision would show if the covariance were right, or only shrank.

With S scaled by c in d dimensions the precision P = -log det S grows by d log(1/c). A consistent
belief's error shrinks along: |e| ~ sqrt(c) = exp(-P / 2d), and NEES stays. If the error does not
change at all, NEES ~ 1/c = exp(P / d).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from smfeval.compare.sweep import earned_error_slope, unearned_slope
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.style import GREY, colour, escape_name, finish, marker_style
from smfeval.show.series import check_positive, check_same_length
from smfeval.summarise.inflation import median_chi_squared

# name of a line -> precision in nats, median NEES and mean error in metres of each run
SweepRuns = Mapping[str, tuple[Floats, Floats, Floats]]
PREDICTIONS = {"errors shrink as reported": "--", "errors stay": ":"}
MAX_LABELLED = 3  # estimators whose marks are labelled; more labels would hide the marks


def sweep(
    axes: Sequence[Axes],
    runs: SweepRuns,
    *,
    dimension: int = 3,
    knob: str = "",
    values: Mapping[str, Sequence[str]] = MappingProxyType({}),
    estimators: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Median NEES above and mean error below over the precision of each run; two predictions.

    If errors shrink as reported, NEES stays and the error falls by log10(e) / 2d per nat. If they
    stay, NEES rises by log10(e) / d per nat: the belief only grows more confident. `values` of the
    `knob` are beside the marks of a line; lines of one of the `estimators` share colour and entry.
    """
    if not runs:
        raise SeriesError("the sweep has no run to draw")
    lines: dict[str, list[str]] = {}  # of each estimator
    for name in runs:
        lines.setdefault(estimators.get(name, name), []).append(name)
    above, below = axes
    above.axhline(median_chi_squared(dimension), color=GREY, lw=0.8, label="median if consistent")
    _draw_runs(above, runs, lines, 1, slopes=(0.0, unearned_slope(dimension)))
    _draw_runs(below, runs, lines, 2, slopes=(earned_error_slope(dimension), 0.0))
    for number, (first, *_) in enumerate(list(lines.values())[:MAX_LABELLED]):
        beside = 0, -11 if number % 2 else 4  # points: below the mark, or above it
        look: dict[str, Any] = {"textcoords": "offset points", "ha": "center"}
        for x, y, value in zip(*runs[first][:2], values.get(first, ()), strict=False):
            above.annotate(escape_name(value), (x, y), beside, **look, color=colour(number))
    above.set_title(f"at the marks: {escape_name(knob)}" if knob else "")
    finish(above, "", "median NEES", log="y")
    finish(below, r"precision $-\log\,\det\,\Sigma$ (nat)", "mean error (m)", log="y")


def _draw_runs(
    axes: Axes,
    runs: SweepRuns,
    lines: dict[str, list[str]],
    at: int,
    *,
    slopes: tuple[float, float],
) -> None:
    """Marks of the quantity `at` this place, and lines of both slopes through their middle."""
    for number, (estimator, names) in enumerate(lines.items()):
        for name in names:
            precision, quantity = np.asarray(runs[name][0]), np.asarray(runs[name][at])
            check_same_length(precision, quantity, "precision and quantity")
            drawn, order = (
                check_positive(quantity, ("NEES", "error")[at - 1]),
                np.argsort(precision),
            )
            label = escape_name(estimator) if name == names[0] else None
            axes.plot(precision[order], drawn[order], **marker_style(number), lw=0.6, label=label)
        x, y = (np.concatenate([runs[name][i] for name in names]) for i in (0, at))
        ends, middle = np.array([x.min(), x.max()]), float(np.mean(np.log10(y)))
        for (legend, dashes), slope in zip(PREDICTIONS.items(), slopes, strict=True):
            line = 10 ** (middle + slope * (ends - x.mean()))
            axes.plot(ends, line, color=colour(number), ls=dashes, lw=0.8, label=legend)
    axes.margins(x=0.08, y=0.12)
