"""Processor time over that of a floor, twice what was measured at most.

Other processes take caches from both, though not alike: these run with the slow tests, while CI
counts lines and bytes (`test_growth.py`) and modules (`test_imports.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from smfeval import evaluate, interval, read
from smfeval.score.crps import crps_of_axes as crps
from smfeval.score.energy import energy
from smfeval.score.residuals import Residuals
from support.costs import Work, times_the_floor
from support.speed_tracks import files, tracks

SCANS = 20_000
BLOCK, REPLICATES = 20, 1000
SLACK = 2.0  # how many times slower than measured is a failure

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Case:
    """Work, and the floor it is measured by."""

    work: Work
    floor: Work


def evaluating(_) -> Case:
    """Over ten square roots and products of the covariances, and a sort."""
    estimate, reference = tracks(SCANS)
    numbers = 1 + estimate.covariance**2

    def passes():
        for _ in range(10):
            np.sqrt(numbers) * numbers
        np.sort(numbers[:, 0, 0])

    return Case(lambda: evaluate(estimate, reference).to_dict(), passes)


def reading(suffix: str) -> Callable[[Path], Case]:
    """Over the bare parse of the same numbers by polars."""

    def case(folder: Path) -> Case:
        files(SCANS, folder)
        path = folder / f"{SCANS}.{suffix}"
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        text = "\n".join(lines).encode()
        return Case(
            lambda: read(path),
            lambda: pl.read_csv(BytesIO(text), has_header=False, separator=" "),
        )

    return case


def energy_score(_) -> Case:
    """Over the CRPS of the same residuals; every time anew, for they remember."""
    estimate, reference = tracks(SCANS)
    error, covariance = estimate.position - reference.position, estimate.covariance[:, :3, :3]

    return Case(
        lambda: energy(Residuals(error, covariance)),
        lambda: crps(Residuals(error, covariance)),
    )


def bootstrap(_) -> Case:
    """Over one look-up for each block drawn."""
    rng = np.random.default_rng(0)
    series, place = rng.normal(size=SCANS), rng.integers(0, SCANS, SCANS // BLOCK * REPLICATES)
    options = {"method": "circular-percentile", "block_length": BLOCK, "replicates": REPLICATES}

    return Case(lambda: interval(series, rng=rng, **options), lambda: series.take(place))


CASES = {
    "evaluate": (evaluating, 19.0),  # the ratio, with every number of the three spaces
    "read square": (reading("square"), 1.7),
    "read tum": (reading("tum"), 1.7),
    "energy score": (energy_score, 4.9),
    "bootstrap of the mean": (bootstrap, 6.4),
}


@pytest.mark.parametrize(("make", "measured"), CASES.values(), ids=CASES)
def test_work_is_as_fast_as_it_was(make, measured, tmp_path):
    case = make(tmp_path)
    bound = SLACK * measured
    assert times_the_floor(case.work, case.floor, bound=bound) < bound


@pytest.mark.parametrize(("make", "measured"), CASES.values(), ids=CASES)
def test_work_done_four_times_is_noticed(make, measured, tmp_path):
    case = make(tmp_path)
    slowed = times_the_floor(lambda: [case.work() for _ in range(4)], case.floor, rounds=(2, 2))
    assert slowed > SLACK * measured
