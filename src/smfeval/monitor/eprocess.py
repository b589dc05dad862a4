"""An e-process that is valid however the scans depend on each other.

If a claim N(0, S) is honest, the NEES x of a scan is chi-squared with d freedoms at most, and

    e(x) = mean over c of c^(-d/2) exp(x (1 - 1/c) / 2)

is the likelihood ratio of errors c times as wide, averaged over c > 1: its mean is 1 at most. With
fixed weights of sum 1 the running sum E_t = sum w_j e_j over the scans up to t has a mean of 1 at
most too, whatever the dependence between scans, and never falls. So E_t >= 1 / alpha happens, at
any time, with a probability of alpha at most. (Products of e_j, or e-values of whitened scans,
would need to know the dependence.)

Long tails. Where only the size of the covariance is trusted, and tails up to those of Student's t
with 5 freedoms, e(x) = mean over p = 1, 3/2, 2 of x^p / E[x^p] is used, E under that t. Its errors
are Gaussians of a random scale, and x^p is convex in it: lighter mixtures have a smaller mean.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gamma
from typing import Literal

import numpy as np

from smfeval.errors import OptionError
from smfeval.maths.arrays import Floats

FALSE_ALARMS = 0.01  # chance of a false alarm, however long it runs
SCALES = np.array([2.0, 4, 8, 16, 64, 256, 1024, 4096])  # c: so many times too small a variance
TAIL_FREEDOMS = 5.0  # of Student's t: fourth moments exist
TAIL_POWERS = (1.0, 1.5, 2.0)  # below half of TAIL_FREEDOMS
LARGEST_LOG = 600.0  # of an e-value: beyond, the alarm is sure and a float would overflow

Tails = Literal["gaussian", "long"]


def gaussian_evalue(nees: Floats, dimension: int) -> Floats:
    """Mean over c of c^(-d/2) exp(x (1 - 1/c) / 2). (...) -> (...)."""
    exponent = np.multiply.outer(nees, (1 - 1 / SCALES) / 2) - dimension / 2 * np.log(SCALES)
    return np.asarray(np.exp(np.minimum(exponent, LARGEST_LOG)).mean(axis=-1))


def long_tailed_evalue(nees: Floats, dimension: int) -> Floats:
    """Mean over p of x^p / E[x^p], E under Student's t of 5 freedoms and covariance S."""
    terms = [nees**power / student_moment(power, dimension) for power in TAIL_POWERS]
    return np.asarray(np.mean(terms, axis=0))


def student_moment(power: float, dimension: int, freedoms: float = TAIL_FREEDOMS) -> float:
    """E[x^p] of x = e^T S^-1 e, e Student's t with covariance S: x = (v - 2) chi2_d / chi2_v."""
    normal = 2**power * gamma(dimension / 2 + power) / gamma(dimension / 2)
    scale = gamma(freedoms / 2 - power) / (2**power * gamma(freedoms / 2))
    return float((freedoms - 2) ** power * normal * scale)


EVALUES: dict[Tails, Callable[[Floats, int], Floats]] = {
    "gaussian": gaussian_evalue,
    "long": long_tailed_evalue,
}


def weights(first: int, count: int) -> Floats:
    """w_j = 1 / log(e + j - 1) - 1 / log(e + j), for `count` scans from number `first` >= 1 on.

    They sum to one, and fall hardly faster than 1 / j, so that a late fault still counts.
    """
    j = np.e + np.arange(first, first + count)
    return np.log1p(1 / (j - 1)) / (np.log(j - 1) * np.log(j))


@dataclass(frozen=True)
class EProcess:
    """The running sum of weighted e-values; `advance` returns the next one.

    Attributes
    ----------
    false_alarms
        Chance of a false alarm over all time.
    tails
        "gaussian", or "long" where a claim is about the covariance alone.
    scans
        Scans so far.
    evidence
        E_t so far.
    alarm
        Number of the scan that raised the alarm, from 1; None: none did.
    """

    false_alarms: float = FALSE_ALARMS
    tails: Tails = "gaussian"
    scans: int = 0
    evidence: float = 0.0
    alarm: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.false_alarms < 1:
            raise OptionError(
                f"a chance of false alarms of {self.false_alarms} is not between 0 and 1"
            )
        if self.tails not in EVALUES:
            raise OptionError(f"tails {self.tails!r} are unknown; they are gaussian or long")

    @property
    def limit(self) -> float:
        """The evidence that raises the alarm, 1 / alpha."""
        return 1 / self.false_alarms

    def advance(self, nees: Floats, dimension: int) -> "EProcess":
        """The process after more scans; it stops at the scan that raises the alarm. (n,).

        The sum is taken scan by scan, so that it does not depend on how scans are grouped.
        """
        if self.alarm is not None or len(nees) == 0:
            return self
        terms = weights(self.scans + 1, len(nees)) * EVALUES[self.tails](nees, dimension)
        evidence = np.cumsum(np.concatenate([[self.evidence], terms]))[1:]
        above = np.flatnonzero(evidence >= self.limit)
        last = int(above[0]) if len(above) else len(nees) - 1
        scans = self.scans + last + 1
        alarm = scans if len(above) else None
        return replace(self, scans=scans, evidence=float(evidence[last]), alarm=alarm)
