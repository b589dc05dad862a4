"""Why scans are not samples: two series of one sigma, and how well each knows its mean."""

import numpy as np
from drawing import save
from matplotlib.figure import Figure

from smfeval.show.figures.style import COLOURS, WIDE_IN, paper_style

RHO, SCANS, SEED = 0.99, 1000, 5
rng = np.random.default_rng(SEED)
white = rng.normal(size=SCANS)
slow = np.zeros(SCANS)
slow[0] = white[0]
for i in range(1, SCANS):
    slow[i] = RHO * slow[i - 1] + np.sqrt(1 - RHO**2) * white[i]

n = np.geomspace(10, 100_000, 200)
independent = 1.96 / np.sqrt(n)
memory = (1 + RHO) / (1 - RHO) - 2 * RHO * (1 - RHO**n) / (n * (1 - RHO) ** 2)
with paper_style():
    figure = Figure(figsize=(WIDE_IN, 2.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(white, color=COLOURS[1], lw=0.5, alpha=0.6, label="independent")
    left.plot(slow, color=COLOURS[0], label=f"autocorrelation {RHO}")
    left.set(xlabel="scan", ylabel="error (cm)", title="the same sigma of 1 cm", ylim=(-4, 5.5))
    right.loglog(n, independent * np.sqrt(memory), color=COLOURS[0], label="autocorrelated")
    right.loglog(n, independent, color=COLOURS[1], label="independent")
    right.axvline(SCANS, color="black", lw=0.6, ls=":")
    right.set(xlabel="scans", ylabel="95 % CI of the mean, ± cm", title="the mean")
    for axes in (left, right):
        axes.legend(loc="upper right", ncols=2 if axes is left else 1)
save(figure, "error_bars.svg")
