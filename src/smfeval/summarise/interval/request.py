"""What is asked: a series, a statistic of it, a level. Checked here, once."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import OptionError, SeriesError
from smfeval.maths.arrays import Floats, frozen
from smfeval.maths.order import quantile

SHORTEST = 10  # scans; below this even independent ones say too little about their own spread
LARGEST = 1e30  # fourth powers of the numbers, which the methods need, are still finite
SMALLEST = 1e-30  # and not yet zero
HIGHEST_LEVEL = 1 - 1e-9  # above it the tails have no digits left
ROUNDING = 1e-10  # relative: what rounding makes of equal numbers

StatisticName = Literal["mean", "median", "rmse"] | tuple[Literal["quantile"], float]


@dataclass(frozen=True)
class Statistic:
    """A mean, a root mean square, or the value that a share of the scans does not exceed."""

    name: str
    share: float | None = None

    def of(self, series: Floats) -> float:
        """Return the statistic of a series."""
        if self.share is not None:
            return float(quantile(series, self.share))
        return float(np.sqrt(np.mean(series**2)) if self.name == "rmse" else np.mean(series))


@dataclass(frozen=True)
class Request:
    """A checked series with what is wanted of it.

    Attributes
    ----------
    series
        Scores in the order of the scans, (n,), finite.
    statistic, level
        What to summarise, and how sure to be.
    rng
        Chance for the methods that resample.
    block_length, replicates
        For the block bootstraps; a length of None is chosen after Politis and White.
    related
        For a fraction that is 0 or 1: the series whose memory the fraction shares.
    """

    series: Floats
    statistic: Statistic
    level: float
    rng: np.random.Generator
    block_length: float | None
    replicates: int
    related: Floats | None = None

    @property
    def tail(self) -> float:
        """Probability left out on each side."""
        return (1 - self.level) / 2


def parsed(statistic: StatisticName | str | tuple[str, float]) -> Statistic:
    """Turn the public spelling of a statistic into a Statistic."""
    match statistic:
        case "mean" | "rmse":
            return Statistic(statistic)
        case "median":
            return Statistic("median", 0.5)
        case ("quantile", float(share)) if 0 < share < 1:
            return Statistic("quantile", share)
    known = "'mean', 'median', 'rmse' and ('quantile', q) with 0 < q < 1"
    raise OptionError(f"{statistic!r} is no statistic; there are {known}")


def checked_series(series: ArrayLike) -> Floats:
    """Return a read-only array of at least ten finite numbers, or say what is wrong."""
    array = np.asarray(series, dtype=np.float64)
    if array.ndim != 1:
        raise SeriesError(f"a series has one axis, not {array.ndim}")
    if len(array) < SHORTEST:
        raise SeriesError(f"{len(array)} scans; an interval needs at least {SHORTEST}")
    if not -LARGEST <= array.min() <= array.max() <= LARGEST:  # nor if one of them is not a number
        raise _no_scores(array)
    return frozen(array)


def _no_scores(array: Floats) -> SeriesError:
    """Say which number is none, or too large."""
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argmin(finite))
        return SeriesError(f"row {row} is {array[row]}, and {np.sum(~finite)} rows are not finite")
    row = int(np.argmax(np.abs(array)))
    return SeriesError(f"row {row} is {array[row]:g}; numbers beyond {LARGEST:g} are no scores")


def checked_level(level: float) -> float:
    """Return a level between 0 and 1."""
    if not 0 < level < 1:
        raise SeriesError(f"a level of {level} is not between 0 and 1")
    if level > HIGHEST_LEVEL:
        raise SeriesError(f"a level of {level} is too near to 1; it may be {HIGHEST_LEVEL} at most")
    return level


def varying(series: Floats) -> Floats:
    """Return a series that is not constant."""
    least, most = float(series.min()), float(series.max())
    size = max(SMALLEST, ROUNDING * max(-least, most))
    if most - least < size:  # they print alike, or are as good as zero
        raise SeriesError(f"all {len(series)} values are {series[0]:g}: no spread, no interval")
    return series
