"""Ends of intervals, many series at a time, and when not to believe them."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Bools, Floats

FEWEST = 3.0  # effective samples
FEWEST_RARE = 1.0  # effective samples on the rarer side of a fraction or a quantile


@dataclass(frozen=True)
class Ends:
    """Ends of the intervals of some series, (...).

    Attributes
    ----------
    low, high
        Ends, to be believed only where the series are not refused.
    n_effective
        Effective samples.
    n_rare
        Effective samples on the rarer side; infinite where there are no sides.
    beyond
        Whether an end lies beyond the values seen.
    """

    low: Floats
    high: Floats
    n_effective: Floats
    n_rare: Floats
    beyond: Bools

    @property
    def refused(self) -> Bools:
        """Whether a series is too short for its dependence."""
        return (self.n_effective < FEWEST) | (self.n_rare < FEWEST_RARE) | self.beyond

    def reason(self) -> str | None:
        """Say why one series is refused; None if it is not."""
        if self.n_effective < FEWEST:
            return f"effective samples: {self.n_effective:.1f}, too few for an interval"
        if self.n_rare < FEWEST_RARE:
            return (
                f"effective samples on the rarer side: {self.n_rare:.1f}, too few for an interval"
            )
        return "the interval reaches beyond the values of the series" if self.beyond else None


def two_sided(low: Floats, high: Floats, n_effective: Floats) -> Ends:
    """Ends that no rare side or edge of the sample limits."""
    free = np.full_like(n_effective, np.inf)
    return Ends(low, high, n_effective, free, np.zeros(np.shape(low), dtype=bool))
