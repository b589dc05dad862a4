"""Who is best, who is beaten, and what is said where nobody can tell.

The signed-rank test against scipy, and against all signs counted out.

Noether's numbers by hand.
"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm, rankdata, wilcoxon

from smfeval.compare.duels import (
    ALL_ALIKE,
    ALONE,
    EXACT_UP_TO,
    LEVEL,
    MOST_TRACKS,
    TOO_FEW_TRACKS,
    all_tests,
    best_of,
    differences,
    doubled_ranks,
    fewest_tracks,
    holm,
    marks_of,
    side_probability,
    signed_rank,
    tracks_needed,
)
from smfeval.compare.duels import duels as duels_of

NAMES = ("a", "b", "c", "d")


def duels(names, losses):
    return duels_of(names, losses, all_tests(losses))


def marks(losses, names=NAMES, shown=None):
    medians = dict(zip(names, np.nanmedian(losses, axis=1).tolist(), strict=False))
    return marks_of(duels(names[: len(losses)], losses), shown or medians)


def by_other(names, losses):
    return {duel.other: duel for duel in duels(names, losses)}


def made(rng, *shifts, tracks=20, noise=0.3):
    return (
        np.array(shifts)[:, None]
        + rng.normal(size=tracks)
        + noise * rng.normal(size=(len(shifts), tracks))
    )


def test_holm_by_hand():
    corrected = holm(np.array([0.04, 0.01, 0.03, 0.005]))
    np.testing.assert_allclose(corrected, [0.06, 0.03, 0.06, 0.02])
    np.testing.assert_array_equal(holm(np.array([0.7, 0.9])), [1.0, 1.0])
    assert len(holm(np.array([]))) == 0


def test_the_best_has_the_least_median_loss(rng):
    losses = made(rng, 1.0, 0.0, 2.0)
    assert best_of(losses) == int(np.argmin(np.median(losses, axis=1))) == 1


def test_nobody_becomes_best_by_failing_on_hard_tracks():
    steady = np.array([1.0, 1, 1, 1, 1, 9, 9, 9, 9])
    fragile = np.where(steady == 9, np.nan, 0.9)
    assert np.nanmedian(fragile) < np.median(steady)
    assert best_of(np.stack([fragile[3:], steady[3:]])) == 1  # 2 of 6 tracks
    assert best_of(np.stack([fragile, steady])) == 0  # better on most of all tracks


def test_a_track_that_nobody_has_counts_for_nobody():
    losses = np.array([[1.0, 2, np.nan, np.nan, np.nan], [3.0, np.nan, np.nan, np.nan, np.nan]])
    assert best_of(losses) == 0
    assert best_of(np.full((2, 3), np.nan)) is None


def test_the_correction_runs_over_all_pairs(rng):
    losses = made(rng, 0.0, 0.2, 0.25, 0.6)
    tests = all_tests(losses)
    p = [wilcoxon(losses[i] - losses[j], method="exact").pvalue for i, j in tests]
    assert len(p) == 6
    np.testing.assert_allclose([test.outcome.p for test in tests.values()], p, atol=1e-12)
    np.testing.assert_allclose([test.p_holm for test in tests.values()], holm(np.array(p)))


def test_a_clear_winner_beats_and_says_by_how_much(rng):
    losses = made(rng, 0.0, 2.0, 0.02)
    found = by_other(("a", "b", "c"), losses)
    best = min("ac", key=lambda name: np.median(losses["abc".index(name)]))
    assert found["b"].best == best
    assert found["b"].beaten
    assert found["b"].p_holm <= LEVEL
    wanted = np.median(losses[1] - losses["abc".index(best)])
    assert found["b"].difference == pytest.approx(wanted)
    assert found["b"].further_tracks is None
    close = found["c" if best == "a" else "a"]
    assert not close.beaten
    assert close.further_tracks is None or close.further_tracks >= 1


def test_the_order_of_the_contenders_changes_nothing(rng):
    losses = made(rng, 0.5, 0.0, 0.1, 1.0)
    forward = by_other(NAMES, losses)
    backward = by_other(NAMES[::-1], losses[::-1])
    assert forward == backward


@pytest.mark.parametrize("tracks", [0, 1, 5])
def test_too_few_tracks_are_not_tested_and_nobody_is_beaten(tracks, rng):
    first = np.concatenate([np.ones(tracks), [1.0], [np.nan]])
    second = np.concatenate([9 * np.ones(tracks), [np.nan], [9.0]])
    (duel,) = duels(("a", "b"), np.stack([first, second]))
    assert (duel.shared, duel.p, duel.p_holm, duel.beaten) == (tracks, None, None, False)
    few = f"{tracks} comparable track{'s' * (tracks != 1)}; 6 that differ are needed"
    assert duel.reason == f"not tested against the best, a: {few}"
    assert not duel.is_tested
    assert (duel.difference is None) == (tracks == 0)


def test_six_tracks_separate_two_but_not_four(rng):
    losses = np.arange(4.0)[:, None] + 0.01 * rng.normal(size=(4, 6))
    (duel,) = duels(NAMES[:2], losses[:2])
    assert (duel.p, duel.beaten) == (pytest.approx(2 / 64), True)
    last = by_other(NAMES, losses)["d"]
    assert (last.p, last.p_holm, last.beaten) == (
        pytest.approx(2 / 64),
        pytest.approx(12 / 64),
        False,
    )
    assert last.reason == (
        "tracks that differ: 6; among 6 pairs no outcome of fewer than 8 is significant"
    )
    assert last.further_tracks >= 2


@pytest.mark.parametrize(("contenders", "tracks"), [(3, 6), (4, 7), (2, 5)])
def test_nobody_is_marked_where_no_outcome_could_separate_two(contenders, tracks, rng):
    losses = np.arange(contenders)[:, None] + 0.01 * rng.normal(size=(contenders, tracks))
    found = marks(losses)
    pairs = contenders * (contenders - 1) // 2
    needed = {1: "1 pair needs 6", 3: "3 pairs need 7", 6: "6 pairs need 8"}[pairs]
    assert (found.best, found.unmarked) == (frozenset(), TOO_FEW_TRACKS)
    assert found.detail == f"{tracks} that differ; {needed}"
    assert marks(losses[:1]).unmarked == ALONE


def test_a_mark_that_everybody_would_have_is_given_to_nobody(rng):
    signs = np.where(np.arange(30) % 2, 1.0, -1.0)
    alike = rng.normal(size=30) + np.arange(4)[:, None] * 0.1 * signs
    assert (marks(alike).best, marks(alike).unmarked) == (frozenset(), ALL_ALIKE)
    worse = np.concatenate([alike[:3], alike[3:] + 9])
    assert (marks(worse).best, marks(worse).reasons) == ({"a", "b", "c"}, {})


def test_a_mark_on_a_worse_median_than_one_without_has_its_reason(rng):
    steady = rng.normal(size=20)
    close = steady + 0.1  # always worse than the first
    erratic = steady + np.where(np.arange(20) % 2, 3.0, -2.0)  # sometimes better, median worse
    found = marks(np.stack([steady, close, erratic]), shown={"a": 0.0, "b": 0.1, "c": 0.5})
    assert found.best == {"a", "c"}
    assert found.reasons == {
        "c": "marked though other medians are better; significantly worse track by track: b"
    }


def test_who_was_not_tested_has_no_mark_and_its_rivals_say_so(rng):
    losses = np.arange(3.0)[:, None] + 0.01 * rng.normal(size=(3, 12))
    rare = np.where(np.arange(12) < 4, -1.0, np.nan)
    found = marks(np.concatenate([losses, rare[None]]))
    assert found.best == {"a"}
    assert found.reasons == {
        "a": "marked though other medians are better; not tested, on too few tracks: d",
        "d": "not tested against the best, a: 4 comparable tracks; 6 that differ are needed",
    }


def test_ties_are_counted_and_leave_too_few_to_test():
    losses = np.stack([np.ones(9), np.r_[np.ones(5), 2, 2, 2, 2]])
    (duel,) = duels(("a", "b"), losses)
    assert (duel.shared, duel.ties, duel.p) == (9, 5, None)
    assert "5 of them tied; 6 that differ are needed" in duel.reason


def test_copies_of_each_other_are_both_unbeaten(rng):
    row = rng.lognormal(size=12)
    (duel,) = duels(("a", "b"), np.stack([row, row]))
    assert (duel.ties, duel.difference, duel.beaten, duel.p) == (12, 0.0, False, None)


def test_who_is_better_on_shared_tracks_is_not_beaten(rng):
    # The first is better where both have values, but lacks half of the tracks.
    steady = 1 + 0.01 * rng.normal(size=20)
    fragile = np.where(np.arange(20) < 9, steady - 0.5, np.nan)
    (duel,) = duels(("fragile", "steady"), np.stack([fragile, steady]))
    assert (duel.best, duel.other, duel.shared) == ("steady", "fragile", 9)
    assert duel.p_holm < LEVEL
    assert not duel.beaten
    assert duel.is_turned
    assert duel.reason == "significantly better than steady on the tracks that both have"


def test_contenders_without_a_value_fight_no_duel(rng):
    losses = np.stack([rng.normal(size=8), np.full(8, np.nan), rng.normal(size=8)])
    assert {duel.other for duel in duels(("a", "b", "c"), losses)} <= {"a", "c"}
    assert duels(("a",), losses[:1]) == ()


def test_no_sign_of_a_difference_is_said():
    difference = np.array([1, -1, 2, -2, 3, -3, 4, -4.0])
    (duel,) = duels(("a", "b"), np.stack([np.full(8, 10.0), 10 + difference]))
    assert (duel.p, duel.further_tracks, duel.reason) == (1.0, None, "no sign of a difference")


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
        assert signed_rank(np.arange(1.0, count + 1)).p == pytest.approx(min(1, 2.0 ** (1 - count)))


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


def test_the_side_probability_is_that_of_all_pairs_of_tracks(rng):
    for difference in (rng.normal(0.5, size=30), rng.integers(-2, 4, size=25).astype(float)):
        i, j = np.triu_indices(len(difference), 1)
        sums = difference[i] + difference[j]
        wanted = np.mean(sums > 0) + 0.5 * np.mean(sums == 0)
        assert side_probability(difference) == pytest.approx(wanted, abs=1e-12)


def test_the_side_probability_of_a_shifted_normal(rng):
    # D + D' ~ N(2 shift, 2)
    wanted = norm.cdf(2 * 0.3 / np.sqrt(2))
    assert side_probability(rng.normal(0.3, size=4000)) == pytest.approx(wanted, abs=0.02)


def test_the_formula_of_noether():
    wanted = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / (3 * 0.15**2)
    assert tracks_needed(0.65, 0.05) == int(np.ceil(wanted)) == 117
    assert tracks_needed(0.35, 0.05) == 117
    assert tracks_needed(0.65, 0.05 / 28) > 117


def test_no_difference_needs_more_tracks_than_anyone_records():
    assert tracks_needed(0.5, 0.05) is None
    just = 0.5 + np.sqrt((norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / (3 * MOST_TRACKS))
    assert tracks_needed(just - 1e-9, 0.05) is None
    assert tracks_needed(just + 1e-9, 0.05) == MOST_TRACKS


@pytest.mark.parametrize(("level", "wanted"), [(0.05, 6), (0.05 / 28, 11), (0.03125, 6)])
def test_a_clean_sweep_of_the_fewest_tracks_is_just_significant(level, wanted):
    assert fewest_tracks(level) == wanted
    assert 2 * 0.5**wanted <= level < 2 * 0.5 ** (wanted - 1)
