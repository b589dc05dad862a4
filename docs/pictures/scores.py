"""Proper scores are least where the reported sigma is the true one: Gaussian errors in space."""

import numpy as np
from drawing import save
from matplotlib.figure import Figure

from smfeval.show.figures.style import COLOURS, WIDE_IN, paper_style

D = 3
MEAN_NORM = 2 * np.sqrt(2 / np.pi)  # E|N(0, I)| in three dimensions
reported = np.geomspace(0.1, 10, 400)  # sigma, over the true one
log_score = D / 2 / reported**2 + D * np.log(reported)
energy = MEAN_NORM * (np.sqrt(1 + reported**2) - reported / np.sqrt(2))

with paper_style():
    figure = Figure(figsize=(WIDE_IN, 2.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.semilogx(reported, log_score - D / 2, color=COLOURS[0])
    left.set(title="log score", ylabel="above its least (nat)", ylim=(-1, 20))
    right.semilogx(reported, energy / energy.min(), color=COLOURS[1])
    right.set(title="energy score", ylabel="over its least", ylim=(0.9, 2.5))
    for axes in (left, right):
        axes.axvline(1, color="black", lw=0.6, ls=":")
        axes.set(xlabel="reported sigma / true sigma")
save(figure, "scores.svg")
