"""Slopes against other libraries, and what the two predictions are."""

import numpy as np
import pytest
from scipy import stats

from compare.sweep.made import line, point
from smfeval.compare.sweep import (
    common_slope,
    earned_error_slope,
    slope_over_tracks,
    unearned_slope,
)
from smfeval.compare.sweep_points import Line, lines_of
from smfeval.maths import normal
from support.beliefs import covariances


def drawn(rng, count=5, slope=0.1):
    precision = rng.uniform(20, 50, size=count)
    return Line(precision, 1 + slope * precision + 0.2 * rng.normal(size=count), precision * 0)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_predictions_are_what_scaling_a_covariance_does(rng, dimension):
    """Errors that stay, and errors that shrink along, under covariances scaled by c."""
    error, covariance = rng.normal(size=(201, dimension)), covariances(201, rng, dimension)
    scales = np.array([1.0, 0.1, 0.01])

    def slopes(errors):
        fits = [
            normal.likelihood_terms(e, c * covariance) for e, c in zip(errors, scales, strict=True)
        ]
        nees = np.log10([np.median(fit.nees) for fit in fits])
        precision = [np.median(-fit.logdet) for fit in fits]
        size = np.log10([np.mean(np.linalg.norm(e, axis=1)) for e in errors])
        return np.polyfit(precision, nees, 1)[0], np.polyfit(precision, size, 1)[0]

    assert slopes([error] * 3) == pytest.approx((unearned_slope(dimension), 0), abs=1e-12)
    shrunk = [np.sqrt(c) * error for c in scales]
    assert slopes(shrunk) == pytest.approx((0, earned_error_slope(dimension)), abs=1e-12)


def test_the_predictions_in_space_are_those_of_the_paper():
    assert unearned_slope() == pytest.approx(0.1448, abs=5e-5)
    assert earned_error_slope() == pytest.approx(-0.0724, abs=5e-5)


@pytest.mark.parametrize("count", [3, 5, 7])
def test_one_line_has_the_slope_and_interval_of_scipy(rng, count):
    one = drawn(rng, count)
    expected = stats.linregress(one.precision, one.log_nees)
    reach = stats.t.ppf(0.95, count - 2) * expected.stderr
    found = common_slope([one], "log_nees", 0.9)
    assert found.value == pytest.approx(expected.slope, rel=1e-12)
    assert (found.low, found.high) == pytest.approx(
        (expected.slope - reach, expected.slope + reach), rel=1e-9
    )


def test_parallel_lines_are_a_regression_with_an_offset_for_each(rng):
    lines = [drawn(rng, count) for count in (3, 5, 4)]
    x = np.concatenate([each.precision for each in lines])
    y = np.concatenate([each.log_nees for each in lines])
    which = np.repeat([0, 1, 2], [3, 5, 4])
    design = np.column_stack([x, *(which == i for i in range(3))]).astype(float)
    solved, rss = np.linalg.lstsq(design, y)[:2]
    variance = rss[0] / (len(x) - 4) * np.linalg.inv(design.T @ design)[0, 0]
    reach = stats.t.ppf(0.975, len(x) - 4) * np.sqrt(variance)
    found = common_slope(lines, "log_nees", 0.95)
    assert (found.value, found.high) == pytest.approx((solved[0], solved[0] + reach), rel=1e-9)


def test_two_settings_have_a_slope_and_no_interval():
    found = common_slope(
        [Line(np.array([1.0, 3.0]), np.array([0.0, 1.0]), np.zeros(2))], "log_nees", 0.95
    )
    assert (found.value, found.low) == (0.5, None)
    assert found.reason == "settings: 2 on 1 lines; an interval needs one more"


def test_over_tracks_the_slope_has_the_interval_of_a_t_test(rng):
    slopes = rng.normal(0.1, 0.05, size=6)
    expected = stats.ttest_1samp(slopes, 0.0).confidence_interval(0.95)
    found = slope_over_tracks(list(slopes), 0.95)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9)


def test_points_whose_other_knobs_are_alike_make_a_line():
    points = [
        *line(0.1, count=3, voxel="0.5"),
        *line(0.1, count=2, voxel="0.8"),
        point(7, 40, 2, voxel="1.2"),
    ]
    assert [len(each) for each in lines_of(points, "R")] == [3, 2]
    assert [len(each) for each in lines_of(points, "voxel")] == [2, 2]
    assert lines_of(points, "Q") == ()


def test_repeats_of_one_setting_are_no_line():
    assert lines_of([point(1, 40, 2), point(1, 41, 3)], "R") == ()
