"""The N-cornered hat: recovery of known covariances, and how a shared error spoils it."""

import numpy as np
import pytest

from smfeval.compare import attribute, compare_all
from smfeval.compare.attribution import find_guilty, find_lost
from smfeval.compare.frames import in_one_body
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.maths import so3
from support.known_errors import S, belief, normal, remembering

N = 20_000


@pytest.mark.parametrize("lies", [(1, 1, 1), (1, 9, 1), (1, 9, 25, 1)])
def test_the_liars_are_told_from_the_honest(rng, lies):
    tracks = [belief(np.sqrt(a) * normal(rng, N), name=f"t{i}") for i, a in enumerate(lies)]
    found = attribute(tracks)
    assert [own.k.value for own in found.estimators] == pytest.approx(lies, rel=0.15, abs=0.3)
    labels = ["overconfident" if a > 1 else "cannot tell" for a in lies]
    assert [own.label for own in found.estimators] == labels
    sigma = np.sqrt(np.trace(S) / 3)
    for own, a in zip(found.estimators, lies, strict=True):
        assert own.reported_m == pytest.approx(sigma, rel=1e-4)
        if a > 1:
            assert own.sigma_m == pytest.approx(sigma * np.sqrt(a), rel=0.05)
            assert own.k.low < a < own.k.high
            assert 1 < own.at_least < a
            assert own.k_if_shared == pytest.approx(a, rel=0.15)


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


def test_the_hat_blames_an_error_shared_by_two_on_the_third(rng):
    """Of three: C_jk lowers k_j and k_k by its size and raises k_i by the same."""
    common = normal(rng, N)
    pair = [belief(common + np.sqrt(3) * normal(rng, N)) for _ in range(2)]
    alone = belief(2 * normal(rng, N))
    assert [own.k.value for own in attribute([*pair, alone]).estimators] == pytest.approx(
        [3, 3, 5], rel=0.1
    )


def test_errors_that_cannot_be_seen_have_no_k(rng):
    common = 2 * normal(rng, 2000)
    tracks = [belief(common + 0.02 * normal(rng, 2000)), belief(common), belief(normal(rng, 2000))]
    found = attribute(tracks).estimators[:2]
    assert {own.label for own in found} == {"not identifiable"}
    assert all(np.isnan(own.k.value) and "cannot be seen" in own.k.reason for own in found)


def test_nothing_is_said_of_one_that_is_far_surer_than_the_others(rng):
    wide = 1e4 * S
    tracks = [belief(normal(rng, 400)), *(belief(normal(rng, 400, wide), wide) for _ in range(2))]
    sure = attribute(tracks).estimators[0]
    assert sure.label == "not identifiable"
    assert sure.sigma_m is None


@pytest.mark.parametrize("count", [3, 4, 5])
def test_one_that_is_lost_is_named_and_does_not_spoil_the_others(rng, count):
    n = 3000
    honest = [belief(normal(rng, n), name=f"t{i}") for i in range(1, count)]
    away = belief(30 * normal(rng, n), name="t0")
    lost, *others = attribute([away, *honest]).estimators
    assert (lost.lost, lost.label) == (True, "overconfident")
    assert not any(own.lost for own in others)
    if count == 3:
        assert {own.k.reason for own in others} == {
            "one of three is lost, and two tell only their sum"
        }
    else:
        assert [own.k.value for own in others] == pytest.approx([1] * (count - 1), abs=0.15)


def test_lost_is_who_is_far_from_all_others_that_agree():
    assert find_lost({(0, 1): 900.0, (0, 2): 800.0, (1, 2): 1.2}) == [0]
    assert find_lost({(0, 1): 900.0, (0, 2): 800.0, (1, 2): 900.0}) == []
    assert find_lost({(0, 1): 9.0, (0, 2): 8.0, (1, 2): 0.1}) == []


def test_terms_of_unsure_scans_count_little(rng):
    """An outage of one member leaves the k of the others as sharp as without those scans."""
    n = 4000
    sigma = np.where(np.arange(n) < n // 2, 1.0, 40.0)[:, None]
    wide = S * sigma[:, :, None] ** 2
    tracks = [belief(sigma * normal(rng, n), wide), *(belief(normal(rng, n)) for _ in range(2))]
    _, second, third = attribute(tracks).estimators
    assert [second.k.value, third.k.value] == pytest.approx([1, 1], abs=0.12)
    assert second.k.high - second.k.low < 0.4
    drifting = belief(normal(rng, n) + np.linspace(0, 40, n)[:, None])
    off, *others = attribute([drifting, *tracks[1:], belief(normal(rng, n))]).estimators
    assert (off.lost, off.label) == (True, "overconfident")  # beyond any correlation
    assert [own.k.value for own in others] == pytest.approx([1] * 3, abs=0.12)


@pytest.mark.parametrize(
    ("pairs", "guilty"),
    [
        ([], set()),
        ([(0, 1)], set()),
        ([(0, 1), (0, 2)], {0}),
        ([(0, 1), (0, 2), (1, 2)], set()),
        ([(0, 2), (0, 3), (1, 2), (1, 3)], set()),
        ([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (0, 1)], {0, 1}),
    ],
)
def test_guilty_is_who_is_in_every_smallest_set_that_explains_the_pairs(pairs, guilty):
    assert find_guilty(pairs) == guilty


@pytest.mark.parametrize("shared", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("accurate", [1.0, 0.04])
def test_the_third_is_not_convicted_for_an_error_that_two_share(rng, shared, accurate):
    """Nor an honest one that is far more accurate than they are, at k of 26 by the hat."""
    common, n = normal(rng, 600), 600
    two = [belief(np.sqrt(shared) * common + np.sqrt(1 - shared) * normal(rng, n)) for _ in "ab"]
    third = belief(np.sqrt(accurate) * normal(rng, n), accurate * S)
    found = attribute([third, *two]).estimators
    assert not any(own.label == "overconfident" for own in found)
    assert found[0].k.value > 1 + 0.8 * shared / accurate
    assert found[0].k_if_shared * accurate == pytest.approx(accurate, abs=0.25)


def test_copies_of_a_track_count_once(rng):
    one, other = (belief(normal(rng, 400), name=name) for name in "ab")
    bold = belief(30 * normal(rng, 400), name="bold")
    copy = belief(one.position - belief(np.zeros((400, 3))).position, name="copy")
    found = attribute([bold, one, copy])
    assert found.reason.endswith("three are needed")
    assert found.notes == ("copy is a copy of a: they count once",)
    found = attribute([bold, one, copy, other])
    assert {own.name: own.label for own in found.estimators} == {
        "bold": "overconfident",
        "a": "not identifiable",
        "b": "not identifiable",
    }


def test_an_extrinsic_that_is_off_makes_no_suspect(rng):
    tracks = [belief(normal(rng, 1500), name=name) for name in "abc"]
    off = np.array([0.08, 0.05, 0.0]), so3.exp(np.array([0.0, 0.03, 0.0]))
    tracks[1:2] = in_one_body(tracks[1:2], [off])
    found = attribute(tracks).estimators
    assert {own.label for own in found} == {"cannot tell"}
    assert [own.k.value for own in found] == pytest.approx([1, 1, 1], abs=0.25)


@pytest.mark.slow
def test_honest_beliefs_that_remember_are_seldom_blamed(rng):
    runs, blamed = 15, 0
    for _ in range(runs):
        tracks = [belief(remembering(rng, 400, 0.8)) for _ in range(3)]
        blamed += any(own.label == "overconfident" for own in attribute(tracks).estimators)
    assert blamed <= 3  # 5 % for all three together: more in 0.5 % of the cases


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
