"""The N-cornered hat: recovery of known covariances, and how a shared error spoils it."""

import numpy as np
import pytest

from smfeval.compare import attribute, compare_all
from smfeval.compare.attribution import cornered_hat, misfit, unconstrained_hat
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from support.beliefs import covariances
from support.known_errors import S, belief, normal, remembering

N = 20_000


def differences(own):
    return np.array([[a + b for b in own] for a in own])


@pytest.mark.parametrize("count", [3, 4, 6])
def test_the_hat_recovers_covariances_from_their_sums_exactly(rng, count):
    own = covariances(count, rng, d=3, scale=1.0)
    np.testing.assert_allclose(unconstrained_hat(differences(own)), own, rtol=1e-10)
    np.testing.assert_allclose(cornered_hat(differences(own)), own, rtol=1e-9)
    assert misfit(differences(own), own) < 1e-12


def test_the_constrained_hat_is_semidefinite_and_the_best_of_those(rng):
    sums = differences(covariances(4, rng, d=3, scale=1.0))
    for i, j in ((0, 1), (2, 3)):
        sums[i, j] = sums[j, i] = 0.05 * sums[i, j]
    assert np.linalg.eigvalsh(unconstrained_hat(sums)).min() < 0
    found = cornered_hat(sums)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    least = misfit(sums, found)
    for _ in range(200):
        root = np.linalg.cholesky(found + 1e-9 * np.eye(3)) + 0.02 * rng.normal(size=(4, 3, 3))
        assert misfit(sums, root @ root.swapaxes(1, 2)) >= least - 1e-7


@pytest.mark.parametrize("lies", [(1, 1, 1), (1, 9, 1), (1, 9, 25, 1)])
def test_the_liars_are_told_from_the_honest(rng, lies):
    tracks = [belief(np.sqrt(a) * normal(rng, N), name=f"t{i}") for i, a in enumerate(lies)]
    found = attribute(tracks)
    assert [own.k.value for own in found.estimators] == pytest.approx(lies, rel=0.15, abs=0.3)
    labels = ["overconfident" if a > 1 else "no conclusion" for a in lies]
    assert [own.label for own in found.estimators] == labels
    sigma = np.sqrt(np.trace(S) / 3)
    for own, a in zip(found.estimators, lies, strict=True):
        assert own.reported_m == pytest.approx(sigma, rel=1e-6)
        if a > 1:
            assert own.sigma_m == pytest.approx(sigma * np.sqrt(a), rel=0.05)
            assert own.k.low < a < own.k.high
            assert own.k_if_shared[0] <= own.k.value <= own.k_if_shared[1]


def test_covariances_of_different_size_and_shape_are_recovered(rng):
    shapes = [S, np.diag([4.0, 0.5, 1]) * 1e-4, 3 * S]
    tracks = [
        belief(np.sqrt(a) * normal(rng, N, c), c) for a, c in zip((1, 6, 2), shapes, strict=True)
    ]
    assert [own.k.value for own in attribute(tracks).estimators] == pytest.approx(
        [1, 6, 2], rel=0.12
    )


def test_an_error_shared_by_all_is_invisible(rng):
    """S_i is too small by the shared covariance: k of true 4 becomes 3."""
    common = normal(rng, N)
    tracks = [belief(common + np.sqrt(3) * normal(rng, N)) for _ in range(3)]
    assert [own.k.value for own in attribute(tracks).estimators] == pytest.approx([3] * 3, rel=0.1)


def test_an_error_shared_by_two_is_blamed_on_the_third(rng):
    """Of three: C_jk lowers k_j and k_k by its size and raises k_i by the same."""
    common = normal(rng, N)
    pair = [belief(common + np.sqrt(3) * normal(rng, N)) for _ in range(2)]
    alone = belief(2 * normal(rng, N))
    assert [own.k.value for own in attribute([*pair, alone]).estimators] == pytest.approx(
        [3, 3, 5], rel=0.1
    )


def test_four_with_a_shared_error_leave_something_unexplained(rng):
    common = 3 * normal(rng, N)
    clean = [belief(normal(rng, N)) for _ in range(4)]
    dirty = [belief(common + normal(rng, N)) for _ in range(2)] + clean[2:]
    assert attribute(clean).misfit < 0.03
    assert attribute(dirty).misfit > 0.1


def test_an_indefinite_estimate_is_said_and_proves_nothing(rng):
    common = 5 * normal(rng, 2000)
    tracks = [belief(common + 0.1 * normal(rng, 2000)), belief(common), belief(normal(rng, 2000))]
    found = attribute(tracks).estimators[:2]
    assert all(own.projected for own in found)
    assert {own.label for own in found} == {"not identifiable"}


def test_few_independent_scans_make_a_suspect_not_a_convict(rng):
    tracks = [belief(scale * remembering(rng, 400, 0.995)) for scale in (10, 1, 1)]
    first = attribute(tracks).estimators[0]
    assert first.k.n_effective < 15
    assert first.label in ("suspect", "no conclusion", "not identifiable")


def test_honest_beliefs_that_remember_are_seldom_blamed(rng):
    runs, blamed = 40, 0
    for _ in range(runs):
        tracks = [belief(remembering(rng, 400, 0.8)) for _ in range(3)]
        blamed += any(own.label == "overconfident" for own in attribute(tracks).estimators)
    assert blamed / runs <= 0.15  # three bounds of 5 % each


def test_what_cannot_be_told_is_said(rng):
    two = [belief(normal(rng, 50)) for _ in range(2)]
    assert "only the sum of their covariances" in attribute(two).reason
    few = attribute([belief(normal(rng, 6)) for _ in range(3)])
    assert few.reason == "6 scans are common to all; 10 are needed"
    flat = belief(normal(rng, 50), np.diag([1e-4, 1e-4, 0]))
    own = attribute([*two, flat]).estimators[2]
    assert own.label == "not identifiable"
    assert own.sigma_m is None


def test_all_pairs_are_compared_and_progress_is_told(rng):
    told = []
    tracks = [belief(normal(rng, 60), name=name) for name in "abcd"]
    comparison = compare_all(tracks, told=lambda *done: told.append(done))
    assert [p.a + p.b for p in comparison.pairs] == ["ab", "ac", "ad", "bc", "bd", "cd"]
    assert told == [(i, 6) for i in range(1, 7)]
    assert compare_all(tracks[:2]).attribution is None
    with pytest.raises(OptionError, match="more than two tracks"):
        compare_all(tracks, options=Options(offset_s=0.1))
    with pytest.raises(OptionError, match="a pair needs two tracks"):
        compare_all(tracks[:1])
