"""k of a pair if a time offset were wrong: could an offset explain it?"""

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
save({"time_offset": draw("time_offset", comparison.pairs)}, "time_offset.svg")
