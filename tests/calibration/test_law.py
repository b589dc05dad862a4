"""A growth law: what it publishes, how it is learnt, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval import read, write
from smfeval.align.joint import INCREMENTS
from smfeval.calibration import calibrate
from smfeval.calibration.law import law_from, step_sizes
from smfeval.calibration.learn_law import LawSample, fit_variances
from smfeval.calibration.prove_law import prepare_tracks
from smfeval.errors import ConventionError, FormatError, OptionError, SeriesError
from smfeval.evaluation import evaluate
from smfeval.maths import se3, so3
from smfeval.options import Options
from support.calibration import grown_pair, growth_law

SE3 = Options(alignment="se3")
UP = np.array([0.0, 0.0, 0.3])


@pytest.fixture(scope="module")
def grown():
    """Three tracks whose errors grow by one law of level 6."""
    rng = np.random.default_rng(5)
    return [grown_pair(rng, growth_law(), 240) for _ in range(3)]


@pytest.fixture(scope="module")
def learnt(grown):
    return calibrate(grown, options=SE3)


def test_each_step_carries_the_covariance_and_adds_to_it(grown):
    law = growth_law(floor_m2=4e-4, position=(1e-4, 2e-4, 3e-4), rotation=(1e-6, 2e-6, 3e-6))
    estimate = grown[0][0]
    found, steps = law.apply(estimate), step_sizes(estimate)
    floor, P = np.diag([4e-4] * 3 + [1e-6] * 3), np.zeros((6, 6))
    assert np.allclose(found.covariance[0], floor, rtol=1e-12)
    for t in range(1, 30):
        before, after = ((estimate.position[at], estimate.rotation[at]) for at in (t - 1, t))
        carry = se3.adjoint(se3.inverse(se3.compose(se3.inverse(before), after)))
        added = [steps[t] @ law.position] * 3 + [steps[t] @ law.rotation] * 3
        P = carry @ P @ carry.T + np.diag(added)
        assert np.allclose(found.covariance[t], P + floor, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("level", "turned"), [(4, [0, 0, 1]), (3, [0, 0, 0])])
def test_rotation_errors_grow_about_the_axes_of_the_level(level, turned, grown):
    law = growth_law(level)
    found = law.apply(grown[0][0])
    R = so3.matrix(found.rotation[-1])
    spread = R @ found.covariance[-1, 3:, 3:] @ R.T - law.floor_rad2 * np.eye(3)
    path = step_sizes(found)[:, 0].sum()
    assert np.allclose(spread, 1e-6 * path * np.diag(turned), atol=1e-12)


def test_one_variance_has_a_closed_form(rng):
    """The best variance is the mean NEES over d under its own unit covariance."""
    error, weight = rng.normal(size=(40, 3)), np.full(40, 1 / 40)
    size = rng.uniform(1, 3, 40)
    basis = np.zeros((40, 8, 3, 3))
    basis[:, 0] = size[:, None, None] * np.eye(3)
    found = fit_variances([LawSample(error, basis, np.zeros((40, 3, 0)), weight)])
    expected = np.mean(np.sum(error**2, axis=1) / size) / 3
    assert found[0] == pytest.approx(expected, rel=1e-5)
    assert not found[1:].any()


def test_a_law_is_learnt_where_no_covariance_is_reported(learnt):
    law = learnt.correction
    assert law.level == 6
    true, found = (each.drift(30.0) for each in (growth_law(motion=law.motion), law))
    assert np.divide(found, true) == pytest.approx(1, abs=0.35)
    assert 0.8 < learnt.mean("after").coverage < 0.99
    assert learnt.gain.value > 0.3
    assert all(row.absolute is not None for row in learnt.held_out)
    assert learnt.sentence.startswith("errors grow by 0.")
    assert "better than of a constant covariance" in learnt.sentence
    assert law_from(law.to_dict(), "law.json") == law


def test_what_is_written_is_scored_with_the_cross_covariances_declared(grown, tmp_path):
    estimate, reference = grown[0]
    path = tmp_path / "run.square"
    write(growth_law().apply(estimate), path)
    belief = read(path)
    assert dict(belief.about.extra)[INCREMENTS].split()[0] == "6"
    found = evaluate(belief, reference, options=SE3)
    assert found.claim.how == "projected"
    assert "declared" in found.claim.reason
    rows = found.relative_motion.rows
    assert rows
    assert all(row.interval(0.001)[0] < 1 < row.interval(0.001)[1] for row in rows)
    undeclared = evaluate(belief.with_about(extra=()), reference, options=SE3)
    assert undeclared.relative_motion.rows[0].k > 1.2 * rows[0].k  # without the white noise


def test_another_body_keeps_the_cross_covariances_declared(grown):
    """Moved by a lever arm, the belief is as consistent as it was."""
    estimate, reference = grown[0]
    belief, extrinsic = growth_law().apply(estimate), (np.array([0.4, 0.1, -0.8]), so3.exp(UP))
    truth = se3.compose((reference.position, reference.rotation), extrinsic)
    rows = dict(zip(("position", "rotation"), truth, strict=True))
    options = replace(SE3, extrinsic=extrinsic)
    found = evaluate(belief, reference.with_arrays(rows), options=options)
    assert "declared" in found.claim.reason
    assert found.claim.how == "projected"
    plain = evaluate(belief, reference, options=SE3)
    pairs = zip(found.relative_motion.rows, plain.relative_motion.rows, strict=True)
    assert all(one.k == pytest.approx(other.k, rel=0.2) for one, other in pairs)


def test_positions_alone_give_a_law_of_positions(grown):
    pairs = [(estimate, truth.with_about(oriented=False)) for estimate, truth in grown]
    law = calibrate(pairs, options=SE3).correction
    assert (law.level, law.floor_rad2) == (3, None)
    belief = law.apply(grown[0][0])
    assert not belief.about.oriented
    assert not belief.covariance[:, 3:, 3:].any()


def test_one_track_is_cut_in_time_if_asked_for(grown):
    with pytest.raises(OptionError, match="one track") as refusal:
        calibrate(grown[:1], options=SE3)
    assert refusal.value.keyword == "force_one"
    part = tuple(track[np.arange(130)] for track in grown[0])
    found = calibrate([part], options=SE3, force_one=True)
    assert found.how == "time blocks of one track"
    assert len(found.held_out) == 5
    assert ", on this track" in found.sentence
    short = tuple(track[np.arange(90)] for track in grown[0])
    with pytest.raises(SeriesError, match="are needed"):
        calibrate([short], options=SE3, force_one=True)


def prepared(pairs):
    return prepare_tracks([(str(at), *pair) for at, pair in enumerate(pairs)], SE3)


def test_a_lever_arm_and_a_rotation_between_the_bodies_are_no_errors(grown):
    """The reference of another body, near the estimate's: columns, not drift."""
    other = np.array([0.05, 0.02, -0.1]), so3.exp(np.radians([0.4, -0.8, 0.6]))
    path = np.tile(step_sizes(grown[0][0]).sum(axis=0), 2)
    pairs = [
        (estimate, truth.with_arrays(dict(zip(("position", "rotation"), moved, strict=True))))
        for estimate, truth in grown
        for moved in [se3.compose((truth.position, truth.rotation), other)]
    ]
    plain, moved = (
        fit_variances([each for track in prepared(made) for each in track.samples(6)])
        for made in (grown, pairs)
    )
    assert moved[7] < 2 * plain[7]
    assert moved[:6] @ path == pytest.approx(plain[:6] @ path, rel=0.5)


def test_what_a_law_cannot_do_is_refused(grown):
    law, estimate = growth_law(), grown[0][0]
    with pytest.raises(ConventionError, match="corrected already"):
        law.apply(law.apply(estimate))
    with pytest.raises(ConventionError, match="scale is unknown"):
        law.apply(estimate.with_about(gauge="sim3"))
    notes = law.apply(estimate.with_about(algorithm="another")).provenance.notes
    assert any("doubtful" in note for note in notes)
    with pytest.raises(OptionError, match="no telemetry"):
        calibrate(grown, options=SE3, regions=0.9)
    data = law.to_dict()
    for changes in ({"level": 5}, {"floor_m2": -1.0}, {"motion": {}}, {"position_m2_per": 3}):
        with pytest.raises(FormatError, match="no growth law"):
            law_from(data | changes, "x.json")


def test_reported_covariances_are_replaced_with_a_note(grown):
    first = growth_law().apply(grown[0][0])
    plain = first.with_about(extra=())
    again = replace(growth_law(), floor_m2=1e-2).apply(plain)
    assert any("replaced" in note for note in again.provenance.notes)
    assert again.covariance[0, 0, 0] == pytest.approx(1e-2)
