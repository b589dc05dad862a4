"""The map's error, carried: against Monte Carlo in linear worlds, and its contract."""

import numpy as np
import pytest

from lab_support import room
from lab_support.toy_map import FixedNoise, follow, line_world, planar_world
from smfeval.maths import so3
from smfeval_lab.filters.births import class_information, levers
from smfeval_lab.filters.carried import CarriedCovariance, Priors
from smfeval_lab.filters.ieskf import Settings, run
from smfeval_lab.filters.patch_noise import PATCH_M, LearntNoise, PatchPairs
from smfeval_lab.filters.scan_sums import Matches, Motion, Prediction, ScanRecorder

BEGUN = 20  # scans after which ratios are looked at


def line_ratio(kind, *, runs, scans=300, classes=16):
    """Carried variance over the true one, per scan; six worlds at once."""
    found = follow(line_world(kind, scans), np.random.default_rng(5), runs=runs, classes=classes)
    total = np.einsum("nii->n", found.true)[BEGUN:]
    return tuple(
        np.einsum("nii->n", part)[BEGUN:] / total for part in (found.carried, found.filter)
    )


def planar_ratio(kind, *, runs, scans=300):
    world = planar_world(kind, np.random.default_rng(8), scans)
    found = follow(world, np.random.default_rng(9), runs=runs)
    total = (found.true[:, 0, 0] + found.true[:, 1, 1])[BEGUN:]
    return tuple(
        (part[:, 0, 0] + part[:, 1, 1])[BEGUN:] / total for part in (found.carried, found.filter)
    )


@pytest.mark.parametrize("kind", ["explore", "stay", "return"])
def test_on_a_line_the_carried_variance_is_that_of_the_runs(kind):
    """Quick and short: the first scans are the worst, and 400 runs tell 3 %."""
    carried, own = line_ratio(kind, runs=400, scans=100)
    assert np.median(carried) == pytest.approx(1, abs=0.1)
    assert np.median(own) < 0.35


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["explore", "stay", "return"])
def test_on_a_line_it_is_the_true_one_to_three_percent(kind):
    carried, own = line_ratio(kind, runs=4000)
    assert np.median(carried) == pytest.approx(1, abs=0.03)
    assert np.quantile(carried, 0.05) > 0.93
    assert np.quantile(carried, 0.95) < 1.03
    assert np.median(own) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["explore", "stay", "return", "loop"])
def test_in_the_plane_it_is_the_true_one_to_ten_percent(kind):
    carried, own = planar_ratio(kind, runs=4000)
    assert np.median(carried) == pytest.approx(1, abs=0.1)
    assert np.quantile(carried, 0.05) > 0.85
    assert np.median(own) < 0.25


def test_cross_covariances_with_an_earlier_pose_are_those_of_the_runs():
    """The filter's own would be 30 times too small."""
    found = follow(line_world("explore", 120), np.random.default_rng(3), runs=600)
    assert np.trace(found.past) == pytest.approx(np.trace(found.past_true), rel=0.15)


@pytest.mark.slow
def test_cross_covariances_are_the_true_ones_to_five_percent():
    found = follow(line_world("explore"), np.random.default_rng(4), runs=4000)
    assert np.trace(found.past) == pytest.approx(np.trace(found.past_true), rel=0.05)


def still(position=(0.0, 0.0, 0.0)):
    return Motion(np.array(position), np.zeros(3), np.zeros(3), np.zeros((6, 6)))


class Follower:
    """A recorder, and the recursion that follows its records."""

    def __init__(self, covariance, classes=16, **options):
        self.recorder = ScanRecorder(classes)
        self.carried = CarriedCovariance(covariance, classes=classes, **options)

    def scan(self, Q, motion=None, matches=None, kept=0, rotation=None):
        """The covariance after a scan that predicts no motion of the error."""
        motion = motion or still()
        prediction = Prediction(np.eye(6), Q * np.eye(6), motion)
        pose = motion.position, np.eye(3) if rotation is None else rotation
        return self.carried.follow(self.recorder.record(prediction, matches, *pose, kept))


def rows_of(rng, count=200, birth=0):
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    point = 5 * rng.normal(size=(count, 3))
    H = np.concatenate([normal, np.cross(point, normal)], axis=1)
    return H, np.full((count, 5), birth), point


def matches_of(rng, covariance, variance=1e-3, birth=0):
    H, births, point = rows_of(rng, birth=birth)
    after = np.linalg.inv(np.linalg.inv(covariance) + H.T @ H / variance)
    weight = np.full(len(H), 1 / variance)
    return Matches(H, weight, np.zeros(len(H)), births, after, point)


def test_with_a_certain_map_it_is_the_filters_own_covariance(rng):
    """One class without error: X stays P, as the filter has it."""
    Q = np.diag([1e-4] * 3 + [1e-6] * 3)
    follower = Follower(np.zeros((6, 6)), noise=FixedNoise(1.0, 0.0))
    follower.scan(0.0, kept=100)
    P = np.zeros((6, 6))
    for _ in range(5):
        matches = matches_of(rng, P + Q)
        P = matches.gain
        covariance = follower.scan(Q, matches=matches)
        np.testing.assert_allclose(covariance, P, rtol=1e-7, atol=1e-15)


def test_a_class_is_the_interval_of_births_that_begins_before(rng):
    H, _, _ = rows_of(rng, 50)
    birth = rng.integers(0, 30, size=(50, 5))
    first, weight = np.array([0, 7, 19]), rng.uniform(1, 2, size=50)
    share = np.stack([(np.searchsorted(first, birth, "right") - 1 == a).mean(1) for a in range(3)])
    expected = np.einsum("am,m,mi,mj->aij", share, weight, H, H)
    np.testing.assert_allclose(class_information(H, weight, birth, first), expected)


def test_levers_carry_a_turn_to_another_place(rng):
    shift, turn, arm, place = rng.normal(size=(4, 3))
    moved = levers(arm[None])[0] @ np.concatenate([shift, turn])
    np.testing.assert_allclose(
        moved[:3] + np.cross(moved[3:], place - arm), shift + np.cross(turn, place)
    )


def test_it_stays_positive_and_bounded_however_long_it_goes(rng):
    follower = Follower(1e-6 * np.eye(6), classes=5, noise=FixedNoise(1.0, 0.3))
    carried, P = follower.carried, 1e-6 * np.eye(6)
    size = carried.X.shape
    for scan in range(60):
        P = P + 1e-6 * np.eye(6)
        matches = matches_of(rng, P, birth=scan - 1) if scan else None
        P = matches.gain if scan else P
        follower.scan(1e-6, still([0.3 * scan, 0, 0]), matches, kept=20)
        assert carried.count == len(follower.recorder.classes.first) <= 6
    assert carried.X.shape == size
    used = carried.X[: carried.used, : carried.used]
    scale = np.sqrt(np.maximum(np.diag(used), 1e-300))
    assert np.linalg.eigvalsh(used / np.outer(scale, scale)).min() > -1e-9
    np.testing.assert_array_equal(used, used.T)


def test_joining_keeps_the_first_class_and_the_newest():
    follower = Follower(np.zeros((6, 6)), classes=4, noise=FixedNoise(1.0, 0.3))
    for scan in range(9):
        follower.scan(1e-6, still([1.0 * scan, 0, 0]), kept=10)
    first = follower.recorder.classes.first
    assert first[0] == 0
    assert first[1] == 1
    assert first[-1] == 8
    assert (np.diff(first) > 0).all()


def test_a_wrong_extrinsic_cancels_until_the_body_turns(rng):
    """Map and scan are displaced alike; after a half turn they are displaced against each other."""
    sigma = 0.01
    turned = so3.matrix(so3.exp(np.array([0, 0, np.pi])))

    def variance_after(rotation):
        follower = Follower(
            np.zeros((6, 6)), priors=Priors(extrinsic_m=sigma), noise=FixedNoise(0.0, 0.0)
        )
        follower.scan(0.0, kept=100)
        all_weight = matches_of(rng, 1e4 * np.eye(6))  # on the scan
        return follower.scan(0.0, None, all_weight, rotation=rotation)[:3, :3]

    np.testing.assert_allclose(variance_after(np.eye(3)), 0, atol=1e-12)
    np.testing.assert_allclose(
        variance_after(turned), np.diag([2 * sigma, 2 * sigma, 0]) ** 2, atol=1e-9
    )


def test_a_late_clock_displaces_along_the_motion(rng):
    follower = Follower(np.zeros((6, 6)), priors=Priors(clock_s=0.01), noise=FixedNoise(0.0, 0.0))
    follower.scan(0.0, kept=100)
    motion = Motion(np.zeros(3), np.array([2.0, 0, 0]), np.zeros(3), np.zeros((6, 6)))
    covariance = follower.scan(0.0, motion, matches_of(rng, 1e4 * np.eye(6)))
    np.testing.assert_allclose(covariance[:3, :3], np.diag([0.02, 0, 0]) ** 2, atol=1e-9)


def test_what_repeats_in_residuals_is_learnt_for_each_direction(rng):
    """Patches of 10 rows that share a map error of 3 or 9 mm, rows of 2 cm: told apart."""
    patch, rows, variance = 120, 10, 1e-3
    place = np.repeat(PATCH_M * (np.arange(patch)[:, None] + 0.5) * [1, 0, 0], rows, axis=0)
    H = np.repeat(np.tile(np.eye(6), (patch // 6, 1)), rows, axis=0)
    birth = np.zeros((len(place), 5), dtype=np.int64)
    birth[0] = 1  # something is newer, and its row is left out
    sigma = 0.001 * np.array([3, 9, 3, 9, 3, 9])
    bias = np.repeat(np.tile(sigma, patch // 6) * rng.normal(size=patch), rows)
    weight, A = np.full(len(H), 1 / variance), H.T @ H / variance
    noise, pairs = LearntNoise(), PatchPairs()
    for _ in range(1200):
        residual = bias + 0.02 * rng.normal(size=len(place))
        seen = Matches(H, weight, residual, birth, np.eye(6), place)
        square = np.mean(residual**2) / variance
        noise.observe(square, pairs.moments(seen, A, np.eye(3)))
    own = np.array([np.mean(bias[H[:, axis] > 0] ** 2) for axis in range(6)])
    np.testing.assert_allclose(np.diag(noise.patch), rows * own / variance, rtol=0.35)
    assert np.trace(noise.scan) / 6 == pytest.approx(0.02**2 / variance, rel=0.1)


@pytest.fixture(scope="module")
def finished():
    """A short walk with the map's error ignored and carried, reported every second scan."""
    recording = room.recording(31, duration_s=4.0, count=600, sweep=True)
    return {
        kind: run(recording, Settings(map_error=kind, report_every=2, cross_lags=5))
        for kind in ("ignored", "carried")
    }


@pytest.fixture
def runs(finished):
    return {kind: done.belief for kind, done in finished.items()}


def test_all_scans_are_used_and_every_second_is_reported(finished):
    for done in finished.values():
        assert len(done.belief) == (done.scans + 1) // 2
        np.testing.assert_array_equal(done.belief.stamp, done.telemetry.stamp[::2])


def test_the_mean_is_the_filters_own(runs):
    np.testing.assert_array_equal(runs["carried"].position, runs["ignored"].position)
    np.testing.assert_array_equal(runs["carried"].rotation, runs["ignored"].rotation)


def test_the_carried_covariance_is_wider_than_that_of_a_filter_that_trusts_its_map(runs):
    wide, tight = (
        np.einsum("nii->n", runs[kind].position_covariance)[5:] for kind in ("carried", "ignored")
    )
    assert np.median(wide / tight) > 1.5


def test_pairs_of_reported_scans_have_cross_covariances(runs):
    for belief in runs.values():
        assert belief.cross.lags == (1, 5)
        assert len(belief.cross) == sum(len(belief) - lag for lag in range(1, 6))


def test_errors_of_neighbours_are_more_alike_than_the_filter_thinks(runs):
    """What both share through the map is most of the error."""

    def correlation(belief):
        last = belief.cross.pairs[:, 1] == len(belief) - 1
        C = belief.cross.block[last][-1]
        i, j = belief.cross.pairs[last][-1]
        return np.trace(C[:3, :3]) / np.sqrt(
            np.trace(belief.position_covariance[i]) * np.trace(belief.position_covariance[j])
        )

    assert correlation(runs["carried"]) > correlation(runs["ignored"])
