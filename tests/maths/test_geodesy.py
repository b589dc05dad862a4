"""Geodesy against published points, PROJ and the geometry of the ellipsoid."""

import numpy as np
import pytest

from smfeval.maths import geodesy

# latitude, longitude, height, x, y, z: PROJ 9 (EPSG:4979 to EPSG:4978), to 1e-9 m.
PROJ = [
    (35.165393934, 136.881442407, 39.6452, -3810228.109763097, 3567863.892538969, 3652905.27373218),
    (-33.9, 151.2, -20.0, -4643931.480511138, 2553022.935875459, -3537234.193003076),
    (90.0, 0.0, 0.0, 3.9186209248144716e-10, 0.0, 6356752.314245179),
    (0.0, -179.999, 10000.0, -6388136.9990270315, -111.49402371472264, 0.0),
    (48.137, 11.575, 519.0, 4177999.1683276338, 855720.4232886393, 4727442.345849264),
    (89.9999, 10.0, 100.0, 10.999881585330963, 1.9395759080920518, 6356852.314235432),
]  # fmt: skip


@pytest.fixture
def points():
    rng = np.random.default_rng(1)
    latitude, longitude = rng.uniform(-90, 90, 2000), rng.uniform(-180, 180, 2000)
    return np.stack([latitude, longitude, rng.uniform(-500, 9000, 2000)], axis=-1)


@pytest.mark.parametrize("row", PROJ)
def test_earth_centred_positions_agree_with_proj(row):
    np.testing.assert_allclose(geodesy.ecef_from_llh(np.array(row[:3])), row[3:], atol=2e-9)


@pytest.mark.parametrize("row", PROJ)
def test_geodetic_positions_agree_with_proj(row):
    found = geodesy.llh_from_ecef(np.array(row[3:]))
    np.testing.assert_allclose(found, row[:3], atol=2e-9, rtol=0)


@pytest.mark.parametrize("height_m", [-1000.0, 0.0, 1e4, 2e7])
def test_there_and_back_gives_the_same_point(points, height_m):
    points[:, 2] = height_m
    back = geodesy.llh_from_ecef(geodesy.ecef_from_llh(points))
    np.testing.assert_allclose(back[:, :2], points[:, :2], atol=1e-12 * 180, rtol=0)
    np.testing.assert_allclose(back[:, 2], points[:, 2], atol=2e-8, rtol=0)


def test_the_centre_of_the_earth_has_finite_coordinates():
    assert np.isfinite(geodesy.llh_from_ecef(np.zeros(3))).all()


def test_axes_are_a_rotation(points):
    axes = geodesy.enu_axes(points)
    np.testing.assert_allclose(
        axes @ axes.swapaxes(-1, -2), np.tile(np.eye(3), (2000, 1, 1)), atol=1e-15
    )
    np.testing.assert_allclose(np.linalg.det(axes), 1.0)


def test_axes_are_the_directions_in_which_longitude_latitude_and_height_grow(points):
    points[:, 0] *= 0.99  # away from the poles, where east has no direction
    step = np.array([1e-5, 1e-5, 1.0])
    axes = geodesy.enu_axes(points)
    for axis, column in enumerate((1, 0, 2)):
        ahead, behind = points.copy(), points.copy()
        ahead[:, column] += step[column]
        behind[:, column] -= step[column]
        way = geodesy.ecef_from_llh(ahead) - geodesy.ecef_from_llh(behind)
        way /= np.linalg.norm(way, axis=-1, keepdims=True)
        np.testing.assert_allclose(axes[:, axis], way, atol=1e-6)


def test_local_coordinates_keep_distances_and_put_the_origin_at_zero(points):
    ecef = geodesy.ecef_from_llh(points)
    enu = geodesy.enu_from_ecef(ecef, points[7])
    np.testing.assert_allclose(enu[7], 0.0, atol=1e-8)
    apart = np.linalg.norm(enu[1:] - enu[:-1], axis=-1)
    np.testing.assert_allclose(apart, np.linalg.norm(np.diff(ecef, axis=0), axis=-1), rtol=1e-12)


def test_a_point_further_north_has_a_northern_coordinate():
    origin, point = np.array([35.0, 137.0, 40.0]), np.array([35.001, 137.0, 40.0])
    north = geodesy.enu_from_ecef(geodesy.ecef_from_llh(point), origin)
    meridian_m = 110_940.6  # length of a degree of latitude at 35 degrees on WGS 84
    np.testing.assert_allclose(north, [0.0, 1e-3 * meridian_m, -1e-3], atol=5e-3)
