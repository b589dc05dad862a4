"""The verdict on scored scans, with what was fitted to them held against it.

A fit with p freedoms has, at a typical scan, an error of covariance p / d times the mean covariance
over the number of independent scans. Where covariances are alike this is nothing beside them, and
the errors that the fit took away outweigh it. Where they are uneven, the errors of the loose scans
that went into the fit are charged to the tight ones: honest beliefs then look overconfident.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths import normal
from smfeval.maths.order import median
from smfeval.maths.symmetric import chunks
from smfeval.score import Residuals
from smfeval.summarise.number import Number
from smfeval.summarise.summary import Calibration
from smfeval.summarise.verdict import Verdict, verdict

SQUARED = 2.0  # a squared error forgets twice as fast as the error itself


@dataclass(frozen=True)
class Fit:
    """What was fitted before the scans were scored."""

    freedoms: int  # of the alignment
    from_start: bool  # fitted on scans before those that are scored
    clock: bool  # and a clock offset was found

    @property
    def absorbed(self) -> int:
        """Freedoms that took errors of the scored scans away; a clock does as an alignment does."""
        return (0 if self.from_start else self.freedoms) + self.clock


def judged(residuals: Residuals, calibration: Calibration | None, fit: Fit) -> Verdict:
    """The verdict, the alignment's own error granted where it was fitted on the scored scans."""
    left = 1.0
    if calibration is not None and not fit.from_start:
        left = left_of_k(residuals, calibration.k_at_95, fit.freedoms)
    return verdict(
        len(residuals),
        residuals.dimension,
        calibration,
        fitted=fit.absorbed,
        from_start=fit.from_start,
        left=left,
    )


def left_of_k(residuals: Residuals, k: Number, freedoms: int) -> float:
    """k with the alignment's own error granted, over k: 1 where that changes nothing."""
    if freedoms == 0:
        return 1.0
    independent = max((k.n_effective or float(len(residuals))) / SQUARED, 1.0)
    part = freedoms / residuals.dimension / independent
    shared = part * residuals.predicted.mean(axis=0)
    granted = np.empty(len(residuals))
    for scans in chunks(len(residuals)):
        granted[scans] = normal.nees(residuals.error[scans], residuals.predicted[scans] + shared)
    before = median(residuals.fit.nees)
    return median(granted) / before if before else 1.0
