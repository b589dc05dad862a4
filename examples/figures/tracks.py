"""All estimates from above in one figure; one of them is lost and does not shrink the others."""

from world import estimate, reference

from smfeval import evaluate
from smfeval.show.figures import draw, save

truth = reference()
drifts_m = {"good": 0.5, "drifting": 4.0, "lost": 500.0}
found = [evaluate(estimate(truth, name, drift_m=drift), truth) for name, drift in drifts_m.items()]
save({"tracks": draw("tracks", found)}, "tracks.svg")
