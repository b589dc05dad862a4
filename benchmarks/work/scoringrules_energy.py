"""Energy score by scoringrules: 128 samples per scan. ERROR.npy COVARIANCE.npy ESTIMATOR OUT.npy

`fair` compares all pairs of samples, `akr` neighbours only; both without bias. The draws are part
of the work. A few scans at a time keep them in the cache, where scoringrules is fastest.
"""

import sys

import numpy as np
import scoringrules
from timing import best, tell

SAMPLES, AT_ONCE = 128, 32

error, covariance = (np.load(path) for path in sys.argv[1:3])
estimator, out = sys.argv[3:]


def scores(scans: int) -> np.ndarray:
    """Draw from N(error, S) and score against the truth at 0."""
    rng = np.random.default_rng(0)
    found = np.empty(scans)
    for at in range(0, scans, AT_ONCE):
        part = slice(at, min(at + AT_ONCE, scans))
        normal = rng.standard_normal((part.stop - at, SAMPLES, 3))
        root = np.linalg.cholesky(covariance[part])
        draws = error[part, None] + normal @ root.swapaxes(1, 2)
        truth = np.zeros_like(error[part])
        found[part] = scoringrules.es_ensemble(truth, draws, estimator=estimator)
    return found


scores(2)  # numba compiles
cpu_s, found = best(lambda: scores(len(error)))
np.save(out, found)
tell(cpu_s, scores=out)
