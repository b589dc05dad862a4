"""Politis-White block lengths by smfeval. SERIES.npy."""

import sys

import numpy as np
from timing import best, tell

from smfeval.maths.autocovariance import block_length

series = np.load(sys.argv[1])
cpu_s, found = best(lambda: block_length(series))
tell(cpu_s, fixed=found.fixed, geometric=found.geometric)
