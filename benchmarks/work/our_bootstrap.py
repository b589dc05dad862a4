"""Ends of a percentile interval by smfeval. SERIES.npy SCHEME STATISTIC BLOCK REPLICATES."""

import sys

import numpy as np
from timing import best, tell

from smfeval.summarise.interval import interval

path, scheme, statistic, *counts = sys.argv[1:]
block, replicates = map(int, counts)
series = np.load(path)
cpu_s, found = best(
    lambda: interval(
        series,
        statistic,
        method=f"{scheme}-percentile",
        block_length=block,
        replicates=replicates,
        rng=np.random.default_rng(1),
    )
)
tell(cpu_s, low=found.low, high=found.high, replicates=replicates)
