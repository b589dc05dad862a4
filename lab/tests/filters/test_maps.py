"""Planes near places: the growing map against brute force, the known one against its truth."""

import numpy as np
import pytest

from smfeval.errors import OptionError
from smfeval_lab.filters.ieskf.maps import (
    FIRST_BIRTHS,
    FIRST_SIZE,
    KEEP,
    MIN_SPACING,
    NEIGHBOURS,
    PER_VOXEL,
    KnownMap,
    VoxelMap,
    empty_table,
    insert_points,
    nearest_points,
    search_steps,
    voxel_number,
)
from smfeval_lab.filters.ieskf.planes import (
    GRAZING,
    fit_planes,
    lower_eigenvalues,
    planes_through,
    refuse_other_side,
)
from smfeval_lab.filters.ieskf.update import orient_normals

EYE = np.zeros(3)  # where the body is


def filled(point, voxel_m=0.5, size=4096):
    table = empty_table(voxel_m, size)
    insert_points(point, voxel_number(point, voxel_m), table, 0, KEEP)
    return table


def kept(table):
    return np.concatenate(
        [table.point[i, : table.point_count[i]] for i in range(len(table.point_count))]
    )


def test_the_nearest_points_are_those_of_a_search_over_all(rng):
    table = filled(rng.uniform(-4, 4, size=(3000, 3)))
    stored = kept(table)
    places = rng.uniform(-4, 4, size=(200, 3))
    found, have, _ = nearest_points(places, table, search_steps("27"))
    for place, near, count in zip(places, found, have, strict=True):
        around = np.abs(np.floor(stored / 0.5) - np.floor(place / 0.5)).max(axis=1) <= 1
        distance = np.sort(np.linalg.norm(stored[around] - place, axis=1))[:NEIGHBOURS]
        assert count == len(distance)
        np.testing.assert_allclose(np.linalg.norm(near[:count] - place, axis=1), distance)


def test_a_voxel_keeps_a_few_points_that_are_apart(rng):
    table = filled(rng.uniform(0, 0.5, size=(500, 3)))
    stored = kept(table)
    assert len(stored) == PER_VOXEL
    gap = np.linalg.norm(stored[:, None] - stored, axis=-1)[np.triu_indices(PER_VOXEL, 1)]
    assert gap.min() > MIN_SPACING * 0.5


def test_voxels_have_numbers_of_their_own_on_both_sides_of_the_origin(rng):
    cells = rng.integers(-1000, 1000, size=(5000, 3))
    number = voxel_number(cells + 0.5, 1.0)
    assert len(np.unique(number)) == len(np.unique(cells, axis=0))
    assert number.min() >= 0


def test_the_map_grows_and_forgets_nothing(rng):
    cells = rng.permutation(np.stack(np.meshgrid(*[np.arange(40)] * 3), -1).reshape(-1, 3))
    voxels = VoxelMap(0.5)
    for part in np.array_split(0.5 * cells + 0.25, 20):
        voxels.add(part, EYE)
    assert len(voxels) == len(cells) > FIRST_SIZE * 0.5
    floor = 0.5 * np.array([[5, 5, 0], [30, 20, 0]]) + [0.25, 0.25, -0.1]
    assert voxels.planes(floor).good.shape == (2,)
    voxels.add(0.5 * cells[:100] + 0.25, EYE)
    assert len(voxels) == len(cells)


def test_a_noisy_plane_is_found_where_it_is(rng):
    normal = np.array([0.6, 0.0, 0.8])
    across = np.array([[0.8, 0.0, -0.6], [0.0, 1.0, 0.0]])
    flat = rng.uniform(-5, 5, size=(6000, 2)) @ across + 2.0 * normal
    voxels = VoxelMap(0.5)
    voxels.add(flat + 0.005 * rng.normal(size=(6000, 1)) * normal, EYE)
    places = rng.uniform(-3, 3, size=(100, 2)) @ across + 2.02 * normal
    found = voxels.planes(places)
    good = found.good
    assert good.mean() > 0.85  # the five points nearest to the others are too near to a line
    assert np.abs(found.normal[good] @ normal).min() > np.cos(0.1)
    distance = np.abs(np.einsum("ni,ni->n", found.normal, places) + found.offset)[good]
    assert np.abs(distance - 0.02).max() < 0.02


def test_planes_are_those_of_the_eigenvectors(rng):
    point = rng.normal(size=(300, 5, 3)) * [1.0, 0.7, 0.02]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    point = point @ turn.T + rng.normal(size=(300, 1, 3))
    apart = point - point.mean(axis=1, keepdims=True)
    C = np.einsum("nki,nkj->nij", apart, apart) / 5
    value, vector = np.linalg.eigh(C)
    low, middle = np.transpose([lower_eigenvalues(each) for each in C])
    np.testing.assert_allclose(low, value[:, 0], atol=1e-12)
    np.testing.assert_allclose(middle, value[:, 1], atol=1e-12)
    normal, _, _, _ = fit_planes(point, np.full(len(point), 5), False)
    np.testing.assert_allclose(np.abs(np.einsum("ni,ni->n", normal, vector[:, :, 0])), 1, rtol=1e-9)


def test_points_on_a_line_and_points_in_a_heap_are_no_plane(rng):
    line = np.linspace(0, 1, 5)[:, None] * np.array([1.0, 2.0, 3.0])
    heap = rng.normal(size=(5, 3))
    sheet = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0.5, 0.5, 0.01]])
    spot = np.ones((5, 3))
    good = planes_through(np.stack([line, heap, sheet, spot]), 0.5).good
    assert good.tolist() == [False, False, True, False]


def test_a_known_map_gives_the_tangent_plane_of_the_nearest_point():
    known = KnownMap(np.array([[0.0, 0, 0], [5.0, 0, 0]]), np.array([[0.0, 0, 1], [1.0, 0, 0]]))
    found = known.planes(np.array([[0.2, 0.3, 0.1], [5.1, 0.0, 0.4], [2.5, 9.0, 0.0]]))
    assert found.good.tolist() == [True, True, False]
    np.testing.assert_allclose(found.normal[:2], [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(found.offset[:2], [0.0, -5.0])


def test_a_known_map_without_points_is_refused():
    with pytest.raises(OptionError, match="known map needs points"):
        KnownMap(np.empty((0, 3)), np.empty((0, 3)))


def test_a_map_that_replaces_keeps_the_point_nearest_to_the_centre(rng):
    point = rng.uniform(0, 0.5, size=(40, 3))
    voxels = VoxelMap(0.5, "replace")
    kept = [voxels.add(each[None], EYE) for each in point]
    away = np.linalg.norm(point - 0.25, axis=1)
    nearest = np.minimum.accumulate(away)
    assert kept == [1, *(nearest[1:] < nearest[:-1]).astype(int)]
    found, have, birth = nearest_points(point[:1], voxels._table, search_steps("27"))
    assert have[0] == 1
    np.testing.assert_array_equal(found[0, 0], point[np.argmin(away)])
    assert birth[0, 0] == np.argmin(away)


def test_planes_know_when_their_points_were_born(rng):
    flat = np.concatenate([rng.uniform(-4, 4, size=(3000, 2)), np.zeros((3000, 1))], axis=1)
    voxels = VoxelMap(0.5)
    voxels.add(flat[flat[:, 0] < 0], EYE)
    voxels.add(flat[flat[:, 0] >= 0], EYE)
    planes = voxels.planes(np.array([[-2.0, 0, 0], [2.0, 0, 0]]))
    np.testing.assert_array_equal(planes.birth, [[0] * 5, [1] * 5])


def test_a_plane_is_refused_if_half_of_its_points_were_seen_from_the_other_side():
    """Five points of a wall, `front` of them seen from before it, the others from behind."""
    wall = np.array([[0, 0, 0], [0, 0.4, 0], [0, 0, 0.4], [0, -0.4, 0], [0, 0, -0.4]])
    body = np.array([2.0, 0.0, 0.0])

    def is_good(front, eye):
        voxels = VoxelMap(0.5)
        voxels.add(wall[:front], body)
        voxels.add(wall[front:], -body)
        place = 0.01 * eye[None]
        planes = orient_normals(voxels.planes(place), place, eye)
        assert planes.good.all()
        return bool(refuse_other_side(planes, place).good[0])

    assert [is_good(front, body) for front in range(6)] == [False] * 3 + [True] * 3
    assert [is_good(front, -body) for front in range(6)] == [True] * 3 + [False] * 3


def test_a_plane_that_was_seen_grazing_is_not_refused():
    """Along a tunnel the side that a far plane was seen from is the scatter of its normal."""
    wall = np.array([[0, 0, 0], [0, 0.4, 0], [0, 0, 0.4], [0, -0.4, 0], [0, 0, -0.4]])
    place, good = np.zeros((1, 3)), []
    for cosine in (GRAZING - 0.01, GRAZING + 0.01):
        voxels = VoxelMap(0.5)
        voxels.add(wall, 7 * np.array([-cosine, np.sqrt(1 - cosine**2), 0]))
        planes = orient_normals(voxels.planes(place), place, np.array([2.0, 0, 0]))
        good.append(bool(refuse_other_side(planes, place).good[0]))
    assert good == [True, False]


def test_a_map_has_room_for_any_number_of_births():
    voxels = VoxelMap(0.5)
    for birth in range(FIRST_BIRTHS + 1):
        voxels.add(np.array([[1.0 * birth, 0, 0]]), np.array([1.0 * birth, 0, 1]))
    seen_from = voxels.planes(np.zeros((1, 3))).seen_from
    np.testing.assert_array_equal(seen_from[: FIRST_BIRTHS + 1, 0], np.arange(FIRST_BIRTHS + 1))
