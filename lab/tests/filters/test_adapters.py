"""Adapters to other odometry: the right instant, the right body, the right axes, clear words."""

import os
import stat
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab_support import long_room, room
from smfeval.errors import OptionError
from smfeval.io.progress import listening
from smfeval.maths import so3
from smfeval.track import Track
from smfeval_lab.filters import filter_named, kiss_icp
from smfeval_lab.filters.foreign import GENZ_LIO, RKO_LIO, SE3_LIO
from smfeval_lab.filters.settings import require_module
from smfeval_lab.recording import Scans
from smfeval_lab.recording.usable import NO_IMU, select_scans
from smfeval_lab.simulate import simulate

FOREIGN = {"genz-lio": GENZ_LIO, "se3-lio": SE3_LIO, "rko-lio": RKO_LIO}


def without_times(recording):
    return replace(recording, scans=replace(recording.scans, time=0 * recording.scans.time))


def test_a_package_that_is_missing_is_named_with_its_pip_command():
    with pytest.raises(OptionError, match=r"^nobody-icp needs no-body: pip install no-body$"):
        require_module("no_body_has_this", "no-body", "nobody-icp")


@pytest.mark.parametrize("name", ["kiss-icp", "gtsam-smoother", *FOREIGN])
def test_each_is_in_the_table_and_has_settings(name):
    assert filter_named(name).settings() is not None


# KISS-ICP


def test_poses_of_the_lidar_become_poses_of_the_imu():
    rng = np.random.default_rng(1)
    mounting = rng.normal(size=3), so3.exp(rng.normal(size=3))
    imu_T_lidar = np.eye(4)
    imu_T_lidar[:3, 3], imu_T_lidar[:3, :3] = mounting[0], so3.matrix(mounting[1])
    world_T_imu = np.tile(np.eye(4), (5, 1, 1))
    world_T_imu[1:, :3, 3] = rng.normal(size=(4, 3))
    world_T_imu[1:, :3, :3] = so3.matrix(so3.exp(rng.normal(size=(4, 3))))
    world_T_lidar = world_T_imu @ imu_T_lidar
    position, rotation = kiss_icp.imu_poses(
        np.linalg.inv(world_T_lidar[0]) @ world_T_lidar, mounting
    )
    np.testing.assert_allclose(position, world_T_imu[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(so3.matrix(rotation), world_T_imu[:, :3, :3], atol=1e-12)


def test_kiss_icp_tracks_and_reports_no_covariance():
    pytest.importorskip("kiss_icp", reason="kiss-icp is not installed")
    recording = simulate("courtyard", 1, duration_s=6.0)
    truth = recording.reference
    done = kiss_icp.run(recording)
    belief = done.belief
    assert belief.representation == "deterministic"
    assert (belief.about.body, belief.about.gauge) == ("imu", "se3")
    assert np.array_equal(belief.stamp, recording.scans.end)  # the last point is at the end here
    first, last = np.searchsorted(truth.stamp, belief.stamp[[0, -1]])
    walked = so3.matrix(truth.rotation[first]).T @ (truth.position[last] - truth.position[first])
    assert np.linalg.norm(walked) > 2
    assert np.linalg.norm(belief.position[-1] - walked) < 0.3  # it lags: rings stick to rings
    turned = so3.compose(so3.inverse(truth.rotation[first]), truth.rotation[last])
    off = so3.log(so3.compose(so3.inverse(belief.rotation[-1]), turned))
    assert np.linalg.norm(off) < 0.05
    few = replace(
        recording, scans=select_scans(recording.scans, np.arange(len(recording.scans)) < 5)
    )
    blind = kiss_icp.run(replace(few, imu=NO_IMU)).belief
    np.testing.assert_array_equal(blind.position, belief.position[:5])
    assert blind.about.body == "imu"  # the mounting is known


def test_kiss_icp_brings_all_points_to_the_instant_of_the_last_one():
    pytest.importorskip("kiss_icp", reason="kiss-icp is not installed")
    odometry = kiss_icp.make_odometry(kiss_icp.Settings())
    moved = np.eye(4)
    moved[0, 3] = 1.0
    point = np.array([[10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 10.0]])
    brought = odometry.preprocessor.preprocess(point, np.array([0.2, 0.5, 0.8]), moved)
    np.testing.assert_allclose(point - brought, [[1.0, 0, 0], [0.5, 0, 0], [0, 0, 0]], atol=1e-6)


def test_scans_are_stamped_by_their_last_points():
    time, start = np.array([5, 9, 7, 3, 4]), np.array([100, 200])
    scans = Scans(start, start + 50, np.array([0, 3, 5]), np.zeros((5, 3)), time)
    assert kiss_icp.last_point_stamps(scans).tolist() == [109, 204]


@pytest.mark.parametrize("words", [{"voxel_m": 0.0}, {"nearest_m": 5.0, "farthest_m": 4.0}])
def test_kiss_icp_refuses_settings_that_make_no_sense(words):
    with pytest.raises(OptionError, match="setting"):
        kiss_icp.Settings(**words)


# An odometry of another environment, with a stand-in for the packages

STAND_IN = """
import numpy as np
calls = []

class Anything:
    def __init__(self, *rest, **words):
        self.rest, self.words = rest, words
        self.preprocess, self.mapping = self_made(), self_made()

def self_made():
    class Part:
        pass
    return Part()

class LidarType:
    OUSTER = "ouster"

Config = SE3LIOConfig = Anything
COVARIANCE = np.diag([1.0, 4.0, 9.0, 0.1, 0.2, 0.3]) * 1e-4

def turned(quarters):
    pose = np.eye(4)
    pose[:2, :2] = [[0, -1], [1, 0]] if quarters % 2 else [[1, 0], [0, 1]]
    return pose

class Found:
    pass

class GenZLIO:
    def __init__(self, config):
        assert config.max_threads == 1 and config.preprocess.lidar_type == "ouster"
        self.extrinsic, self.count = config.mapping.extrinsic_t, -1
        self.covariance = np.eye(23)

    def register_scan(self, point, start, end, imu, timestamps):
        assert (imu[:, 0] <= end + 1e-9).all() and len(imu) == (20 if self.count >= 0 else 21)
        assert 0 <= timestamps.min() and timestamps.max() <= end - start + 1e-9
        assert abs(np.median(imu[:, 3]) - 9.81) < 1
        self.count += 1
        self.covariance[:6, :6] = COVARIANCE
        found = Found()
        found.valid, found.pose = self.count > 0, turned(self.count)
        found.pose[:3, 3] = self.extrinsic[0], self.count, len(point)
        return found

class SE3LIO:
    def __init__(self, config, lidar_extrinsic):
        self.count = -1

    def register_frame(self, point, time, imu, start):
        self.count += 1
        found = Found()
        found.pose, found.covariance = turned(self.count), np.eye(18)
        found.covariance[:6, :6] = COVARIANCE
        return found, point
"""


RKO_STAND_IN = """
import numpy as np

class LIO:
    def __init__(self, config):
        assert config.max_num_threads == 1
        self.at = np.eye(4)

    def add_imu_measurement(self, acceleration, rate, time):
        assert len(acceleration) == len(rate) == 3
        self.at[0, 3], self.imu = acceleration[2], time

    def register_scan(self, scan, timestamps, extrinsic_lidar2base):
        assert len(scan) == len(timestamps)
        assert abs(self.imu - timestamps.max()) < 1e7  # within two samples of the IMU
        self.at[1, 3] += 1

    def pose(self):
        return self.at.copy()
"""
RKO_CONFIG_STAND_IN = """
class PipelineConfig:
    @classmethod
    def from_dict(cls, given):
        found = cls()
        found.lio = found
        return found
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A python that has packages with the names and calls of the real ones."""
    folder = tmp_path_factory.mktemp("environment")
    for name in ("genz_lio", "se3_lio", "rko_lio"):
        if name != "rko_lio":
            (folder / f"{name}.py").write_text(textwrap.dedent(STAND_IN))
        (folder / f"{name}-9.8.dist-info").mkdir()
        words = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 9.8\n"
        (folder / f"{name}-9.8.dist-info" / "METADATA").write_text(words)
    package = folder / "rko_lio"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "lio.py").write_text(textwrap.dedent(RKO_STAND_IN))
    (package / "config.py").write_text(textwrap.dedent(RKO_CONFIG_STAND_IN))
    return script(folder / "python", f'PYTHONPATH={folder} exec {sys.executable} "$@"')


def script(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture(scope="module")
def short():
    return room.recording(2, duration_s=1.0, count=100, sweep=True)


def test_what_a_process_finds_becomes_a_track(stand_in, short):
    heard = []
    with listening(lambda done, total: heard.append((done, total))):
        done = GENZ_LIO.run(short, GENZ_LIO.Settings(python=stand_in))
    belief = done.belief
    assert np.array_equal(belief.stamp, short.scans.end[1:])
    assert belief.position[:, 1].tolist() == list(range(1, 10))
    assert belief.position[:, 2].tolist() == np.diff(short.scans.offset)[1:].tolist()
    np.testing.assert_allclose(belief.position[:, 0], room.MOUNTING[0][0])
    assert (belief.about.body, belief.about.gauge, belief.about.version) == ("imu", "se3", "9.8")
    assert done.notes == (
        "genz-lio has no belief at 1 of its scans; they are left out",
        "genz-lio 9.8 with the settings it ships",
    )
    assert heard == [(i + 1, 10) for i in range(10)]


def test_genz_lio_adds_the_position_in_world_axes_and_se3_lio_in_body_axes(stand_in, short):
    told = np.array([1.0, 4.0, 9.0]) * 1e-4
    world = GENZ_LIO.run(short, GENZ_LIO.Settings(python=stand_in)).belief
    np.testing.assert_allclose(world.position_covariance, np.tile(np.diag(told), (9, 1, 1)))
    body = SE3_LIO.run(short, SE3_LIO.Settings(python=stand_in)).belief
    np.testing.assert_allclose(body.position_covariance[0], np.diag(told))
    np.testing.assert_allclose(body.position_covariance[1], np.diag(told[[1, 0, 2]]), atol=1e-12)


def test_the_pose_of_se3_lio_is_of_the_last_point(stand_in, short):
    scans = short.scans
    seen = np.ones(len(scans.time), dtype=bool)
    seen[scans.offset[1:] - 1] = False  # the last points of the scans are lost
    offset = scans.offset - np.arange(len(scans.offset))
    early = Scans(scans.start, scans.end, offset, scans.point[seen], scans.time[seen])
    belief = SE3_LIO.run(replace(short, scans=early), SE3_LIO.Settings(python=stand_in)).belief
    last = [scan.start + int(scan.time.max()) for scan in (early[i] for i in range(len(early)))]
    assert belief.stamp.tolist() == last


def test_rko_lio_reports_poses_alone_of_scans_and_imu(stand_in, short):
    belief = RKO_LIO.run(short, RKO_LIO.Settings(python=stand_in)).belief
    assert type(belief) is Track
    assert belief.position[:, 1].tolist() == list(range(1, 11))
    np.testing.assert_allclose(belief.position[:, 0], 9.81, atol=1.0)


def test_the_environment_variable_names_the_python(stand_in, short, monkeypatch):
    monkeypatch.setenv("SMFEVAL_SE3_LIO_PYTHON", stand_in)
    assert len(SE3_LIO.run(short).belief) == 10


@pytest.mark.parametrize("name", FOREIGN)
def test_a_missing_environment_gets_one_line_with_the_pip_command(name, short, monkeypatch):
    module = FOREIGN[name]
    monkeypatch.delenv(f"SMFEVAL_{name.replace('-', '_').upper()}_PYTHON", raising=False)
    for python in ("", "/nowhere/bin/python", sys.executable):
        with pytest.raises(OptionError, match=rf"ENV/bin/pip install {name}, then set") as caught:
            module.run(short, module.Settings(python=python))
        assert "\n" not in str(caught.value)


def test_a_process_that_fails_is_told_with_its_last_words(tmp_path, short):
    for line, words in (
        ("echo first >&2; echo out of luck >&2; exit 3", "genz-lio ended with code 3: out of luck"),
        ("kill -9 $$", "genz-lio ended with signal 9: it says nothing"),
        ("exit 0", "genz-lio ended with code 0: it says nothing"),
    ):
        python = script(tmp_path / "python", line)
        with pytest.raises(OptionError, match=words):
            GENZ_LIO.run(short, GENZ_LIO.Settings(python=python))


def test_scans_without_times_or_points_are_refused_or_counted(stand_in, short):
    settings = GENZ_LIO.Settings(python=stand_in)
    with pytest.raises(OptionError, match="no times of their own, which genz-lio needs"):
        GENZ_LIO.run(without_times(short), settings)
    scans = replace(
        short.scans,
        start=np.append(short.scans.start, short.scans.end[-1]),
        end=np.append(short.scans.end, short.scans.end[-1] + 1),
        offset=np.append(short.scans.offset, short.scans.offset[-1]),
    )
    done = GENZ_LIO.run(replace(short, scans=scans), settings)
    assert any("1 empty scan left out" in note for note in done.notes)


# The real ones, where the environments are


def python_of(name):
    variable = f"SMFEVAL_{name.replace('-', '_').upper()}_PYTHON"
    python = os.environ.get(variable, "")
    if not python:
        pytest.skip(f"{variable} does not name a python with {name}")
    return python


@pytest.fixture(scope="module", params=FOREIGN)
def real(request):
    module, python = FOREIGN[request.param], python_of(request.param)
    return module.run(long_room.recording(7), module.Settings(python=python))


@pytest.mark.slow
def test_real_filters_track_the_imu_at_the_ends_of_the_scans(real):
    assert len(real.belief) >= 119  # the first scan may be spent on the start
    late = (real.belief.stamp - room.START) % (room.NS // 10)
    gap = np.minimum(late, room.NS // 10 - late)
    assert gap.max() < 1_000_000  # ns; se3-lio stamps the last point, a little earlier
    assert np.linalg.norm(long_room.errors(real.belief), axis=1).max() < 0.1


@pytest.mark.slow
def test_real_filters_are_least_certain_along_the_room_whatever_the_heading(real):
    long_room.assert_axes(real.belief[30:])
