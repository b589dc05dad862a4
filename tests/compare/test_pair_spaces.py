"""Rotation and pose of a pair: what convicts, and what convicts nobody."""

import numpy as np
import pytest

from smfeval.align.body import move_to_body
from smfeval.compare.pair import compare_pair
from smfeval.evaluation import Options
from smfeval.maths import se3, so3
from smfeval.track import GaussianTrack
from support.beliefs import ABOUT, circuit, covariances

N = 1500
FIXED = Options(alignment="none")


def believed(rng, covariance):
    stamp, position, rotation = circuit(N)
    xi = np.einsum("nij,nj->ni", np.linalg.cholesky(covariance), rng.normal(size=(N, 6)))
    pose = se3.compose((position, rotation), se3.inverse(se3.exp(xi)))
    return GaussianTrack(stamp, *pose, covariance, about=ABOUT)


def spaces(a, b, options=FIXED):
    found = compare_pair(a, b, options=options, sweeps=False).spaces
    return {each.name: each for each in found}


@pytest.fixture
def honest(rng):
    return [believed(rng, covariances(N, rng)) for _ in range(2)]


@pytest.fixture
def tight(honest):
    return [track.with_arrays({"covariance": track.covariance / 9}) for track in honest]


def test_honest_beliefs_disagree_as_both_claim(honest):
    found = spaces(*honest)
    assert list(found) == ["rotation", "pose"]
    for each in found.values():
        assert each.k.value == pytest.approx(1, abs=0.12)
        assert each.claim.label == "cannot tell"


@pytest.mark.parametrize("gauge", ["none", "se3"])
def test_tight_covariances_convict_one_of_the_two_also_after_a_fit(tight, gauge):
    found = spaces(*tight, Options(alignment=gauge))
    for each in found.values():
        assert each.claim.label == "overconfident"
        assert each.k.value == pytest.approx(9, rel=0.15)
        assert 1 < each.claim.at_least < 9


def test_no_extrinsic_a_wrong_one_and_the_right_one_have_one_verdict(honest, tight):
    extrinsic = np.array([0.06, -0.05, 0.04]), so3.exp(np.array([0.0, 1.5, 0.3]))
    for tracks, label in ((honest, "cannot tell"), (tight, "overconfident")):
        a, b = tracks
        other = move_to_body(b, extrinsic, "imu")
        slightly = move_to_body(b, (np.zeros(3), so3.exp(np.array([0.0, 0.02, 0.0]))), "imu")
        for second in (b, other, slightly):
            pair = compare_pair(a, second, options=FIXED, sweeps=False)
            labels = [pair.claim.label, *(each.claim.label for each in pair.spaces)]
            assert labels == [label] * 3
        assert so3.angle(pair.body.body) == pytest.approx(0.02, abs=2e-3)


def test_what_is_known_exactly_is_not_granted(honest):
    a, b = honest
    turned = move_to_body(b, (np.zeros(3), so3.exp(np.array([0.0, 0.2, 0.0]))), "imu")
    exact = spaces(a, turned, Options(alignment="none", exact=("body", "clock")))
    assert exact["rotation"].claim.label == "overconfident"


def test_positions_alone_have_neither(honest):
    a, b = honest
    assert spaces(a.with_about(oriented=False), b) == {}
