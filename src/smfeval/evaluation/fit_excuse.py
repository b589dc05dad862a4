"""How much of k may be the alignment's own error, after a fit on the scored scans.

A fit with p freedoms has, at a typical scan, an error of covariance p / d times the mean covariance
over the number of independent scans. Where covariances are alike this is nothing beside them, and
the errors that the fit took away outweigh it. Where they are uneven, the errors of the loose scans
that went into the fit are charged to the tight ones: honest beliefs then look overconfident.
"""

import numpy as np

from smfeval.maths import normal
from smfeval.score import Residuals
from smfeval.summarise.number import Number

SQUARED = 2.0  # a squared error forgets twice as fast as the error itself


def left_of_k(residuals: Residuals, k: Number, freedoms: int) -> float:
    """k with the alignment's own error granted, over k: 1 where that changes nothing."""
    independent = max((k.n_effective or float(len(residuals))) / SQUARED, 1.0)
    part = freedoms / residuals.dimension / independent
    granted = residuals.predicted + part * residuals.predicted.mean(axis=0)
    median = float(np.median(residuals.fit.nees))
    return float(np.median(normal.fit(residuals.error, granted).nees)) / median if median else 1.0
