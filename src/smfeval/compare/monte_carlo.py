"""Monte Carlo consistency: repeated runs on one track, the NEES averaged over runs at each time.

With R independent runs of an honest Gaussian belief in d dimensions, R d ANEES_t is chi-squared
with R d degrees of freedom, ANEES_t = mean over runs of NEES_t / d (Bar-Shalom, Li and Kirubarajan
2001, 5.4.2): its band is exact at every time. Of K particles NEES / d is (K + 1) / (K - d)
F(d, K - d); the band of a mean of R of these is by simulation. Times depend on each other, so the
share of times outside a 95 % band is 5 % in the mean and scatters more than a binomial number; the
verdict is from the runs, which are independent: Student's interval of their means over time.
"""

from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.judge.decide import Label, label_of
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import student_reach
from smfeval.summarise.number import Number

BAND = 0.95
FEWEST_RUNS = 5  # fewer repeats are no Monte Carlo
DRAWS = 20_000  # means of runs of particles that a band is read from
PARTICLE_SEED = 0


@dataclass(frozen=True)
class MonteCarlo:
    """Repeated runs of an estimator on one track.

    Attributes
    ----------
    stamp, anees
        Times that all runs have, and the mean over runs of NEES / d. (T,)
    low, high
        Ends of the band in which it lies with 95 % probability if the belief is honest. (T,)
    mean
        Of all runs and times, with its interval over runs.
    left_out
        Times that not all runs have.
    inexact
        Why the band does not hold for these residuals, in words.
    """

    estimator: str
    group: str
    track: str
    runs: int
    stamp: Ints
    anees: Floats
    low: Floats
    high: Floats
    mean: Number
    left_out: int = 0
    inexact: str | None = None

    @property
    def outside(self) -> float:
        """Share of times outside the band; 5 % if honest."""
        return float(np.mean((self.anees < self.low) | (self.anees > self.high)))

    @property
    def label(self) -> Label:
        """By the interval of the mean over runs."""
        low, high = self.mean.low, self.mean.high
        if self.inexact is not None or low is None or high is None:
            return "cannot tell"
        return label_of(low, high)

    @property
    def sentence(self) -> str:
        """'alpha on walk: ANEES 1.02 [0.95, 1.09] over 50 runs; 4.8 % of times outside ...'."""
        band = words.number_range([float(np.median(self.low)), float(np.median(self.high))])
        said = (
            f"{self.estimator} on {self.track}: {self.label}, ANEES {self.mean} over "
            f"{words.count(self.runs, 'run')}; {words.share(self.outside)} of "
            f"{words.count(len(self.anees), 'time')} outside the {words.level(BAND)} band {band} "
            f"({words.level(1 - BAND)} if consistent)"
        )
        said += f"; {words.count(self.left_out, 'time')} not in all runs" if self.left_out else ""
        return said if self.inexact is None else f"{said}; {self.inexact}"

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        series = {name: getattr(self, name).tolist() for name in ("stamp", "anees", "low", "high")}
        return {
            "estimator": self.estimator,
            "group": self.group,
            "track": self.track,
            "runs": self.runs,
            "label": self.label,
            "mean": self.mean.to_dict(),
            "outside": self.outside,
            "level": BAND,
            "left_out": self.left_out,
            "inexact": self.inexact,
            **series,
        }


def monte_carlo(
    nees: Floats,
    dimension: int,
    stamp: Ints,
    *,
    particles: Floats | None = None,
    names: tuple[str, str, str] = ("", "", ""),
    left_out: int = 0,
    inexact: str | None = None,
) -> MonteCarlo:
    """Runs and times in one verdict.

    Parameters
    ----------
    nees : (R, T)
        Of every run at every time.
    particles : (T,), optional
        Effective number of particles at each time; None for Gaussians.
    names
        Estimator, group and track.
    """
    runs = len(nees)
    if runs < FEWEST_RUNS:
        raise SeriesError(f"{words.count(runs, 'run')}; {FEWEST_RUNS} are needed for Monte Carlo")
    low, high = anees_band(runs, dimension, len(stamp), particles=particles)
    honest: Floats | float = 1.0
    if particles is not None:  # mean of NEES / d of honest ones, where it exists
        honest = (particles + 1) / np.maximum(particles - dimension - 2, 1.0)
    by_run = np.mean(nees / dimension / honest, axis=1)
    mean, reach = float(by_run.mean()), student_reach(by_run, (1 - BAND) / 2)
    return MonteCarlo(
        *names,
        runs=runs,
        stamp=stamp,
        anees=nees.mean(axis=0) / dimension,
        low=low,
        high=high,
        mean=Number(mean, "1", mean - reach, mean + reach, n_effective=runs),
        left_out=left_out,
        inexact=inexact,
    )


def anees_band(
    runs: int, dimension: int, times: int, *, particles: Floats | None = None
) -> tuple[Floats, Floats]:
    """Ends of the band of the mean over runs of NEES / d at each time. (T,), (T,)."""
    tails = np.array([(1 - BAND) / 2, (1 + BAND) / 2])
    if particles is None:
        from scipy.special import gammaincinv  # noqa: PLC0415  slow to import

        degrees = runs * dimension
        ends = 2 * gammaincinv(degrees / 2, tails) / degrees
        return np.full(times, ends[0]), np.full(times, ends[1])
    counts, place = np.unique(np.round(particles), return_inverse=True)
    rng, every = np.random.default_rng(PARTICLE_SEED), []
    for count in counts:
        degrees, means = max(count - dimension, 1.0), np.zeros(DRAWS)
        for _ in range(runs):
            means += rng.f(dimension, degrees, size=DRAWS)
        every.append(np.quantile((count + 1) / degrees * means / runs, tails))
    low, high = np.array(every)[place].T
    return low, high
