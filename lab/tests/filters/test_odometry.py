"""The whole filter in a room: it tracks, it tells how, and bad input gets clear words."""

from dataclasses import replace

import numpy as np
import pytest

from lab_support import room
from smfeval.errors import OptionError, SeriesError
from smfeval.maths import so3
from smfeval_lab.filters import filter_named
from smfeval_lab.filters.ieskf import KnownMap, Settings, run
from smfeval_lab.recording import Imu, Scans

QUICK = {"duration_s": 5.0, "count": 1200}
SETTINGS = Settings(map_voxel_m=0.5, voxel_m=0.25)


@pytest.fixture(scope="module")
def recording():
    return room.recording(5, sweep=True, **QUICK)


@pytest.fixture(scope="module")
def finished(recording):
    return run(recording, SETTINGS)


def aligned_errors(run_):
    """Errors after the first believed pose is laid upon the truth."""
    since = (run_.belief.stamp - room.START) / room.NS
    position, rotation = room.pose(since)
    turn = so3.matrix(rotation[0]) @ so3.matrix(run_.belief.rotation[0]).T
    return (run_.belief.position - run_.belief.position[0]) @ turn.T - (position - position[0])


def without_scan(scans, i):
    """The same scans, the i-th one empty."""
    part = slice(scans.offset[i], scans.offset[i + 1])
    gone = int(scans.offset[i + 1] - scans.offset[i])
    offset = scans.offset.copy()
    offset[i + 1 :] -= gone
    return Scans(
        scans.start, scans.end, offset, np.delete(scans.point, part, 0), np.delete(scans.time, part)
    )


def test_it_tracks_with_a_map_of_its_own(finished):
    assert np.linalg.norm(aligned_errors(finished), axis=1).max() < 0.02


def test_beliefs_are_of_the_imu_at_the_ends_of_the_scans(recording, finished):
    belief = finished.belief
    assert (belief.about.body, belief.about.gauge) == ("imu", "se3")
    assert np.isin(belief.stamp, recording.scans.end).all()
    assert np.array_equal(belief.stamp, finished.telemetry.stamp)


def test_the_world_starts_level_at_the_body(finished):
    np.testing.assert_allclose(finished.belief.position[0], 0, atol=5e-3)
    up = so3.matrix(finished.belief.rotation[0])[2]
    np.testing.assert_allclose(up, so3.matrix(room.pose(np.array([0.0]))[1][0])[2], atol=5e-3)


def test_telemetry_and_belief_hold_the_same_position_covariance(finished):
    np.testing.assert_allclose(
        finished.belief.position_covariance, finished.telemetry.posterior, rtol=1e-6, atol=1e-15
    )


def test_the_same_recording_gives_the_same_belief(recording, finished):
    again = run(recording, SETTINGS)
    assert np.array_equal(again.belief.position, finished.belief.position)
    assert np.array_equal(again.belief.covariance, finished.belief.covariance)


def test_a_smaller_variance_claims_more_and_is_no_better(recording, finished):
    bold = run(recording, replace(SETTINGS, point_variance=1e-5))
    claimed = np.median(np.linalg.det(bold.telemetry.posterior))
    assert claimed < 1e-3 * np.median(np.linalg.det(finished.telemetry.posterior))
    assert np.abs(aligned_errors(bold)).mean() > 0.3 * np.abs(aligned_errors(finished)).mean()


def test_a_known_map_of_points_and_normals_serves_as_well(recording):
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 41)] * 2), -1).reshape(-1, 2)
    point, normal = [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            wall = np.insert(grid, axis, side, axis=1) * room.HALF
            point.append(wall)
            normal.append(np.tile(side * np.eye(3)[axis], (len(wall), 1)))
    known = KnownMap(np.concatenate(point), np.concatenate(normal))
    done = run(recording, replace(SETTINGS, map="known", voxel_m=0.0), known=known)
    assert done.belief.about.gauge == "fixed"
    assert np.linalg.norm(room.errors(done), axis=1).max() < 0.01


def test_noise_learned_from_residuals_tracks_too(recording):
    done = run(recording, replace(SETTINGS, noise="residuals"))
    assert np.linalg.norm(aligned_errors(done), axis=1).max() < 0.03


def test_an_empty_scan_is_predicted_and_counted(recording):
    done = run(replace(recording, scans=without_scan(recording.scans, 40)), SETTINGS)
    empty = np.flatnonzero(done.telemetry.matched == 0)[1:]  # the first scan makes the map
    assert done.belief.stamp[empty].tolist() == [recording.scans.end[40]]
    assert any("1 scan without points" in note for note in done.notes)
    np.testing.assert_allclose(done.telemetry.prior[empty], done.telemetry.posterior[empty])


def test_scans_that_match_nothing_are_predicted_and_counted(recording):
    scans = recording.scans
    far = scans.point.copy()
    part = slice(scans.offset[40], scans.offset[41])
    far[part] *= 100.0
    done = run(replace(recording, scans=replace(scans, point=far)), SETTINGS)
    assert any("1 scan without a match" in note for note in done.notes)
    assert np.isfinite(done.belief.covariance).all()


def test_scans_before_the_imu_has_told_the_level_are_left_out_and_counted(recording, finished):
    assert any("10 scans left out, over before the IMU" in note for note in finished.notes)
    assert len(finished.belief) == len(recording.scans) - 10


def test_recordings_without_times_of_points_are_refused_and_may_be_run_as_they_are(recording):
    scans = replace(recording.scans, time=np.zeros_like(recording.scans.time))
    flat = replace(recording, scans=scans)
    with pytest.raises(OptionError, match=r"no times of their own.*undistort=false"):
        run(flat, SETTINGS)
    assert len(run(flat, replace(SETTINGS, undistort=False)).belief)


def thinned_imu(imu, begin_s, end_s):
    since = (imu.stamp - room.START) / room.NS
    keep = (since < begin_s) | (since > end_s)
    return Imu(imu.stamp[keep], imu.gyro[keep], imu.acceleration[keep])


def test_a_short_gap_of_the_imu_is_bridged_and_said(recording):
    done = run(replace(recording, imu=thinned_imu(recording.imu, 4.0, 4.1)), SETTINGS)
    said = "1 gap of more than 5 samples in the IMU, the longest of 110 ms"
    assert any(said in note for note in done.notes)
    assert np.linalg.norm(aligned_errors(done), axis=1).max() < 0.03


def test_a_long_gap_of_the_imu_stops_the_run_and_says_so(recording):
    done = run(replace(recording, imu=thinned_imu(recording.imu, 3.0, 4.5)), SETTINGS)
    assert any("silent for 1.51 s, more than 1 s" in note for note in done.notes)
    assert (done.belief.stamp[-1] - room.START) / room.NS == pytest.approx(3.0, abs=0.01)


def test_a_gap_of_the_imu_across_the_start_is_seen(recording):
    """The state starts at 1 s, in the middle of the silence."""
    short = run(replace(recording, imu=thinned_imu(recording.imu, 0.95, 1.25)), SETTINGS)
    assert any("1 gap of more than 5 samples in the IMU" in note for note in short.notes)
    long = replace(recording, imu=thinned_imu(recording.imu, 0.95, 2.5))
    with pytest.raises(OptionError, match=r"no scan ends while the IMU runs .*silent for 1\.56 s"):
        run(long, SETTINGS)


def test_scans_after_the_last_imu_sample_are_left_out_and_counted(recording):
    done = run(replace(recording, imu=thinned_imu(recording.imu, 4.505, 9.0)), SETTINGS)
    assert (done.belief.stamp[-1] - room.START) / room.NS == pytest.approx(4.5, abs=1e-6)
    assert any("5 scans left out, after the last IMU sample" in note for note in done.notes)


def test_numbers_that_break_down_are_told_in_words(recording, monkeypatch):
    def broken(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("smfeval_lab.filters.ieskf.odometry.update_state", broken)
    with pytest.raises(SeriesError, match=r"break down on room_5 \(Singular matrix\)"):
        filter_named("ieskf").run(recording, SETTINGS)


def test_recordings_that_cannot_be_run_are_refused(recording):
    imu, scans = recording.imu, recording.scans
    none = Scans(scans.start[:0], scans.end[:0], scans.offset[:1], scans.point[:0], scans.time[:0])
    backward = Imu(imu.stamp[::-1], imu.gyro, imu.acceleration)
    broken = Imu(imu.stamp, np.full_like(imu.gyro, np.nan), imu.acceleration)
    late = Imu(imu.stamp + 60 * room.NS, imu.gyro, imu.acceleration)
    for change, words in (
        ({"scans": none}, "0 scans"),
        ({"imu": backward}, "IMU samples run backward in time at number 2"),
        ({"imu": broken}, "no numbers"),
        ({"imu": late}, "no scan ends while the IMU runs"),
    ):
        with pytest.raises(OptionError, match=words):
            run(replace(recording, **change), SETTINGS)
    with pytest.raises(OptionError, match="map=known needs the map"):
        run(recording, Settings(map="known"))
