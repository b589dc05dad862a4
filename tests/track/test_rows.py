"""Bad rows are found wherever they stand: rows are judged some thousands at a time."""

import numpy as np
import pytest

from smfeval.maths.symmetric import CHUNK
from smfeval.track import Intake
from smfeval.track.row_checks import covariance_faults, is_increasing, pose_faults, valid_rows

MANY = 2 * CHUNK + 10
PLACES = (0, CHUNK - 1, CHUNK, MANY - 1)


@pytest.fixture
def poses():
    return np.ones((MANY, 3)), np.tile([0.0, 0.0, 0.6, 0.8], (MANY, 1))


def bad_rows(faults) -> dict[str, list[int]]:
    return {f.kind: np.flatnonzero(f.mask).tolist() for f in faults if f.mask.any()}


@pytest.mark.parametrize("row", PLACES)
@pytest.mark.parametrize(
    ("array", "value", "kind"),
    [
        (0, np.nan, "pose not finite"),
        (0, -np.inf, "pose not finite"),
        (1, np.nan, "pose not finite"),
        (1, np.inf, "pose not finite"),
        (0, -2e12, "position beyond all range"),
        (0, 2e12, "position beyond all range"),
        (1, 0.7, "quaternion not of unit length"),
    ],
)
def test_a_bad_pose_is_found_in_its_row_and_for_one_reason(poses, array, value, kind, row):
    poses[array][row, 2] = value
    assert bad_rows(pose_faults(*poses)) == {kind: [row]}


def test_a_far_position_is_found_beside_one_that_is_no_number(poses):
    poses[0][3, 0], poses[0][5, 1] = np.nan, 1e13
    found = bad_rows(pose_faults(*poses))
    assert found == {"pose not finite": [3], "position beyond all range": [5]}


@pytest.mark.parametrize("row", PLACES)
@pytest.mark.parametrize(
    ("entries", "value", "kind"),
    [
        ([(1, 2), (2, 1)], np.nan, "covariance not finite"),
        ([(4, 4)], np.inf, "covariance not finite"),
        ([(0, 0)], 1e31, "covariance not finite"),
        ([(1, 2)], 0.5, "covariance not symmetric"),
        ([(1, 2), (2, 1)], 1.5, "covariance not positive semi-definite"),
        ([(5, 5)], -1.0, "covariance not positive semi-definite"),
    ],
)
def test_a_bad_covariance_is_found_in_its_row_and_for_one_reason(entries, value, kind, row):
    covariance = np.tile(np.eye(6), (MANY, 1, 1))
    for entry in entries:
        covariance[row][entry] = value
    assert bad_rows(covariance_faults(covariance)) == {kind: [row]}


def test_the_sentence_is_about_the_row_it_is_asked_for(poses):
    covariance = np.tile(np.eye(6), (MANY, 1, 1))
    covariance[CHUNK + 5, 1, 2] = 0.25
    poses[1][CHUNK + 5] *= 2
    assert "by 0.25 relative" in covariance_faults(covariance)[1].sentence(CHUNK + 5)
    assert "length 2;" in pose_faults(*poses)[2].sentence(CHUNK + 5)


def test_rows_that_are_left_out_are_counted_by_reason(poses):
    poses[0][[1, CHUNK + 1], 0] = np.nan
    poses[1][MANY - 1] = 0
    good, dropped = valid_rows(pose_faults(*poses), Intake(bad_rows="drop"))
    assert np.flatnonzero(~good).tolist() == [1, CHUNK + 1, MANY - 1]
    assert [(each.reason, each.count) for each in dropped] == [
        ("pose not finite", 2),
        ("quaternion not of unit length", 1),
    ]


@pytest.mark.parametrize(
    ("stamps", "forward"),
    [([5], True), ([1, 2, 9], True), ([1, 1], False), ([2, 1], False), ([-(2**62), 2**62], True)],
)
def test_time_runs_forward_where_each_stamp_is_later(stamps, forward):
    assert is_increasing(np.array(stamps)) is forward


@pytest.mark.parametrize(("variance", "fine"), [(0.0, True), (1e-99, True), (1e-101, False)])
def test_a_variance_is_zero_or_large_enough_for_its_nees(variance, fine):
    covariance = np.tile(np.eye(6), (3, 1, 1))
    covariance[1, 2, 2] = variance
    bad = np.logical_or.reduce([fault.mask for fault in covariance_faults(covariance)])
    assert bad.tolist() == [False, not fine, False]
