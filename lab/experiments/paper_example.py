"""The paper's example of dependent scans, as a figure: docs/paper_example.svg.

python lab/experiments/paper_example.py

Errors with a standard deviation of 1 cm and a correlation of 0.99 from scan to scan, 1000 scans.
Taken as independent, their mean would be known to +-0.06 cm; in truth it is known to +-0.83 cm.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

from smfeval.summarise.interval import interval

SCANS, RHO, SIGMA_CM, SERIES = 1000, 0.99, 1.0, 12
BLUE, GREY, ORANGE = "#0072b2", "#999999", "#d55e00"  # told apart by colour-blind readers


def variance_inflation(rho: float, scans: int) -> float:
    """Variance of the mean of an AR(1) series over that of independent scans."""
    lag = np.arange(1, scans)
    return float(1 + 2 * np.sum((1 - lag / scans) * rho**lag))


def series(rng: np.random.Generator) -> np.ndarray:
    """One stationary AR(1) series in centimetres."""
    shocks = np.sqrt(1 - RHO**2) * rng.normal(size=SCANS)
    values = np.empty(SCANS)
    values[0] = rng.normal()
    for i in range(1, SCANS):
        values[i] = RHO * values[i - 1] + shocks[i]
    return SIGMA_CM * values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/paper_example.svg"))
    out = parser.parse_args().out
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "smfeval"  # the same bytes every time
    from matplotlib import pyplot as plt  # noqa: PLC0415  after the backend is chosen

    naive = 1.96 * SIGMA_CM / np.sqrt(SCANS)
    true = naive * np.sqrt(variance_inflation(RHO, SCANS))
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axes.axhspan(-true, true, color=GREY, alpha=0.25, label=f"truth: ±{true:.2f} cm")
    axes.axhline(0, color=GREY, ls="--", lw=1)
    rng = np.random.default_rng(3)
    for i in range(SERIES):
        values = series(rng)
        found = interval(values, "mean", rng=rng)
        axes.errorbar(i - 0.12, values.mean(), naive, color=ORANGE, capsize=3, fmt="o", ms=4)
        if found.low is not None and found.high is not None:
            ends = [[found.value - found.low], [found.high - found.value]]
            axes.errorbar(i + 0.12, found.value, ends, color=BLUE, capsize=3, fmt="s", ms=4)
    axes.errorbar([], [], [], color=ORANGE, fmt="o", label=f"scans as independent: ±{naive:.2f} cm")
    axes.errorbar([], [], [], color=BLUE, fmt="s", label="smfeval")
    axes.set(xlabel="series of 1000 scans, correlation 0.99", ylabel="mean error (cm), 95 %")
    axes.legend(loc="upper right", fontsize="small")
    axes.set_xticks([])
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
