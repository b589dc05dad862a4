"""Slopes against other libraries, and what the two predictions are.

From points to a word for each knob.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from smfeval.compare.across import median_number
from smfeval.compare.slopes import (
    Failure,
    Line,
    ScanSeries,
    common_slope,
    lines_of,
    point_of,
    slope_over_tracks,
    slope_series,
)
from smfeval.compare.sweep import (
    earned_error_slope,
    judge_slopes,
    sweep_of,
    unearned_slope,
)
from smfeval.errors import SeriesError
from smfeval.maths import normal
from smfeval.show.sweep import held_intervals
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Number
from support.beliefs import covariances
from support.clocks import remembered
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


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_one_line_has_the_slope_of_scipy(rng, count):
    one = drawn(rng, count)
    expected = stats.linregress(one.precision, one.log_nees)
    assert common_slope([one], "log_nees", 0.9).value == pytest.approx(expected.slope, rel=1e-12)


def test_parallel_lines_are_a_regression_with_an_offset_for_each(rng):
    lines = [drawn(rng, count) for count in (3, 5, 4)]
    x = np.concatenate([each.precision for each in lines])
    y = np.concatenate([each.log_nees for each in lines])
    which = np.repeat([0, 1, 2], [3, 5, 4])
    design = np.column_stack([x, *(which == i for i in range(3))]).astype(float)
    solved = np.linalg.lstsq(design, y)[0]
    assert common_slope(lines, "log_nees", 0.95).value == pytest.approx(solved[0], rel=1e-9)


def test_without_scans_there_is_no_interval_however_well_the_line_fits():
    found = common_slope(
        [Line(np.array([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 2.0]), np.zeros(3), (None,) * 3)],
        "log_nees",
        0.95,
    )
    assert (found.value, found.low) == (0.5, None)
    assert found.reason == "the scans of the runs are not known"


def dependent_runs(rng, scans, settings=4, memory=0.9):
    """Runs that share half of their errors; sharper by a decade each. -> ScanSeries."""
    common = remembered(scans, memory, rng)
    found = []
    for scale in 10.0 ** -np.arange(settings):
        error = 0.7 * common + 0.7 * remembered(scans, memory, rng)
        precision = -3 * np.log(scale) + 0.2 * remembered(scans, memory, rng)[:, 0]
        squared = np.sum(error**2, axis=1)
        log_nees = np.log10(squared / scale)
        found.append(ScanSeries(np.arange(scans), log_nees, np.sqrt(squared), precision))
    return found


def slope_of(runs, quantity, at=slice(None)):
    line = line_of_scans([run.at(run.stamp[at]) for run in runs])
    return np.polyfit(line.precision, getattr(line, quantity), 1)[0]


def line_of_scans(runs):
    return Line(
        np.array([np.median(run.precision) for run in runs]),
        np.array([np.median(run.log_nees) for run in runs]),
        np.array([np.log10(run.error.mean()) for run in runs]),
        tuple(runs),
    )


@pytest.mark.parametrize("quantity", ["log_nees", "log_error", "log_nees_per_error"])
def test_the_series_is_what_resampling_blocks_of_scans_jointly_does_to_the_slope(rng, quantity):
    """The same blocks for all settings: each resample moves the slope by the mean of the series."""
    runs = dependent_runs(rng, 6000)
    line, slope = line_of_scans(runs), slope_of(runs, quantity)
    x, y = (each - each.mean() for each in (line.precision, getattr(line, quantity)))
    psi = slope_series(x, y, runs, quantity)
    starts = rng.integers(0, 6000 - 150, size=(200, 40))
    blocks = [(first[:, None] + np.arange(150)).ravel() for first in starts]
    moved = np.array([slope_of(runs, quantity, at) - slope for at in blocks])
    linear = np.array([psi[at].mean() for at in blocks])
    assert np.corrcoef(moved, linear)[0, 1] > 0.9
    assert np.std(linear) / np.std(moved) == pytest.approx(1.0, abs=0.15)
    found = common_slope([line], quantity, 0.95)
    assert found.high - found.low > 3 * np.std(moved)  # 95 %, and in doubt about the memory more


def test_settings_that_share_their_errors_have_an_exact_slope():
    found = sweep_of(line(0.1)).effects[0].nees_slope
    assert [found.low, found.value, found.high] == pytest.approx([0.1] * 3, abs=1e-12)


def test_settings_are_compared_on_the_scans_that_all_have(rng):
    runs = dependent_runs(rng, 400)
    fewer = [runs[0], *(run.at(run.stamp[100:]) for run in runs[1:])]
    assert common_slope([line_of_scans(fewer)], "log_nees", 0.95).low is not None
    apart = [runs[0].at(runs[0].stamp[:200]), *(run.at(run.stamp[150:]) for run in runs[1:])]
    found = common_slope([line_of_scans(apart)], "log_nees", 0.95)
    assert found.reason == ("the settings share 50 of 200 scans; an interval needs half of them")


def test_the_error_divided_out_leaves_what_the_covariance_does(rng):
    (effect,) = sweep_of(line(0.03, noise=0.02, rng=rng)).effects
    assert effect.divided_slope.value == pytest.approx(UNEARNED, abs=1e-3)
    assert effect.counts("divided_slope", UNEARNED) == (1, 1, 0)
    assert effect.counts("nees_slope", UNEARNED) == (0, 1, 0)


@pytest.mark.parametrize(
    ("ends", "counts"),
    [
        ((0.08, 0.20), (1, 1, 0)),
        ((0.07, 0.23), (0, 0, 1)),  # holds 0.145, and nearly everything else
        ((-0.5, 0.5), (0, 0, 1)),
        ((0.2, 0.6), (0, 1, 0)),  # wide, and yet it excludes 0.145
    ],
)
def test_an_interval_as_wide_as_the_prediction_is_not_counted_as_holding_it(rng, ends, counts):
    (effect,) = sweep_of(line(0.03, noise=0.02, rng=rng)).effects
    slope = Number(sum(ends) / 2, "1", *ends)
    wide = replace(effect, tracks=(replace(effect.tracks[0], nees_slope=slope),))
    assert wide.counts("nees_slope", UNEARNED) == counts
    shown = (
        "no intervals of a track hold +0.145 (1 wider than 0.145, which shows nothing)"
        in held_intervals(wide, UNEARNED)
    )
    assert shown == bool(counts[2])


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
        (-0.1, 0.1, "more accurate"),
        (0.02, 0.12, "between"),
        (0.1, 0.2, "not more accurate"),
        (0.2, 0.3, "worse"),
        (-0.1, 0.2, "undecided"),
    ],
)
def test_the_word_says_which_predictions_the_interval_holds(low, high, label):
    assert judge_slopes(number(low, high), SHRINK, 3) == label


def test_the_prediction_depends_on_the_number_of_axes():
    assert judge_slopes(number(0.2, 0.23), SHRINK, 2) == "not more accurate"
    assert judge_slopes(number(0.2, 0.23), SHRINK, 3) == "worse"


def test_no_interval_decides_nothing():
    assert judge_slopes(Number(0.1448, "1/nat"), SHRINK, 3) == "undecided"


@pytest.mark.parametrize(
    ("error", "label"),
    [
        (number(-0.1, -0.05), "more accurate"),
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
    [
        (0.0, "more accurate"),
        (UNEARNED, "not more accurate"),
        (0.07, "between"),
        (0.3, "worse"),
        (-0.1, "better"),
    ],
)
def test_a_knob_is_judged_by_its_slope(rng, slope, label):
    sweep = sweep_of(line(slope, noise=0.02, rng=rng))
    (effect,) = sweep.effects
    assert effect.label == label
    assert effect.nees_slope.value == pytest.approx(slope, abs=0.01)
    assert effect.error_slope.value == pytest.approx((slope - UNEARNED) / 2, abs=1e-9)


def test_runs_exactly_on_a_line_are_judged_in_spite_of_rounding():
    assert sweep_of(line(UNEARNED)).effects[0].label == "not more accurate"
    assert sweep_of(line(0.0)).effects[0].label == "more accurate"


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


def test_a_setting_has_k_of_the_rotation_only_if_all_its_runs_have():
    k = Number(4.0, "1")
    points = [point(r, 30 + r, 1.0, track=t) for t in "ab" for r in (1, 2)]
    some = [replace(each, k_rotation=k) if each.track == "a" else each for each in points]
    assert [row.k_rotation for row in sweep_of(some).rows] == [None, None]
    every = [replace(each, k_rotation=k) for each in points]
    assert [row.k_rotation.value for row in sweep_of(every).rows] == [4.0, 4.0]


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
    assert "taken as dependent and jointly over the settings" in sweep_of(line(0.1)).notes[0]


WHO = ("ours", "one", (("R", "1"),))
NUMBERS = {
    "precision": Number(40.0, "nat"),
    "nees_median": Number(3.0, "1"),
    "mae": Number(0.1, "m"),
}


def test_a_run_without_uncertainty_fails_in_words():
    found = point_of(WHO, {"mae": NUMBERS["mae"]}, source="a.square", scored=9)
    assert isinstance(found, Failure)
    assert found.sentence == "it reports no uncertainty, so it has no precision"


@pytest.mark.parametrize("name", ["nees_median", "mae"])
def test_a_run_without_any_error_has_no_place_on_a_line(name):
    numbers = NUMBERS | {name: replace(NUMBERS[name], value=0.0)}
    found = point_of(WHO, numbers, source="a.square", scored=9)
    assert isinstance(found, Failure)
    assert found.sentence == f"its {name} is 0, which has no place on a line"


def knob(values, precision, log_nees, **others):
    rows = zip(values, precision, log_nees, strict=True)
    return [point(value, p, n, **others) for value, p, n in rows]


def test_the_side_of_a_knob_that_sharpens_is_the_same_on_all_tracks_or_none():
    precision, nees = (50.0, 40.0, 30.0), (4.0, 2.0, 0.5)
    values = ("1e-3", "0.01", "1")
    (falling,) = sweep_of(knob(values, precision, nees)).effects
    assert falling.sharper == "smaller"
    (rising,) = sweep_of(knob(values[::-1], precision, nees)).effects
    assert rising.sharper == "larger"
    both = knob(values, precision, nees) + knob(values[::-1], precision, nees, track="two")
    (mixed,) = sweep_of(both).effects
    assert mixed.sharper is None
    (named,) = sweep_of(knob(("low", "mid", "high"), precision, nees)).effects
    assert named.sharper is None


def test_the_best_value_has_k_nearest_one_as_a_ratio():
    """k is 10, 1/4 and 3 on one track, and tells the same with the others in between."""
    consistent = np.log10(median_chi_squared(3))
    nees = consistent + np.log10([10, 0.25, 3])
    points = knob(("1", "2", "3"), (50.0, 40.0, 45.0), nees)
    (effect,) = sweep_of(points).effects
    assert (effect.best, effect.best_k) == ("3", pytest.approx(3))
    document = sweep_of(points).to_dict()["effects"][0]
    assert (document["best"], document["best_k"]) == ("3", pytest.approx(3))


def test_lines_are_those_of_knobs_that_move_something_with_the_usual_value():
    settings = [("0.1", "5"), ("1", "5"), ("10", "5"), ("1", "3"), ("1", "8")]
    points = [
        point(r, 40 - 6 * np.log10(float(r)), 1.0, voxel=v, iter=i)
        for (r, v), i in ((pair, "3") for pair in settings)
    ]
    points.append(point("1", 40.0, 1.0, voxel="5", iter="9"))
    found = sweep_of(points)
    assert [(each.knob, each.usual) for each in found.lines] == [("R", "1")]
    assert {each.knob for each in found.effects} == {"R", "voxel", "iter"}
