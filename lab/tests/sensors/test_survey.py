"""A measured reference: its errors have the covariance it reports; gaps, frame and clock too."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.maths import se3, so3
from smfeval_lab.motion import Route, simulate_walk
from smfeval_lab.sensors.survey import SURVEYS, body_pose, measure_reference

ROUTE = Route(np.array([(0.0, 0), (120, 0), (120, 90), (300, 90)]), rounding_m=2.5)
WALK = simulate_walk(ROUTE, rng=np.random.default_rng(1))
QUICK = replace(SURVEYS["scanner"], memory_s=1e-3, clock_s=0.0, drift_ppm=0.0)


def measured(survey, seed=0):
    return measure_reference(WALK, survey, start=0, rng=np.random.default_rng(seed))[0]


def fitted(source, target):
    """Shift and rotation matrix that bring points to others."""
    left, right = source - source.mean(axis=0), target - target.mean(axis=0)
    u, _, vt = np.linalg.svd(right.T @ left)
    turn = u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt
    return target.mean(axis=0) - turn @ source.mean(axis=0), turn


def errors(track, survey):
    """xi of T_true = T_measured Exp(xi), the frame of the survey removed by a fit of all poses."""
    true = se3.compose(WALK.pose(track.stamp / 1e9), body_pose(survey))
    shift, turn = fitted(true[0], track.position)
    placed = se3.compose((shift, so3.quaternion(turn)), true)
    return se3.log(se3.compose(se3.inverse((track.position, track.rotation)), placed))


def test_errors_have_the_covariance_that_is_reported():
    track = measured(QUICK)
    error = errors(track, QUICK)
    white = np.linalg.solve(np.linalg.cholesky(track.covariance), error[..., None])[..., 0]
    count = len(track)
    assert count > 5000
    np.testing.assert_allclose(white.T @ white / count, np.eye(6), atol=4 / np.sqrt(count) + 0.01)
    nees = (white**2).sum(axis=1)
    assert stats.kstest(nees, "chi2", args=(6,)).pvalue > 1e-3
    size = np.sqrt(np.trace(track.covariance[:, :3, :3], axis1=1, axis2=2))
    assert np.quantile(size, 0.95) > 1.3 * np.quantile(size, 0.05)  # each pose has its own


def test_errors_remember_as_long_as_is_said():
    survey = replace(QUICK, memory_s=0.5, gap_every_s=1e9, spread=1.0)
    error = errors(measured(survey), survey)[:, 5]
    lag = np.arange(1, 11)  # at 20 Hz
    found = [np.corrcoef(error[:-k], error[k:])[0, 1] for k in lag]
    np.testing.assert_allclose(found, np.exp(-lag / 20 / 0.5), atol=0.12)


def test_gaps_are_as_long_and_as_many_as_is_said():
    survey = replace(QUICK, gap_every_s=20.0, gap_s=(2.0, 4.0))
    gaps = [np.diff(measured(survey, seed).stamp) / 1e9 for seed in range(6)]
    long = np.concatenate([gap[gap > 0.06] for gap in gaps])
    assert (long > 1.9).all()
    assert (long < 4.2).all()
    expected = 6 * WALK.duration_s / (20 + 3 + 2)
    assert len(long) == pytest.approx(expected, rel=0.35)
    rest = np.concatenate([gap[gap <= 0.06] for gap in gaps])
    np.testing.assert_allclose(rest, 0.05, atol=1e-6)


def test_its_clock_is_ahead_and_drifts():
    """Shifted by offset + drift t, the stamps are the times at which the poses were taken."""
    survey = replace(QUICK, clock_s=0.2, drift_ppm=500.0, gap_every_s=1e9)
    track, notes = measure_reference(WALK, survey, start=0, rng=np.random.default_rng(3))
    taken = np.arange(len(track)) / survey.rate_hz
    offset, drift = np.polynomial.polynomial.polyfit(taken, track.stamp / 1e9 - taken, 1)
    assert abs(offset) > 0.01
    assert abs(drift) > 1e-5
    assert f"{round(1e3 * offset, 3)} ms ahead" in notes[1]
    assert f"gains {round(1e6 * drift, 2)} ppm" in notes[1]


def test_a_prism_has_positions_only_with_their_covariance_in_world_axes():
    survey = replace(SURVEYS["prism"], memory_s=1e-3, clock_s=0.0, drift_ppm=0.0, jitter_s=0.0,
                     position_m=(0.008, 0.002, 0.002), spread=1.0)  # fmt: skip
    track = measured(survey)
    assert not track.about.oriented
    assert track.about.body == "prism"
    true = se3.compose(WALK.pose(track.stamp / 1e9), body_pose(survey))[0]
    shift, turn = fitted(true, track.position)
    error = track.position - true @ turn.T - shift
    white = np.linalg.solve(np.linalg.cholesky(track.position_covariance), error[..., None])
    assert np.mean(white**2) == pytest.approx(1.0, rel=0.15)
