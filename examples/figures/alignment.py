"""k of a pair under every alignment: could the alignment explain it?"""

from world import estimate, reference

from smfeval.compare import compare_all
from smfeval.show.figures import draw, save

truth = reference()
comparison = compare_all(
    [
        estimate(truth, "honest", seed=1),
        estimate(truth, "bold", seed=2, tightness=9.0),
        estimate(truth, "overconfident", seed=3, tightness=25.0),
    ]
)
save({"alignment": draw("alignment", comparison.pairs)}, "alignment.svg")
