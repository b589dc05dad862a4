"""The signed-rank test against scipy, and against all signs counted out."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from smfeval.compare.duels import EXACT_UP_TO, differences, doubled_ranks, least_p, signed_rank


def counted_out(difference):
    """Two-sided p over every choice of signs of the nonzero differences, ranks after Pratt."""
    ranks = rankdata(np.abs(difference))[difference != 0]
    if not len(ranks):
        return 1.0
    signs = np.array(list(product([0, 1], repeat=len(ranks))))
    sums, seen = signs @ ranks, ranks[difference[difference != 0] > 0].sum()
    lower, upper = np.mean(sums <= seen + 1e-9), np.mean(sums >= seen - 1e-9)
    return min(1.0, 2 * min(lower, upper))


@pytest.mark.parametrize("count", [1, 2, 5, 6, 13, 30, 50])
@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_without_ties_it_is_the_exact_test_of_scipy(count, shift, rng):
    difference = rng.normal(shift, size=count)
    wanted = wilcoxon(difference, method="exact").pvalue
    assert signed_rank(difference).p == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("zeros", [0, 1, 4])
@pytest.mark.parametrize("count", [1, 3, 8, 12])
def test_with_ties_and_zeros_all_signs_are_counted(count, zeros, rng):
    for shift in (-1, 0, 1, 3):
        values = rng.integers(-4, 5, size=count) + shift
        difference = np.concatenate([values, np.zeros(zeros)]).astype(float)
        assert signed_rank(difference).p == pytest.approx(counted_out(difference), abs=1e-12)


@pytest.mark.parametrize("decimals", [1, 8])
def test_many_tracks_have_the_normal_approximation_of_scipy(decimals, rng):
    difference = np.round(rng.normal(0.1, size=EXACT_UP_TO + 40), decimals)
    assert (decimals == 1) == (len(np.unique(np.abs(difference))) < len(difference))
    wanted = wilcoxon(difference, method="asymptotic", zero_method="pratt").pvalue
    assert signed_rank(difference).p == pytest.approx(wanted, rel=1e-9)


def test_the_approximation_takes_over_without_a_jump(rng):
    exact, approximate = (rng.normal(0.15, size=n) for n in (EXACT_UP_TO, EXACT_UP_TO + 1))
    for difference in (exact, approximate):
        wanted = wilcoxon(difference, method="exact").pvalue
        assert signed_rank(difference).p == pytest.approx(wanted, rel=0.05, abs=1e-4)


def test_the_lean_says_who_is_better(rng):
    assert signed_rank(np.array([3.0, -1, 2])).lean == 1
    assert signed_rank(np.array([-3.0, 1, -2])).lean == -1
    assert signed_rank(np.array([-3.0, 3.0])).lean == 0


@pytest.mark.parametrize("count", [0, 7])
def test_nothing_but_zeros_is_no_evidence(count):
    outcome = signed_rank(np.zeros(count))
    assert (outcome.p, outcome.signed, outcome.lean) == (1.0, 0, 0)


def test_a_clean_sweep_has_the_least_p():
    for count in (1, 5, 6, 20):
        assert signed_rank(np.arange(1.0, count + 1)).p == pytest.approx(min(1, least_p(count)))


def test_midranks_are_those_of_scipy(rng):
    size = rng.integers(0, 6, size=40).astype(float)
    np.testing.assert_array_equal(doubled_ranks(size), 2 * rankdata(size))


def test_rounding_makes_no_difference_and_hides_no_tie():
    first, second = np.array([0.1, 0.2, 1000.2, 7.0]), np.array([0.2, 0.3, 1000.3, 7.0 + 1e-12])
    difference = differences(first, second)
    assert difference[3] == 0
    np.testing.assert_array_equal(doubled_ranks(difference[:3]), [4, 4, 4])


def test_units_change_nothing(rng):
    first, second = rng.lognormal(size=(2, 20))
    one = signed_rank(differences(first, second))
    for unit in (1e-12, 1e9):
        assert signed_rank(differences(unit * first, unit * second)) == one


def test_infinite_losses_lose_to_finite_ones_and_tie_with_each_other():
    difference = differences(np.array([1.0, np.inf, np.inf, 2.0]), np.array([np.inf, 1, np.inf, 3]))
    np.testing.assert_array_equal(np.sign(difference), [1, -1, 0, 1])
    np.testing.assert_array_equal(doubled_ranks(np.abs(difference)), [7, 7, 2, 4])


def test_only_shared_tracks_count():
    difference = differences(np.array([1.0, np.nan, 3.0]), np.array([2.0, 2.0, np.nan]))
    np.testing.assert_array_equal(difference, [1.0])
