"""Politis-White block lengths by arch. SERIES.npy."""

import sys

import numpy as np
from arch.bootstrap import optimal_block_length
from timing import best, tell

series = np.load(sys.argv[1])
cpu_s, table = best(lambda: optimal_block_length(series))
tell(cpu_s, fixed=float(table["circular"].iloc[0]), geometric=float(table["stationary"].iloc[0]))
