"""Walks: derivatives agree with each other, and people walk like people."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval.errors import OptionError
from smfeval_lab.motion import HANDHELD, Gait, Route, simulate_walk
from smfeval_lab.scene import Ground
from smfeval_lab.worlds import HANDHELD as HANDHELD_SET
from smfeval_lab.worlds import WORLDS

ROUTE = Route(np.array([(0.0, 0), (20, 0), (20, 15), (40, 18)]), rounding_m=2.5)
STEP = 1e-3


@pytest.fixture
def walk(rng):
    return simulate_walk(ROUTE, rng=rng)


def difference(function, time):
    """Central difference of fourth order."""
    at = [function(time + k * STEP) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * STEP)


def test_velocity_is_the_change_of_position(walk):
    time = np.linspace(0.5, walk.duration_s - 0.5, 997)
    expected = difference(walk.position, time)
    np.testing.assert_allclose(walk.velocity(time), expected, atol=1e-8)


def test_acceleration_is_the_change_of_velocity(walk):
    time = np.linspace(0.5, walk.duration_s - 0.5, 997)
    expected = difference(walk.velocity, time)
    np.testing.assert_allclose(walk.acceleration(time), expected, atol=1e-6)
    assert np.abs(walk.acceleration(time)).max() > 1  # steps are felt


def test_the_rate_is_the_change_of_rotation_in_body_axes(walk):
    time = np.linspace(0.5, walk.duration_s - 0.5, 997)
    before, after = (Rotation.from_quat(walk.pose(time + s)[1]) for s in (-5e-5, 5e-5))
    np.testing.assert_allclose(
        walk.rate(time), (before.inv() * after).as_rotvec() / 1e-4, atol=1e-7
    )


def test_the_rotation_is_yaw_then_pitch_then_roll(walk):
    time = np.linspace(0, walk.duration_s, 50)
    expected = Rotation.from_euler("ZYX", walk.angles(time))
    np.testing.assert_allclose(walk.rotation(time), expected.as_matrix(), atol=1e-12)
    position, quaternion = walk.pose(time)
    np.testing.assert_allclose(
        Rotation.from_quat(quaternion).as_matrix(), expected.as_matrix(), atol=1e-12
    )
    np.testing.assert_array_equal(position, walk.position(time))


def test_jerk_has_no_jumps(walk):
    """At a knot the third derivative from both sides is the same."""
    jerk = walk.position.derivative(3)
    knot = np.arange(4.0, 10.0, 0.02)
    jump = np.abs(jerk(knot + 1e-9) - jerk(knot - 1e-9)).max()
    assert jump < 1e-3 * np.abs(jerk(knot)).max()


def test_one_stands_still_at_first_and_then_walks(walk):
    still = np.linspace(0, 2.9, 100)
    assert np.abs(walk.velocity(still)).max() < 1e-6
    assert np.abs(walk.rate(still)).max() < 1e-6
    later = np.linspace(8, walk.duration_s, 500)
    speed = np.linalg.norm(walk.velocity(later)[:, :2], axis=1)
    assert 1.1 < np.median(speed) < 1.5


def test_the_walk_follows_the_route_with_its_sway(walk):
    time = np.linspace(0, walk.duration_s, 2000)
    path = ROUTE.path(np.arange(0, ROUTE.length_m, 0.01))
    gap = np.hypot(*(walk.position(time)[:, None, :2] - path).transpose(2, 0, 1)).min(axis=1)
    assert 0.015 < gap.max() < 0.03
    np.testing.assert_allclose(walk.position(0.0)[:2], ROUTE.waypoint[0], atol=0.05)
    np.testing.assert_allclose(walk.position(walk.duration_s)[:2], ROUTE.waypoint[-1], atol=0.3)


def test_the_body_follows_the_ground(rng):
    ground = Ground(3.0, np.array([0.5]), np.array([[0.3, 0.1]]), np.array([0.2]))
    walk = simulate_walk(ROUTE, rng=rng, ground=ground, gait=Gait(bob_m=0.0))
    place = walk.position(np.arange(0, walk.duration_s, 0.02))
    expected = 1.1 + ground.height(place[:, 0], place[:, 1])
    np.testing.assert_allclose(place[:, 2], expected, atol=1e-6)


def test_a_path_is_measured_in_metres_walked():
    walked_m = np.arange(0, ROUTE.length_m, 0.01)
    step = np.hypot(*np.diff(ROUTE.path(walked_m), axis=0).T)
    np.testing.assert_allclose(step, 0.01, rtol=2e-3)


def test_a_duration_cuts_the_walk_and_cannot_lengthen_it(rng):
    assert simulate_walk(ROUTE, rng=rng, duration_s=12.34).duration_s == pytest.approx(12.3)
    with pytest.raises(OptionError, match=r"the walk ends after .* s; 900 s cannot be simulated"):
        simulate_walk(ROUTE, rng=rng, duration_s=900)
    with pytest.raises(OptionError, match="at least"):
        simulate_walk(ROUTE, rng=rng, duration_s=0.05)


WALKED = [name for name in WORLDS if name not in {each.world for each in HANDHELD_SET}]


@pytest.mark.parametrize("name", WALKED)
def test_nobody_turns_faster_than_a_walker_in_any_world(name):
    for seed in range(1, 6):
        built = WORLDS[name].build(seed)
        walk = simulate_walk(built.route, rng=np.random.default_rng(seed), gait=built.gait)
        time = np.arange(0, walk.duration_s, 0.02)
        assert np.abs(walk.rate(time)).max() < 1.3
        speed = np.linalg.norm(walk.velocity(time)[time > 6, :2], axis=1)
        assert speed.min() > 1.0
        assert speed.max() < 1.7


def test_a_scanner_in_the_hand_turns_more_and_pauses(rng):
    """Up to 3 rad/s; it stands still about once a minute, and wanders as much as is said."""
    route = Route(np.column_stack([np.arange(0, 200, 20.0), np.zeros(10)]))
    walk = simulate_walk(route, rng=rng, gait=HANDHELD)
    time = np.arange(8, walk.duration_s, 0.02)
    rate = np.abs(walk.rate(time)).max(axis=1)
    assert 1.0 < rate.max() < 3.0
    speed = np.linalg.norm(walk.velocity(time)[:, :2], axis=1)
    stops = np.count_nonzero(np.diff((speed < 0.2).astype(int)) == 1)
    assert 1 <= stops <= 1 + walk.duration_s / 60
    still = np.linspace(0, 2.9, 100)
    assert np.abs(walk.velocity(still)).max() < 1e-6
    steady = replace(HANDHELD, glance_rad=0.0, pitch_rad=0.0, pause_s=0.0)
    pitch = simulate_walk(route, rng=rng, gait=steady).angles(time)[:, 1]
    assert np.sqrt(np.mean(pitch**2)) == pytest.approx(HANDHELD.hand_rad, rel=0.15)


def test_the_hand_changes_no_walk_without_it(rng):
    plain = simulate_walk(ROUTE, rng=np.random.default_rng(4))
    hand = simulate_walk(ROUTE, rng=np.random.default_rng(4), gait=Gait(hand_m=0.01))
    time = np.linspace(5, 30, 500)
    apart = hand.position(time) - plain.position(time)
    assert np.sqrt(np.mean(apart**2)) == pytest.approx(0.01, rel=0.3)
