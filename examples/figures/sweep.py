"""One knob turned: the covariance shrinks, the errors stay as they are."""

from world import estimate, reference

from smfeval import evaluate
from smfeval.compare.slopes import point_of
from smfeval.compare.sweep import sweep_of
from smfeval.show.figures import draw, save

TIGHTNESS = (0.1, 1, 10, 100)
truth, points = reference(), []
for tightness in TIGHTNESS:
    found = evaluate(estimate(truth, "filter", tightness=tightness), truth)
    who = ("filter", "walk", (("tightness", str(tightness)),))
    points.append(point_of(who, found.numbers, source="made", scored=len(found.position.residuals)))
save({"sweep": draw("sweep", sweep_of(points).lines)}, "sweep.svg")
