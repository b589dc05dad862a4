"""Energy score of particles by scoringrules, with numba. SCANS PARTICLES OUT.npy"""

import sys

import numpy as np
import scoringrules
from clouds import clouds
from timing import best, tell

scans, particles = (int(word) for word in sys.argv[1:3])
out = sys.argv[3]
x = clouds(scans, particles)


def scores(some: np.ndarray) -> np.ndarray:
    """Over all pairs, those of a particle with itself among them."""
    truth = np.zeros((len(some), 3))
    return scoringrules.es_ensemble(truth, some, estimator="nrg", backend="numba")


scores(x[:2, :10])  # numba compiles
cpu_s, found = best(lambda: scores(x))
np.save(out, found)
tell(cpu_s, scores=out)
