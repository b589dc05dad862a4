"""Many tests at one level: Holm's step-down correction."""

import numpy as np

from smfeval.maths.arrays import Floats


def holm(p: Floats) -> Floats:
    """Corrected p-values: at most `level` with probability `level` if no effect is real. (m,).

    The i-th smallest of m counts (m - i + 1) times, and none less than a smaller one (Holm, 1979).
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(np.arange(len(p), 0, -1) * p[order])
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected
