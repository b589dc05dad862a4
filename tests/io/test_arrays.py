"""Arrays as tracks: every shape that is natural gives the same numbers, others are refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import smfeval
from smfeval.errors import OptionError, TrackError

N = 200
SIGMA = np.array([0.1, 0.2, 0.3])


@pytest.fixture
def walk(rng):
    """True positions, estimated ones, their covariances and rotations."""
    truth = np.cumsum(rng.normal(size=(N, 3)), axis=0)
    turn = Rotation.from_rotvec(0.3 * rng.normal(size=(N, 3)))
    return (
        truth,
        truth + SIGMA * rng.normal(size=(N, 3)),
        np.tile(np.diag(SIGMA**2), (N, 1, 1)),
        turn,
    )


def test_two_arrays_and_a_covariance_are_a_verdict(walk):
    truth, found, covariance, _ = walk
    evaluation = smfeval.evaluate(found, truth, covariance=covariance, align="none")
    assert evaluation.verdict.label == "consistent"
    expected = np.median(np.sum((found - truth) ** 2 / SIGMA**2, axis=1)) / 2.3659738843753377
    assert float(evaluation.k) == pytest.approx(expected, rel=1e-12)
    assert float(evaluation["k"]) == evaluation.numbers["k"].value == evaluation.summary()["k"]
    assert "stamps are row numbers" in " ".join(evaluation.all_notes)


def test_sigmas_and_planes_and_stamps_of_any_kind_are_the_same(walk):
    truth, found, covariance, _ = walk
    seconds = 0.1 * np.arange(N)
    stamps = (seconds, np.arange(N) * 10**8, (np.arange(N) * 10**8).astype("datetime64[ns]"))
    tracks = [smfeval.from_arrays(stamp, found, covariance) for stamp in stamps]
    assert all((each.stamp == tracks[0].stamp).all() for each in tracks)
    by_sigma = smfeval.from_arrays(seconds, found, sigma=np.tile(SIGMA, (N, 1)))
    np.testing.assert_allclose(by_sigma.covariance, tracks[0].covariance, rtol=1e-15)
    flat = smfeval.from_arrays(seconds, found[:, :2], covariance[:, :2, :2])
    plane = smfeval.evaluate(flat, smfeval.from_arrays(seconds, truth[:, :2]), align="none")
    space = smfeval.evaluate(found, truth, covariance=covariance, axes="xy", align="none")
    assert plane.options.axes == "xy"
    assert float(plane.k) == pytest.approx(float(space.k), rel=1e-12)


def test_rotations_are_quaternions_matrices_or_those_of_scipy(walk):
    truth, _, _, turn = walk
    tracks = [
        smfeval.from_arrays(None, truth, rotation=each)
        for each in (turn, turn.as_quat(), turn.as_matrix())
    ]
    for each in tracks:
        np.testing.assert_allclose(np.abs(np.sum(each.rotation * turn.as_quat(), axis=1)), 1)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"pose": np.zeros((5, 5))}, r"pose has shape \(5, 5\); for 5 stamps \(5, 4, 4\)"),
        ({"covariance": np.zeros((5, 4, 4))}, r"covariance has shape \(5, 4, 4\); \(5, 6, 6\) is"),
        ({"sigma": np.zeros((5, 4))}, r"sigma has shape \(5, 4\); \(5, 3\), \(5, 2\) or \(5, 6\)"),
        ({"rotation": np.zeros((5, 2))}, r"rotation has shape \(5, 2\); \(5, 4\) quaternions"),
        ({"pose": np.zeros((5, 7)), "rotation": np.zeros((5, 4))}, "holds rotations already"),
        ({"sigma": np.ones((5, 3)), "covariance": np.ones((5, 3, 3))}, "both given; one is needed"),
    ],
)
def test_other_shapes_are_refused_with_what_would_be_right(arrays, sentence):
    with pytest.raises(TrackError, match=sentence):
        smfeval.from_arrays(None, **{"pose": np.zeros((5, 3)), **arrays})


def test_a_number_that_is_not_there_and_a_covariance_of_a_file_are_named(walk):
    truth, found, covariance, _ = walk
    evaluation = smfeval.evaluate(found, truth, covariance=covariance, align="none")
    with pytest.raises(KeyError, match="'energy' may be meant"):
        evaluation["enrgy"]
    with pytest.raises(OptionError, match="covariance= is of arrays"):
        smfeval.evaluate("a.square", "b.tum", covariance=covariance)


@pytest.mark.parametrize("unit", [1, 10**3, 10**6])
def test_integers_that_are_no_nanoseconds_are_refused(unit):
    """Seconds, milliseconds and microseconds of a track of 20 Hz, or of one a second."""
    stamp, position = np.arange(50) * max(unit // 20, 1), np.zeros((50, 3))
    with pytest.raises(TrackError, match="stamps as integers are nanoseconds, and theirs are"):
        smfeval.from_arrays(stamp, position)
    assert len(smfeval.from_arrays(stamp * (10**9 // unit), position)) == 50
    assert len(smfeval.from_arrays(stamp / unit, position)) == 50
