"""Paths from above, with errors as colour and covariance ellipses; one of them is lost."""

from world import estimate, reference

from smfeval import evaluate
from smfeval.show.figures import draw, save

truth = reference()
drifts_m = {"good": 0.5, "drifting": 4.0, "lost": 500.0}
found = [evaluate(estimate(truth, name, drift_m=drift), truth) for name, drift in drifts_m.items()]
save({"track": draw("track", found)}, "track.svg")
