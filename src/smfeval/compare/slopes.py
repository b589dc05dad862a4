"""The slope of a quantity over precision, with an interval from the scans of its runs.

On one track the settings of a knob share the sensor data, and their errors: what a run deviates
from a line by says little about the slope's error. The slope b = sum_j x_j y_j / sum_j x_j^2 (x, y
centred on each line) is a function of statistics of the runs, each of which is a mean over scans to
first order, so that b itself is the mean of one series over the scans,

    psi(t) = sum_j [x_j f_yj(t) + (y_j - 2 b x_j) f_xj(t)] / sum_j x_j^2,

f the influence of a scan on log10 of the mean error, of the median NEES, on the median precision.
What settings have in common cancels, and the interval of the mean of psi is one for dependent scans
(`summarise.interval`). To first order it is what a bootstrap of blocks of scans, the same blocks
for all settings, would give, in O(n).

Errors that drift without bound are not covered so: one track of a random walk shows no mean. There
settings differ by what each drifts on its own, which the scatter of the runs about their lines
tells. The interval is therefore the hull of both.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.compare.sweep_points import Line, ScanSeries
from smfeval.errors import SeriesError
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import t_quantile
from smfeval.summarise.interval import interval
from smfeval.summarise.number import Number

UNIT = "1/nat"  # decades per nat of precision
FEWEST_TRACKS = 2
FEWEST_SHARED = 0.5  # of the scans of a run, that all settings must have
NEAR = 0.15  # of the scans to either side of the median, where its density is read
NATS_PER_DECADE = float(np.log(10.0))
EXACT = 1e-9  # 1/nat: a slope that varies by less is one number

Quantity = Literal["log_nees", "log_error", "log_nees_per_error"]


def common_slope(lines: Sequence[Line], quantity: Quantity, level: float) -> Number:
    """Slope that the lines of one track share, per nat, with its interval at a level."""
    x = _centre_lines([line.precision for line in lines])
    y = _centre_lines([getattr(line, quantity) for line in lines])
    slope = float(x @ y) / float(x @ x)
    try:
        series = slope_series(x, y, [run for line in lines for run in line.scans], quantity)
        found = _slope_interval(slope, series, level)
        return _hull(found, _scatter_reach(x, y, len(lines), level))
    except SeriesError as error:
        return Number(slope, UNIT, reason=str(error))


def slope_series(
    x: Floats, y: Floats, runs: Sequence[ScanSeries | None], quantity: Quantity
) -> Floats:
    """The series psi, whose mean is the slope's error, over common scans. (m,), (m,) -> (n,)."""
    found = [run for run in runs if run is not None]
    if len(found) < len(x):
        raise SeriesError("the scans of the runs are not known")
    common = common_stamps(found)
    square = float(x @ x)
    slope = float(x @ y) / square
    psi = np.zeros(len(common))
    for run, at, value in zip(found, x.tolist(), y.tolist(), strict=True):
        kept = run.at(common)
        psi += at * _influence(kept, quantity)
        psi += (value - 2 * slope * at) * median_influence(kept.precision)
    return psi / square


def common_stamps(runs: Sequence[ScanSeries]) -> Ints:
    """Stamps that all runs have; raises where they share too few."""
    common = runs[0].stamp
    for run in runs[1:]:
        common = np.intersect1d(common, run.stamp, assume_unique=True)
    least = min(len(run.stamp) for run in runs)
    if len(common) < FEWEST_SHARED * least:
        raise SeriesError(
            f"the settings share {words.count_of(len(common), least, 'scan')}; an interval needs "
            "half of them"
        )
    return common


def median_influence(series: Floats) -> Floats:
    """What each value does to n times the median: (1/2 - [v <= m]) / density. (n,)."""
    low, middle, high = np.quantile(series, [0.5 - NEAR, 0.5, 0.5 + NEAR])
    return (high - low) / (2 * NEAR) * (0.5 - (series <= middle))


def slope_over_tracks(slopes: Sequence[float], level: float) -> Number:
    """Mean slope of the tracks, its interval from how much they differ."""
    count, mean = len(slopes), float(np.mean(slopes))
    if count < FEWEST_TRACKS:
        return Number(mean, UNIT, reason=f"tracks: {count}; an interval needs {FEWEST_TRACKS}")
    error = float(np.std(slopes, ddof=1) / np.sqrt(count))
    reach = -t_quantile(count - 1, (1 - level) / 2) * error
    return Number(mean, UNIT, mean - reach, mean + reach)


def _influence(run: ScanSeries, quantity: Quantity) -> Floats:
    """Of each scan on the quantity of a run, which is in decades."""
    error = (run.error / run.error.mean() - 1) / NATS_PER_DECADE
    if quantity == "log_error":
        return error
    nees = median_influence(run.log_nees)
    return nees if quantity == "log_nees" else nees - 2 * error


def _slope_interval(slope: float, series: Floats, level: float) -> Number:
    """The slope with the interval of a mean over dependent scans."""
    if np.ptp(series) < EXACT:  # all settings have the same errors
        return Number(slope, UNIT, slope, slope)
    found = interval(series - series.mean(), "mean", level=level)
    if found.low is None or found.high is None:
        return Number(slope, UNIT, n_effective=found.n_effective, reason=found.reason)
    return Number(slope, UNIT, slope + found.low, slope + found.high, found.n_effective)


def _scatter_reach(x: Floats, y: Floats, lines: int, level: float) -> float:
    """Half the interval of the slope from the scatter about the lines; 0 without freedom left."""
    degrees = len(x) - lines - 1
    if degrees < 1:
        return 0.0
    square = float(x @ x)
    left = y - float(x @ y) / square * x
    return -t_quantile(degrees, (1 - level) / 2) * float(np.sqrt(left @ left / degrees / square))


def _hull(number: Number, reach: float) -> Number:
    """The number with an interval that reaches at least so far to either side."""
    if number.low is None or number.high is None:
        return number
    low, high = number.value - reach, number.value + reach
    return replace(number, low=min(low, number.low), high=max(high, number.high))


def _centre_lines(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([part - part.mean() for part in parts])
