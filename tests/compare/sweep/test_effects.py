"""From points to a word for each knob."""

from dataclasses import replace

import numpy as np
import pytest

from compare.sweep.made import UNEARNED, line, point
from smfeval.compare.across import median_number
from smfeval.compare.sweep import judge_slopes, sweep_of
from smfeval.compare.sweep_points import Failure, Origin, point_of
from smfeval.errors import SeriesError
from smfeval.summarise.number import Number


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
