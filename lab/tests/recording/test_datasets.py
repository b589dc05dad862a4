"""Recordings laid out as data sets are: the files are where theirs are and say the same."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval import read
from smfeval.errors import FormatError, OptionError
from smfeval.io.source import read_json_or_yaml
from smfeval.maths import se3
from smfeval_lab.recording import read_recording, write_recording
from smfeval_lab.recording.calibration import bag_of_sequence, mounting_beside
from smfeval_lab.sensors.lidar import LidarModel, Spinning
from smfeval_lab.sensors.survey import SURVEYS
from smfeval_lab.simulate import simulate

BOTH = "T_cam_imu_t_xyz_q_xyzw and T_cam_lidar_t_xyz_q_xyzw"
SMALL = LidarModel(Spinning(rings=4, firings=30))


def recorded(survey="scanner"):
    return simulate("courtyard", 1, duration_s=3.0, lidar=SMALL, survey=SURVEYS[survey])


def matrices(path):
    """Name -> 4x4 matrix of the calibration."""
    out, name = {}, ""
    for line in path.read_text().splitlines():
        if line.endswith(":"):
            name = line[:-1]
        else:
            out.setdefault(name, []).append(
                [float(x) for x in line.split("[")[1].rstrip("]").split(",")]
            )
    return {name: np.array(rows) for name, rows in out.items()}


def assert_same_sensors(again, recording, tolerance_ns):
    np.testing.assert_array_equal(again.imu.stamp, recording.imu.stamp)
    np.testing.assert_array_equal(again.imu.gyro, recording.imu.gyro)
    np.testing.assert_array_equal(again.scans.point, recording.scans.point)
    np.testing.assert_array_equal(again.scans.ring, recording.scans.ring)
    taken = [
        np.repeat(each.scans.start, np.diff(each.scans.offset)) + each.scans.time
        for each in (again, recording)
    ]
    assert np.abs(taken[0] - taken[1]).max() <= tolerance_ns


def test_spires(tmp_path):
    recording = recorded()
    files = write_recording(recording, tmp_path / "data", layout="spires")
    assert all(file.is_file() for file in files)
    sequence = tmp_path / "data" / "sequences" / "2023-11-14-courtyard-01"
    again = read_recording(sequence)  # its bag, and the calibration at the root
    assert_same_sensors(again, recording, 500)  # absolute seconds in double precision
    for part, expected in zip(again.imu_T_lidar, recording.imu_T_lidar, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-8)
    (taken,) = [note for note in again.notes if "imu_T_lidar" in note]
    assert taken.endswith("T_cam_lidar_t_xyz_q_xyzw of calibration/sensor.yaml")
    truth = read(sequence / "processed" / "trajectory" / "gt-tum.txt", format="tum")
    np.testing.assert_array_equal(truth.stamp, recording.measured.stamp)
    np.testing.assert_allclose(truth.position, recording.measured.position, atol=1e-8)
    told = read_json_or_yaml(tmp_path / "data" / "calibration" / "sensor.yaml")["sensor"]
    told = np.array(told["T_base_lidar_t_xyz_q_xyzw"])
    imu_T_base = se3.compose(again.imu_T_lidar, se3.inverse((told[:3], told[3:])))
    np.testing.assert_allclose(imu_T_base[0], recording.imu_T_measured[0], atol=1e-8)
    assert abs(imu_T_base[1] @ recording.imu_T_measured[1]) == pytest.approx(1)


CAMERA = """
sensor:
  cameras:
    - label: cam_left
      T_cam_lidar_t_xyz_q_xyzw: [9, 9, 9, 0, 0, 0, 1]
    - label: cam_front
      T_cam_lidar_t_xyz_q_xyzw: [0.01, -0.08,
        -0.05, 0.5, 0.5, -0.5, 0.5]
      T_cam_imu_t_xyz_q_xyzw: [0, 0.01, -0.07, 0, -0.70710678, 0.70710678, 0]
"""


def test_the_mounting_is_that_of_a_camera_that_sees_both(tmp_path):
    """As published: one camera has the IMU; its inverse times the LiDAR in it."""
    (tmp_path / "calibration").mkdir()
    (tmp_path / "calibration" / "a_notes.yaml").write_text("- no: camera\n")
    bag = tmp_path / "sequences" / "keble" / "raw" / "ros2bag"
    bag.mkdir(parents=True)
    assert mounting_beside(bag) == (None, f"no camera with {BOTH} in calibration/a_notes.yaml")
    (tmp_path / "calibration" / "sensor.yaml").write_text(CAMERA)
    (shift, turn), note = mounting_beside(bag)
    np.testing.assert_allclose(shift, [-0.01, -0.02, 0.09], atol=1e-7)  # axes -x, -z, -y of cam
    np.testing.assert_allclose(np.abs(turn), [0, 0, 0.5**0.5, 0.5**0.5], atol=1e-7)
    assert note.startswith("imu_T_lidar -0.0100, -0.0200, 0.0900, ")
    assert note.endswith(f"by {BOTH} of calibration/sensor.yaml")
    (bag / "sensor.yaml").write_text(CAMERA.replace("0, 0.01, -0.07", "0, 0.02, -0.07"))
    assert mounting_beside(bag)[0][0][2] == pytest.approx(0.10)  # the nearest
    (bag / "sensor.yaml").write_text(CAMERA.replace("0, 0.01, -0.07", "0, 0.02"))
    with pytest.raises(FormatError, match=r"sensor.yaml: .*seven numbers.*; --extrinsic gives"):
        mounting_beside(bag)


def test_without_a_calibration_nothing_is_taken(tmp_path):
    assert mounting_beside(tmp_path / "bag") == (None, "")


def test_several_bags_of_a_sequence_are_named(tmp_path):
    (tmp_path / "raw" / "rosbag").mkdir(parents=True)
    for name in "ab":
        (tmp_path / "raw" / "rosbag" / f"{name}.bag").touch()
    with pytest.raises(OptionError, match=r"several bags, name one: raw/rosbag/a.bag, raw/rosbag"):
        bag_of_sequence(tmp_path)


def test_geode(tmp_path):
    recording = recorded("prism")
    write_recording(recording, tmp_path / "data", layout="geode")
    bag = tmp_path / "data" / "sensor_data" / "courtyard" / "Courtyard1_beta"
    again = read_recording(bag / "Courtyard1_beta.bag", imu_T_lidar=recording.imu_T_lidar)
    assert_same_sensors(again, recording, 0)
    rows = np.loadtxt(tmp_path / "data" / "groundtruth" / "traj" / "Courtyard1.txt")
    assert (rows[:, 4:] == 0).all()  # no orientation
    np.testing.assert_allclose(rows[:, 1:4], recording.measured.position, atol=1e-8)
    told = matrices(tmp_path / "data" / "calibration_files" / "beta.yaml")["T_IMU_LiDAR"]
    np.testing.assert_allclose(told[:3, 3], recording.imu_T_lidar[0], atol=1e-8)


@pytest.mark.parametrize("name", ["walk", "walk.mcap"])
def test_a_measured_reference_comes_back_with_its_covariance(name, tmp_path):
    recording = recorded()
    write_recording(recording, tmp_path / name)
    again = read_recording(tmp_path / name)
    np.testing.assert_array_equal(again.measured.stamp, recording.measured.stamp)
    np.testing.assert_allclose(again.measured.covariance, recording.measured.covariance, rtol=1e-9)
    assert again.measured.about.body == "base"
    np.testing.assert_array_equal(again.imu_T_measured[1], recording.imu_T_measured[1])


def test_the_measured_body_is_where_the_notes_say(tmp_path):
    """The exact pose of the IMU times imu_T_base is the measured pose, up to frame and noise."""
    exact = replace(
        SURVEYS["scanner"], position_m=(1e-9,) * 3, rotation_deg=1e-7, clock_s=0.0, drift_ppm=0.0
    )
    recording = simulate("courtyard", 1, duration_s=6.0, lidar=SMALL, survey=exact)
    found = np.searchsorted(recording.reference.stamp, recording.measured.stamp)
    imu = recording.reference.position[found], recording.reference.rotation[found]
    body = se3.compose(imu, recording.imu_T_measured)
    measured = recording.measured.position, recording.measured.rotation
    frame = se3.compose(measured, se3.inverse(body))
    assert np.ptp(frame[0], axis=0).max() < 1e-6
    assert "imu_T_base -0.0009, -0.016, -0.0394" in " ".join(recording.notes)


def test_a_layout_needs_a_measured_reference_and_a_new_folder(tmp_path):
    plain = simulate("courtyard", 1, duration_s=2.0, lidar=SMALL)
    with pytest.raises(OptionError, match="has a measured reference; choose one"):
        write_recording(plain, tmp_path / "data", layout="spires")
    (tmp_path / "there").mkdir()
    with pytest.raises(OptionError, match="needs a folder that is not there yet"):
        write_recording(recorded(), tmp_path / "there", layout="geode")
