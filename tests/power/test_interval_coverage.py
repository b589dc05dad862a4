"""Do the intervals of the default hold the truth as often as they promise? By simulation.

The targets of the design at a nominal 95 %; docs/research/coverage.md has all cells. The limits
leave room for chance: three standard errors of a coverage that is just on target.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROWS = 400
TARGET = {1000: 0.92, 3000: 0.92, 300: 0.85}
WIDEST = 1.6
RARELY = 0.05  # of the series may be refused where there are enough effective samples

# A regime that is seen for 30 % of the time, and changes every 100 scans, can be missed altogether:
# no method covers there, see docs/research/coverage.md.
SEEN = [
    "AR(1)",
    "NEES-like",
    "log-normal",
    "AR(1) + noise 4:1",
    "AR(1) + noise 1:1",
    "AR(2), roots rho and 0.5",
    "AR(2), period 20",
    "AR(2), period 100",
    "two regimes, 50 %",
]
MAIN = ["mean", "median (and k)", "coverage fraction, truly 0.5"]


def least(target):
    return target - 3 * np.sqrt(target * (1 - target) / ROWS)


def measure(experiment, title, name, cell):
    question = next(q for q in experiment.QUESTIONS if q.title == title)
    return experiment.auto_cell(question, name, cell, ROWS)


@pytest.mark.parametrize("cell", [(1000, 0.5), (1000, 0.95), (1000, 0.99), (3000, 0.99)])
@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("title", MAIN)
def test_coverage_reaches_its_target_and_the_width_stays_in_bounds(
    coverage_experiment, title, name, cell
):
    found = measure(coverage_experiment, title, name, cell)
    assert found.covered >= least(TARGET[cell[0]])
    assert found.width <= WIDEST * 1.1  # the median width has an error of its own
    assert found.refused <= (RARELY if cell[1] <= 0.95 else 0.15)


# Falls short, and docs/research/coverage.md says so: a median of AR(2) series is wrong in one of
# five. A higher limit for refusals would refuse half of all series of 1000 scans, and not help.
SHORT_OF_TARGET = pytest.mark.xfail(strict=True, reason="covers 77 % of 300 scans at rho 0.99")
SHORT = [
    pytest.param(title, name, marks=SHORT_OF_TARGET if (i, name[:5]) == (1, "AR(2)") else ())
    for i, title in enumerate(MAIN[:2])
    for name in SEEN[:6]
]


@pytest.mark.parametrize(("title", "name"), SHORT)
def test_short_series_cover_or_are_refused(coverage_experiment, title, name):
    found = measure(coverage_experiment, title, name, (300, 0.99))
    assert (1 - found.refused) * (1 - found.covered) <= 1 - least(TARGET[300])


FAST = ["constant", "20 changes", "100 changes", "sine, 5 periods", "sine, 50 periods"]
TRACKS = [(300, 0.0), (300, 0.9), (2000, 0.0), (2000, 0.9)]


@pytest.mark.parametrize("cell", TRACKS)
@pytest.mark.parametrize("name", FAST)
def test_a_sigma_that_is_constant_or_changes_often_costs_no_interval(
    coverage_experiment, name, cell
):
    found = coverage_experiment.changing_sigma.regime_cell(name, 5.0, cell, ROWS)
    assert found.withheld.max() < RARELY
    assert found.held.min() >= least(0.92)


@pytest.mark.parametrize("cell", TRACKS)
@pytest.mark.parametrize("ratio", [1.5, 3.0, 5.0])
@pytest.mark.parametrize("name", ["3 changes", "6 changes", "log-normal AR(0.99)"])
def test_means_over_few_regimes_of_sigma_hold_the_truth_or_are_withheld(
    coverage_experiment, name, ratio, cell
):
    """Of the tracks with 3 changes on average, one in 20 has none and misses."""
    found = coverage_experiment.changing_sigma.regime_cell(name, ratio, cell, ROWS)
    assert found.missed.max() <= 1 - least(0.9)
    assert found.withheld.mean() > (0.04 if name == "log-normal AR(0.99)" else 0.15)
    if name == "6 changes" or cell[0] == 2000:
        assert found.held.min() >= least(0.88)


def test_the_percentile_bootstrap_does_not_cover(coverage_experiment):
    question = coverage_experiment.QUESTIONS[0]
    found = coverage_experiment.method_cell(
        "circular-percentile", question, "AR(1)", (1000, 0.99), 200
    )
    assert found.covered < 0.7


def test_an_experiment_gives_the_same_numbers_again(coverage_experiment):
    question = coverage_experiment.QUESTIONS[0]
    first, again = (
        coverage_experiment.auto_cell(question, "AR(1)", (300, 0.9), 40) for _ in range(2)
    )
    assert first == again
