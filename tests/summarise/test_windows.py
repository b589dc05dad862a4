"""Relative motion over windows, against explicit formulas and simulated worlds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.align.joint import Joint, align_joint, given_joint, growth
from smfeval.align.nuisance import body_motion
from smfeval.maths import se3, so3
from smfeval.summarise import windows as made
from smfeval.summarise.motion import body_columns, displacement_error, select_ends
from smfeval.summarise.windows import Windows, window_row, window_scores
from support import drifting

IMPLIED = {level: Joint("implied", level) for level in (6, 4, 3)}


def ends(pose):
    """The poses at scans 0 and 30, and 20 and 69 scans later."""
    return tuple(tuple(part[at] for part in pose) for at in ([0, 30], [20, 99]))


def row_of(world, joint, horizon, gauge="se3"):
    found = world.seen(joint, gauge).windows(horizon)
    stamp = np.arange(len(world.position)) * 100_000_000
    return window_row(found, stamp, made.path_length(world.truth_position))


@pytest.mark.parametrize("degrees", [12, 30.5, 177, 1e4])
@pytest.mark.parametrize("probability", [0.003, 0.025, 0.5, 0.975, 0.997])
def test_chi_squared_quantiles_are_those_of_scipy(degrees, probability):
    expected = stats.chi2.ppf(probability, degrees)
    assert made.chi_squared_quantile(degrees, probability) == pytest.approx(expected, rel=0.03)


def test_horizons_double_while_there_are_windows():
    assert made.horizons(600) == [10, 20, 40]
    assert made.horizons(100_000)[0] == 500
    assert made.horizons(50) == []
    assert all((100_000 - 1) // h >= 12 for h in made.horizons(100_000))


def test_what_is_open_is_fitted_to_the_half_that_a_row_is_of(rng):
    """Of a whole track whose covariances are thin, too, in which nothing can be fitted."""
    covariance = np.tile(np.eye(3), (48, 1, 1))
    covariance[24:, 2, 2] = 1e-9
    first, columns = 10 * np.arange(48), rng.normal(size=(48, 3, 2))
    error = rng.normal(size=(48, 3)) + columns @ np.array([100.0, -50.0])
    found = Windows(10, first, first + 10, error, covariance, columns)
    stamp, path_m = np.arange(481) * 100_000_000, np.arange(481.0)
    design = columns[:24].reshape(-1, 2)
    _, (left,), _, _ = np.linalg.lstsq(design, error[:24].ravel(), rcond=None)
    assert window_row(found, stamp, path_m) is None
    row = window_row(found, stamp, path_m, first_half=True)
    assert row.k == pytest.approx(left / (3 * 24 - 2))


def test_the_error_of_dead_reckoning_is_the_relative_motions(rng):
    world = drifting.dead_reckoning(rng, 100)
    estimate, truth = (ends(pose) for pose in (world.claim.pose, world.truth))
    found = displacement_error(6, *estimate, truth, np.zeros(3))
    expected, claimed = (
        se3.compose(se3.inverse(start), end)[0] for start, end in (truth, estimate)
    )
    assert found == pytest.approx(expected - claimed, abs=1e-10)


def test_a_heading_of_the_world_is_not_an_error_of_inertial_windows(rng):
    world = drifting.inertial(rng, 100)
    turn, up = (np.array([3.0, 2.0, 1.0]), so3.exp(np.array([0, 0, 2.0]))), np.array([0, 0, 1.0])
    truth, turned = ends(world.truth), ends(se3.compose(turn, world.claim.pose))
    expected = displacement_error(4, *ends(world.claim.pose), truth, up)
    found = displacement_error(4, *turned, truth, up)
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("make", "joint"),
    [
        (drifting.dead_reckoning, IMPLIED[6]),
        (drifting.random_walk, IMPLIED[3]),
        (drifting.inertial, IMPLIED[4]),
        (drifting.given_loops, None),
        (drifting.given_filter, None),
    ],
)
def test_honest_windows_have_the_claimed_covariance(make, joint):
    moments, rows = [], []
    for seed in range(40):
        world = make(np.random.default_rng(seed), 400)
        claim = given_joint(*world.cross) if joint is None else joint
        rows.append(row_of(world, claim, 10, gauge="none"))
        found = world.seen(claim, "none").windows(10)
        white = np.linalg.solve(np.linalg.cholesky(found.covariance), found.error[..., None])
        moments.append(np.mean(white @ np.swapaxes(white, 1, 2), axis=0))
    # 40 runs of some 39 windows: sigma of a variance is sqrt(2 / 1560) = 0.036, more if shared
    assert np.mean(moments, axis=0) == pytest.approx(np.eye(3), abs=0.15)
    assert np.mean([row.k for row in rows]) == pytest.approx(1, abs=0.1)
    assert 0.5 < np.std([row.rho for row in rows]) < 1.35


def test_the_mean_k_of_shared_windows_is_no_more_uncertain_than_its_degrees_say():
    rows = []
    for seed in range(120):
        world = drifting.given_filter(np.random.default_rng(seed), 400)
        rows.append(row_of(world, given_joint(*world.cross), 20, gauge="none"))
    claimed = np.mean([np.sqrt(2 / row.nu) for row in rows])
    assert np.std([row.k for row in rows]) < 1.15 * claimed


def test_moving_the_world_changes_nothing(rng):
    world = drifting.dead_reckoning(rng, 300)
    pose = 100 * rng.normal(size=3), so3.exp(rng.normal(size=3))
    truth = se3.compose(pose, (world.truth_position, world.truth_rotation))
    estimate = se3.compose(pose, (world.position, world.rotation))
    far = drifting.World(*truth, *estimate, world.covariance)
    here, there = row_of(world, IMPLIED[6], 10), row_of(far, IMPLIED[6], 10)
    for name in ("k", "nu", "rho", "lo", "hi", "metres"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-6)


def test_a_fit_of_the_world_changes_nothing_of_dead_reckoning(rng):
    world = drifting.dead_reckoning(rng, 300)
    pose = rng.normal(size=3), so3.exp(rng.normal(size=3))
    estimate = se3.compose(pose, (world.position, world.rotation))
    moved = drifting.World(world.truth_position, world.truth_rotation, *estimate, world.covariance)
    assert row_of(moved, IMPLIED[6], 10).k == pytest.approx(row_of(world, IMPLIED[6], 10).k)


def test_body_axes_turned_change_nothing(rng):
    world = drifting.dead_reckoning(rng, 300)
    extrinsic = np.zeros(3), so3.exp(rng.normal(size=3))
    truth = se3.compose((world.truth_position, world.truth_rotation), extrinsic)
    estimate = se3.compose((world.position, world.rotation), extrinsic)
    covariance = se3.sandwich(se3.adjoint(se3.inverse(extrinsic)), world.covariance)
    turned = drifting.World(*truth, *estimate, covariance)
    here, there = row_of(world, IMPLIED[6], 10), row_of(turned, IMPLIED[6], 10)
    for name in ("k", "nu", "rho", "lo", "hi"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-6)


@pytest.mark.parametrize(("level", "make"), [(3, drifting.random_walk), (4, drifting.inertial)])
def test_a_turned_world_costs_its_freedoms_and_no_more(level, make, rng):
    world = make(rng, 300)
    turn = np.zeros(3), so3.exp(np.array([0.02, -0.01, 0.0]))
    estimate = se3.compose(turn, (world.position, world.rotation))
    tilted = drifting.World(world.truth_position, world.truth_rotation, *estimate, world.covariance)
    joint = IMPLIED[level]
    expected = row_of(world, joint, 10, gauge="se3").k
    own = align_joint(joint, so3.matrix(turn[1]))
    assert row_of(tilted, own, 10, gauge="se3").k == pytest.approx(expected, rel=0.01)
    assert row_of(tilted, own, 10, gauge="none").k > 1.2 * expected
    assert world.seen(joint).windows(10).fitted == {3: 3, 4: 2}[level]


def test_a_scale_is_fitted_under_sim3(rng):
    world = drifting.dead_reckoning(rng, 300)
    stretch = np.array([1.02] * 3 + [1.0] * 3)
    wrong = drifting.World(
        world.truth_position,
        world.truth_rotation,
        1.02 * world.position,
        world.rotation,
        world.covariance * np.outer(stretch, stretch),
    )
    right = row_of(world, IMPLIED[6], 10, gauge="sim3").k
    assert row_of(wrong, IMPLIED[6], 10, gauge="sim3").k == pytest.approx(right, rel=0.05)
    assert row_of(wrong, IMPLIED[6], 10, gauge="se3").k > 1.3 * right


def test_k_and_its_interval_are_those_of_chi_squared(rng):
    m = 200
    covariance = np.tile(np.diag([1.0, 4.0, 9.0]), (m, 1, 1))
    error = rng.normal(size=(m, 3)) * [1.0, 2.0, 3.0]
    first = np.arange(m) * 5
    found = Windows(5, first, first + 5, error, covariance)
    stamp = np.arange(5 * m + 1) * 200_000_000
    row = window_row(found, stamp, np.arange(5 * m + 1) * 0.5)
    nees = np.sum((error / [1.0, 2.0, 3.0]) ** 2, axis=1)
    assert row.k == pytest.approx(nees.mean() / 3)
    assert (row.seconds, row.metres) == pytest.approx((1.0, 2.5))
    low, high = row.interval(0.025)
    assert low == pytest.approx(row.k * row.nu / stats.chi2.ppf(0.975, row.nu), rel=1e-3)
    assert high == pytest.approx(row.k * row.nu / stats.chi2.ppf(0.025, row.nu), rel=1e-3)


def test_heavy_tails_cost_degrees_of_freedom(rng):
    m = 2000
    covariance = np.tile(np.eye(3), (m, 1, 1))
    error = rng.standard_t(3, size=(m, 1)) * rng.normal(size=(m, 3))
    first = np.arange(m)
    row = window_row(
        Windows(1, first, first + 1, error, covariance), np.arange(m + 1), np.arange(m + 1.0)
    )
    assert row.nu < m


def test_a_thin_covariance_judges_nothing(rng):
    m = 50
    first = np.arange(m)
    flat = np.tile(np.diag([1.0, 1.0, 1e-7]), (m, 1, 1))
    found = Windows(1, first, first + 1, rng.normal(size=(m, 3)), flat)
    assert window_row(found, np.arange(m + 1), np.arange(m + 1.0)) is None


def test_scores_prefer_the_honest_claim_over_tight_ones():
    won = 0
    for seed in range(20):
        world = drifting.dead_reckoning(np.random.default_rng(seed), 300)
        honest, liar = (
            window_scores(world.scaled(c).seen(IMPLIED[6]).windows(10)) for c in (1, 1 / 7)
        )
        won += all(honest[name].mean() < liar[name].mean() for name in ("energy", "log"))
    assert won == 20


def test_an_uncertain_reference_widens_windows(rng):
    world = drifting.dead_reckoning(rng, 100)
    noise = np.tile(np.diag([0.04] * 3 + [0.0] * 3), (100, 1, 1))
    alone = world.seen(IMPLIED[6]).windows(10).covariance
    both = world.seen(IMPLIED[6], noise=noise).windows(10).covariance
    assert both - alone == pytest.approx(np.tile(0.08 * np.eye(3), (len(alone), 1, 1)), abs=1e-12)


def test_windows_of_metres_do_not_overlap_and_leave_gaps_out():
    progress = np.array([0.0, 0.4, 1.0, 1.1, 2.05, 2.5, 9.0, 9.5, 10.0, 10.2])
    first, second = made.ends_over(progress, 1.0)
    assert first.tolist() == [0, 2, 6]
    assert second.tolist() == [2, 4, 8]


def test_windows_by_metres_are_as_honest_as_windows_by_scans():
    found = []
    for seed in range(30):
        world = drifting.dead_reckoning(np.random.default_rng(seed), 400)
        path_m = made.path_length(world.position)
        ends = made.ends_over(path_m, 4.0)
        over = world.seen(IMPLIED[6]).windows(0, ends=ends)
        found.append(window_row(over, np.arange(400), path_m))
    assert np.mean([row.k for row in found]) == pytest.approx(1, abs=0.1)
    assert found[0].metres == pytest.approx(4.1, abs=0.2)


def with_six_digits(values):
    """As a file has them."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(np.where(values == 0, 1.0, values)))) - 5)
    return np.round(values / unit) * unit


def test_a_body_that_stands_still_is_left_out_and_counted():
    sigma = np.where((np.arange(600) % 200 < 60)[:, None], 0.0, drifting.DRIFT)
    found = []
    for seed in range(20):
        world = drifting.dead_reckon(np.random.default_rng(seed), 600, sigma)
        written = replace(world, covariance=with_six_digits(world.covariance))
        assert growth(written.claim).level == 6
        over = written.seen(IMPLIED[6]).windows(10)
        found.append(window_row(over, np.arange(600), np.arange(600.0)))
    assert min(row.still for row in found) >= 12
    assert np.mean([row.k for row in found]) == pytest.approx(1, abs=0.1)


def test_an_uncertain_reference_that_neighbours_share_convicts_nobody():
    noise = np.tile(np.diag([0.02**2] * 3 + [1e-12] * 3), (400, 1, 1))
    rows = []
    for seed in range(40):
        rng = np.random.default_rng([4, seed])
        world = drifting.dead_reckoning(rng, 400)
        seen = world.truth_position + 0.02 * rng.normal(size=(400, 3)), world.truth_rotation
        over = world.seen(IMPLIED[6], noise=noise, truth=seen).windows(10)
        rows.append(window_row(over, np.arange(400), np.arange(400.0)))
    assert np.mean([row.k for row in rows]) == pytest.approx(1, abs=0.08)
    assert np.mean([abs(row.rho) > 2 for row in rows]) <= 0.15
    assert np.mean([row.interval(0.025)[0] > 1 for row in rows]) <= 0.1


@pytest.mark.parametrize("level", [6, 4, 3])
def test_columns_of_body_and_clock_are_derivatives_of_displacements(level, rng):
    """Against displacements of a reference that is about another body, or late, by a little."""
    world, up = drifting.dead_reckoning(rng, 200), np.array([0.0, 0.0, 1.0])
    truth = world.position, world.rotation  # no error but what is planted
    stamp = 10**8 * np.arange(200)
    motion = body_motion(stamp, *truth)
    first = np.arange(5, 150, 15)
    found = Windows(30, first, first + 30, np.zeros((len(first), 3)), np.zeros((len(first), 3, 3)))
    columns = body_columns(found, world.claim, motion, level, up)
    size = 1e-5
    for at, column in enumerate(np.moveaxis(columns, 2, 0)[:6]):
        step = size * np.eye(6)[at]
        moved = se3.compose(truth, (step[:3], so3.exp(step[3:])))
        ends = select_ends(moved, first, first + 30)
        starts, stops = select_ends(truth, first, first + 30)
        error = displacement_error(level, starts, stops, ends, up)
        np.testing.assert_allclose(error / size, column, atol=2e-3)


def test_columns_cost_their_degrees_of_freedom(rng):
    m = 60
    first = np.arange(m)
    unit = np.tile(np.eye(3), (m, 1, 1))
    columns = rng.normal(size=(m, 3, 4))
    columns[..., 3] = columns[..., 0] + columns[..., 1]  # nothing of its own
    error = columns @ np.array([5.0, -3.0, 2.0, 0.0])
    found = made.without_columns(Windows(1, first, first + 1, error, unit, columns))
    assert found.fitted == 3
    np.testing.assert_allclose(found.error, 0.0, atol=1e-9)


@pytest.mark.parametrize("scans", [15, 300, 2000, 2001, 2499, 5000, 99_999, 123_457])
def test_the_windows_of_all_scans_end_at_a_few(scans):
    some, unknown = made.scans_of_windows(scans), Joint("unknown")
    assert len(some) <= 2000
    assert (np.diff(some) > 0).all()
    assert some[-1] < scans
    for few, horizon in zip(made.horizons(len(some)), made.horizons(scans), strict=True):
        ours, theirs = (
            made.window_ends(unknown, h, n) for h, n in ((few, len(some)), (horizon, scans))
        )
        np.testing.assert_array_equal(some[np.array(ours)], theirs)
        half, half_of_all = (ours[1] <= (len(some) - 1) // 2), theirs[1] <= (scans - 1) // 2
        np.testing.assert_array_equal(half, half_of_all)
