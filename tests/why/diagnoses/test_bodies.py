"""Whose body a bias is in, and how intervals follow what was asked for."""

import numpy as np
import pytest

from smfeval.evaluation import Options, evaluate
from smfeval.maths import se3, so3
from smfeval.summarise.number import Intervals
from smfeval.track import About, Track
from smfeval.why.diagnoses import diagnose
from support.faults import FAULTS, Made

SCANS = 1500
LIDAR_IN_IMU = np.array([0.5, 0.1, 0.2]), so3.exp(np.array([0.0, 0.0, np.pi / 2]))
WRONG_BY = np.array([0.2, 0.0, 0.0])  # of the imu


def diagnosed(extrinsic):
    """An estimate about the imu against a reference about a lidar that is turned to it."""
    made = Made(SCANS, 0.5, 1)
    estimate, reference = made.tracks()
    position, rotation = se3.compose((made.position, made.rotation), LIDAR_IN_IMU)
    about = About(body="lidar", world="world", gauge="fixed")
    reference = Track(reference.stamp, position, rotation, about=about)
    options = Options(alignment="none", extrinsic=extrinsic, rules=("ape", "nees"))
    evaluation = evaluate(estimate, reference, options=options)
    return diagnose(evaluation, rng=np.random.default_rng(0))


def test_a_wrong_extrinsic_is_corrected_in_the_body_that_it_is_given_in():
    translation, turn = LIDAR_IN_IMU
    (found,) = diagnosed((translation + WRONG_BY, turn)).found
    off = [found.evidence[f"extrinsic_{axis}_m"] for axis in "xyz"]
    assert off == pytest.approx(WRONG_BY, abs=0.02)
    assert found.evidence["body_y_m"] == pytest.approx(-0.2, abs=0.02)  # x of the imu is -y there
    assert "of body lidar" in found.sentence
    assert found.advice.startswith("subtract 20")
    assert "(x, y, z of body imu)" in found.advice


def test_the_extrinsic_with_the_correction_taken_off_has_no_fault():
    translation, turn = LIDAR_IN_IMU
    wrong = translation + WRONG_BY
    (found,) = diagnosed((wrong, turn)).found
    off = np.array([found.evidence[f"extrinsic_{axis}_m"] for axis in "xyz"])
    assert diagnosed((wrong - off, turn)).names == ()


def test_rows_say_whose_body_they_are_in():
    directions = [row.direction for row in diagnosed(LIDAR_IN_IMU).bias]
    assert directions[-3:] == [f"{axis} of body lidar" for axis in "xyz"]


def fault(name, **intervals):
    evaluation = FAULTS[name](Made(SCANS, 0.9, 3)).evaluation(intervals=Intervals(**intervals))
    return diagnose(evaluation, rng=np.random.default_rng(0))


def test_the_level_asked_for_reaches_the_intervals_of_the_biases():
    wide, narrow = (
        [row.mean.high - row.mean.low for row in fault("constant offset", level=level).bias]
        for level in (0.95, 0.5)
    )
    assert (np.array(narrow) < 0.6 * np.array(wide)).all()


def test_the_level_asked_for_reaches_the_gain_of_heavy_tails():
    def width(level):
        (found,) = fault("heavy tails", level=level).found
        return found.evidence["gain_high_nat"] - found.evidence["gain_low_nat"]

    assert width(0.5) < 0.6 * width(0.95)


def test_without_a_method_there_are_no_intervals():
    assert all(row.mean.low is None for row in fault("constant offset", method=None).bias)
    (found,) = fault("heavy tails", method=None).found
    assert "gain_low_nat" not in found.evidence
