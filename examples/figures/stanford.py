"""Stanford diagram of an overconfident belief under an alert limit of 10 cm."""

from world import estimate, reference

from smfeval import evaluate
from smfeval.show.figures import draw, save

truth = reference()
belief = estimate(truth, "overconfident", tightness=25.0, drift_m=0.3)
found = evaluate(belief, truth, alert_limit="10cm,5cm vertical")
save({"stanford": draw("stanford", found)}, "stanford.svg")
