"""The formulas behind the diagnoses, each against something independent."""

import numpy as np
import pytest
from scipy import stats
from scipy.ndimage import maximum_filter1d

from smfeval.why.causes import DIAGNOSES
from smfeval.why.diagnoses.case import FAMILY_LEVEL, TEST_LEVEL
from smfeval.why.diagnoses.regimes import stretches
from smfeval.why.diagnoses.regression import (
    Cause,
    design_of,
    effect_of,
    effective_share,
    independent_scans,
    mean_of,
)
from smfeval.why.diagnoses.tables import SlowPart, window_means
from smfeval.why.diagnoses.tails import (
    cross_validated_gain,
    fit_t,
    gaussian_log_density,
    running_maximum,
    t_log_density,
    tail_of,
)
from support.faults import least_squares_residual, remembering


def test_the_level_of_a_test_counts_the_table():
    assert len(DIAGNOSES) * TEST_LEVEL == pytest.approx(FAMILY_LEVEL)


def test_coefficients_are_those_of_least_squares(rng):
    columns, response = rng.normal(size=(200, 3, 2)), rng.normal(size=(200, 3))
    expected = np.linalg.lstsq(columns.reshape(600, 2), response.ravel(), rcond=None)[0]
    assert effect_of(response, columns, most=200).value == pytest.approx(expected)


def test_partial_coefficients_are_those_of_the_joint_fit(rng):
    base, column, response = (rng.normal(size=(100, 2, k)) for k in (3, 1, 1))
    joint = np.concatenate([base, column], axis=-1).reshape(200, 4)
    expected = np.linalg.lstsq(joint, response.ravel(), rcond=None)[0][-1]
    found = effect_of(
        least_squares_residual(response[..., 0], base),
        least_squares_residual(column, base),
        most=100,
    )
    assert found.value[0] == pytest.approx(expected)


def test_columns_made_of_others_are_not_seen(rng):
    base, column = rng.normal(size=(50, 2, 2)), rng.normal(size=(50, 2, 1))
    doubled = np.concatenate([base[..., :1] * 3, column, column * -2], axis=-1)
    design = design_of(rng.normal(size=(50, 2)), base, [Cause("doubled", doubled)])
    assert design.is_identifiable([3, 4, 5], design.base).tolist() == [False, True, False]


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_p_values_of_a_mean_of_zero_are_small_as_often_as_they_say(rng, rho):
    series = remembering(2000, rho, rng, 400).T
    most = 2000 * (1 - rho) / (1 + rho)
    p = np.array([mean_of(each, most=most).probability for each in series])
    for level in (0.05, 0.5):
        assert (p < level).mean() == pytest.approx(level, abs=4 * np.sqrt(level / 400))


def test_a_mean_that_is_not_zero_is_seen(rng):
    series = remembering(2000, 0.9, rng, 1)[:, 0] + 1.0
    assert mean_of(series, most=100).probability < 1e-4
    assert mean_of(-series, most=100).probability > 1 - 1e-4


def test_independent_scans_are_those_of_the_slowest_axis(rng):
    fast, slow = remembering(5000, 0.0, rng, 1), remembering(5000, 0.9, rng, 1)
    expected = 5000 * 0.1 / 1.9
    assert independent_scans(np.hstack([fast, slow])) == pytest.approx(expected, rel=0.6)
    assert independent_scans(np.ones((100, 2))) == 1.0


def test_scans_that_weigh_nothing_do_not_count():
    assert effective_share(np.full(200, 3.0)) == pytest.approx(1.0)
    assert effective_share(np.where(np.arange(200) < 50, 2.0, 0.0)) == pytest.approx(0.25)


@pytest.mark.parametrize("n", [5, 60, 61, 1000])
@pytest.mark.parametrize("reach", [2, 3, 15])
def test_the_running_maximum_is_that_of_scipy(rng, n, reach):
    series = rng.normal(size=n)
    assert (running_maximum(series, reach) == maximum_filter1d(series, 2 * reach + 1)).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_t_density_is_that_of_scipy_up_to_the_common_constant(rng, d):
    error, scale, nu = rng.normal(size=(20, d)), 1.7, 4.0
    nees = np.sum(error**2, axis=1)
    t = stats.multivariate_t(np.zeros(d), scale * np.eye(d), df=nu).logpdf(error)
    normal = stats.multivariate_normal(np.zeros(d), scale * np.eye(d)).logpdf(error)
    ours = t_log_density(nees, scale, nu, d) - gaussian_log_density(nees, scale, d)
    assert ours == pytest.approx(t - normal)


def test_scale_and_degrees_of_freedom_are_found_again(rng):
    nees = 2.0 * 3 * rng.f(3, 4, size=20_000)  # t with nu = 4 and twice the covariance
    scale, nu = fit_t(nees, 3)
    assert nu == 4.0
    assert scale == pytest.approx(2.0, rel=0.05)


def test_a_t_gains_nothing_on_gaussian_errors_and_much_on_its_own(rng):
    gaussian, _ = cross_validated_gain(rng.chisquare(3, 3000), 3, guard=10)
    assert abs(gaussian.mean()) < 0.005
    own, nu = cross_validated_gain(3 * rng.f(3, 3, size=3000), 3, guard=10)
    assert own.mean() > 0.2
    assert nu <= 5


def test_training_scans_keep_their_distance_from_the_fold(rng):
    nees = rng.chisquare(3, 1000)
    changed = nees.copy()
    changed[200:230] = 1e3  # within the guard of the first fold
    one, other = (cross_validated_gain(each, 3, guard=30)[0][:200] for each in (nees, changed))
    assert (one == other).all()


@pytest.mark.parametrize("d", [1, 3])
def test_the_tail_of_an_honest_belief_is_as_stated(rng, d):
    tail = tail_of(rng.chisquare(d, 400_000), d)
    assert tail.top_1 == pytest.approx(tail.expected_1, rel=0.03)
    assert tail.top_5 == pytest.approx(tail.expected_5, rel=0.03)
    assert tail.mean_nees == pytest.approx(d, rel=0.02)


@pytest.mark.parametrize("axes", [1, 3, 36])
def test_slow_honest_errors_exceed_the_bound_no_more_often_than_stated(rng, axes):
    square = np.mean(rng.normal(size=(100_000, axes)) ** 2, axis=1)
    for level in (1.6, 3.0, 6.0):
        assert (square > level).mean() <= SlowPart(1.0, level).probability * 1.05


def test_a_slow_part_below_the_bound_is_no_evidence():
    assert SlowPart(2.0, 1.5).probability == 1.0


def test_window_means_are_means(rng):
    values = rng.normal(size=(1000, 2))
    expected = [part.mean(axis=0) for part in np.split(values[:996], 12)]
    assert window_means(values[:996]) == pytest.approx(np.array(expected))


def test_a_stretch_is_found_where_it_is(rng):
    series = rng.normal(size=1000)
    series[400:550] += 2
    (found,) = stretches(series, limit=0.002, rng=rng)
    assert found.start == pytest.approx(400, abs=16)
    assert found.stop == pytest.approx(550, abs=16)


def test_two_stretches_are_found(rng):
    series = rng.normal(size=2000)
    series[400:600] += 2
    series[1500:1600] += 3
    found = sorted(run.start for run in stretches(series, limit=0.002, rng=rng))
    assert found == [pytest.approx(400, abs=32), pytest.approx(1500, abs=32)]


def test_memory_is_no_stretch(rng):
    rows = remembering(1000, 0.95, rng, 60).T
    alarms = sum(bool(stretches(row, limit=0.05, rng=rng)) for row in rows)
    assert alarms <= 9  # 3 expected; 9 or fewer in 99.9 % of such experiments
