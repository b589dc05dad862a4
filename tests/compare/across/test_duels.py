"""Who is best, who is beaten, and what is said where nobody can tell."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from smfeval.compare.duels import LEVEL, all_tests, best_of, duels, holm

NAMES = ("a", "b", "c", "d")


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
    few = f"shared tracks: {tracks}; 6 that differ are needed"
    assert duel.reason == f"not tested against the best: {few}"
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
    assert "fragile is significantly better than steady" in duel.reason


def test_contenders_without_a_value_fight_no_duel(rng):
    losses = np.stack([rng.normal(size=8), np.full(8, np.nan), rng.normal(size=8)])
    assert {duel.other for duel in duels(("a", "b", "c"), losses)} <= {"a", "c"}
    assert duels(("a",), losses[:1]) == ()


def test_no_sign_of_a_difference_is_said():
    difference = np.array([1, -1, 2, -2, 3, -3, 4, -4.0])
    (duel,) = duels(("a", "b"), np.stack([np.full(8, 10.0), 10 + difference]))
    assert (duel.p, duel.further_tracks, duel.reason) == (1.0, None, "no sign of a difference")
