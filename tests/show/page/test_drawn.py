from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

from smfeval.show.page import plots
from smfeval.show.page.plots import drawn_orientations, drawn_tracks, origin_of, triangle
from smfeval.show.series import rolling_quantiles
from support.evaluations import FAST, evaluated, gapped, particle_evaluation, plain


def numbers(text):
    return np.frombuffer(b64decode(text), dtype="<f4")


def track_of(evaluation):
    (found,) = drawn_tracks([("made", evaluation.position, evaluation.options.axes)])
    return found


def test_a_short_track_is_drawn_scan_by_scan(rng):
    evaluation = evaluated(rng, 60)
    found, scored = track_of(evaluation), evaluation.position
    assert (found["scans"], found["drawn"], found["scan"]) == (60, 60, None)
    position = scored.estimate.position.astype(np.float32)
    assert np.array_equal(numbers(found["position"]).reshape(-1, 3), position)
    assert np.allclose(numbers(found["time"]), np.arange(60) / 10)
    assert np.allclose(numbers(found["belief"]["nees"]), scored.series["nees"], rtol=1e-6)


def test_the_reference_is_the_estimate_less_the_error(rng):
    evaluation = evaluated(rng, 60)
    found = track_of(evaluation)
    reference = (numbers(found["position"]) - numbers(found["error"])).reshape(-1, 3)
    assert np.allclose(reference, evaluation.position.reference.position, atol=1e-5)


def test_sigma_is_the_error_that_the_belief_predicts(rng):
    evaluation = evaluated(rng, 5)
    drawn_from = rng.multivariate_normal(
        np.zeros(3), evaluation.position.residuals.predicted_covariance[0], size=200_000
    )
    rmse = np.sqrt(np.mean(np.sum(drawn_from**2, axis=1)))
    entries = numbers(track_of(evaluation)["belief"]["covariance"])[:6]
    assert np.sqrt(entries[[0, 3, 5]].sum()) == pytest.approx(rmse, rel=5e-3)


def test_a_long_track_is_thinned_and_keeps_what_stands_out(rng, monkeypatch):
    monkeypatch.setattr(plots, "MOST", 800)
    monkeypatch.setattr(plots, "FEWEST", 100)
    evaluation = evaluated(rng, 5000)
    found, series = track_of(evaluation), evaluation.position.series
    assert found["scans"] == 5000
    assert 200 < found["drawn"] <= 800
    assert len(found["scan"]) == len(numbers(found["time"])) == found["drawn"]
    assert numbers(found["distance"]).max() == series["ape"].max().astype(np.float32)
    assert numbers(found["belief"]["nees"]).max() == series["nees"].max().astype(np.float32)
    assert numbers(found["belief"]["nees"]).min() == series["nees"].min().astype(np.float32)


def test_several_tracks_share_the_room_and_the_origin_of_time(rng, monkeypatch):
    monkeypatch.setattr(plots, "MOST", 1600)
    monkeypatch.setattr(plots, "FEWEST", 100)
    first, later = evaluated(rng, 5000), evaluated(rng, 5000, keep=np.arange(100, 5000))
    found = drawn_tracks([("a", first.position, "xyz"), ("b", later.position, "xyz")])
    assert sum(each["drawn"] for each in found) <= 1600
    assert numbers(found[1]["time"])[0] == pytest.approx(10.0)


def test_a_gap_breaks_the_line(rng):
    assert track_of(evaluated(rng, keep=gapped()))["breaks"] == [20]


def test_more_gaps_than_a_page_can_show_do_not_make_it_long(rng, monkeypatch):
    monkeypatch.setattr(plots, "MOST", 400)
    monkeypatch.setattr(plots, "FEWEST", 100)
    ten_of_thirteen = np.flatnonzero(np.arange(8000) % 13 < 10)
    evaluation = evaluated(rng, 8000, keep=ten_of_thirteen)
    found, error = track_of(evaluation), evaluation.position.series["ape"]
    assert found["drawn"] <= 410
    assert numbers(found["distance"]).max() == error.max().astype(np.float32)
    assert len(found["breaks"]) > 300


def test_poses_without_uncertainty_have_no_belief(rng):
    assert track_of(plain(rng))["belief"] is None


def test_an_honest_gaussian_needs_one_number_and_particles_one_for_each_scan(rng):
    honest = track_of(evaluated(rng))["belief"]["honest"]
    assert numbers(honest["region"]) == pytest.approx([7.8147], rel=1e-4)  # chi-squared tables
    assert numbers(honest["middle"]) == pytest.approx([2.3660], rel=1e-4)
    particles = track_of(particle_evaluation(rng, n=30))["belief"]["honest"]
    assert len(numbers(particles["region"])) == 30


@pytest.mark.parametrize("axes", ["xyz", "xy", "zx", "y"])
def test_a_covariance_on_some_axes_is_put_where_they_are(axes, rng):
    place = ["xyz".index(letter) for letter in axes]
    lift = np.eye(3)[:, place]  # (3, d)
    root = rng.normal(size=(4, len(axes), len(axes)))
    covariance = root @ root.swapaxes(1, 2)
    full = lift @ covariance @ lift.T
    entries = [full[:, i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    assert np.allclose(triangle(covariance, axes), np.stack(entries, axis=1))


def test_a_flat_evaluation_is_drawn_flat(rng):
    found = track_of(evaluated(rng, options=replace(FAST, axes="xy")))
    entries = numbers(found["belief"]["covariance"]).reshape(-1, 6)
    assert (entries[:, [2, 4, 5]] == 0).all()
    assert (entries[:, [0, 3]] > 0).all()


def test_positions_far_away_keep_their_millimetres():
    far = np.array([[456_789.123, 5_432_100.456, 80.0], [456_799.0, 5_432_110.0, 81.0]])
    origin = origin_of(far)
    assert np.abs((far - origin).astype(np.float32) - (far - origin)).max() < 1e-4
    assert (origin % 100 == 0).all()
    assert (origin_of(far - far[0]) == 0).all()


def orientation_of(evaluation):
    (found,) = drawn_orientations([evaluation], [track_of(evaluation)])
    return found


def test_rotation_error_sigma_and_nees_of_every_space_are_drawn(rng):
    evaluation = evaluated(rng, 60)
    found = orientation_of(evaluation)
    assert [each["space"] for each in found["nees"]] == ["position", "rotation", "pose"]
    ratio = [np.median(numbers(each["ratio"])) for each in found["nees"][1:]]
    k = [evaluation[name].value for name in ("k_rotation", "k_pose")]
    assert ratio == pytest.approx(k, rel=1e-6)
    rotation = found["rotation"]
    assert np.mean(numbers(rotation["error"])) == pytest.approx(evaluation["rotation"].value)
    S = evaluation.rotation.residuals.predicted_covariance
    sigma = np.degrees(np.sqrt(np.trace(S, axis1=1, axis2=2)))
    assert numbers(rotation["sigma"]) == pytest.approx(sigma, rel=1e-6)


def test_what_the_track_has_is_not_written_twice(rng):
    evaluation = evaluated(rng, 60)
    found = orientation_of(evaluation)
    assert set(found["rotation"]) == {"error", "sigma"}
    assert set(found["nees"][0]) == {"space", "axes"}
    other = track_of(evaluated(rng, 60, keep=np.arange(1, 60)))
    (apart,) = drawn_orientations([evaluation], [other])
    assert np.median(numbers(apart["nees"][0]["ratio"])) == pytest.approx(evaluation["k"].value)
    assert len(numbers(apart["rotation"]["time"])) == 60


def test_gaps_break_the_lines_of_rotation_too(rng):
    evaluation = evaluated(rng, keep=gapped())
    (found,) = drawn_orientations([evaluation], [track_of(evaluated(rng))])
    assert found["rotation"]["breaks"] == found["nees"][2]["breaks"] == [20]


def test_poses_without_uncertainty_have_no_rotation_to_draw(rng):
    assert orientation_of(plain(rng)) is None


def test_rolling_quantiles_follow_the_scans_about_each_window_and_leave_gaps_open(rng):
    stamp = np.concatenate([np.arange(300), np.arange(600, 900)]) * 10**8
    value = np.where(np.arange(600) < 300, 1.0, 3.0) * (1 + 0.1 * rng.standard_normal(600))
    time, (low, middle, high) = rolling_quantiles(stamp, value, (0.1, 0.5, 0.9), windows=30)
    known = np.isfinite(middle)
    assert np.flatnonzero(~known).tolist() == list(range(10, 20))  # from 30 s to 60 s
    assert (low[known] < middle[known]).all()
    assert (middle[known] < high[known]).all()
    inside = (stamp / 1e9 >= time[5] - 4.5) & (stamp / 1e9 < time[5] + 4.5)  # three windows of 3 s
    assert middle[5] == pytest.approx(np.median(value[inside]), rel=1e-2)
    assert middle[25] / middle[5] == pytest.approx(3.0, rel=0.05)
