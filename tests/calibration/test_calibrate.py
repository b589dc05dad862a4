"""What is learnt on some tracks holds on others; what cannot be learnt is refused in words."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from smfeval import (
    ConventionError,
    GaussianTrack,
    OptionError,
    Options,
    SeriesError,
    calibrate,
    calibration,
    evaluate,
)
from smfeval.calibration import held_out
from smfeval.calibration.held_out import BLOCKS, gain_number
from smfeval.calibration.models import MODELS
from smfeval.maths import normal, so3
from support.calibration import tight_by, tracks, unclaimed_noise
from support.drifting import dead_reckoning, outages


def uncertain(reference, sigma_m):
    covariance = np.diag([sigma_m**2] * 3 + [1e-6] * 3)
    return GaussianTrack(
        reference.stamp,
        reference.position,
        reference.rotation,
        np.broadcast_to(covariance, (len(reference), 6, 6)).copy(),
        about=reference.about,
    )


@pytest.fixture(scope="module")
def tight():
    """Six tracks of a filter that claims a tenth of its covariance."""
    return tracks(1, scans=100)


@pytest.fixture(scope="module")
def learnt(tight):
    return calibrate(tight, model="scale")


def test_k_is_the_mean_over_tracks_of_nees_over_d(tight, learnt):
    found = [evaluate(*pair).position.residuals for pair in tight]
    k = [np.mean(normal.nees(each.error, each.covariance)) / 3 for each in found]
    assert learnt.k == pytest.approx(np.mean(k), rel=1e-12)
    assert learnt.correction.factors == (learnt.k,) * 3
    assert 5 < learnt.robust_k < 20


def test_held_out_rows_are_what_score_says_of_the_corrected_track(tight, learnt):
    others = calibrate(tight[1:], model="scale")
    corrected = others.correction.apply(tight[0][0])
    found = evaluate(corrected, tight[0][1])
    row = learnt.held_out[0]
    assert row.after.log_score == pytest.approx(found["log"].value, rel=1e-9)
    assert row.after.coverage == pytest.approx(found["coverage_90"].value, rel=1e-9)
    assert row.before.log_score == pytest.approx(evaluate(*tight[0])["log"].value, rel=1e-9)


def test_the_same_holds_after_a_fit_of_an_estimate_that_implies_how_errors_move_together():
    """Also of the rotation, whose claim after the fit has parts of the position in it."""
    made = tracks(2, 3, world=dead_reckoning, scans=120)
    options = Options(alignment="se3")
    learnt = calibrate(made, options=options, model="blocks")
    assert learnt.correction.learnt.scored_under == ("projected",)
    other = calibrate(made[1:], options=options, model="blocks").correction
    found = evaluate(other.apply(made[0][0]), made[0][1], options=options)
    row = learnt.held_out[0]
    assert row.after.log_score == pytest.approx(found["log"].value, rel=1e-9)
    assert row.rotation[1].log_score == pytest.approx(
        found.rotation.numbers["log_rotation"].value, rel=1e-9
    )
    assert row.rotation[1].coverage == pytest.approx(
        found.rotation.numbers["coverage_90_rotation"].value
    )


def test_corrections_are_learnt_before_the_reference_that_is_assumed(tight):
    options = Options(ref_sigma="5cm", ref_shared="1cm,0.1deg", alignment="none")
    learnt = calibrate(tight[:3], options=options, model="scale")
    other = calibrate(tight[1:3], options=options, model="scale").correction
    found = evaluate(other.apply(tight[0][0]), tight[0][1], options=options)
    assert learnt.held_out[0].after.log_score == pytest.approx(found["log"].value, rel=1e-9)


def test_a_tenth_is_corrected_on_tracks_that_were_not_learnt_from(learnt):
    assert learnt.is_shown
    assert learnt.how == "leave-one-track-out"
    assert learnt.mean("before").coverage < 0.25
    assert 0.8 < learnt.mean("after").coverage < 0.97
    assert learnt.sentence.startswith("publish 1")
    assert learnt.worst.after.log_score == max(row.after.log_score for row in learnt.held_out)


def test_test_tracks_are_not_learnt_from(tight):
    split = calibrate(tight[:2], tight[2:4], model="scale")
    alone = calibrate(tight[:2], model="scale")
    assert split.correction == alone.correction
    assert [row.name for row in split.held_out] == ["arrays (3)", "arrays (4)"]


def test_runs_on_one_recording_are_left_out_together(tight):
    def again(pair, factor):
        """Another run: other errors, the same reference."""
        away = factor * (pair[0].position - pair[1].position)
        return pair[0].with_arrays({"position": pair[1].position + away}), pair[1]

    runs = [pair for each in tight[:3] for pair in (each, again(each, -1.3))]
    found = calibrate(runs, model="scale")
    others = calibrate(runs[2:], model="scale").correction
    expected = evaluate(others.apply(runs[0][0]), runs[0][1])["log"].value
    assert found.held_out[0].after.log_score == pytest.approx(expected, rel=1e-9)
    assert found.gain.n_effective == 3
    assert "6 tracks are runs on 3 recordings" in found.notes[0]
    with pytest.raises(OptionError, match=r"one track to learn from \(2 runs on one recording\)"):
        calibrate(runs[:2])
    with pytest.raises(OptionError, match=r"arrays \(3\) and arrays are runs on one recording"):
        calibrate([runs[0], runs[2]], [runs[1]])
    with pytest.raises(OptionError, match="there are 1"):
        calibrate(runs[:2], conformal=0.6, force_one=True)
    assert "1 other run on it not used" in calibrate(runs[:2], force_one=True).notes


def test_an_honest_covariance_is_published_as_it_is():
    honest = calibrate(tracks(3, change=lambda world, rng: world), model="scale")
    assert 0.7 < honest.k < 1.4
    assert honest.sentence.startswith("publish the covariance as it is")


CASES = {
    "axes": (tight_by(40, 40, 1, 1), {"scans": 80}),
    "floor": (unclaimed_noise(0.2), {"world": outages}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_model_that_fits_has_a_better_log_score_held_out(name):
    change, more = CASES[name]
    pairs = tracks(4, 4, change=change, **more)
    own, scale = (calibrate(pairs, model=model) for model in (name, "scale"))
    gain = scale.mean("after").log_score - own.mean("after").log_score
    assert gain > 0.05
    if name == "axes":
        assert own.correction.factors == pytest.approx((40, 40, 1), rel=0.5)
    if name == "floor":
        assert own.correction.floor_m2**0.5 == pytest.approx(0.2, rel=0.2)


def test_scale_is_kept_where_no_other_model_is_better_and_left_where_one_is():
    few = {"scans": 60}
    plain = calibrate(tracks(5, 5, **few))
    assert plain.correction.model == "scale"
    assert {each.model for each in plain.models} == {*MODELS, "blocks"}
    assert not plain.notes
    turned = calibrate(tracks(5, 5, change=tight_by(10, 10, 10, 300), **few))
    assert turned.correction.model == "blocks"
    assert turned.notes[-1].startswith("blocks was chosen by these same tracks")
    assert turned.correction.rotation == pytest.approx(300, rel=0.4)
    assert turned.correction.factors[0] == pytest.approx(plain.correction.factors[0], rel=1e-6)


def test_a_track_is_scored_once_as_it_is_and_at_most_five_times_for_a_model(tight, monkeypatch):
    counts = {"as it is": 0, "corrected": 0}

    def counted(name, function):
        def count(*words, **options):
            counts[name] += 1
            return function(*words, **options)

        return count

    monkeypatch.setattr(calibration, "evaluate", counted("as it is", calibration.evaluate))
    corrected = counted("corrected", held_out.corrected_residuals)
    monkeypatch.setattr(held_out, "corrected_residuals", corrected)
    found = calibrate(tight[:4])
    tried = sum(each.gain is not None for each in found.models) + 1
    assert tried == len(MODELS)  # scale, axes, floor and blocks: there is no telemetry
    assert counts["as it is"] == 4
    assert 4 * tried <= counts["corrected"] <= 5 * 4 * tried


def test_what_one_factor_and_the_same_tracks_cannot_show_is_noted(tight):
    wide = [(tight[0][0].with_arrays({"covariance": 9 * tight[0][0].covariance}), tight[0][1])]
    found = calibrate([*wide, *tight[1:3]], model="scale")
    assert any("a new kind of scene may be beyond both" in note for note in found.notes)
    assert not calibrate(tight[1:4], model="scale").notes


def test_a_lost_track_is_not_learnt_from_and_shown(tight):
    estimate, reference = tight[0]
    away = np.linspace(0, 300, len(estimate))[:, None] * np.array([0.0, 0.0, 1.0])
    lost = estimate.with_arrays({"position": estimate.position + away})
    found = calibrate([(lost, reference), *tight[1:4]], model="scale")
    assert found.correction.learnt.left_out == ("arrays",)
    assert found.correction.factors == calibrate(tight[1:4], model="scale").correction.factors
    row = found.held_out[0]
    assert row.lost is not None
    assert row.after.k > 1000
    assert row not in found.counted
    assert not found.doubts  # what is odd about a lost track is that it is lost


def test_a_doubt_about_the_files_comes_before_a_factor(tight):
    """Quaternions in another order, which no extrinsic and no clock explains."""
    wxyz = [(e.with_arrays({"rotation": np.roll(e.rotation, 1, axis=1)}), r) for e, r in tight[:2]]
    found = calibrate(wxyz, model="blocks")
    assert {name for name, _ in found.doubts} == {"arrays", "arrays (2)"}
    assert "written wxyz?" in found.doubts[0][1]
    assert ", if the doubt about the files is cleared:" in found.sentence
    assert not calibrate(tight[:2], model="scale").doubts


def test_another_extrinsic_is_no_doubt_that_comes_before_a_factor(tight):
    """Verdicts hold for any, so that none is withheld."""
    turned = [
        (e.with_arrays({"rotation": so3.compose(e.rotation, so3.exp(np.array([0, 0, 0.2])))}), r)
        for e, r in tight[:2]
    ]
    assert not calibrate(turned, model="blocks").doubts


def test_what_lost_tracks_or_a_coarse_reference_seem_to_gain_is_not_recommended(tight):
    away = np.linspace(0, 300, len(tight[0][0]))[:, None] * np.array([0.0, 0.0, 1.0])
    estimate, reference = tight[0]
    lost = estimate.with_arrays({"position": estimate.position + away}), reference
    found = calibrate(tight[1:3], [lost], model="scale")
    assert found.gain.value > 100
    assert "every held-out track is lost" in found.sentence
    coarse = [(e, uncertain(r, sigma_m=10.0)) for e, r in tight[:2]]
    found = calibrate(coarse, model="scale")
    assert found.better == 2
    assert found.sentence.startswith("publish the covariance as it is: no correction is shown")


def test_one_track_is_refused_unless_asked_for(tight):
    with pytest.raises(OptionError, match="one track to learn from says nothing about another"):
        calibrate(tight[:1])
    tested = calibrate(tight[:1], tight[1:2], force_one=True)
    assert (tested.how, tested.correction.model) == ("test tracks", "scale")
    forced = calibrate(tight[:1], force_one=True)
    assert forced.how == "time blocks of one track"
    assert len(forced.held_out) == BLOCKS
    assert forced.correction.model == "scale"
    assert any("may not hold for another track" in note for note in forced.notes)
    assert sum(row.scans for row in forced.held_out) == len(tight[0][0])


def test_what_cannot_be_learnt_is_refused_in_one_sentence(tight):
    estimate, reference = tight[0]
    with pytest.raises(SeriesError, match="no scan has an error"):
        calibrate([(estimate, estimate), tight[1]])
    with pytest.raises(SeriesError, match="has no covariances"):
        calibrate([(reference, reference), tight[1]])
    with pytest.raises(OptionError, match="model 'scales' is unknown"):
        calibrate(tight, model="scales")
    with pytest.raises(OptionError, match="telemetry: it needs telemetry of every track"):
        calibrate(tight, model="telemetry")
    with pytest.raises(SeriesError, match="has 5 scored scans; 20 are needed"):
        calibrate([(estimate[:5], reference), tight[1]])
    with pytest.raises(ConventionError, match=r"different bodies \(lidar and imu\)"):
        calibrate([(estimate.with_about(body="lidar"), reference), tight[1]])
    with pytest.raises(OptionError, match="no track to learn from"):
        calibrate([])


def test_the_interval_of_a_gain_is_students():
    gains = np.array([0.1, 0.3, -0.2, 0.5, 0.4])
    expected = ttest_1samp(gains, 0).confidence_interval(0.95)
    found = gain_number(gains)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert gain_number(gains[:3]).low is None
