"""Whether relative motion was claimed: kept with every evaluation, in text, JSON and numbers."""

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from smfeval import About, GaussianTrack, Options, Track, evaluate
from smfeval.align.quantities import Extent
from smfeval.cli.conditions import score_condition
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths import so3
from smfeval.show.figures import draw
from smfeval.show.numbers import relative_motion_table, setup_rows
from smfeval.show.page.scores import score_page
from smfeval.show.score import Findings, report
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import NUMBERS
from smfeval.summarise.windows import window_scores
from support import drifting
from support.positions import judge_position, moved

RELATIVE = ("relative_energy", "relative_log", "relative_k", "relative_coverage_90")
SCANS = 600


def scored(
    make=drifting.dead_reckoning, *, factor=1.0, gauge="se3", seed=1, oriented=True, **options
) -> Evaluation:
    """A world of `support.drifting`, its covariances times a factor, evaluated."""
    world = make(np.random.default_rng(seed), SCANS).scaled(factor)
    stamp = np.arange(SCANS) * 10**8
    estimate = GaussianTrack(
        stamp,
        world.position,
        world.rotation,
        world.covariance,
        about=About(body="imu", gauge=gauge),
    )
    truth = Track(stamp, *world.truth, about=About(body="imu", oriented=oriented))
    return evaluate(estimate, truth, options=Options(**options))


def setup_line(found):
    (text,) = (text for label, text in setup_rows(found) if label == "relative")
    return text


@pytest.mark.parametrize("gauge", ["se3", "fixed"])
def test_relative_motion_is_judged_with_a_fit_and_without(gauge):
    found = scored(gauge=gauge)
    first = found.relative_motion.first
    low, high = first.interval(0.025)
    assert low < 1 < high
    assert first.seconds == pytest.approx(first.horizon / 10)
    assert first.metres == pytest.approx(first.horizon * drifting.STEP_M, rel=0.05)
    assert found["relative_k"].value == first.k
    assert (found["relative_k"].low, found["relative_k"].high) == pytest.approx((low, high))


def test_relative_motion_does_not_see_the_alignment():
    aligned, fixed = scored(gauge="se3"), scored(gauge="fixed")
    for name in RELATIVE:
        assert aligned[name].value == pytest.approx(fixed[name].value, rel=0.01), name


def test_the_verdict_after_a_fit_rests_on_the_rows_that_are_kept():
    found = scored(factor=1 / 4)
    assert found.verdict.label == "overconfident"
    assert found.verdict.by == "relative motion"
    assert found.verdict.row in found.relative_motion.usable


def test_numbers_of_windows_are_what_the_windows_give():
    found = scored()
    windows, row = found.relative_motion.windows, found.relative_motion.first
    solved = np.linalg.solve(windows.covariance, windows.error[..., None])[..., 0]
    nees = np.einsum("ni,ni->n", windows.error, solved)
    sign, logdet = np.linalg.slogdet(windows.covariance)
    assert (sign > 0).all()
    log = 0.5 * (nees + logdet + 3 * np.log(2 * np.pi))
    free = 1 - windows.fitted / windows.error.size
    assert windows.fitted == 7  # lever arm, body rotation and clock
    assert found["relative_k"].value == pytest.approx(nees.mean() / 3 / free)
    assert found["relative_log"].value == pytest.approx(log.mean())
    assert found["relative_coverage_90"].value == pytest.approx(np.mean(nees <= 6.251388631170325))
    assert row.windows == len(nees)
    for name in RELATIVE:
        assert found[name].low <= found[name].value <= found[name].high


@pytest.mark.parametrize("gauge", ["se3", "sim3"])
def test_numbers_of_all_windows_are_of_every_start(gauge):
    found = scored(gauge=gauge)
    horizon, n = found.relative_motion.scored.horizon, len(found.claim.claim)
    first = np.arange(n - horizon)
    made = found.relative_motion.seen.windows(horizon, ends=(first, first + horizon))
    scores, free = window_scores(made), 1 - made.fitted / (3 * (n - 1) // horizon)
    assert found["relative_energy_all"].value == pytest.approx(scores["energy"].mean())
    assert found["relative_log_all"].value == pytest.approx(scores["log"].mean())
    assert found["relative_nees_all"].value == pytest.approx(scores["nees"].mean())
    assert found["relative_k_all"].value == pytest.approx(scores["nees"].mean() / 3 / free, 1e-3)
    inside = np.mean(scores["nees"] <= 6.251388631170325)
    assert found["relative_coverage_90_all"].value == pytest.approx(inside)
    assert found["relative_nees"].value == pytest.approx(
        window_scores(found.relative_motion.windows)["nees"].mean()
    )
    for name in RELATIVE:
        assert found[f"{name}_all"].low < found[f"{name}_all"].high
        assert found[f"{name}_all"].n_effective < 2 * (n - 1) / horizon  # not one per start


@pytest.mark.parametrize("gauge", ["se3", "none"])
@pytest.mark.parametrize("make", [drifting.dead_reckoning, drifting.random_walk])
def test_a_liar_does_not_beat_the_honest_belief(make, gauge):
    for seed in range(5):
        world = make(np.random.default_rng(seed), SCANS)
        honest, liar = (
            moved(*world.scaled(factor).tracks(), Options(alignment=gauge))[2].sample.scores
            for factor in (1.0, 1 / 7)
        )
        for name in ("energy", "log"):
            assert honest[name].mean() < liar[name].mean(), (name, seed)


@pytest.mark.parametrize("make", [drifting.dead_reckoning, drifting.smoother])
@pytest.mark.parametrize("gauge", ["se3", "none"])
def test_judging_positions_alone_is_what_an_evaluation_does(make, gauge):
    """What tests of many runs rest on (`support.positions`)."""
    estimate, truth = make(np.random.default_rng(2), SCANS).scaled(1 / 3).tracks()
    options = Options(alignment=gauge)
    alone = judge_position(estimate, truth, options)
    found = evaluate(estimate, truth, options=options).verdict
    assert (alone.label, alone.by) == (found.label, found.by)
    assert alone.at_least == pytest.approx(found.at_least, rel=0.05)  # from another body's axes


@pytest.mark.parametrize("gauge", ["se3", "fixed"])
def test_with_j_unknown_no_motion_is_scored(gauge):
    """Under a bound of it a belief 7 times too tight would have the better scores."""
    found = scored(drifting.steady_filter, gauge=gauge)
    assert found.claim.joint.kind == "unknown"
    assert [found.get(name) for name in RELATIVE] == [None] * 4
    assert found.to_dict()["relative_motion"] == []
    assert "cross-covariances cannot be derived" in setup_line(found)


@pytest.mark.parametrize("gauge", ["se3", "fixed"])
def test_the_assumption_is_echoed_with_a_fit_and_without(gauge):
    shown = str(report([Findings(scored(gauge=gauge))], verbose=True))
    assert "cross-covariances derived: covariances grow as in dead reckoning" in shown
    refused = str(report([Findings(scored(gauge=gauge, joint="none"))], verbose=True))
    assert "no joint covariance is assumed (asked for)" in refused


def test_a_reference_without_orientation_judges_no_dead_reckoning():
    found = scored(oriented=False)
    assert found.relative_motion.all_rows == ()
    assert found.get("relative_k") is None
    assert "not judged: the reference has no orientation" in setup_line(found)


def test_motion_of_an_estimate_without_orientation_is_not_seen_from_its_body():
    """An honest steady filter that reports positions only: its axes would be taken for errors."""
    world = drifting.steady_filter(np.random.default_rng(1), SCANS)
    stamp, turned = np.arange(SCANS) * 10**8, so3.matrix(world.rotation)
    covariance = np.zeros((SCANS, 6, 6))
    covariance[:, :3, :3] = turned @ world.covariance[:, :3, :3] @ np.swapaxes(turned, 1, 2)
    about = About(body="imu", gauge="se3", oriented=False)
    no_turn = np.tile([0.0, 0.0, 0.0, 1.0], (SCANS, 1))
    positions = GaussianTrack(stamp, world.position, no_turn, covariance, about=about)
    found = evaluate(positions, Track(stamp, *world.truth, about=About(body="imu")))
    assert found.verdict.label != "overconfident"
    assert "lever arm" not in found.verdict.facts.freedoms
    assert found.relative_motion.growth is None


def test_some_axes_alone_have_no_relative_motion():
    found = scored(axes="xy")
    assert found.relative_motion.all_rows == ()
    assert "axes xy alone" in setup_line(found)


def test_the_table_has_every_horizon_and_why_some_are_not_used():
    found = scored()
    motion = found.relative_motion
    table = relative_motion_table(motion, found.options.intervals)
    assert len(table.rows) == len(motion.all_rows)
    assert [str(row[-1]) for row in table.rows] == [
        motion.why_not(row) or "yes" for row in motion.all_rows
    ]
    used = next(row for row in table.rows if str(row[-1]) == "yes")
    assert str(used[3]) == str(found["relative_k"])
    assert "relative motion" in str(report([Findings(found)], verbose=True))


def test_no_intervals_where_none_are_asked_for():
    found = scored(intervals=Intervals(None))
    assert "[" not in str(relative_motion_table(found.relative_motion, Intervals(None)).rows[0][3])
    assert found["relative_k"].low is None


def test_json_holds_every_row_and_matches_its_schema():
    schema = json.loads(files("smfeval").joinpath("schemas/score.json").read_text())
    for make in (drifting.dead_reckoning, drifting.steady_filter):
        jsonschema.validate(scored(make).to_dict(), schema)
    data = scored().to_dict()
    rows = data["relative_motion"]
    assert True in {row["usable"] for row in rows}
    assert all((row["reason"] is None) == row["usable"] for row in rows)
    assert all(row["low"] <= row["k"] <= row["high"] for row in rows)
    assert data["calibration"]["relative_k"]["value"] in [row["k"] for row in rows]
    assert data["calibration"]["coverage"]["0.9"]["value"] != pytest.approx(
        data["calibration"]["relative_coverage_90"]["value"]
    )


def test_conditions_and_studies_know_them():
    assert score_condition("relative_k>0.5").violation(scored()) is not None
    assert NUMBERS["relative_k"].metric
    assert NUMBERS["relative_energy"].metric
    assert NUMBERS["relative_log"].metric
    assert not any(name.startswith("rel") for name in scored().effective_scans())


def test_the_figure_shows_k_of_every_horizon_and_marks_those_not_used():
    found = scored()
    (axes,) = draw("k_over_horizon", found).axes
    rows = found.relative_motion.rows
    line = next(each for each in axes.lines if len(each.get_xdata()) == len(rows))
    np.testing.assert_allclose(line.get_ydata(), [row.k for row in rows])
    np.testing.assert_allclose(line.get_xdata(), [row.seconds for row in rows])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    with pytest.raises(SeriesError, match="no k over horizons"):
        draw("k_over_horizon", scored(drifting.steady_filter))


def test_k_over_path_is_the_median_of_the_start():
    found = scored()
    *starts, whole = found.k_over_path
    assert [row.part for row in starts] == [1 / 8, 1 / 4, 1 / 2]
    assert whole.k == found["k"]
    for row in starts:
        nees = found.position.series["nees"][: row.scans]
        assert row.k.value == pytest.approx(np.median(nees) / 2.3659738843753377)
        assert row.metres == pytest.approx(row.part * whole.metres, rel=0.02)
    assert "k over the path" in str(report([Findings(found)], verbose=True))
    assert "k over the path" not in str(report([Findings(found)]))


def test_the_page_has_a_row_for_each_horizon():
    found = scored()
    html = score_page([Findings(found)], command="smfeval score a b")
    assert "relative motion" in html
    for row in found.relative_motion.rows:
        assert f"{row.horizon} scans" in html
    assert '"horizons"' in html
    assert 'id="horizons"' in html
    assert found.relative_motion.growth.sentence[1:20] in html
    bounded = score_page([Findings(scored(drifting.steady_filter))], command="c")  # J is unknown
    assert 'id="horizons"' not in bounded


def test_relative_scores_are_over_the_horizon_that_is_asked_for():
    """In seconds, against windows made by hand; too short a one has none, with the reason."""
    world = drifting.dead_reckoning(np.random.default_rng(3), 600)
    estimate, truth = world.tracks()

    def over(*horizons):
        options = Options(alignment="se3", horizons=horizons)
        return evaluate(estimate, truth, options=options)

    found = over(Extent(3.0, "s"))
    motion = found.relative_motion
    first = np.arange(0, 570, 30)
    made = motion.seen.windows(30, ends=(first, first + 30))
    assert motion.scored.horizon == 30
    assert found["relative_log"].value == pytest.approx(window_scores(made)["log"].mean())
    assert over().relative_motion.scored == over().relative_motion.first
    assert over().verdict.sentence == found.verdict.sentence
    short = over(Extent(0.5, "s"))
    assert short.get("relative_k") is None
    assert "fewer than 10 scans lie between" in short.relative_motion.unscored
