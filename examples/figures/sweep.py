"""One knob turned: the covariance shrinks, the errors stay as they are."""

import numpy as np
from world import estimate, reference

from smfeval import evaluate
from smfeval.show.figures import draw, save

TIGHTNESS = (0.1, 1, 10, 100)
truth = reference()
found = [evaluate(estimate(truth, "filter", tightness=tightness), truth) for tightness in TIGHTNESS]
runs = {
    "filter": (
        np.array([each["precision"].value for each in found]),
        np.array([each["nees_median"].value for each in found]),
        np.array([each["mae"].value for each in found]),
    )
}
values = {"filter": [str(each) for each in TIGHTNESS]}
save({"sweep": draw("sweep", runs, knob="tightness", values=values)}, "sweep.svg")
