"""Bias, regimes and tail of the rotation."""

import numpy as np
import pytest

from smfeval.align.body import move_to_body
from smfeval.evaluation import Options, evaluate
from smfeval.maths import se3, so3
from smfeval.show.causes import causes_section
from smfeval.track import GaussianTrack, Track
from smfeval.why.diagnoses import diagnose
from support.beliefs import ABOUT, stamps
from support.explanations import heading, path, times

N = 1200
SIGMA = np.array([0.02, 0.02, 0.02, 4e-3, 3e-3, 6e-3])  # m, rad
FIXED = Options(alignment="none")


def tables(rng, *, turn=(0.0, 0.0, 0.0), scale=None):
    """Honest errors of a body turned by `turn` (rad); `scale` times as large in some scans."""
    truth = Track(stamps(N), path(times(N)), heading(times(N)), about=ABOUT)
    xi = SIGMA * rng.normal(size=(N, 6))
    if scale is not None:
        xi[:, 3:] *= scale[:, None]
    position, rotation = se3.compose((truth.position, truth.rotation), se3.inverse(se3.exp(xi)))
    covariance = np.tile(np.diag(SIGMA**2), (N, 1, 1))
    estimate = GaussianTrack(truth.stamp, position, rotation, covariance, about=ABOUT)
    moved = move_to_body(estimate, (np.zeros(3), so3.exp(np.array(turn))), "imu")
    return diagnose(evaluate(moved, truth, options=FIXED), rng=rng)


def test_a_turned_body_is_the_bias_of_its_axis_with_its_sign(rng):
    found = tables(rng, turn=(0.0, 0.02, 0.0))
    roll, pitch, yaw = found.rotation.bias
    assert pitch.mean.value == pytest.approx(np.degrees(0.02), rel=0.02)
    assert pitch.mean.low < np.degrees(0.02) < pitch.mean.high
    assert pitch.scatter_deg == pytest.approx(np.degrees(SIGMA[4]), rel=0.1)
    assert pitch.share == pytest.approx(0.02**2 / (0.02**2 + SIGMA[4] ** 2), abs=0.01)
    assert max(roll.share, yaw.share) < 0.02
    assert "rotation" in str(causes_section(found, verbose=True))


def test_an_honest_rotation_has_k_1_in_every_regime_and_an_honest_tail(rng):
    found = tables(rng).rotation
    assert [each.k for each in found.regimes] == pytest.approx([1.0] * len(found.regimes), abs=0.25)
    assert {each.name for each in found.regimes} >= {"turning: least", "turning: most"}
    rms = np.degrees(np.linalg.norm(SIGMA[3:]))
    assert [each.rms_deg for each in found.regimes] == pytest.approx(
        [rms] * len(found.regimes), rel=0.1
    )
    assert found.tail.top_5 == pytest.approx(found.tail.expected_5, abs=0.03)


def test_a_few_scans_that_are_turned_far_are_seen_in_the_tail(rng):
    scale = np.where(np.arange(N) % 100 == 0, 20.0, 1.0)
    found = tables(rng, scale=scale).rotation
    assert found.tail.top_1 > 0.7
    assert found.tail.mean_nees_without_5 < 3


def test_a_track_without_rotation_has_no_tables_of_it(rng):
    truth = Track(stamps(N), path(times(N)), heading(times(N)), about=ABOUT)
    covariance = np.zeros((N, 6, 6))
    covariance[:, :3, :3] = 4e-4 * np.eye(3)
    off = truth.position + 0.02 * rng.normal(size=(N, 3))
    estimate = GaussianTrack(truth.stamp, off, truth.rotation, covariance, about=ABOUT)
    found = diagnose(evaluate(estimate, truth, options=FIXED), rng=rng)
    assert found.rotation is None
    assert found.to_dict()["rotation"] is None
