"""Rays against closed forms, and against a tracer that knows only distances."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval.lab.scene import Box, Ground, Scene, Tube, box, cast, pillar
from support.scenes import from_scene, traced


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
