"""How often honest pairs with memory are accused, at length."""

import numpy as np
import pytest

from compare.made import belief, remembering
from smfeval.compare import attribute, compare_pair

RUNS = 300
SLACK = 3 * np.sqrt(0.05 * 0.95 / RUNS)  # three standard errors of a rate of 5 %


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.9, 0.98])
@pytest.mark.parametrize("scans", [100, 1000])
def test_a_pair_is_accused_in_five_percent_of_runs_at_most(rng, rho, scans):
    accused = 0
    for _ in range(RUNS):
        a, b = (belief(remembering(rng, scans, rho)) for _ in range(2))
        accused += compare_pair(a, b).claim.label == "overconfident"
    assert accused / RUNS <= 0.05 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_an_estimator_is_blamed_in_five_percent_of_runs_at_most(rng, rho):
    blamed = 0
    for _ in range(RUNS):
        tracks = [belief(remembering(rng, 600, rho)) for _ in range(3)]
        blamed += attribute(tracks).estimators[0].label == "overconfident"
    assert blamed / RUNS <= 0.05 + SLACK
