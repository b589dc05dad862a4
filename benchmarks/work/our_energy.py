"""The exact energy score. ERROR.npy COVARIANCE.npy OUT.npy."""

import sys

import numpy as np
from timing import best, tell

from smfeval.maths.normal_distance import energy_score

error, covariance = (np.load(path) for path in sys.argv[1:3])
cpu_s, found = best(lambda: energy_score(error, covariance))
np.save(sys.argv[3], found)
tell(cpu_s, scores=sys.argv[3])
