"""Our default interval, which needs no replicates. SERIES.npy STATISTIC."""

import sys

import numpy as np
from timing import best, tell

from smfeval.summarise.interval import interval

series = np.load(sys.argv[1])
cpu_s, found = best(lambda: interval(series, sys.argv[2], rng=np.random.default_rng(1)))
tell(cpu_s, low=found.low, high=found.high)
