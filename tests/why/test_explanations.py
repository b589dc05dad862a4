"""A cause is put into the measurement of an honest belief: the right one explains the verdict."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import smfeval
from smfeval import Options, read, read_extrinsic
from smfeval.align.fit import Alignment
from smfeval.align.nuisance import body_motion
from smfeval.evaluation import evaluate
from smfeval.evaluation.scoring import score_position
from smfeval.judge.decide import Facts, Verdict
from smfeval.judge.levels import largest_mean
from smfeval.maths import so3
from smfeval.summarise.number import Number
from smfeval.track import ParticleTrack, Track
from smfeval.why.explanations import (
    Need,
    OtherExplanation,
    closing_sentence,
    other_explanations,
    verdict_row,
)
from support.beliefs import stamps
from support.drifting import dead_reckoning
from support.explanations import (
    WIDE,
    N,
    S,
    belief,
    ending,
    explanations_of,
    heading,
    noise,
    path,
    reference,
    remembering,
    rows,
    times,
    velocity,
)
from support.studies import drifting_tracks

SCHEMA = json.loads((Path(smfeval.__file__).parent / "schemas" / "score.json").read_text())
TURN = so3.matrix(so3.exp(np.array([0.02, -0.01, 0.4])))
KNOWN = ("body", "clock")


def test_an_honest_belief_has_nothing_to_explain(rng):
    found = explanations_of(belief(noise(rng), S), reference())
    assert found.rows == ()
    assert found.sentence == "there is nothing to explain: the verdict is 'consistent'"


def test_a_lever_arm_and_a_clock_that_were_called_exact_end_the_verdict_when_opened(rng):
    arm = so3.rotate(heading(times()), np.tile([0.03, -0.04, 0.0], (N, 1)))
    wrong = belief(noise(rng) + arm, late_s=0.02)
    found = explanations_of(wrong, reference(), exact=KNOWN)
    assert ending(found) == {"extrinsic and time offset", "all at once", "reference noise 2 cm"}
    row = rows(found)["extrinsic and time offset"]
    assert row.verdict.facts.first.excess == pytest.approx(1 / WIDE, abs=0.1)
    assert np.linalg.norm(row.verdict.facts.values.lever_m) == pytest.approx(0.05, rel=0.05)
    assert abs(row.verdict.facts.values.clock_s) == pytest.approx(0.02, rel=0.05)
    assert row.assumed.startswith("any (5")
    assert found.sentence.startswith(
        "the verdict could be explained by extrinsic and time offset ("
    )
    assert explanations_of(wrong, reference()).rows == ()


def test_an_open_gauge_that_was_declared_fixed_ends_the_verdict(rng):
    turned = Alignment("se3", TURN, np.array([0.1, 0.2, -0.1]))(belief(noise(rng)))
    found = explanations_of(turned, reference())
    assert ending(found) == {"alignment se3", "alignment sim3", "all at once"}
    assert rows(found)["alignment se3"].verdict.facts.first.excess == pytest.approx(
        1 / WIDE, abs=0.1
    )
    assert rows(found)["alignment yaw"].outcome == "in part"


def test_only_alignments_with_more_degrees_of_freedom_are_tried(rng):
    tight = belief(remembering(rng, N, 0.1), gauge="se3")
    assert {name for name in rows(explanations_of(tight, reference())) if "alignment" in name} == {
        "alignment sim3"
    }
    sim3 = rows(explanations_of(tight, reference(), alignment="sim3"))
    assert not any("alignment" in name for name in sim3)
    assert sim3["all at once"].assumed.startswith("sim3, ")


def test_stamps_that_are_off_at_random_end_the_verdict_by_jitter_alone(rng):
    jitter = 0.008
    late = jitter * rng.normal(size=(N, 1)) * velocity(times())
    found = explanations_of(belief(noise(rng) + late), reference())
    assert ending(found) == {"timestamp jitter"} | {"reference noise 2 cm"}
    assert 0.4 * jitter < rows(found)["timestamp jitter"].needed.size < jitter
    assert "a timestamp jitter of " in found.sentence


def test_jitter_enters_as_the_outer_product_of_the_velocity(rng):
    """(e - a v (v e) / (1 + a v^2))^T e / s^2 with a = sigma_t^2 / s^2 (Sherman and Morrison)."""
    s, sigma_t = 0.01, 0.01
    error = remembering(rng, N, 0.1)
    estimate = belief(error, s**2 * np.eye(3))
    found = explanations_of(estimate, reference(), exact=KNOWN)
    motion = body_motion(estimate.stamp, estimate.position, estimate.rotation)
    v = so3.rotate(estimate.rotation, motion.velocity)

    def excess(jitter):
        a = (jitter / s) ** 2
        along = np.einsum("ni,ni->n", v, error) ** 2
        nees = np.sum(error**2, axis=1) - a * along / (1 + a * np.sum(v**2, axis=1))
        return nees.mean() / (3 * s**2)

    row = rows(found)["timestamp jitter"]
    assert row.verdict.facts.first.excess == pytest.approx(excess(sigma_t), rel=1e-9)
    assert row.needed == Need(None, "s")  # across the motion errors are as large
    assert excess(1e6) > largest_mean(3)


def test_a_noisy_reference_ends_the_verdict_if_it_is_such_a_one(rng):
    sigma = 0.015
    truth = reference(moved=sigma * rng.normal(size=(N, 3)))
    found = explanations_of(belief(noise(rng), S), truth)
    # the continuous reference smooths the noise away, and knows how much is left
    assert ending(found) == {"reference noise 2 cm", "continuous reference"}
    total, rtk = rows(found)["reference noise 2 mm"], rows(found)["reference noise 2 cm"]
    assert total.outcome == "in part"
    assert rtk.condition == "the reference is no better than RTK"
    assert total.needed.size == found.scored.reference_sigma
    assert 0.5 * sigma < total.needed.size < sigma
    assert " would explain it (a total station has 2 mm" in found.sentence


def test_nothing_ends_the_verdict_of_a_covariance_that_is_too_tight(rng):
    sigma = 0.1
    made = belief(remembering(rng, N, sigma), sigma**2 / 100 * np.eye(3), gauge="se3")
    found = explanations_of(made, reference())
    assert ending(found) == set()
    left = rows(found)["all at once"].verdict.at_least
    noise = "only larger noise explains the verdict"
    text = f"{noise}: with all at once k is still at least {left:.3g}; "
    assert found.sentence.startswith(text)


def test_more_that_is_assumed_leaves_no_more_errors(rng):
    found = rows(explanations_of(belief(remembering(rng, N, 0.1)), reference(), exact=KNOWN))
    excess = {name: row.verdict.facts.first.excess for name, row in found.items()}
    by_gauge = [excess[f"alignment {kind}"] for kind in ("yaw", "se3", "sim3")]
    assert by_gauge == sorted(by_gauge, reverse=True)
    assert excess["all at once"] <= min(by_gauge[-1], excess["extrinsic and time offset"])
    by_noise = [excess[f"reference noise {size}"] for size in ("2 mm", "1 cm", "2 cm")]
    assert by_noise == sorted(by_noise, reverse=True)


def test_a_verdict_by_relative_motion_is_asked_of_relative_motion_again():
    rng = np.random.default_rng(0)
    estimate, truth = drifting_tracks(dead_reckoning(rng, 1500), tighter=2)
    evaluation = evaluate(estimate, truth, options=Options(alignment="se3", singular="drop"))
    assert evaluation.verdict.by == "relative motion"
    explanations = other_explanations(evaluation)
    found = rows(explanations)
    assert all(row.verdict.facts.rows for row in found.values())
    assert ending(explanations) == {"reference noise 2 cm"}
    assert found["alignment sim3"].verdict.at_least == pytest.approx(
        found["alignment sim3"].scored.at_least, rel=0.01
    )
    assert (
        found["timestamp jitter"].verdict.at_least < 0.8 * found["timestamp jitter"].scored.at_least
    )
    assert 0.01 < found["reference noise 2 mm"].needed.size < 0.02


def verdict(label="overconfident", by="any correlation", at_least=8.0, **facts):
    return Verdict(label, by, Facts("position", 300, Number(25.0, "1"), **facts), at_least=at_least)


SCORED = verdict()
OPEN = verdict("cannot tell", "nothing", None)


@pytest.mark.parametrize("by", ["averaging", "relative motion"])
def test_an_explanation_that_only_takes_evidence_away_ends_nothing(by):
    row = verdict_row("alignment", "sim3", verdict(by=by), OPEN)
    assert row.outcome is None
    assert row.reason == f"no evidence by {by} is left"
    assert verdict_row("alignment", "sim3", SCORED, OPEN).outcome == "explains it"


def test_half_of_what_is_sure_is_a_part():
    assert OtherExplanation("alignment", "se3", SCORED, verdict(at_least=4.0)).outcome == "in part"
    assert OtherExplanation("alignment", "se3", SCORED, verdict(at_least=4.1)).outcome == "no"


def test_the_sentence_names_what_ends_the_verdict_before_all_at_once():
    gauge, together = (
        OtherExplanation("alignment", "se3", SCORED, OPEN),
        OtherExplanation("all at once", "x", SCORED, OPEN),
    )
    failed = replace(gauge, verdict=SCORED)
    assert closing_sentence(SCORED, [gauge, together]).endswith(
        "the verdict could be explained by alignment (se3)"
    )
    alone = "only all at once would explain the verdict (x)"
    assert closing_sentence(SCORED, [failed, together]) == alone
    map_only = replace(gauge, name="reference noise", condition="it is such a one")
    assert closing_sentence(SCORED, [map_only]) == "nothing else explains the verdict"


def test_a_rotation_beyond_its_claim_is_asked_whatever_the_position_is(rng):
    made = belief(noise(rng), S)
    turned = so3.compose(made.rotation, so3.exp(0.01 * rng.normal(size=(N, 3))))
    found = explanations_of(made.with_arrays({"rotation": turned}), reference())
    fitted, sigma = found.rows
    assert fitted.scored.facts.space == "rotation"
    assert fitted.assumed.endswith("ms)")
    assert sigma.needed.unit == "rad"
    assert 0.005 < sigma.needed.size < 0.01
    assert f"; rotation: a reference sigma of {sigma.needed} would" in found.sentence
    assert str(sigma.needed).endswith(" deg")


@pytest.mark.parametrize("axes", ["xy", "z"])
def test_fewer_axes_are_explained_alike(rng, axes):
    wrong = belief(noise(rng), 1.5 * S, late_s=0.05)
    found = explanations_of(wrong, reference(), axes=axes, exact=KNOWN)
    assert "extrinsic and time offset" in ending(found)


def test_positions_without_orientation_have_a_clock_and_no_lever_arm(rng):
    found = explanations_of(belief(remembering(rng, N, 0.1), oriented=False), reference())
    assert rows(found)["extrinsic and time offset"].assumed.endswith(" ms)")


@pytest.mark.parametrize(
    ("by", "tight"),
    [("any correlation", None), ("any correlation", 0.02), ("relative motion", 0.5)],
)
def test_a_long_track_is_asked_again_on_the_scans_of_verdicts_alone(by, tight, rng, monkeypatch):
    n, asked = 5000, []
    tracks = belief(remembering(rng, n, 0.1), gauge="se3"), reference(n)
    if tight is not None:
        tracks = dead_reckoning(rng, n).scaled(tight).tracks()
    evaluation = evaluate(*tracks)

    def score(estimate, *more):
        asked.append(len(estimate))
        return score_position(estimate, *more)

    monkeypatch.setattr("smfeval.evaluation.score_position", score)
    few = rows(other_explanations(evaluation))
    monkeypatch.setattr("smfeval.evaluation.spaced_indices", lambda count, most: np.arange(count))
    monkeypatch.setattr("smfeval.evaluation.scans_of_windows", np.arange)
    whole = rows(other_explanations(evaluation))
    assert asked == [2000, 2000, n, n]
    assert whole["alignment sim3"].verdict.by == by
    same = 1e-4 if by == "any correlation" else 1e-3  # the same scans; others, of the same windows
    for name, row in whole.items():
        ours, all_of_them = few[name].verdict, row.verdict
        assert (ours.label, ours.by) == (all_of_them.label, all_of_them.by)
        assert ours.at_least == pytest.approx(all_of_them.at_least, rel=same)


def test_plain_poses_have_causes_and_no_verdict_to_explain():
    truth = reference()
    moved = truth.position + np.random.default_rng(0).normal(size=(N, 3))
    found = evaluate(Track(truth.stamp, moved, truth.rotation), truth).why()
    assert found.explanations.rows == ()
    assert "no uncertainty is reported" in found.explanations.sentence
    assert found.causes.bias


def test_a_jitter_beside_which_nothing_is_left_of_the_covariance_cannot_be_asked(rng):
    found = explanations_of(
        belief(remembering(rng, N, 0.1), 1e-20 * np.eye(3), oriented=False), reference()
    )
    row = rows(found)["timestamp jitter"]
    assert row.outcome is None
    assert row.reason == f"with it, {N} of {N} covariances are singular"
    assert row.needed is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_particles_are_explained_by_their_moments(rng):
    count, n = 60, 300
    centre = path(times(n)) + np.array([0.3, 0.0, 0.0])
    cloud = np.repeat(centre, count, axis=0) + 0.01 * rng.normal(size=(n * count, 3))
    turned = np.repeat(heading(times(n)), count, axis=0)
    offset = np.arange(0, n * count + 1, count)
    weight = np.ones(n * count)
    made = ParticleTrack(stamps(n), offset, cloud, turned, weight, about=belief(centre * 0).about)
    assert "alignment se3" in ending(explanations_of(made, reference(n)))


def test_why_there_is_no_continuous_reference_is_said(rng):
    wrong = belief(remembering(rng, 60, 0.3))
    row = rows(explanations_of(wrong, reference(60), association="gp"))["continuous reference"]
    assert row.verdict is None
    assert row.reason == "it was scored so already"
    few = belief(remembering(rng, 5, 0.3))
    row = rows(explanations_of(few, reference(5)))["continuous reference"]
    assert row.verdict is None
    assert "poses" in row.reason


def test_the_document_is_strict_json_and_fits_its_schema(rng):
    document = explanations_of(belief(remembering(rng, N, 0.1)), reference()).to_dict()
    schema = {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/Explanations"}
    jsonschema.validate(json.loads(json.dumps(document, allow_nan=False)), schema)
    del document["rows"][0]["outcome"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def spires(folder, name):
    estimate = read(folder / "spires" / f"{name}.square")
    truth = read(folder / "spires" / f"{name}_ref.tum", body="lidar")
    extrinsic = read_extrinsic(folder / "spires" / "imu_to_lidar.json")
    near = Options(extrinsic=extrinsic, tolerance_s=0.005)
    return other_explanations(evaluate(estimate, truth, options=near))


def test_nothing_ends_the_verdict_of_the_real_faster_lio(shared_data):
    found = spires(shared_data, "faster_lio")
    assert ending(found) == set()
    assert rows(found)["reference noise 2 mm"].needed.size == pytest.approx(0.125, rel=0.05)


def test_only_a_reference_of_centimetres_excuses_the_real_fast_lio2(shared_data):
    """Its reference is LiDAR registered to a surveyed map."""
    found = spires(shared_data, "fast_lio2")
    assert ending(found) == {"reference noise 1 cm", "reference noise 2 cm"}
    assert found.sentence.startswith("only larger noise explains the verdict: with all at once")
    assert rows(found)["reference noise 2 mm"].needed.size == pytest.approx(0.0047, rel=0.05)
