"""What alignment does to a covariance: dead reckoning, its aligned errors, two sigmas."""

import sys
from pathlib import Path

import numpy as np
from drawing import save
from matplotlib.figure import Figure

from smfeval import Options, evaluate
from smfeval.show.figures.style import COLOURS, WIDE_IN, paper_style

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.drift import dead_reckoning


def sigma_m(covariance: np.ndarray) -> np.ndarray:
    """Root of the trace: the size of a position error to be expected. (n, 3, 3) -> (n,)."""
    return np.sqrt(np.trace(covariance, axis1=1, axis2=2))


estimate, truth = dead_reckoning()
raw = evaluate(estimate, truth, options=Options(alignment="none"))
fitted = evaluate(estimate, truth, options=Options(alignment="se3"))
time = truth.stamp / 1e9
with paper_style():
    figure = Figure(figsize=(WIDE_IN, 2.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    reported = sigma_m(estimate.position_covariance)
    for axes in (left, right):
        axes.plot(time, reported, color=COLOURS[1], ls="--", label="reported sigma")
    left.plot(time, raw.position.series["ape"], color=COLOURS[0], label="error")
    left.set(title="no alignment", ylabel="m", xlabel="time (s)")
    right.plot(time, fitted.position.series["ape"], color=COLOURS[0], label="error after alignment")
    projected = sigma_m(fitted.claim.covariance)
    right.plot(time, projected, color=COLOURS[2], lw=1.6, label="sigma of the aligned error")
    right.set(title="SE(3) alignment", xlabel="time (s)")
    for axes in (left, right):
        axes.legend(loc="upper left")
save(figure, "alignment.svg")
