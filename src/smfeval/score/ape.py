"""Absolute position error: the distance between mean and reference. What trajectory tools report.

APE = |e|, in metres. It ignores the covariance.
"""

import numpy as np

from smfeval.maths.arrays import Floats


def ape(error: Floats) -> Floats:
    """Length of the error. (..., d) -> (...)."""
    return np.sqrt(np.einsum("...i,...i->...", error, error))
