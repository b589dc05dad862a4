"""An estimate before a reference that is taken as uncertain: closed forms and simulation."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval import energy_score
from smfeval.align.quantities import ReferenceSigma
from smfeval.evaluation import Options, align_tracks, evaluate
from smfeval.evaluation.scoring import score_orientation, score_position
from smfeval.maths import se3, so3
from smfeval.summarise.number import Intervals
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit, covariances
from support.drifting import dead_reckoning

N = 60
FAST = Options(alignment="none", rules=("energy",), intervals=Intervals(method=None))
S = np.diag([1e-2**2] * 3 + [2e-3**2] * 3)


def truth(n=N):
    stamp, position, rotation = circuit(n)
    tilt = so3.exp(np.outer(np.sin(np.arange(n) / 9), [0.2, 0.1, 0.0]))
    return Track(stamp, position, so3.compose(rotation, tilt), about=ABOUT)


def perturbed(track, covariance, rng):
    """The track with T Exp(xi) for each pose, xi drawn from a covariance."""
    xi = rng.multivariate_normal(np.zeros(6), covariance, size=len(track))
    position, rotation = se3.compose((track.position, track.rotation), se3.exp(xi))
    return track.with_arrays({"position": position, "rotation": rotation})


def honest(track, rng):
    drawn = perturbed(track, S, rng)
    every = np.broadcast_to(S, (len(track), 6, 6))
    return GaussianTrack(drawn.stamp, drawn.position, drawn.rotation, every, about=ABOUT)


def moved_world(track, sigma, rng):
    """The whole reference off by one motion about its middle."""
    motion = np.repeat([sigma.position_m, sigma.rotation_rad], 3) * rng.normal(size=6)
    centre = track.position.mean(axis=0)
    turn = so3.exp(motion[3:])
    position = centre + motion[:3] + (track.position - centre) @ so3.matrix(turn).T
    return track.with_arrays({"position": position, "rotation": so3.compose(turn, track.rotation)})


@pytest.mark.parametrize("axes", ["xyz", "xy"])
@pytest.mark.parametrize("reported", [True, False])
def test_scores_are_those_of_s_and_sigma_together(axes, reported, rng):
    reference, own = truth(), np.zeros((N, 3, 3))
    estimate = honest(reference, rng)
    if reported:
        whole = covariances(N, rng)
        poses = reference.stamp, reference.position, reference.rotation
        reference = GaussianTrack(*poses, whole, about=ABOUT)
        turn = so3.matrix(reference.rotation)
        own = turn @ whole[:, :3, :3] @ turn.swapaxes(1, 2)
    found = evaluate(estimate, reference, options=replace(FAST, axes=axes, ref_sigma="2cm,0.1deg"))

    d = len(axes)
    predicted = (1e-4 * np.eye(3) + 4e-4 * np.eye(3) + own)[:, :d, :d]
    error = (estimate.position - reference.position)[:, :d]
    nees = np.einsum("ni,nij,nj->n", error, np.linalg.inv(predicted), error)
    np.testing.assert_allclose(found.position.series["nees"], nees, rtol=1e-9)
    energy = energy_score(error, predicted)
    np.testing.assert_allclose(found.position.series["energy"], energy, rtol=1e-9)

    document = found.to_dict()["reference"]
    assert document["sigma"] == {"position_m": 0.02, "rotation_rad": np.radians(0.1)}
    assert document["shared"] is None
    assert document["covariance_used"] == reported


def test_white_noise_of_the_reference_is_no_fault_of_an_honest_estimate(rng):
    exact = truth(4000)
    estimate = honest(exact, rng)
    reference = perturbed(exact, np.diag([2e-2**2] * 3 + [3e-3**2] * 3), rng)
    without = evaluate(estimate, reference, options=FAST)
    told = replace(FAST, ref_sigma=ReferenceSigma(0.02, 0.003))
    found = evaluate(estimate, reference, options=told)
    for name, factor in (("k", 5), ("k_rotation", 1 + 9 / 4), ("k_pose", None)):
        assert found[name].value == pytest.approx(1, abs=0.07)
        assert without[name].value > 3
        if factor is not None:
            assert without[name].value == pytest.approx(factor, rel=0.07)
    assert any("2 cm and 0.171887 deg per axis, white" in note for note in found.notes)


def mean_nees(estimate, reference, options):
    """Of position, rotation and pose, scored as `evaluate` does, and not judged."""
    tracks = align_tracks(estimate, reference, options)
    claim = tracks.claim()
    aligned = (tracks.estimate, tracks.reference, claim, tracks.left, options)
    rotation, pose, _ = score_orientation(*aligned)
    return [each.series["nees"].mean() for each in (score_position(*aligned), rotation, pose)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "yaw"])
def test_over_many_tracks_nees_before_a_shared_error_is_that_of_an_honest_belief(kind, rng):
    exact, sigma = truth(), ReferenceSigma(0.05, 0.003)
    options = replace(FAST, rules=(), alignment=kind, ref_shared=sigma)
    means, alone = [], []
    for _ in range(150):
        pair = honest(exact, rng), moved_world(exact, sigma, rng)
        means.append(mean_nees(*pair, options))
        alone.append(mean_nees(*pair, replace(options, ref_shared=None))[0])
    np.testing.assert_allclose(np.mean(means, axis=0), [3, 3, 6], rtol=0.12)
    assert np.mean(alone) > 4.5


@pytest.mark.parametrize("kind", ["se3", "sim3", "first-pose"])
def test_what_the_alignment_absorbs_changes_no_number(kind, rng):
    reference = truth()
    estimate, options = honest(reference, rng), Options(alignment=kind)
    before = evaluate(estimate, reference, options=options).to_dict()
    after = evaluate(estimate, reference, options=replace(options, ref_shared="1m,5deg")).to_dict()
    absorbed = f"the shared error of the reference is absorbed by the {kind} alignment"
    assert absorbed in after["notes"]
    after["notes"].remove(absorbed)
    assert after["reference"].pop("shared")["position_m"] == 1
    assert before["reference"].pop("shared") is None
    assert after == before


@pytest.mark.parametrize("kind", ["none", "yaw"])
def test_relative_motion_has_nothing_of_a_shared_error(kind, rng):
    estimate, reference = dead_reckoning(rng, 1200).tracks()
    sigma = ReferenceSigma(0.3, 0.005)
    moved = moved_world(reference, sigma, rng)
    options = Options(alignment=kind, rules=())
    before = evaluate(estimate, moved, options=options)
    after = evaluate(estimate, moved, options=replace(options, ref_shared=sigma))
    rows = zip(before.relative_motion.all_rows, after.relative_motion.all_rows, strict=True)
    for ours, theirs in rows:  # seen from bodies that differ a little: the kindest of each
        assert ours.k == pytest.approx(theirs.k, rel=0.1)
    assert {each.label for each in (after.verdict, after.rotation.verdict, after.pose.verdict)} == {
        "consistent"
    }
