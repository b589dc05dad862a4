"""A number, how far it can be from the truth, and how much the series had to say about it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Interval:
    """A statistic of a series with its interval.

    Attributes
    ----------
    value
        The statistic of the series as it is.
    low, high
        Ends of the interval; None where the series is too short for its dependence, see `reason`.
    level
        Probability with which the interval is meant to hold the truth.
    n
        Scans in the series.
    n_effective
        Independent samples that would determine the statistic as well; None where nobody can tell.
    correlation_length
        Scans per effective sample, n / n_effective.
    block_length
        Mean block length in scans, for the block bootstraps.
    method
        Name in the table of methods.
    reason
        Why there is no interval, or why it is one-sided; None otherwise.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    n: int
    n_effective: float | None
    block_length: float | None
    method: str
    reason: str | None = None

    @property
    def correlation_length(self) -> float | None:
        """Scans per effective sample."""
        return None if self.n_effective is None else self.n / self.n_effective

    def scaled(self, factor: float) -> "Interval":
        """Return the interval of factor * statistic, factor > 0: k is a scaled median NEES."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return replace(self, value=factor * self.value, low=low, high=high)
