"""Normals through few points: how they scatter, and how little such rows answer."""

from dataclasses import replace

import numpy as np
import pytest

from lab_support.toy_map import FixedNoise
from smfeval_lab.filters.carried import CarriedCovariance
from smfeval_lab.filters.ieskf.planes import fit_planes
from smfeval_lab.filters.normals import positive_part, response, scatter_information, square_roots
from smfeval_lab.filters.patch_noise import NO_PAIR
from smfeval_lab.filters.scan_sums import Matches, ScanSums
from smfeval_lab.filters.view import TAU, view_pull

NO_VIEW = np.zeros((6, 2))


def positive(rng):
    root = rng.normal(size=(6, 6))
    return root @ root.T


def test_normals_of_fits_scatter_as_they_say(rng):
    """20,000 planes through five points of one surface, each with 5 mm of noise across it."""
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    flat = np.zeros((5, 3))
    flat[:, :2] = [[0.3, 0.1], [-0.3, 0.2], [0.2, -0.3], [-0.1, -0.4], [0.05, 0.35]]
    point = np.tile(flat, (20_000, 1, 1))
    point[:, :, 2] += 0.005 * rng.normal(size=point.shape[:2])
    point = point @ turn.T
    normal = fit_planes(point, np.full(len(point), 5), False)[0]
    normal *= np.sign(normal @ turn[:, 2])[:, None]
    apart = normal - turn[:, 2]
    weight, arm = np.full(len(point), 1 / len(point)), np.zeros((len(point), 3))
    N, rough = scatter_information(point, normal, arm, weight)
    assert rough.mean() == pytest.approx(0.4 * 0.005**2, rel=0.02)
    spread = apart.T @ apart / len(point)
    np.testing.assert_allclose(N[:3, :3], spread, atol=0.05 * np.trace(spread))
    np.testing.assert_array_equal(N[3:], 0)


def test_the_scatter_of_a_row_turns_with_its_arm(rng):
    """B Cov(n) B^T with B = [I; [arm]x]."""
    point, arm = rng.normal(size=(1, 5, 3)), rng.normal(size=(1, 3))
    normal = fit_planes(point, np.array([5]), False)[0]
    at_origin = scatter_information(point, normal, np.zeros((1, 3)), np.ones(1))[0][:3, :3]
    x, y, z = arm[0]
    B = np.concatenate([np.eye(3), [[0, -z, y], [z, 0, -x], [-y, x, 0]]])
    N, _ = scatter_information(point, normal, arm, np.ones(1))
    np.testing.assert_allclose(N, B @ at_origin @ B.T, atol=1e-12)


def test_the_response_is_the_information_without_the_scatter(rng):
    A = positive(rng)
    N = 0.1 * A
    U = response(A, N)
    np.testing.assert_allclose(U @ A @ U.T, A - N, rtol=1e-9, atol=1e-9)
    A, N = np.diag([4.0, 3, 2, 1, 1, 1]), np.diag([1.0, 3, 5, 0, 0, 0])
    U = response(A, N)
    np.testing.assert_allclose(U @ A @ U.T, np.diag([3.0, 0, 0, 1, 1, 1]), atol=1e-12)


def test_roots_and_positive_parts(rng):
    A = positive(rng)
    root, inverse = square_roots(A)
    np.testing.assert_allclose(root @ root, A, atol=1e-9)
    np.testing.assert_allclose(inverse @ A @ inverse, np.eye(6), atol=1e-6)
    np.testing.assert_allclose(positive_part(np.diag([2.0, -1.0]), 0.5), np.diag([2.0, 0.5]))


def test_where_all_information_is_scatter_the_error_is_that_of_the_prediction():
    """A scan along a smooth tunnel: x is pulled by noise, and answers to nothing."""
    A, q, after = np.diag([50.0, 1, 1, 1, 1, 1]), 1e-2, 1e-3
    found = {}
    for name, scatter in (("exact", 0.0), ("scattered", 50.0)):
        follower = CarriedCovariance(np.zeros((6, 6)), noise=FixedNoise(0.0, 0.0))
        N = np.diag([scatter, 0, 0, 0, 0, 0])
        follower.follow(scan_of(q, np.zeros((0, 6, 6)), N, after, kept=100))
        for _ in range(20):
            follower.follow(scan_of(q, A[None], N, after, kept=0))
        found[name] = follower.covariance[0, 0]
    assert found["scattered"] == pytest.approx(21 * q)
    assert found["exact"] < 10.5 * q


def test_what_view_does_adds_up_over_new_ground_and_not_over_old():
    """Each scan is pulled by phi tau, tau one constant: n scans with gain 1 are n phi tau off."""
    phi, A = np.zeros((6, 2)), np.diag([50.0, 1, 1, 1, 1, 1])
    phi[0, 0] = 0.003
    old = CarriedCovariance(np.zeros((6, 6)), noise=FixedNoise(0.0, 0.0))
    new = CarriedCovariance(np.zeros((6, 6)), noise=FixedNoise(0.0, 0.0))
    none = np.zeros((6, 6))
    for follower, births in ((old, 1), (new, 11)):
        follower.follow(scan_of(0.0, none[None][:0], none, 1 / 50, 100))
        for _ in range(10):
            shares = np.zeros((follower.count, 6, 6))
            shares[-1] = A
            kept = 100 if births > 1 else 0
            follower.follow(scan_of(0.0, shares, none, 1 / 50, kept, 50 * phi))
    one = (TAU[0] * phi[0, 0]) ** 2
    assert old.covariance[0, 0] == pytest.approx(one)
    assert new.covariance[0, 0] == pytest.approx(100 * one)


def test_the_pull_of_view_is_of_what_is_rough_and_was_seen_from_another_range():
    """A row that faces up, at 4 m, born at 1 m: w h rough log(4), up to the floor of ranges."""
    H = np.array([[0.0, 0, 1, 1, 2, 3], [1.0, 0, 0, 1, 2, 3]])
    arm = np.array([[4.0, 0, 0], [0, 4.0, 0]])
    place, seen_from = arm, np.array([[3.0, 0, 0], [0, 0, 0]])
    rough, weight = np.array([0.01**2, 0.02**2]), np.array([5.0, 7.0])
    birth = np.array([[0] * 5, [1] * 5])
    rows = Matches(H, weight, np.zeros(2), birth, np.eye(6), place, seen_from=seen_from)
    found = view_pull(rows, np.zeros(3), rough)
    expected = 5 * H[0] * 0.01 * 0.5 * np.log((16 + 0.25) / (1 + 0.25))
    np.testing.assert_allclose(found[:, 0], expected)
    np.testing.assert_allclose(found[:, 1], 0, atol=1e-15)  # seen from the same range
    along = replace(rows, H=arm @ np.eye(3, 6) / 4, range_m2=1.0)
    assert (view_pull(along, np.zeros(3), rough) == 0).all()  # no rougher than ranges are noisy


def scan_of(q, information, scatter, after, kept, view=NO_VIEW):
    """A scan of a body that stands, with P+ = `after` along x."""
    zero, one = np.zeros(3), np.eye(3)
    return ScanSums(
        transition=np.eye(6),
        added=np.diag([q, 0, 0, 0, 0, 0]),
        step_m=0.0,
        velocity=zero,
        rate=zero,
        sweep=np.zeros((6, 6)),
        position=zero,
        rotation=one,
        matched=len(information),
        precision=1.0,
        gain=after * np.eye(6),
        information=information,
        square_m2=1.0,
        pair=NO_PAIR,
        scatter=scatter,
        view=view,
        kept=kept,
        joined=-1,
    )
