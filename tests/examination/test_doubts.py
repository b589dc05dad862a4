"""Each suspicion is raised by a track made wrong on purpose, and by no honest one."""

import numpy as np
import pytest

from smfeval.examination import examine
from smfeval.io import read
from smfeval.track import GaussianTrack, Track
from support.beliefs import circuit, stamps


def belief(
    covariance=None, position=None, rotation=None, stamp=None, n=400, jitter=0.0
) -> GaussianTrack:
    made_stamp, made_position, made_rotation = circuit(n)
    noise = jitter * np.random.default_rng(5).normal(size=made_position.shape)
    growing = np.linspace(1, 3, n)[:, None, None] ** 2
    usual = np.diag([1e-4, 1e-4, 4e-4, 1e-6, 1e-6, 4e-6]) * growing
    return GaussianTrack(
        made_stamp if stamp is None else stamp,
        (made_position if position is None else position) + noise,
        made_rotation if rotation is None else rotation,
        usual if covariance is None else covariance,
    )


def names(track) -> list[str]:
    return [doubt.name for doubt in examine(track).doubts]


def test_an_honest_track_raises_no_doubt():
    assert names(belief(jitter=1e-3)) == []


def test_quaternions_written_wxyz():
    wxyz = circuit()[2][:, [3, 0, 1, 2]]
    assert names(belief(rotation=wxyz)) == ["scalar-first"]


def test_a_track_that_starts_at_identity_written_wxyz():
    n = 30
    rotation = np.tile([1.0, 0, 0, 0], (n, 1))
    assert names(Track(stamps(n), np.zeros((n, 3)), rotation)) == ["scalar-first"]


def test_standard_deviations_where_variances_belong():
    sigma = np.tile(np.diag([1e-3] * 3 + [1e-3] * 3), (400, 1, 1))
    sigma = sigma * np.linspace(0.9, 1.1, 400)[:, None, None]
    assert names(belief(covariance=sigma, jitter=1e-3)) == ["deviation-for-variance"]
    assert names(belief(covariance=sigma**2, jitter=1e-3)) == []


def test_rotation_block_in_the_position_slot():
    swapped = np.roll(
        belief().covariance * np.linspace(1, 6, 400)[:, None, None] ** 2, 3, axis=(1, 2)
    )
    swapped[:, :3, :3] = np.diag([1e-6, 1e-6, 4e-6])
    assert names(belief(covariance=swapped)) == ["rotation-first"]
    metres = np.tile(np.diag([1e-6] * 3 + [4.0] * 3), (400, 1, 1))
    metres = metres * np.linspace(0.9, 1.1, 400)[:, None, None]
    assert names(belief(covariance=metres)) == ["rotation-first"]


@pytest.mark.parametrize("value", [1e6, 1e12])
def test_placeholders(value):
    covariance = belief().covariance.copy()
    covariance[:, 2, 2] = value
    assert "placeholder" in names(belief(covariance=covariance))


def test_constant_and_zero_covariances():
    constant = np.tile(np.diag([1e-4] * 6), (400, 1, 1))
    assert names(belief(covariance=constant)) == ["constant-covariance"]
    assert names(belief(covariance=0 * constant)) == ["zero-covariance"]
    first = constant * np.linspace(1, 1.5, 400)[:, None, None]
    first[0] = 0
    assert names(belief(covariance=first)) == ["zero-covariance", "partly-singular"]


def test_a_jump():
    position = circuit()[1].copy()
    position[200:] += [40.0, 0, 0]
    (doubt,) = examine(belief(position=position)).doubts
    assert doubt.name == "jump"
    assert "before stamp 1700000020.000000000" in doubt.sentence


def test_stamps_of_another_unit():
    assert names(belief(stamp=(stamps(400) - stamps(1)) * 1000)) == ["odd-rate"]


@pytest.mark.parametrize("scale", [1e-12, 1e14])
def test_sigmas_of_another_unit(scale):
    assert "odd-size" in names(belief(covariance=belief().covariance * scale))


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("spires/fast_lio2.square", "fast-lio2"),
        ("spires/faster_lio.square", None),
        ("campaign/easy/college_1/pointlio.txt.gz", "point-lio"),
        ("campaign/easy/college_3/fastlio2.txt.gz", "fast-lio2"),
        ("campaign/hard/corridor_1/fasterlio.txt.gz", "faster-lio"),
        ("openvins/V1_02_est.txt", "openvins"),
    ],
)
def test_real_filters_raise_no_false_doubt(name, preset, shared_data):
    assert names(read(shared_data / name, **({"preset": preset} if preset else {}))) == []
