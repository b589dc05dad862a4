"""One knob turned: the covariance shrinks, the errors stay as they are."""

import numpy as np
from world import estimate, reference

from smfeval import evaluate
from smfeval.show.figures import draw, save

truth = reference()
found = [
    evaluate(estimate(truth, "filter", tightness=tightness), truth)
    for tightness in (0.1, 1, 10, 100)
]
runs = {
    "filter": (
        np.array([each["precision"].value for each in found]),
        np.array([each["nees_median"].value for each in found]),
    )
}
save({"sweep_nees": draw("sweep_nees", runs)}, "sweep_nees.svg")
