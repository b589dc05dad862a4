"""How often are honest beliefs accused, and faults called by their names? By simulation."""

import numpy as np
import pytest

from support.faults import (
    FAULTS,
    SIZES,
    Made,
    honest,
    honest_but_varying,
    honest_walk,
)

pytestmark = pytest.mark.slow

RUNS, FAULTY = 200, 50
FALSE_ALARMS = 0.05
CHANCE = 3 * np.sqrt(FALSE_ALARMS * (1 - FALSE_ALARMS) / RUNS)  # three standard errors
POWER = 0.90

HONEST = {
    "independent": lambda seed: honest(1000, 0.0, seed),
    "rho 0.9": lambda seed: honest(1000, 0.9, seed),
    "rho 0.98": lambda seed: honest(1000, 0.98, seed),
    "rho 0.995": lambda seed: honest(1000, 0.995, seed),
    "rho 0.98, 3000 scans": lambda seed: honest(3000, 0.98, seed),
    "rho 0.9, 200 scans": lambda seed: honest(200, 0.9, seed),
    "accumulating": lambda seed: honest_walk(1000, seed),
}


def accused(make, alignment):
    """Share of runs in which anything at all is named."""
    return np.mean([bool(make(seed).diagnoses(alignment).names) for seed in range(RUNS)])


@pytest.mark.parametrize("alignment", ["none", "se3"])
@pytest.mark.parametrize("name", HONEST)
def test_honest_beliefs_are_left_alone(name, alignment):
    assert accused(HONEST[name], alignment) <= FALSE_ALARMS


@pytest.mark.parametrize("alignment", ["none", "se3"])
@pytest.mark.parametrize("rho", [0.0, 0.9, 0.98])
@pytest.mark.parametrize("size", SIZES)
def test_honest_beliefs_whose_covariance_varies_are_left_alone(size, rho, alignment):
    def make(seed):
        return honest_but_varying(1000, rho, seed, size)

    assert accused(make, alignment) <= FALSE_ALARMS + CHANCE


def called(name, alignment, scans, rho=0.9):
    """Share of runs in which the fault is called by its name."""
    runs = (FAULTS[name](Made(scans, rho, 1000 + seed)) for seed in range(FAULTY))
    return np.mean([name in belief.diagnoses(alignment).names for belief in runs])


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_called_by_their_names(name):
    assert called(name, "none", 2000) >= POWER


@pytest.mark.parametrize("name", [n for n in FAULTS if n != "constant offset"])
def test_faults_are_called_by_their_names_after_an_alignment(name):
    assert called(name, "se3", 2000) >= POWER


def test_a_single_fault_seldom_gets_a_second_name():
    others = []
    for name, fault in FAULTS.items():
        meant = {"drift", "growing"} if name == "drift" else {name}
        for seed in range(FAULTY // 5):
            found = fault(Made(2000, 0.9, 2000 + seed)).diagnoses().names
            others.append(bool(set(found) - meant))
    assert np.mean(others) <= 0.10
