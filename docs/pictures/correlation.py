"""What autocorrelation does to T: its 97.5 % quantile for consistent beliefs, and the bound."""

import numpy as np
from drawing import save
from matplotlib.figure import Figure

from smfeval.judge.levels import largest_mean
from smfeval.show.figures.style import COLOURS, GREY, WIDE_IN, paper_style

SCANS, D, DRAWS, SEED = 300, 3, 6_000_000, 2
times = np.geomspace(0.3, 30_000, 24)  # scans after which the correlation has fallen to 1/e
rng = np.random.default_rng(SEED)
lag = np.abs(np.subtract.outer(np.arange(SCANS), np.arange(SCANS)))


def quantile(time: float) -> float:
    """Of T = mean |u_i|^2 / d, by the eigenvalues of the correlation matrix."""
    value = np.linalg.eigvalsh(np.exp(-lag / time)) / SCANS
    kept = value[value > 1e-4 * value.max()]
    drawn = rng.chisquare(D, size=(DRAWS // len(kept), len(kept))) @ kept
    return float(np.quantile(drawn, 0.975)) / D + float(value.sum() - kept.sum())


with paper_style():
    figure = Figure(figsize=(WIDE_IN, 2.4), layout="constrained")
    axes = figure.subplots()
    limit = largest_mean(D)
    axes.axhspan(limit, 3.6, color=COLOURS[1], alpha=0.15, lw=0)
    axes.axhline(limit, color=COLOURS[1], ls="--")
    axes.semilogx(times, [quantile(time) for time in times], color=COLOURS[0])
    axes.axvline(SCANS, color=GREY, lw=0.8, ls=":")
    axes.text(0.3, limit + 0.08, f"above {limit:.2f}: overconfident whatever the correlations")
    axes.text(0.95 * SCANS, 0.6, "length of the track", ha="right", color=GREY)
    axes.text(0.3, 2.0, "97.5 % of consistent beliefs are below this line", color=COLOURS[0])
    axes.set(xlabel="correlation time (scans)", ylabel="T", ylim=(0.4, 3.6))
save(figure, "correlation.svg")
