"""A run explained: a linear filter whose scans are displaced by a known amount."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.errors import SeriesError
from smfeval.evaluation import Options, evaluate
from smfeval.explain.displacement import isotropic_covariance, marginalised_posterior
from smfeval.explain.updates import UpdateLog, explain_updates, implied_prior, updates_of
from smfeval.maths import so3
from smfeval.summarise.number import Intervals
from smfeval.track import About, GaussianTrack, Track
from support.beliefs import stamps
from support.updates import filtered

SCANS, SHIFT_M, GROWTH_M = 600, 0.02, 0.05
PLAIN = Options(intervals=Intervals(None), alignment="none")


@pytest.fixture(scope="module")
def ran():
    """The run and its reference; the body is turned against the world, as telemetry is not."""
    made = filtered(
        np.random.default_rng(11), scans=SCANS, growth_m=GROWTH_M, displacement_m=SHIFT_M
    )
    path = np.cumsum(np.random.default_rng(12).normal(size=(SCANS, 3)), axis=0)
    rotation = so3.exp(np.random.default_rng(13).normal(size=(SCANS, 3)))
    covariance = np.tile(np.eye(6) * 1e-6, (SCANS, 1, 1))
    covariance[:, :3, :3] = so3.rotate_covariance(so3.inverse(rotation), made.updates.posterior)
    about = About(body="imu", world="world", gauge="fixed")
    belief = GaussianTrack(stamps(SCANS), path + made.error, rotation, covariance, about=about)
    seen = made.residuals
    log = UpdateLog(
        stamp=belief.stamp,
        matched=seen.matched,
        normals=seen.normals,
        sigma_m=made.sigma_m,
        residual_rms_m=seen.residual_rms_m,
        innovation_rms_m=seen.innovation_rms_m,
        prior=made.updates.prior,
        posterior=made.updates.posterior,
    )
    return belief, log, Track(belief.stamp, path, rotation, about=about)


def test_a_run_is_explained_by_what_was_put_in(ran):
    belief, log, reference = ran
    evaluation = evaluate(belief, reference, options=PLAIN)
    found = explain_updates(log, evaluation)
    assert (found.updates, found.left_out.total) == (SCANS, 0)
    assert found.credit.unexplained == pytest.approx(0, abs=1e-6)
    spread = (GROWTH_M**2 + 2 * SHIFT_M**2) * np.sqrt(2 / (3 * SCANS))  # of a mean square
    assert found.displacement.shown.displacement.value == pytest.approx(SHIFT_M**2, abs=3 * spread)
    assert found.displacement.needed_every_m == pytest.approx(SHIFT_M, rel=0.15)
    assert found.displacement.needed_one_m == pytest.approx(SHIFT_M, rel=0.15)
    k = evaluation["k"].value
    assert found.credit.excess == pytest.approx(3 * np.log(k))
    assert 0 < found.displacement.recovered_one_nats <= found.displacement.recovered_every_nats
    assert found.credit.effective_points == pytest.approx(60 / k)


def test_an_alignment_that_turns_the_world_changes_no_explanation(ran):
    belief, log, reference = ran
    turn = so3.exp(np.array([0.3, -0.2, 0.9]))
    many = np.broadcast_to(turn, (SCANS, 4))
    turned = Track(
        reference.stamp,
        so3.rotate(many, reference.position),
        so3.compose(many, reference.rotation),
        about=reference.about,
    )
    aligned = replace(PLAIN, alignment="se3")
    straight = explain_updates(log, evaluate(belief, reference, options=aligned))
    across = explain_updates(log, evaluate(belief, turned, options=aligned))
    assert across.displacement.needed_every_m == pytest.approx(
        straight.displacement.needed_every_m, rel=1e-6
    )


def test_without_displacement_the_recursion_gives_the_telemetry_back(ran):
    updates = updates_of(ran[1])
    assert marginalised_posterior(updates, isotropic_covariance(0.0)) == pytest.approx(
        updates.posterior, rel=1e-6
    )


def test_scans_without_matches_are_left_out_and_counted(ran):
    belief, log, reference = ran
    told = log
    normals, posterior = told.normals.copy(), told.posterior.copy()
    normals[5], posterior[5] = 0.0, told.prior[5]
    empty = replace(
        told,
        matched=np.where(np.arange(SCANS) == 5, 0, told.matched),
        normals=normals,
        posterior=posterior,
    )
    found = explain_updates(empty, evaluate(belief, reference, options=PLAIN))
    assert (found.updates, found.left_out.total) == (SCANS - 1, 1)


def test_what_is_not_scored_counts_in_the_recursions_all_the_same(ran):
    """Every third scan has a reference; what the filter would report there depends on all."""
    belief, log, reference = ran
    scored = np.arange(0, SCANS, 3)
    found = explain_updates(log, evaluate(belief, reference[scored], options=PLAIN))
    assert found.updates == len(scored)
    updates, size = updates_of(log), found.displacement.shown.sigma_m
    reported = np.linalg.slogdet(updates.posterior)[1]
    prior = np.linalg.slogdet(updates.prior)[1]
    assert found.credit.lost == pytest.approx(np.median((prior[1:] - reported[:-1])[2::3]))
    displaced = np.linalg.slogdet(marginalised_posterior(updates, isotropic_covariance(size)))[1]
    assert found.displacement.recovered_every_nats == pytest.approx(
        np.median((displaced - reported)[scored])
    )
    spread = (GROWTH_M**2 + 2 * SHIFT_M**2) * np.sqrt(2 / (3 * len(scored)))
    assert found.displacement.shown.displacement.value == pytest.approx(SHIFT_M**2, abs=3 * spread)
    assert found.displacement.needed_every_m == pytest.approx(SHIFT_M, rel=0.15)


def test_updates_are_explained_on_all_axes_only(ran):
    belief, log, reference = ran
    flat = evaluate(belief, reference, options=replace(PLAIN, axes="xy"))
    with pytest.raises(SeriesError, match="axes xy"):
        explain_updates(log, flat)


def test_the_prior_of_a_pose_follows_from_its_posterior_and_what_the_points_brought():
    """Of nine states the points see the pose; whatever the others are tied to."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(20, 9, 12))
    prior = root @ root.swapaxes(1, 2)
    rows = rng.normal(size=(20, 30, 6))
    brought = rows.swapaxes(1, 2) @ rows
    whole = np.zeros((20, 9, 9))
    whole[:, :6, :6] = brought
    posterior = np.linalg.inv(np.linalg.inv(prior) + whole)
    np.testing.assert_allclose(
        implied_prior(posterior[:, :6, :6], brought), prior[:, :3, :3], rtol=1e-6
    )


def test_a_belief_wider_than_its_information_allows_has_no_prior():
    posterior = np.stack([np.eye(3), 0.1 * np.eye(3)])
    found = implied_prior(posterior, np.tile(2 * np.eye(3), (2, 1, 1)))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], np.eye(3) / 8)


def test_updates_without_a_prior_are_credited_and_left_out_of_the_displacement(ran):
    belief, log, reference = ran
    prior = log.prior.copy()
    prior[100:110] = np.nan
    evaluation = evaluate(belief, reference, options=PLAIN)
    found = explain_updates(replace(log, prior=prior), evaluation)
    assert (found.updates, found.displaced_updates) == (SCANS, SCANS - 10)
    assert found.displacement.needed_every_m == pytest.approx(SHIFT_M, rel=0.15)
    bare = replace(
        log, prior=np.full_like(prior, np.nan), innovation_rms_m=None, directions_known=False
    )
    alone = explain_updates(bare, evaluation)
    assert (alone.displacement, alone.credit.prior, alone.degeneracy) == (None, None, ())
    assert alone.credit.credit == found.credit.credit


def test_without_a_reference_the_credit_stays_and_k_is_not_known(ran):
    belief, log, reference = ran
    found = explain_updates(log)
    scored = explain_updates(log, evaluate(belief, reference, options=PLAIN))
    assert found.credit.credit == scored.credit.credit
    assert found.displacement.shown == scored.displacement.shown
    assert (found.credit.excess, found.displacement.known, found.degeneracy) == (None, False, ())


def test_k_times_the_variance_of_a_point_makes_a_filter_honest_whose_prior_is_wider_alike(ran):
    """sigma sqrt(k): with prior and R k times larger, every posterior is."""
    belief, log, reference = ran
    evaluation = evaluate(belief, reference, options=PLAIN)
    k = evaluation["k"].value
    found = explain_updates(log, evaluation).credit
    assert found.consistent_sigma_m == pytest.approx(0.03 * np.sqrt(k))
    information = np.linalg.inv(k * log.prior) + log.normals / found.consistent_sigma_m**2
    np.testing.assert_allclose(np.linalg.inv(information), k * log.posterior, rtol=1e-6)
