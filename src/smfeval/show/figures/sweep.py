"""What a sweep over precision would show if the covariance were right, or only shrank.

With S scaled by c in d dimensions the precision P = -log det S grows by d log(1/c). A consistent
belief's error shrinks along: |e| ~ sqrt(c) = exp(-P / 2d), and NEES stays. If the error does not
change at all, NEES ~ 1/c = exp(P / d).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes

from smfeval.compare.sweep import earned_error_slope, unearned_slope
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats
from smfeval.show.figures.style import (
    GREY,
    colour,
    escape_name,
    finish,
    marker_style,
)
from smfeval.show.series import check_positive, check_same_length
from smfeval.summarise.inflation import median_chi_squared

SweepRuns = Mapping[
    str, tuple[Floats, Floats]
]  # name -> precision in nats and its quantity, per run
Values = Mapping[str, Sequence[str]]  # name -> value of the knob, per run
Estimators = Mapping[str, str]  # name of a line -> its estimator, where that is another name
NOBODY: Estimators = MappingProxyType({})
PRECISION = r"precision $-\log\,\det\,\Sigma$ (nat)"
MAX_LABELLED = 3  # estimators whose marks are labelled; more labels would hide the marks


def draw_runs(
    axes: Axes, runs: SweepRuns, what: str, *, knob: str, values: Values, estimators: Estimators
) -> None:
    """The runs of each line as marks with the knob's value, joined by their precision.

    Lines of one estimator share a colour and an entry in the legend; the first has the values.
    """
    if not runs:
        raise SeriesError("the sweep has no run to draw")
    for number, (estimator, names) in enumerate(_by_estimator(runs, estimators).items()):
        for name in names:
            precision, quantity = map(np.asarray, runs[name])
            check_same_length(precision, quantity, "precision and quantity")
            order, drawn = np.argsort(precision), check_positive(quantity, what)
            axes.plot(
                precision[order],
                drawn[order],
                **marker_style(number),
                lw=0.6,
                label=escape_name(estimator) if name == names[0] else None,
            )
            if name == names[0] and number < MAX_LABELLED:
                _label_marks(axes, precision, values.get(name, ()), drawn, number)
    if knob:
        axes.set_title(f"at the marks: {escape_name(knob)}")
    axes.margins(x=0.08, y=0.12)


def _by_estimator(runs: SweepRuns, estimators: Estimators) -> dict[str, list[str]]:
    """Estimator -> the names of its lines."""
    found: dict[str, list[str]] = {}
    for name in runs:
        found.setdefault(estimators.get(name, name), []).append(name)
    return found


def _label_marks(
    axes: Axes, precision: Floats, values: Sequence[str], quantity: Floats, number: int
) -> None:
    """The value of the knob beside each mark: above it for the first line, below for others."""
    for x, y, value in zip(precision, quantity, values, strict=False):
        axes.annotate(
            escape_name(value),
            (x, y),
            xytext=(0, -9 if number % 2 else 4),
            textcoords="offset points",
            ha="center",
            color=colour(number),
        )


def draw_prediction(
    axes: Axes, runs: SweepRuns, estimators: Estimators, *, slope: float, style: str, legend: str
) -> None:
    """A line of the given slope of log10 per nat through the middle of each estimator's runs."""
    label: str | None = legend
    for number, names in enumerate(_by_estimator(runs, estimators).values()):
        precision, quantity = (np.concatenate([runs[name][at] for name in names]) for at in (0, 1))
        ends = np.array([np.min(precision), np.max(precision)], dtype=np.float64)
        middle = float(np.mean(np.log10(quantity)))
        line = 10 ** (middle + slope * (ends - float(np.mean(precision))))
        axes.plot(ends, line, color=colour(number), ls=style, lw=0.8, alpha=0.8, label=label)
        label = None


def sweep_error(
    axes: Axes,
    runs: SweepRuns,
    *,
    dimension: int = 3,
    knob: str = "",
    values: Values = MappingProxyType({}),
    estimators: Estimators = NOBODY,
) -> None:
    """Mean error of each run, in metres, over its precision; `values` of the `knob` at the marks.

    The line falls by log10(e) / 2d per nat: errors that shrink as the covariance says.
    """
    draw_runs(axes, runs, "error", knob=knob, values=values, estimators=estimators)
    slope = earned_error_slope(dimension)
    shrink = "errors shrink as reported"
    draw_prediction(axes, runs, estimators, slope=slope, style="--", legend=shrink)
    finish(axes, PRECISION, "mean error (m)", log="y")


def sweep_nees(
    axes: Axes,
    runs: SweepRuns,
    *,
    dimension: int = 3,
    knob: str = "",
    values: Values = MappingProxyType({}),
    estimators: Estimators = NOBODY,
) -> None:
    """Median NEES of each run over its precision, with what two worlds predict.

    Slope 0: the errors shrink as the covariance says. Slope log10(e) / d per nat: the errors do
    not change, the belief only grows more confident.
    """
    draw_runs(axes, runs, "NEES", knob=knob, values=values, estimators=estimators)
    shrink = "errors shrink as reported"
    draw_prediction(axes, runs, estimators, slope=0.0, style="--", legend=shrink)
    slope = unearned_slope(dimension)
    stay = "errors stay"
    draw_prediction(axes, runs, estimators, slope=slope, style=":", legend=stay)
    axes.axhline(median_chi_squared(dimension), color=GREY, lw=0.8, label="median if consistent")
    finish(axes, PRECISION, "median NEES", log="y")
