"""Rotation and pose of a pair: who is convicted, and by what nobody is."""

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


def test_honest_beliefs_disagree_as_both_claim(honest):
    found = spaces(*honest)
    assert list(found) == ["rotation", "pose"]
    for each in found.values():
        assert each.k.value == pytest.approx(1, abs=0.12)
        assert not each.convicts


def test_a_tight_rotation_convicts_one_of_the_two(honest):
    a, b = (track.with_arrays({"covariance": track.covariance / 9}) for track in honest)
    found = spaces(a, b)
    assert found["rotation"].convicts
    assert found["rotation"].k.value == pytest.approx(9, rel=0.15)
    assert found["pose"].convicts


def test_neither_a_constant_rotation_nor_a_fit_convicts(honest):
    a, b = (track.with_arrays({"covariance": track.covariance / 9}) for track in honest)
    turned = move_to_body(a, (np.zeros(3), so3.exp(np.array([0.0, 1.2, 0.3]))), "imu")
    assert "looks like an extrinsic" in spaces(turned, b)["rotation"].sentence
    fitted = spaces(a, b, Options(alignment="se3"))["rotation"]
    assert not fitted.convicts
    assert "fitted to positions" in fitted.sentence


def test_positions_alone_have_neither(honest):
    a, b = honest
    assert spaces(a.with_about(oriented=False), b) == {}
