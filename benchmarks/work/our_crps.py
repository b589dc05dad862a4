"""CRPS of a normal belief for each axis, by smfeval. ERROR.npy COVARIANCE.npy OUT.npy."""

import sys

import numpy as np
from timing import best, tell

from smfeval.score.crps import crps

error, covariance = (np.load(path) for path in sys.argv[1:3])
sigma = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
cpu_s, found = best(lambda: crps(error, sigma))
np.save(sys.argv[3], found)
tell(cpu_s, scores=sys.argv[3])
