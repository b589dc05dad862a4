"""What a terminal shows: tables in colour, and a sparkline."""

import io

import numpy as np
import pytest
from rich.console import Console

from smfeval import About, Track, evaluate
from smfeval.show.score import Findings, report
from smfeval.show.terminal import (
    BLOCKS,
    binned_medians,
    block_chart,
    error_over_sigma,
    render,
    render_study,
)
from support.beliefs import gaussian
from support.study_results import study


@pytest.fixture
def evaluation(rng):
    track = gaussian(200, rng).with_about(body="imu", gauge="fixed")
    reference = Track(track.stamp, track.position + 0.2, track.rotation, about=About(body="imu"))
    return evaluate(track, reference)


def screen(*evaluations, **how):
    return render(report([Findings(each) for each in evaluations], chart=True, **how))


def printed(renderable, **how):
    stream = io.StringIO()
    Console(file=stream, width=2000, **how).print(renderable)
    return stream.getvalue()


@pytest.mark.parametrize("verbose", [False, True])
def test_everything_that_a_pipe_gets_is_on_the_terminal(evaluation, verbose):
    shown = printed(screen(evaluation, verbose=verbose))
    for section in report([Findings(evaluation)], verbose=verbose).sections:
        cells = () if section.table is None else sum(section.table.rows, ())
        rows = [text for row in section.rows for text in row]
        for text in (section.title, *section.lead, *rows, *map(str, cells)):
            assert text in shown


def test_no_colour_where_none_is_wanted(evaluation, monkeypatch):
    assert "\x1b[1;3" in printed(screen(evaluation), force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;3" not in printed(screen(evaluation), force_terminal=True)


def test_several_estimates_are_rows_with_their_verdicts(evaluation):
    shown = printed(screen(evaluation, evaluation))
    assert shown.count(evaluation.verdict.label) == 2


def test_names_that_look_like_markup_are_shown_as_they_are(evaluation):
    shown = printed(render_study(study()))
    assert "[]" in shown
    assert "failed" in shown


def test_blocks_are_powers_of_two_about_one_and_gaps_are_blank():
    ratio = np.array([0.0, 0.6, 1.5, 3.0, np.nan, 40.0, 1e9])
    assert (
        block_chart(ratio) == f"{BLOCKS[0]}{BLOCKS[2]}{BLOCKS[3]}{BLOCKS[4]} {BLOCKS[7]}{BLOCKS[7]}"
    )


def test_every_stretch_of_time_has_its_median():
    stamp = np.array([0, 1, 2, 3, 30, 31, 39, 40])
    value = np.array([1.0, 100.0, 1.0, 2.0, 10.0, 1.0, 1.0, 3.0])
    np.testing.assert_array_equal(binned_medians(stamp, value, width=4), [1.5, np.nan, np.nan, 2.0])


def test_an_overconfident_belief_stands_higher_than_an_honest_one(evaluation, rng):
    honest = evaluation.position.estimate
    bold = evaluate(
        honest.with_arrays({"covariance": honest.covariance / 1000}), evaluation.position.reference
    )
    first, second = (error_over_sigma(each).split("  ")[0] for each in (evaluation, bold))
    assert len(first) == len(second)
    assert all(low <= high for low, high in zip(first, second, strict=True))
    assert first != second
