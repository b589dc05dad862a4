"""What a terminal shows: tables in colour, and a sparkline."""

import io

import numpy as np
import pytest
from rich.console import Console

from show.study.made import study
from smfeval import About, GaussianTrack, Track, evaluate
from smfeval.show import scores
from smfeval.show.on_terminal import scored, studied
from smfeval.show.report import Report
from smfeval.show.sparkline import BLOCKS, error_over_sigma, sparkline
from support.beliefs import gaussian


@pytest.fixture
def evaluation(rng):
    track = gaussian(200, rng).described(body="imu", gauge="fixed")
    reference = Track(track.stamp, track.position + 0.01, track.rotation, about=About(body="imu"))
    return evaluate(track, reference)


def printed(renderable, **how):
    stream = io.StringIO()
    Console(file=stream, width=300, **how).print(renderable)
    return stream.getvalue()


def test_everything_that_a_pipe_gets_is_on_the_terminal(evaluation):
    shown = printed(scored([Report(evaluation)]))
    for label, words in scores.rows(evaluation):
        assert label in shown
        assert words in shown
    assert evaluation.verdict.sentence in shown


def test_no_colour_where_none_is_wanted(evaluation, monkeypatch):
    assert "\x1b[1;3" in printed(scored([Report(evaluation)]), force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;3" not in printed(scored([Report(evaluation)]), force_terminal=True)


def test_several_estimates_are_rows_with_their_verdicts(evaluation):
    shown = printed(scored([Report(evaluation), Report(evaluation)]))
    assert shown.count(evaluation.verdict.label) == 2


def test_names_that_look_like_markup_are_shown_as_they_are(evaluation):
    shown = printed(studied(study()))
    assert "[]" in shown
    assert "failed" in shown


def test_a_sparkline_shows_the_largest_of_each_stretch_and_leaves_gaps_blank():
    stamp = np.array([0, 1, 2, 3, 30, 31, 39, 40])
    value = np.array([1.0, 100.0, 1.0, 1.0, 10.0, 1.0, 1.0, 1.0])
    assert sparkline(stamp, value, width=4) == f"{BLOCKS[-1]}  {BLOCKS[0]}"


def test_the_sparkline_of_a_belief_names_its_range(evaluation):
    residuals = evaluation.scored.residuals
    size = np.linalg.norm(residuals.error, axis=1)
    sigma = np.sqrt(np.trace(residuals.covariance, axis1=1, axis2=2))
    words = error_over_sigma(evaluation)
    assert words.endswith(
        f"{(size / sigma).min():.3g} to {(size / sigma).max():.3g} (honest: about 1)"
    )
    assert isinstance(evaluation.estimate, GaussianTrack)


def test_errors_of_zero_are_a_flat_line():
    assert sparkline(np.arange(10), np.zeros(10), width=5) == BLOCKS[0] * 5
