"""Every fault by its name, honest beliefs without one, and what cannot be told in words."""

import json
from dataclasses import replace
from functools import cache
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from smfeval import read, read_extrinsic
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval.score import Residuals
from smfeval.track import About, ParticleTrack
from smfeval.why.diagnoses import diagnose
from support.faults import FAULTS, SHAPE, Made, honest, honest_walk

SCANS = 1500


def made(name, seed=3):
    return FAULTS[name](Made(SCANS, 0.9, seed))


@cache
def diagnosed(name, alignment="none"):
    """Once for all tests: it is frozen."""
    return made(name).diagnoses(alignment)


def number(diagnoses, name, key):
    return next(each for each in diagnoses.found if each.cause == name).evidence[key]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_called_by_its_name(name):
    assert name in diagnosed(name).names


@pytest.mark.parametrize("name", [n for n in FAULTS if n != "constant offset"])
def test_a_fault_is_called_by_its_name_after_an_alignment(name):
    assert name in diagnosed(name, "se3").names


@pytest.mark.parametrize("alignment", ["none", "se3", "yaw", "sim3", "first-pose"])
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_an_honest_belief_triggers_nothing(rho, alignment):
    belief = honest(1000, rho, 11)
    belief.error[0] = 0  # the pose that a first-pose alignment rests on
    assert belief.diagnoses(alignment).names == ()


@pytest.mark.parametrize("alignment", ["none", "se3"])
def test_a_covariance_that_grows_with_the_error_triggers_nothing(alignment):
    assert honest_walk(1000, 5).diagnoses(alignment).names == ()


def test_a_random_walk_beyond_the_covariance_is_a_drift_that_grows():
    assert diagnosed("drift").names == ("drift", "growing")


def test_growth_is_given_by_the_k_of_the_first_and_the_last_third():
    found = diagnosed("growing")
    amplitude = np.linspace(0.5, 4.0, SCANS)  # of the error, in reported sigmas
    first, last = (np.mean(part**2) for part in (amplitude[:500], amplitude[1000:]))
    assert number(found, "growing", "k_first_third") == pytest.approx(first, rel=0.4)
    assert number(found, "growing", "k_last_third") == pytest.approx(last, rel=0.4)


def test_an_alignment_hides_a_constant_offset():
    assert diagnosed("constant offset", "se3").names == ()


def test_the_lever_arm_is_measured_in_body_axes():
    found = diagnosed("lever-arm bias", "se3")
    assert number(found, "lever-arm bias", "body_x_m") == pytest.approx(0.10, abs=0.03)
    assert number(found, "lever-arm bias", "body_y_m") == pytest.approx(-0.02, abs=0.04)
    assert "in x of body imu" in found.found[0].advice


def test_the_clock_is_measured_with_its_sign():
    found = diagnosed("time-offset bias")
    assert number(found, "time-offset bias", "tau_ms") == pytest.approx(30, abs=6)
    assert "early" in found.found[0].sentence
    late = Made(SCANS, 0.9, 3)
    late.error = late.error - 0.03 * late.velocity
    assert number(late.diagnoses(), "time-offset bias", "tau_ms") == pytest.approx(-30, abs=6)


def test_stamps_moved_by_the_clock_found_have_no_clock_fault():
    belief = made("time-offset bias")
    tau_s = 1e-3 * number(belief.diagnoses(), "time-offset bias", "tau_ms")
    belief.error = belief.error - tau_s * belief.velocity
    assert "time-offset bias" not in belief.diagnoses().names


def test_the_scale_is_measured_whatever_the_alignment():
    for alignment in ("none", "se3"):
        found = diagnosed("scale error", alignment)
        assert number(found, "scale error", "scale_percent") == pytest.approx(1.0, abs=0.2)


def test_a_scale_error_is_no_news_after_a_fit_of_the_scale():
    assert "scale error" not in diagnosed("scale error", "sim3").names


def test_the_stretch_is_given_in_seconds():
    found = diagnosed("a stretch")
    assert number(found, "a stretch", "start_1_s") == pytest.approx(75, abs=8)
    assert number(found, "a stretch", "end_1_s") == pytest.approx(100, abs=8)
    assert number(found, "a stretch", "k_inside") > 5 * number(found, "a stretch", "k_outside")


def test_a_few_bad_scans_are_counted():
    found = diagnosed("a few scans")
    assert 5 <= number(found, "a few scans", "scans") <= 15
    assert "too tight throughout" not in found.names


def test_the_factor_of_a_belief_too_tight_throughout_is_k():
    assert number(diagnosed("too tight throughout"), "too tight throughout", "k") == (
        pytest.approx(4, rel=0.35)
    )


def test_moving_the_whole_world_changes_no_diagnosis():
    belief = made("lever-arm bias")
    first = belief.diagnoses("se3")
    turn = so3.exp(np.array([0.0, 0.0, 0.7]))
    n = len(belief.time)
    many = np.tile(turn, (n, 1))
    belief.position = so3.rotate(many, belief.position) + 100.0
    belief.error = so3.rotate(many, belief.error)
    belief.rotation = so3.compose(many, belief.rotation)
    belief.covariance = so3.rotate_covariance(many, belief.covariance)
    second = belief.diagnoses("se3")
    assert second.names == first.names
    for key in ("body_x_m", "share"):
        one, other = (number(each, "lever-arm bias", key) for each in (first, second))
        assert other == pytest.approx(one, rel=1e-6)


def test_the_same_chance_gives_the_same_diagnoses():
    evaluation = made("a stretch").evaluation()
    one, other = (diagnose(evaluation, rng=np.random.default_rng(7)).to_dict() for _ in range(2))
    assert one == other


def test_tables_are_made_where_every_number_is_asked_for():
    evaluation = made("a stretch").evaluation()
    short = replace(evaluation, options=replace(evaluation.options, numbers=()))
    every, few = (diagnose(each, rng=np.random.default_rng(7)) for each in (evaluation, short))
    assert every.bias
    assert every.windows is not None
    assert few == replace(every, bias=(), windows=None, regimes=(), tail=None, rotation=None)


def test_a_short_track_is_said_to_be_too_short():
    found = Made(40, 0.0, 0).diagnoses()
    assert found.names == ()
    assert found.reason == "too short to diagnose: 40 scans, 60 are needed"


def test_slow_errors_are_said_to_be_too_few():
    found = honest(1000, 0.995, 2).diagnoses()
    assert found.names == ()
    untested = {each.name: each.reason for each in found.untested}
    assert "independent scans are too few" in untested["lever-arm bias"]
    assert "independent scans are too few" in untested["a stretch"]


def test_plain_poses_show_their_biases_and_say_what_is_not_tested():
    found = made("lever-arm bias").diagnoses(kind="poses")
    assert found.names == ("lever-arm bias",)
    assert found.tail is None
    assert all(row.k is None for row in found.regimes)
    assert found.untested[-1].reason == "the estimate reports no uncertainty"


def test_a_track_without_orientation_has_no_body_axes():
    found = made("lever-arm bias").diagnoses(oriented=False)
    assert "lever-arm bias" not in found.names
    assert [row.direction for row in found.bias] == ["along", "cross", "vertical"]


@pytest.mark.parametrize("axes", ["xy", "z", "x"])
def test_fewer_axes_are_diagnosed_too(axes):
    assert made("too tight throughout").diagnoses(axes=axes).names == ("too tight throughout",)
    assert honest(1000, 0.9, 11).diagnoses(axes=axes).names == ()


def test_a_clock_fault_is_seen_in_the_plane():
    assert "time-offset bias" in made("time-offset bias").diagnoses(axes="xy").names


def particles(scale, count=150):
    """Particles drawn from an honest belief whose centre is off by `scale` times its error."""
    base = Made(400, 0.0, 4)
    away = base.rng.normal(size=(400, count, 3)) @ np.sqrt(SHAPE)
    position = (base.position + scale * base.error)[:, None] + away
    track = ParticleTrack(
        (base.time * 1e9).astype(np.int64),
        np.arange(401) * count,
        position.reshape(-1, 3),
        np.repeat(base.rotation, count, axis=0),
        np.ones(400 * count),
        weighted=False,
        about=About(body="imu", world="world", gauge="fixed"),
    )
    return track, base.tracks()[1]


@pytest.mark.parametrize(("scale", "names"), [(1.0, ()), (2.0, ("too tight throughout",))])
def test_particles_are_diagnosed_by_their_moments(scale, names):
    evaluation = evaluate(*particles(scale), options=Options(alignment="none"))
    assert diagnose(evaluation, rng=np.random.default_rng(0)).names == names


def test_the_bias_table_is_the_mean_and_scatter_of_the_error():
    belief = made("constant offset")
    rows = {row.direction: row for row in belief.diagnoses().bias}
    vertical = belief.error[:, 2]
    assert rows["vertical"].mean.value == pytest.approx(vertical.mean())
    assert rows["vertical"].scatter_m == pytest.approx(vertical.std())
    assert rows["vertical"].share == pytest.approx(vertical.mean() ** 2 / np.mean(vertical**2))
    body = so3.rotate(so3.inverse(belief.rotation), belief.error)
    assert rows["x of body imu"].mean.value == pytest.approx(body[:, 0].mean())


def test_variance_between_windows_is_small_for_white_errors_and_large_for_slow_ones():
    assert honest(1200, 0.0, 1).diagnoses().windows.between < 0.05
    assert honest_walk(1200, 1).diagnoses().windows.between > 0.5


def test_the_document_is_strict_json_and_matches_its_schema(score_schema):
    for name in ("lever-arm bias", "a stretch", "drift"):
        document = diagnosed(name).to_dict()
        again = json.loads(json.dumps(document, allow_nan=False))
        assert again == document
        jsonschema.validate(document, score_schema)
    jsonschema.validate(Made(40, 0.0, 0).diagnoses().to_dict(), score_schema)


@pytest.fixture(scope="module")
def score_schema():
    whole = json.loads((files("smfeval") / "schemas" / "score.json").read_text())
    return {"$ref": "#/$defs/Diagnoses", "$defs": whole["$defs"]}


def test_real_odometry_that_explores_drifts(shared_data):
    folder = shared_data / "spires"
    options = Options(extrinsic=read_extrinsic(folder / "imu_to_lidar.json"))
    estimate, reference = read(folder / "fast_lio2.square"), read(folder / "fast_lio2_ref.tum")
    evaluation = evaluate(estimate, reference, options=options)
    assert diagnose(evaluation, rng=np.random.default_rng(0)).names == ("drift",)


def test_residuals_are_not_changed():
    evaluation = made("lever-arm bias").evaluation()
    before: Residuals = evaluation.position.residuals
    error = before.error.copy()
    diagnose(evaluation, rng=np.random.default_rng(0))
    assert (evaluation.position.residuals.error == error).all()


@pytest.mark.parametrize("kind", ["gaussian", "poses"])
def test_an_estimate_that_is_the_reference_has_no_fault(kind):
    belief = Made(300, 0.0, 0)
    belief.error = np.zeros_like(belief.error)
    found = belief.diagnoses(kind=kind)
    assert found.names == ()
    assert "is the estimate the reference itself?" in found.reason
    json.dumps(found.to_dict(), allow_nan=False)


def test_errors_that_are_exactly_zero_in_part_make_no_nan():
    belief = Made(400, 0.0, 0)
    belief.error[:150] = 0
    json.dumps(belief.diagnoses().to_dict(), allow_nan=False)  # raises where there is one


def test_a_robot_that_stands_can_be_diagnosed():
    belief = made("too tight throughout")
    belief.position = np.zeros_like(belief.position)
    assert belief.diagnoses().names == ("too tight throughout",)


def test_what_was_assumed_is_said():
    (allowed, without) = diagnosed("lever-arm bias", "se3").notes
    assert "a fit weighted by the reported covariance" in allowed
    assert "without the named biases" in without
    assert honest(1000, 0.9, 11).diagnoses().notes == ()
