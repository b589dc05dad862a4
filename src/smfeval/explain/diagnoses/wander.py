"""Drift: do the errors wander, as window means, farther than the reported covariance allows?

The errors z, whitened by what is reported, have window means m_w. For an honest belief the mean of
|m_w|^2 / d over the windows has an expectation of at most one whatever the dependence, and for
Gaussian errors it exceeds c no more often than chi-squared with one freedom does (c > 1.54,
Szekely and Bakirov, Extremal probabilities for Gaussian quadratic forms, 2003): slow honest
errors, which are few independent ones, raise no alarm.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from smfeval.explain.diagnoses.case import Case
from smfeval.explain.diagnoses.limits import EACH
from smfeval.explain.diagnoses.result import Diagnosis
from smfeval.explain.diagnoses.words import percent
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints

WINDOWS = 12
SHORTEST_WINDOW = 10  # scans
EXTREMAL = 1.54  # below, the bound does not hold
LARGE = 4.0  # two reported sigmas, where the belief is known to be too tight
MOSTLY = 0.5  # of the total NEES must be slow for the name


@dataclass(frozen=True)
class Slow:
    """Mean of z^2 over the track, in all and of the window means, per axis."""

    total: float
    slow: float

    @property
    def share(self) -> float:
        """Part of the NEES that window means carry."""
        return self.slow / self.total if self.total > 0 else 0.0

    @property
    def probability(self) -> float:
        """At most this often so slow a part comes from an honest belief."""
        return float(chdtrc(1, self.slow)) if self.slow > EXTREMAL else 1.0

    @property
    def is_drift(self) -> bool:
        """Whether wander is most of an error that is too large, as is known otherwise."""
        return self.share >= MOSTLY and self.slow >= LARGE

    @property
    def proves_drift(self) -> bool:
        """Whether the wander by itself refutes the belief, and is most of the error."""
        return self.share >= MOSTLY and self.probability < EACH


def window_starts(count: int) -> Ints:
    """First scan of each window."""
    windows = max(1, min(WINDOWS, count // SHORTEST_WINDOW))
    return (np.arange(windows) * count) // windows


def window_means(values: Floats) -> Floats:
    """Means over the windows. (n, d) -> (w, d)."""
    starts = window_starts(len(values))
    length = np.diff(np.append(starts, len(values)))
    return np.add.reduceat(values, starts, axis=0) / length[:, None]


def slow_part(case: Case) -> Slow:
    """Slow and total NEES, per axis."""
    white = normal.whitened(case.error, case.covariance)
    return Slow(float(np.mean(white**2)), float(np.mean(window_means(white) ** 2)))


def drift(case: Case, slow: Slow) -> Diagnosis:
    """Drift in words: the slow part is beyond the covariance, and most of the error."""
    length_s = float(case.time_s[-1]) / len(window_starts(len(case)))
    sigmas = float(np.sqrt(slow.slow))
    return Diagnosis(
        "drift",
        {"slow_sigmas": sigmas, "share": slow.share, "window_s": length_s, "p": slow.probability},
        f"averaged over windows of {length_s:.3g} s the errors are still {sigmas:.3g} reported "
        f"sigmas long: {percent(slow.share)} of the NEES is slow wander, not noise",
        "the covariance does not grow with what the map or the dead reckoning loses; more noise "
        "per measurement treats the wrong part: look at process noise, biases and shared map error",
    )
