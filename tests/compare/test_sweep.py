"""Slopes against other libraries, and what the two predictions are.

From points to a word for each knob.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.compare.across import median_number
from smfeval.compare.sweep import (
    common_slope,
    earned_error_slope,
    judge_slopes,
    slope_over_tracks,
    sweep_of,
    unearned_slope,
)
from smfeval.compare.sweep_points import Failure, Line, Origin, lines_of, point_of
from smfeval.errors import SeriesError
from smfeval.maths import normal
from smfeval.summarise.number import Number
from support.beliefs import covariances
from support.sweep_points import UNEARNED, line, point


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


def number(low, high):
    return Number((low + high) / 2, "1/nat", low, high)


SHRINK = number(-0.08, -0.06)  # errors that shrink along


@pytest.mark.parametrize(
    ("low", "high", "label"),
    [
        (-0.3, -0.1, "better"),
        (-0.1, 0.1, "earned"),
        (0.02, 0.12, "between"),
        (0.1, 0.2, "unearned"),
        (0.2, 0.3, "worse"),
        (-0.1, 0.2, "undecided"),
    ],
)
def test_the_word_says_which_predictions_the_interval_holds(low, high, label):
    assert judge_slopes(number(low, high), SHRINK, 3) == label


def test_the_prediction_depends_on_the_number_of_axes():
    assert judge_slopes(number(0.2, 0.23), SHRINK, 2) == "unearned"
    assert judge_slopes(number(0.2, 0.23), SHRINK, 3) == "worse"


def test_no_interval_decides_nothing():
    assert judge_slopes(Number(0.1448, "1/nat"), SHRINK, 3) == "undecided"


@pytest.mark.parametrize(
    ("error", "label"),
    [
        (number(-0.1, -0.05), "earned"),
        (number(-0.05, -0.01), "between"),
        (number(-0.1, 0.01), "undecided"),
        (number(-0.2, -0.1), "undecided"),
        (number(0.01, 0.05), "undecided"),
        (Number(-0.0724, "1/nat"), "undecided"),
        (None, "undecided"),
    ],
)
def test_a_sharpening_is_earned_only_if_the_errors_say_so_too(error, label):
    assert judge_slopes(number(-0.1, 0.1), error, 3) == label


@pytest.mark.parametrize(
    ("slope", "label"),
    [(0.0, "earned"), (UNEARNED, "unearned"), (0.07, "between"), (0.3, "worse"), (-0.1, "better")],
)
def test_a_knob_is_judged_by_its_slope(rng, slope, label):
    sweep = sweep_of(line(slope, noise=0.02, rng=rng))
    (effect,) = sweep.effects
    assert effect.label == label
    assert effect.nees_slope.value == pytest.approx(slope, abs=0.01)
    assert effect.error_slope.value == pytest.approx((slope - UNEARNED) / 2, abs=1e-9)


def test_runs_exactly_on_a_line_are_judged_in_spite_of_rounding():
    assert sweep_of(line(UNEARNED)).effects[0].label == "unearned"
    assert sweep_of(line(0.0)).effects[0].label == "earned"


def test_a_knob_that_does_not_move_the_precision_has_no_slope():
    sweep = sweep_of(line(0.1, reach=0.49))
    (effect,) = sweep.effects
    assert (effect.label, effect.nees_slope, effect.error_slope) == ("unmoved", None, None)
    assert effect.reach_nats == pytest.approx(0.49)
    assert sweep_of(line(0.1, reach=0.51)).effects[0].nees_slope is not None


def test_slopes_of_tracks_are_averaged_and_each_is_kept(rng):
    slopes = [0.10, 0.14, 0.18]
    points = [p for i, s in enumerate(slopes) for p in line(s, track=f"t{i}")]
    (effect,) = sweep_of(points).effects
    assert [track.nees_slope.value for track in effect.tracks] == pytest.approx(slopes)
    assert effect.nees_slope.value == pytest.approx(0.14)
    assert effect.nees_slope.high == pytest.approx(0.14 + 4.3027 * 0.04 / np.sqrt(3), rel=1e-4)


def test_a_track_on_which_the_knob_does_nothing_is_left_out_and_named():
    points = [*line(0.1, track="a"), *line(0.12, track="b"), *line(0.9, track="c", reach=0.1)]
    sweep = sweep_of(points)
    assert sweep.effects[0].nees_slope.value == pytest.approx(0.11)
    assert any("no slope on 1 of 3 tracks" in note and "(c)" in note for note in sweep.notes)


def test_one_knob_at_a_time_and_its_default_make_one_line_per_knob():
    star = [
        *line(UNEARNED, count=3, voxel="0.5"),
        point(0, 20.0, 1.0, voxel="0.8"),
        point(0, 10.0, 1.0, voxel="1.2"),
    ]
    effects = {effect.knob: effect for effect in sweep_of(star).effects}
    assert effects["R"].tracks[0].runs == 3
    assert effects["voxel"].tracks[0].runs == 3


def test_each_setting_has_its_median_over_tracks():
    logs = [1.0, 2.0, 4.0, 1.5, 2.5, 3.0, 1.2]
    points = [point(r, 30 + r, log, track=f"t{i}") for i, log in enumerate(logs) for r in (1, 2)]
    row = sweep_of(points).rows[0]
    expected = median_number(10.0 ** np.array(logs), "1", 0.95)
    assert (row.tracks, row.nees_median) == (7, expected)
    assert row.nees_median.low is not None


def test_repeats_of_a_run_are_no_further_tracks():
    points = [point(r, 30 + r + i, 1.0) for i in range(6) for r in (1, 2)]
    row = sweep_of(points).rows[0]
    assert row.tracks == 1
    assert row.precision.value == pytest.approx(33.5)
    assert row.precision.low is None


def test_a_lost_track_counts_and_is_named():
    points = [*line(0.1, count=4), point(9, 60, 6, log_mae=1.0)]
    assert any("R 9 lost track one (mean error 10 m)" in note for note in sweep_of(points).notes)


def test_nothing_to_compare_is_said_in_words():
    with pytest.raises(SeriesError, match="runs that were scored: 1; no two of them differ"):
        sweep_of([point(1, 30, 1)])


def test_the_assumption_behind_the_interval_is_told():
    assert "independent" in sweep_of(line(0.1)).notes[0]


ORIGIN = Origin("ours", "one", (("R", "1"),), "a.square")
NUMBERS = {
    "precision": Number(40.0, "nat"),
    "nees_median": Number(3.0, "1"),
    "mae": Number(0.1, "m"),
}


def test_a_run_without_uncertainty_fails_in_words():
    found = point_of(ORIGIN, {"mae": NUMBERS["mae"]}, scored=9)
    assert isinstance(found, Failure)
    assert found.sentence == "it reports no uncertainty, so it has no precision"


@pytest.mark.parametrize("name", ["nees_median", "mae"])
def test_a_run_without_any_error_has_no_place_on_a_line(name):
    found = point_of(ORIGIN, NUMBERS | {name: replace(NUMBERS[name], value=0.0)}, scored=9)
    assert isinstance(found, Failure)
    assert found.sentence == f"its {name} is 0, which has no place on a line"
