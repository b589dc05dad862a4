"""Ends of a percentile interval by arch. SERIES.npy SCHEME STATISTIC BLOCK REPLICATES ALL

The cost of a replicate does not depend on how many there are: that of ALL is scaled.
"""

import sys

import numpy as np
from arch.bootstrap import CircularBlockBootstrap, StationaryBootstrap
from timing import best, tell

SCHEMES = {"circular": CircularBlockBootstrap, "stationary": StationaryBootstrap}

path, scheme, statistic, *counts = sys.argv[1:]
block, replicates, wanted = map(int, counts)
series = np.load(path)
bootstrap = SCHEMES[scheme](block, series, seed=1)
cpu_s, values = best(lambda: bootstrap.apply(getattr(np, statistic), replicates))
low, high = np.quantile(values, [0.025, 0.975])
tell(cpu_s * wanted / replicates, low=low, high=high, replicates=replicates)
