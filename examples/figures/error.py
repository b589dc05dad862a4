"""Error against the reported sigma over time: consistent, overconfident, and lost halfway."""

from world import estimate, honest, overconfident, reference

from smfeval import evaluate
from smfeval.show.figures import draw, save

lost = evaluate(estimate(reference(), "lost", drift_m=2.0), reference())
save({"error": draw("error", [honest(), overconfident(), lost])}, "error.svg")
