"""Rays against closed forms, and against a tracer that knows only distances."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.transform import Rotation

from lab_support.scenes import from_scene, textured_height, traced
from smfeval_lab.scene import (
    KNOT_S,
    Box,
    Crown,
    Ground,
    Moving,
    Scene,
    Tube,
    Tufts,
    box,
    cast,
    pillar,
)


def units(n, rng):
    vector = rng.normal(size=(n, 3))
    return vector / np.linalg.norm(vector, axis=1, keepdims=True)


def ahead(*directions):
    rays = np.array(directions, dtype=float)
    return rays / np.linalg.norm(rays, axis=1, keepdims=True)


def waves(rng, count=4):
    wave = rng.normal(size=(count, 2)) * 0.4
    return Ground(-1.0, rng.uniform(0.1, 0.4, count), wave, rng.uniform(0, 6, count))


def test_a_plane_is_met_at_height_over_sine(rng):
    ray = units(500, rng)
    distance = cast(Scene((), Ground(-2.0)), np.zeros((500, 3)), ray, 50.0)
    with np.errstate(divide="ignore"):
        expected = np.where(ray[:, 2] < -2 / 50, -2 / ray[:, 2], np.inf)
    np.testing.assert_allclose(distance, expected, rtol=1e-14)


def test_a_rectangle_ends_at_its_edges():
    wall = Scene((box((5, 0, 0), (0, 2, 4)),))
    rays = ahead((5, 0.99, 0), (5, 1.01, 0), (5, 0, 1.99), (5, 0, -2.01), (-5, 0, 0))
    distance = cast(wall, np.zeros((5, 3)), rays, 100.0)
    hits = [np.hypot(5, 0.99), np.inf, np.hypot(5, 1.99), np.inf, np.inf]
    np.testing.assert_allclose(distance, hits, rtol=1e-14)


def test_a_turned_box_is_met_at_its_corner_first():
    corner = Scene((box((10, 0, 0), (2, 2, 2), yaw=np.pi / 4),))
    distance = cast(corner, np.zeros((1, 3)), ahead((1, 0, 0)), 100.0)
    np.testing.assert_allclose(distance, 10 - np.sqrt(2), rtol=1e-14)


def test_a_box_is_met_from_inside_at_its_far_wall():
    room = Scene((box((1, 0, 0), (10, 6, 4)),))
    rays = ahead((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, 0, -1))
    distance = cast(room, np.zeros((4, 3)), rays, 100.0)
    np.testing.assert_allclose(distance, [6, 4, 3, 2], rtol=1e-14)


def test_a_pillar_is_met_where_the_chord_begins():
    distance = cast(Scene((pillar(8, 0.3, 0.5, -1, 1),)), np.zeros((1, 3)), ahead((1, 0, 0)), 50.0)
    np.testing.assert_allclose(distance, 8 - np.sqrt(0.5**2 - 0.3**2), rtol=1e-14)


def test_a_tunnel_is_met_from_inside_and_is_open_at_its_ends():
    axis = np.array([1.0, 0, 0])
    tunnel = Scene((Tube(np.zeros(3), axis, 3.0, 20.0),))
    rays = ahead((0, 1, 0), (1, 1, 0), (1, 0, 0), (1, 0.1, 0))
    distance = cast(tunnel, np.zeros((4, 3)), rays, 100.0)
    np.testing.assert_allclose(distance, [3, 3 * np.sqrt(2), np.inf, np.inf], rtol=1e-14)


def test_nothing_is_met_beyond_the_farthest():
    wall = Scene((box((10, 0, 0), (0, 50, 50)),), Ground(-1.0))
    rays = ahead((1, 0, 0), (1, 0, 0.001))
    assert np.isfinite(cast(wall, np.zeros((2, 3)), rays, 10.1)).all()
    assert np.isinf(cast(wall, np.zeros((2, 3)), rays, 9.9)).all()


def test_relief_is_met_where_dense_samples_first_sink_below_it(rng):
    ground = waves(rng)
    slope = rng.uniform(0, 2 * np.pi, 120)
    ray = ahead(*np.column_stack([np.cos(slope), np.sin(slope), rng.uniform(-0.5, 0.05, 120)]))
    origin = np.column_stack([rng.uniform(-9, 9, (120, 2)), np.full(120, 1.0)])
    distance = cast(Scene((), ground), origin, ray, 40.0)

    step = np.arange(0, 40, 0.004)
    point = origin[:, None] + step[:, None] * ray[:, None]
    below = point[..., 2] < ground.height(point[..., 0], point[..., 1])
    expected = np.where(below.any(axis=1), step[np.argmax(below, axis=1)], np.inf)
    near = np.isfinite(expected)
    assert near.sum() > 60
    assert (~near).sum() > 4
    np.testing.assert_allclose(distance[near], expected[near], atol=0.004)
    assert (distance[~near] > 39.99).all()


def random_scene(rng, count=40):
    surfaces = []
    for place in rng.uniform(-25, 25, size=(count, 3)) * [1, 1, 0.2]:
        turned = Rotation.from_quat(rng.normal(size=4)).as_matrix()
        if rng.random() < 0.6:
            surfaces.append(Box(place, rng.uniform(0, 3, size=3), turned))
        else:
            surfaces.append(Tube(place, turned[0], rng.uniform(0.1, 2), rng.uniform(0.5, 8)))
    return Scene(tuple(surfaces), waves(rng))


@pytest.mark.parametrize("seed", range(2))
def test_random_scenes_are_met_where_sphere_tracing_ends(seed):
    rng = np.random.default_rng(seed)
    scene = random_scene(rng)
    origin = rng.uniform(-1, 1, size=(400, 3)) * [3, 3, 0.2] + [0, 0, 1]
    direction = units(400, rng)
    distance = cast(scene, origin, direction, 30.0)
    expected = traced(scene, origin, direction, 30.0)
    assert 0.3 < np.isfinite(expected).mean() < 0.99
    np.testing.assert_allclose(distance, expected, atol=1e-5)


def test_the_order_of_the_rays_does_not_matter(rng):
    scene = random_scene(rng)
    origin, direction = rng.uniform(-20, 20, size=(70_000, 3)), units(70_000, rng)
    origin[:, 2] = 5.0
    distance = cast(scene, origin, direction, 30.0)
    shuffled = rng.permutation(70_000)
    again = cast(scene, origin[shuffled], direction[shuffled], 30.0)
    np.testing.assert_array_equal(again, distance[shuffled])


def test_what_is_met_lies_on_a_surface(rng):
    scene = random_scene(rng)
    origin, direction = np.tile([0.0, 0, 1], (20_000, 1)), units(20_000, rng)
    distance = cast(scene, origin, direction, 30.0)
    met = np.isfinite(distance)
    point = origin[met] + distance[met, None] * direction[met]
    assert from_scene(scene, point).max() < 1e-8


def crown_rays(count, rng, extinction, half):
    """Rays that cross a crown from all sides, each through a crown of its own, and their chords."""
    centre = rng.uniform(-400, 400, size=(count, 3))
    crown = Crown(np.zeros(3), np.array(half), extinction)
    direction = units(count, rng)
    origin = rng.uniform(-0.4, 0.4, size=(count, 3)) * half - 20 * direction
    a = ((direction / half) ** 2).sum(axis=1)
    b = (origin * direction / np.square(half)).sum(axis=1)
    root = np.sqrt(b**2 - a * (((origin / half) ** 2).sum(axis=1) - 1))
    met = np.empty(count)
    for i in range(count):
        moved = Scene((), crowns=(Crown(centre[i], crown.half, extinction),))
        met[i] = cast(moved, (origin + centre)[i : i + 1], direction[i : i + 1], 60.0)[0]
    return met - (-b - root) / a, 2 * root / a


def test_rays_pass_a_crown_as_its_extinction_says(rng):
    """P(no leaf on a chord L) = exp(-mu L), depths have the density mu exp(-mu x) up to L."""
    mu = 0.5
    depth, chord = crown_rays(1200, rng, mu, (2.0, 1.5, 1.0))
    passed = np.isinf(depth)
    expected = np.exp(-mu * chord)
    error = np.sqrt((expected * (1 - expected)).sum())
    assert abs(passed.sum() - expected.sum()) < 3 * error
    longer = chord > np.median(chord)
    for part in (longer, ~longer):
        error = np.sqrt((expected * (1 - expected))[part].sum())
        assert abs(passed[part].sum() - expected[part].sum()) < 3 * error
    met = ~passed
    assert (depth[met] >= 0).all()
    assert (depth[met] <= chord[met]).all()
    uniform = -np.expm1(-mu * depth[met]) / -np.expm1(-mu * chord[met])
    assert stats.kstest(uniform, "uniform").pvalue > 0.01


def test_leaves_stay_where_they_are_and_what_is_behind_is_seen_through_them(rng):
    crown = Crown(np.array([10.0, 0, 0]), np.full(3, 2.0), 0.4)
    wall = box((15, 0, 0), (0, 20, 20))
    ray = ahead(*np.column_stack([np.full(400, 10.0), rng.uniform(-1, 1, (400, 2))]))
    origin = np.zeros((400, 3))
    distance = cast(Scene((wall,), crowns=(crown,)), origin, ray, 50.0)
    np.testing.assert_array_equal(
        distance, cast(Scene((wall,), crowns=(crown,)), origin, ray, 50.0)
    )
    behind = cast(Scene((wall,)), origin, ray, 50.0)
    leaf = distance < behind
    assert 0.5 < leaf.mean() < 0.95
    np.testing.assert_array_equal(distance[~leaf], behind[~leaf])
    place = ray[leaf] * distance[leaf, None]
    assert np.linalg.norm(place - crown.centre, axis=1).max() < 2 + 1e-9
    before = Scene((box((7, 0, 0), (0, 20, 20)),), crowns=(crown,))
    np.testing.assert_allclose(cast(before, origin, ray, 50.0) * ray[:, 0], 7.0)


def test_tufts_have_the_rms_and_the_size_that_are_asked_for(rng):
    ground = Ground(tufts=Tufts(0.02, 0.25, seed=5))
    x, y = rng.uniform(-300, 300, size=(2, 40_000))
    height = textured_height(ground, x, y)
    assert np.sqrt(np.mean(height**2)) == pytest.approx(0.02, rel=0.02)
    assert abs(height.mean()) < 5e-4
    assert np.abs(height).max() <= ground.tufts.highest_m
    apart = textured_height(ground, x + 0.5, y)  # two cells away nothing is shared
    assert abs(np.corrcoef(height, apart)[0, 1]) < 0.02
    near = textured_height(ground, x + 0.05, y)
    assert np.corrcoef(height, near)[0, 1] > 0.9
    other = textured_height(Ground(tufts=Tufts(0.02, 0.25, seed=6)), x, y)
    assert abs(np.corrcoef(height, other)[0, 1]) < 0.02


def test_textured_ground_is_met_where_dense_samples_first_sink_below_it(rng):
    smooth = waves(rng, 2)
    ground = Ground(-1.0, smooth.amplitude, smooth.wave, smooth.phase, Tufts(0.03, 0.25))
    turn = rng.uniform(0, 2 * np.pi, 150)
    ray = ahead(*np.column_stack([np.cos(turn), np.sin(turn), rng.uniform(-0.6, -0.1, 150)]))
    origin = np.column_stack([rng.uniform(-9, 9, (150, 2)), np.full(150, 1.0)])
    distance = cast(Scene((), ground), origin, ray, 15.0)
    met = np.isfinite(distance)
    point = origin[met] + distance[met, None] * ray[met]
    gap = point[:, 2] - textured_height(ground, point[:, 0].copy(), point[:, 1].copy())
    assert np.abs(gap).max() < 5e-4

    step = np.arange(0, 15, 0.003)
    dense = origin[:, None] + step[:, None] * ray[:, None]
    flat = dense.reshape(-1, 3)
    height = textured_height(ground, flat[:, 0].copy(), flat[:, 1].copy()).reshape(dense.shape[:2])
    below = dense[..., 2] < height
    first = np.where(below.any(axis=1), step[np.argmax(below, axis=1)], np.inf)
    assert np.isfinite(first).sum() > 100
    with np.errstate(invalid="ignore"):
        agrees = (np.abs(distance - first) < 0.02) | (np.isinf(distance) & np.isinf(first))
    assert agrees.mean() > 0.97  # crests thinner than a quarter of a cell may be missed


def test_a_moving_body_is_met_where_it_is_when_the_ray_is_sent():
    """A box that drives along x at 5 m/s, then turns to y, seen from the side."""
    time = np.arange(0, 4, KNOT_S)
    pose = np.column_stack([5 * time, np.full(len(time), 10.0), 0 * time, 0 * time])
    pose[time > 2, 3] = np.pi / 2
    car = Moving((box((0, 0, 0.5), (4, 2, 1)),), pose)
    scene = Scene((), moving=(car,))
    sent = np.array([0.0, 0.33, 1.0, 1.777, 1.0])
    origin = np.column_stack([5 * sent, 0 * sent, np.full(5, 0.5)])
    origin[4, 0] += 2.1  # just ahead of its front
    distance = cast(scene, origin, np.tile([0.0, 1, 0], (5, 1)), 50.0, time=sent)
    np.testing.assert_allclose(distance, [9, 9, 9, 9, np.inf], atol=1e-9)
    later = cast(
        scene, np.array([[15.0, 0, 0.5]]), np.array([[0.0, 1, 0]]), 50.0, time=np.array([3.0])
    )
    np.testing.assert_allclose(later, 10 - 2, atol=1e-9)  # its long side looks along y now
    np.testing.assert_allclose(car.poses(np.array([0.33, 99.0]))[:, 0], [1.65, 5 * time[-1]])


def test_rays_of_one_batch_meet_a_body_each_at_its_own_time(rng):
    """The same as a scene of its own for each ray, with the body at rest."""
    pose = np.column_stack([np.linspace(-8, 8, 40), np.full(40, 6.0), np.zeros(40), np.zeros(40)])
    person = Moving((pillar(0, 0, 1.2, 0, 2),), pose)
    sent, ray = rng.uniform(0, 3.9, 300), units(300, rng) * [1, 1, 0.1]
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    origin = np.tile([0.0, 0, 1], (300, 1))
    distance = cast(Scene((), moving=(person,)), origin, ray, 30.0, time=sent)
    expected = [
        cast(Scene((pillar(x, y, 1.2, 0, 2),)), origin[:1], ray[i : i + 1], 30.0)[0]
        for i, (x, y, _, _) in enumerate(person.poses(sent))
    ]
    assert np.isfinite(distance).sum() > 10
    np.testing.assert_allclose(distance, expected, atol=1e-9)
