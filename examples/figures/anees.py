"""Thirty runs of two filters on one drive: is the NEES, averaged over runs, in its band?"""

import numpy as np
from world import estimate, reference

from smfeval import nees
from smfeval.compare.monte_carlo import monte_carlo
from smfeval.show.figures import draw, save

truth = reference(scans=600)
repeats = []
for name, tightness in {"honest": 1.0, "overconfident": 2.0}.items():
    runs = [estimate(truth, name, tightness=tightness, seed=seed) for seed in range(30)]
    found = [nees(run.position - truth.position, run.position_covariance) for run in runs]
    repeats.append(monte_carlo(np.stack(found), 3, truth.stamp, names=(name, "all", "drive")))
save({"anees": draw("anees", repeats)}, "anees.svg")
