"""Honest beliefs whose sigma changes along the track: do intervals of their means hold the truth?

The truth is the mean over the process that sigma comes from. A section of
docs/research/coverage.md, which `interval_coverage.py` writes.
"""

import zlib
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from scipy.special import i0

from dependent_series import ar1
from smfeval import words
from smfeval.maths.arrays import Floats
from smfeval.score import Residuals, RuleSettings, scores
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import numbers_of
from smfeval.summarise.quantities import Sample

QUANTITIES = ("mae", "rmse", "energy", "log")
RULES = ("ape", "energy", "log", "log_sharpness", "nees", "pit")
CELLS = tuple((n, rho) for n in (300, 2000) for rho in (0.0, 0.9))  # scans, memory of the errors
EVERY, LAST = (1.5, 3.0, 5.0), (5.0,)

Moments = tuple[float, float, float]  # true means of sigma, sigma^2 and log sigma
Simulate = Callable[[int, float, np.random.Generator], tuple[Floats, Moments]]


def regimes(per_track: float) -> Simulate:
    """Sigma is 1 or the ratio, and changes so many times in a track on average."""

    def simulate(n: int, ratio: float, rng: np.random.Generator) -> tuple[Floats, Moments]:
        change = rng.random(n) < per_track / n
        change[0] = rng.random() < 0.5
        log_sigma = np.log(ratio) * (np.cumsum(change) % 2)
        return log_sigma, ((1 + ratio) / 2, (1 + ratio**2) / 2, np.log(ratio) / 2)

    return simulate


def sine(periods: float) -> Simulate:
    """So many periods of log sigma in a track, from 1 to the ratio, from any phase on."""

    def simulate(n: int, ratio: float, rng: np.random.Generator) -> tuple[Floats, Moments]:
        half = np.log(ratio) / 2
        phase = 2 * np.pi * (periods * np.arange(n) / n + rng.random())
        return half * np.sin(phase), (float(i0(half)), float(i0(2 * half)), 0.0)

    return simulate


def log_normal(n: int, ratio: float, rng: np.random.Generator) -> tuple[Floats, Moments]:
    """Log sigma is AR(0.99), of a standard deviation of half the logarithm of the ratio."""
    s = np.log(ratio) / 2
    return s * ar1(1, n, 0.99, rng)[0], (np.exp(s**2 / 2), np.exp(2 * s**2), 0.0)


def constant(n: int, ratio: float, rng: np.random.Generator) -> tuple[Floats, Moments]:
    """Sigma never changes."""
    del rng
    return np.full(n, np.log(ratio)), (ratio, ratio**2, np.log(ratio))


WORLDS: dict[str, tuple[Simulate, tuple[float, ...]]] = {
    "constant": (constant, LAST),
    **{f"{per} changes": (regimes(per), EVERY) for per in (3, 6, 20, 100)},
    **{f"sine, {words.count(per, 'period')}": (sine(per), LAST) for per in (1, 5, 50)},
    "log-normal AR(0.99)": (log_normal, EVERY),
}


def truths(moments: Moments) -> dict[str, float]:
    """What honest Gaussian errors in space have on average."""
    sigma, square, log_sigma = moments
    length = sigma * np.sqrt(8 / np.pi)
    log_score = 3 * log_sigma + 1.5 * np.log(2 * np.pi) + 1.5
    return {
        "mae": length,
        "rmse": np.sqrt(3 * square),
        "energy": length / np.sqrt(2),
        "log": log_score,
    }


@dataclass(frozen=True)
class RegimeCell:
    """Shares of intervals, one for each of QUANTITIES; `before` as if sigma had not been asked."""

    held_before: Floats
    held: Floats  # of those that are shown
    withheld: Floats  # for few regimes, of all tracks
    missed: Floats  # shown and wrong, of all tracks

    def __str__(self) -> str:
        worst = self.held_before.min(), self.held.min(), self.withheld.mean(), self.missed.max()
        return ", ".join(f"{100 * share:.0f}" for share in worst)


def regime_cell(name: str, ratio: float, cell: tuple[int, float], runs: int) -> RegimeCell:
    """Intervals of the means of many tracks of one world."""
    n, rho = cell
    seed = zlib.crc32(repr((name, ratio, cell)).encode())
    shown, held = np.zeros((2, runs, 2, len(QUANTITIES)), dtype=bool)  # before, now
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        log_sigma, moments = WORLDS[name][0](n, ratio, rng)
        sample = honest_sample(log_sigma, rho, rng)
        truth, numbers = truths(moments), numbers_of(sample)
        for column, quantity in enumerate(QUANTITIES):
            series = sample.series["ape" if quantity in ("mae", "rmse") else quantity]
            before = sample.number(series, "rmse" if quantity == "rmse" else "mean", "1")
            for when, number in enumerate((before, numbers[quantity])):
                if number.low is not None and number.high is not None:
                    shown[run, when, column] = True
                    held[run, when, column] = number.low <= truth[quantity] <= number.high
    missed = np.mean(shown & ~held, axis=0)
    given = np.maximum(shown.mean(axis=0), 1 / runs)  # where none is shown, none is wrong
    withheld = np.mean(shown[:, 0] & ~shown[:, 1], axis=0)
    return RegimeCell(*(1 - missed / given), withheld, missed[1])


def honest_sample(log_sigma: Floats, rho: float, rng: np.random.Generator) -> Sample:
    """Errors of the claimed size on each of three axes, with a memory."""
    sigma = np.exp(log_sigma)[:, None]
    residuals = Residuals(sigma * ar1(3, len(sigma), rho, rng).T, sigma[:, None] ** 2 * np.eye(3))
    settings = RuleSettings()
    return Sample(scores(residuals, settings, RULES), residuals, settings, Intervals())


def regime_table(runs: int, pool: Executor) -> str:
    """One row for each world and ratio."""
    rows = [(name, ratio) for name, (_, ratios) in WORLDS.items() for ratio in ratios]
    jobs = {row: [pool.submit(regime_cell, *row, cell, runs) for cell in CELLS] for row in rows}
    head = ["sigma", *(f"n {n}, rho {rho}" for n, rho in CELLS)]
    lines = [head, ["---"] * len(head)]
    for (name, ratio), line in jobs.items():
        factor = "" if name == "constant" else f", ratio {ratio:g}"
        lines.append([name + factor, *(str(job.result()) for job in line)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
