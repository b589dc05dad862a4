"""A rotation between the bodies is put into an honest belief: its alibi holds, in its size."""

import numpy as np
import pytest

from smfeval.align.body import move_to_body
from smfeval.evaluation import Options, evaluate
from smfeval.maths import se3, so3
from smfeval.show.report import alibis_text
from smfeval.track import GaussianTrack, Track
from support.alibis import alibis_of, heading, path, times
from support.beliefs import ABOUT, stamps

N = 1500
SIGMA = np.array([0.02, 0.02, 0.02, 4e-3, 3e-3, 6e-3])  # m, rad
AXIS = np.array([2.0, -1.0, 2.0]) / 3


def turned_belief(rng, angle_deg=0.0, *, reported=1.0):
    """Honest errors, reported with `reported` times their covariance, of a body turned."""
    truth = Track(stamps(N), path(times(N)), heading(times(N)), about=ABOUT)
    xi = SIGMA * rng.normal(size=(N, 6))
    position, rotation = se3.compose((truth.position, truth.rotation), se3.inverse(se3.exp(xi)))
    covariance = np.tile(reported * np.diag(SIGMA**2), (N, 1, 1))
    estimate = GaussianTrack(truth.stamp, position, rotation, covariance, about=ABOUT)
    turn = so3.exp(np.radians(angle_deg) * AXIS)
    return move_to_body(estimate, (np.zeros(3), turn), "imu"), truth


def constant_row(found):
    return next((row for row in found.rows if row.name == "constant rotation"), None)


def degrees(row):
    return float(row.granted.split(" deg")[0])


@pytest.mark.parametrize("angle_deg", [3.0, 40.0])
@pytest.mark.parametrize("alignment", ["none", "yaw"])
def test_an_injected_rotation_is_found_with_its_angle(angle_deg, alignment, rng):
    found = alibis_of(*turned_belief(rng, angle_deg), alignment=alignment)
    row = constant_row(found)
    assert row.outcome(found.scored) == "holds"
    assert degrees(row) == pytest.approx(angle_deg, rel=0.05)
    assert row.scored.k.value > 20
    assert row.judgement.k.value == pytest.approx(1, abs=0.15)
    assert "; rotation: an alibi holds: constant rotation" in found.sentence
    assert "rotation as scored" in alibis_text(found)


def test_what_k_1_needs_is_part_of_the_rotation_where_the_belief_is_wide(rng):
    estimate, truth = turned_belief(rng, 3.0, reported=2.0)
    need = constant_row(alibis_of(estimate, truth, alignment="none")).need
    assert need.unit == "deg"
    assert 1.5 < need.size < 3.0
    back = so3.exp(-np.radians(need.size) * AXIS)
    moved = move_to_body(estimate, (np.zeros(3), back), "imu")
    k = evaluate(moved, truth, options=Options(alignment="none"))["k_rotation"]
    assert k.value == pytest.approx(1, rel=0.05)


def test_a_tight_belief_has_no_such_alibi(rng):
    found = alibis_of(*turned_belief(rng, reported=1 / 9), alignment="none")
    row = constant_row(found)
    assert row.outcome(found.scored) == "no"
    assert row.need.size is None
    assert row.need.k_left == pytest.approx(9, rel=0.15)
    assert "; rotation: no alibi holds: constant rotation" in found.sentence


def test_a_tight_belief_of_a_turned_body_is_explained_in_part(rng):
    found = alibis_of(*turned_belief(rng, 3.0, reported=1 / 9), alignment="none")
    row = constant_row(found)
    assert row.outcome(found.scored) == "in part"
    assert row.judgement.label == "overconfident"
    assert degrees(row) == pytest.approx(3, rel=0.05)


def test_an_honest_belief_has_none_to_ask_for(rng):
    found = alibis_of(*turned_belief(rng), alignment="none")
    assert found.rows == ()


def test_positions_keep_their_verdict(rng):
    estimate, truth = turned_belief(rng, 3.0)
    found = alibis_of(estimate, truth, alignment="none")
    assert found.scored.label == "consistent"
    assert [row.name for row in found.rows] == ["constant rotation"]
    assert found.sentence.startswith("there is nothing to explain: the verdict is 'consistent'")
