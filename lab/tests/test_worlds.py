"""Worlds: routes are free, scenes are what their names say, seeds draw them anew."""

import numpy as np
import pytest

from smfeval.errors import OptionError
from smfeval_lab.motion import simulate_walk
from smfeval_lab.scene import Scene, box, cast
from smfeval_lab.sensors.faults import HANDHELD_FAULTS
from smfeval_lab.sensors.lidar import LidarModel
from smfeval_lab.simulate import simulate
from smfeval_lab.worlds import ADVERSARIAL, EASY, HANDHELD, WORLDS, world_named

LENGTHS_M = {
    "college": (340, 460),
    "college_short": (140, 200),
    "college_loop": (150, 200),
    "courtyard": (120, 190),
    "tunnel": (125, 140),
    "tunnel_ribs": (125, 140),
    "field": (145, 175),
    "corridor": (110, 125),
    "park": (395, 450),
    "street": (270, 310),
    "campus": (1150, 1400),
    "campus_loop": (850, 1000),
}


def around(count=72):
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_way_is_free(name, seed):
    """At the height of the body nothing is nearer than half a metre, wherever one walks."""
    built = WORLDS[name].build(seed)
    place = built.route.path(np.arange(0, built.route.length_m, 1.0))
    origin = np.column_stack([place, np.full(len(place), 1.1)])
    if built.scene.ground is not None:
        origin[:, 2] += built.scene.ground.height(*place.T)
    rays = around(24)
    for stretch in np.array_split(origin, len(origin) // 30):
        starts = np.repeat(stretch, len(rays), axis=0)
        assert cast(built.scene, starts, np.tile(rays, (len(stretch), 1)), 3.0).min() > 0.5


@pytest.mark.parametrize("name", WORLDS)
def test_routes_have_the_lengths_that_are_told(name):
    low, high = LENGTHS_M[name]
    for seed in range(1, 4):
        assert low < WORLDS[name].build(seed).route.length_m < high


@pytest.mark.parametrize("name", WORLDS)
def test_another_seed_is_another_walk(name):
    first, again, other = (WORLDS[name].build(seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.route.waypoint, again.route.waypoint)
    assert not np.array_equal(first.route.waypoint, other.route.waypoint)
    corner = first.scene.footprints.corner
    np.testing.assert_array_equal(corner, again.scene.footprints.corner)
    assert not np.array_equal(corner, other.scene.footprints.corner)


def test_the_college_shows_new_ground_and_the_loop_comes_back():
    place = WORLDS["college"].build(3).route.path(np.arange(0, 340, 1.0))
    apart = np.hypot(*(place[:, None] - place).transpose(2, 0, 1))
    later = np.subtract.outer(np.arange(340), np.arange(340)) > 60
    assert apart[later].min() > 15
    loop = WORLDS["college_loop"].build(3).route
    assert np.hypot(*(loop.path(loop.length_m) - loop.path(0.0))) < 6


def profile(name, x):
    """Ranges in all directions from the middle of a tunnel."""
    scene = WORLDS[name].build(1).scene
    rays = np.concatenate([around() + np.array([0, 0, h]) for h in (-0.5, -0.2, 0.1, 0.3, 0.6)])
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    return cast(scene, np.tile([x, 0.0, 1.2], (len(rays), 1)), rays, 60.0)


def test_a_smooth_tunnel_looks_the_same_all_along():
    np.testing.assert_allclose(profile("tunnel", 75.0), profile("tunnel", 119.3), rtol=1e-9)
    assert np.abs(np.nan_to_num(profile("tunnel", 2.0) - profile("tunnel", 75.0))).max() > 0.5


def test_ribs_tell_places_in_a_tunnel_apart():
    for x in np.arange(10, 130, 10.0):
        here, there = profile("tunnel_ribs", x), profile("tunnel_ribs", x + 1.5)
        apart = ~np.isclose(here, there, atol=0.05)
        assert 3 < apart.sum() < 0.4 * len(here)  # some, but few


def test_a_field_has_few_things_and_far():
    built = WORLDS["field"].build(1)
    distance = cast(built.scene, np.tile([75.0, 0, 1.5], (360, 1)), around(360), 60.0)
    assert 0 < np.isfinite(distance).mean() < 0.5


def test_the_campus_is_a_kilometre_of_new_ground_and_its_ring_comes_back():
    route = WORLDS["campus"].build(2).route
    walked = np.arange(0, route.length_m, 4.0)
    place = route.path(walked)
    apart = np.hypot(*(place[:, None] - place).transpose(2, 0, 1))
    assert apart[np.subtract.outer(walked, walked) > 60].min() > 15
    ring = WORLDS["campus_loop"].build(2).route
    assert np.hypot(*(ring.path(ring.length_m) - ring.path(0.0))) < 6


@pytest.mark.parametrize("name", [each.world for each in HANDHELD])
def test_people_and_cars_move_at_their_speeds_and_keep_out_of_the_way(name):
    built = WORLDS[name].build(1)
    motion = simulate_walk(built.route, rng=np.random.default_rng(1), gait=built.gait)
    time = np.arange(0, motion.duration_s, 0.1)
    walker, nearest = motion.position(time)[:, :2], []
    for body in built.scene.moving:
        place = body.poses(time)
        step = np.hypot(*np.diff(place[:, :2], axis=0).T) / 0.1
        is_car = len(body.surfaces) == 2 and body.surfaces[0].footprint.half_x > 1
        assert step.max() < (10.1 if is_car else 4.0)  # round corners people hurry
        assert not 0 < step.max() < (4.9 if is_car else 0.8)
        seen = place[:, 2] > -5
        if seen.any():
            nearest.append(np.hypot(*(place[:, :2] - walker)[seen].T).min())
    assert min(nearest) > 0.6  # someone may stand where a ring comes back
    assert min(nearest) < 5


def test_leaves_make_up_a_share_of_what_is_seen_in_a_park():
    built = WORLDS["park"].build(1)
    bare = Scene(built.scene.surfaces, built.scene.ground)
    place = built.route.path(200.0)
    origin = np.array([*place, 1.2 + built.scene.ground.height(*place.reshape(2, 1))[0]])
    rays = np.concatenate([around(180) + np.array([0, 0, h]) for h in (-0.05, 0.05, 0.15, 0.25)])
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    starts = np.tile(origin, (len(rays), 1))
    leafy, without = cast(built.scene, starts, rays, 60.0), cast(bare, starts, rays, 60.0)
    assert (leafy <= without).all()
    assert 0.2 < (leafy < without).mean() < 0.95


def test_sets_are_made_of_worlds():
    assert [each.name for each in EASY] == ["college_short_1", "college_short_2", "college_loop_3"]
    assert {each.world for each in ADVERSARIAL} == {"tunnel", "tunnel_ribs", "corridor", "field"}
    assert {each.world for each in HANDHELD} == {"park", "street", "campus", "campus_loop"}
    assert all(each.world in WORLDS for each in (*EASY, *ADVERSARIAL, *HANDHELD))
    with pytest.raises(OptionError, match="'moon' is no world; it is one of college"):
        world_named("moon")


def test_a_simulated_recording_has_what_a_filter_needs():
    recording = simulate("courtyard", 2, duration_s=6)
    assert recording.name == "courtyard_2"
    scans, imu, reference = recording.scans, recording.imu, recording.reference
    assert len(scans) == 59
    assert 4000 < len(scans.point) / len(scans) < 6000
    assert scans.point.dtype == np.float32
    assert imu.stamp[0] < scans.start[0]
    assert imu.stamp[-1] >= scans.end[-1]
    assert np.isin(scans.end, reference.stamp).all()
    assert (reference.about.body, reference.about.gauge) == ("imu", "fixed")
    assert "faults that filters do not know: extrinsic=3mm,0.15deg,clock=2ms,rings=7mm" in (
        recording.notes
    )


def test_scans_that_see_nothing_are_noted():
    blind = simulate("field", 1, duration_s=1.5, lidar=LidarModel(farthest_m=0.8))
    assert f"{len(blind.scans)} of {len(blind.scans)} scans have no points" in blind.notes
    assert not any("no points" in note for note in simulate("field", 1, duration_s=1.5).notes)


def test_the_reference_is_the_walk():
    recording = simulate("courtyard", 2, duration_s=6)
    built = WORLDS["courtyard"].build(2)
    motion = simulate_walk(built.route, rng=np.random.default_rng([2, 1]), duration_s=6)
    time = (recording.reference.stamp - recording.reference.stamp[0]) / 1e9
    np.testing.assert_allclose(recording.reference.position, motion.position(time), atol=1e-12)


def test_a_seed_is_not_negative():
    with pytest.raises(OptionError, match="seed"):
        simulate("courtyard", -1, duration_s=2)


def test_a_world_in_the_hand_is_rough_and_has_bushes_and_people():
    usual, held = (WORLDS["college_short"].build(1, each) for each in (None, HANDHELD_FAULTS))
    np.testing.assert_array_equal(usual.route.waypoint, held.route.waypoint)
    assert held.scene.surfaces[0].row.tolist() == usual.scene.surfaces[0].row.tolist()
    assert len(held.scene.crowns) > 10
    assert len(held.scene.moving) >= 3
    assert held.scene.ground.tufts.rms_m > 0
    assert held.gait.hand_rad > usual.gait.hand_rad == 0
    same = WORLDS["street"].build(1, HANDHELD_FAULTS)  # is such a world already
    assert len(same.scene.crowns) == len(WORLDS["street"].build(1).scene.crowns)


def test_relief_moves_the_returns_of_walls_by_its_rms_and_stays_where_it_is(rng):
    walls = (box((0.0, 0.0, 0.0), (20.1, 20.1, 20.1)),)
    flat, rough = Scene(walls), Scene(walls, relief_m=5e-3)
    ray = rng.normal(size=(20_000, 3))
    ray /= np.linalg.norm(ray, axis=1)[:, None]
    origin = np.zeros_like(ray)
    met = cast(rough, origin, ray, 60.0)
    moved = met - cast(flat, origin, ray, 60.0)
    assert np.sqrt(np.mean(moved**2)) == pytest.approx(5e-3, rel=0.05)
    np.testing.assert_array_equal(
        cast(rough, origin, ray, 60.0) - cast(flat, origin, ray, 60.0), moved
    )
    assert np.isinf(cast(rough, origin, ray, 5.0)).all()
