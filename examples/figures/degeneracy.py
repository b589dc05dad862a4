"""NEES against the condition number of the information, where a filter ignores degeneracy."""

import numpy as np

from smfeval.show.figures import draw, save

rng = np.random.default_rng(4)
condition = 10 ** rng.uniform(0, 4, size=800)
nees = rng.chisquare(3, size=800) * np.sqrt(condition)
save({"degeneracy": draw("degeneracy", condition, nees)}, "degeneracy.svg")
