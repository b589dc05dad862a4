"""A run explained: a linear filter whose scans are displaced by a known amount."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.errors import SeriesError
from smfeval.evaluation import Options, evaluate
from smfeval.explain.displacement import isotropic_covariance, marginalised_posterior
from smfeval.lab.casestudy.explanation import explain_run, updates_of
from smfeval.lab.filters.run import Run, Telemetry
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
    told = Telemetry(
        stamp=belief.stamp,
        matched=seen.matched,
        normals=seen.normals,
        sigma_m=made.sigma_m,
        residual_rms_m=seen.residual_rms_m,
        innovation_mean_m=np.zeros(SCANS),
        innovation_rms_m=seen.innovation_rms_m,
        innovation_nis=np.ones(SCANS),
        iterations=np.ones(SCANS, dtype=np.int64),
        prior=made.updates.prior,
        posterior=made.updates.posterior,
    )
    return Run(belief, told, 0.0), Track(belief.stamp, path, rotation, about=about)


def test_a_run_is_explained_by_what_was_put_in(ran):
    run, reference = ran
    evaluation = evaluate(run.belief, reference, options=PLAIN)
    found = explain_run(run, evaluation)
    assert (found.updates, found.left_out) == (SCANS, 0)
    assert np.abs(found.credit.budget.unexplained).max() < 1e-6
    spread = (GROWTH_M**2 + 2 * SHIFT_M**2) * np.sqrt(2 / (3 * SCANS))  # of a mean square
    assert found.displacement.shown.displacement.value == pytest.approx(SHIFT_M**2, abs=3 * spread)
    assert found.displacement.needed_every_m == pytest.approx(SHIFT_M, rel=0.15)
    assert found.displacement.needed_one_m == pytest.approx(SHIFT_M, rel=0.15)
    k = evaluation["k"].value
    assert found.credit.excess_nats == pytest.approx(3 * np.log(k))
    assert 0 < found.displacement.recovered_one_nats <= found.displacement.recovered_every_nats
    assert found.credit.effective_points == pytest.approx(60 / k)


def test_an_alignment_that_turns_the_world_changes_no_explanation(ran):
    run, reference = ran
    turn = so3.exp(np.array([0.3, -0.2, 0.9]))
    many = np.broadcast_to(turn, (SCANS, 4))
    turned = Track(
        reference.stamp,
        so3.rotate(many, reference.position),
        so3.compose(many, reference.rotation),
        about=reference.about,
    )
    aligned = replace(PLAIN, alignment="se3")
    straight = explain_run(run, evaluate(run.belief, reference, options=aligned))
    across = explain_run(run, evaluate(run.belief, turned, options=aligned))
    assert across.displacement.needed_every_m == pytest.approx(
        straight.displacement.needed_every_m, rel=1e-6
    )


def test_without_displacement_the_recursion_gives_the_telemetry_back(ran):
    updates = updates_of(ran[0].telemetry)
    assert marginalised_posterior(updates, isotropic_covariance(0.0)) == pytest.approx(
        updates.posterior, rel=1e-6
    )


def test_scans_without_matches_are_left_out_and_counted(ran):
    run, reference = ran
    told = run.telemetry
    normals, posterior = told.normals.copy(), told.posterior.copy()
    normals[5], posterior[5] = 0.0, told.prior[5]
    empty = replace(
        told,
        matched=np.where(np.arange(SCANS) == 5, 0, told.matched),
        normals=normals,
        posterior=posterior,
    )
    found = explain_run(
        replace(run, telemetry=empty), evaluate(run.belief, reference, options=PLAIN)
    )
    assert (found.updates, found.left_out) == (SCANS - 1, 1)


def test_what_is_not_scored_counts_in_the_recursions_all_the_same(ran):
    """Every third scan has a reference; what the filter would report there depends on all."""
    run, reference = ran
    scored = np.arange(0, SCANS, 3)
    found = explain_run(run, evaluate(run.belief, reference[scored], options=PLAIN))
    assert found.updates == len(scored)
    updates, size = updates_of(run.telemetry), found.displacement.shown.sigma_m
    reported = np.linalg.slogdet(updates.posterior)[1]
    prior = np.linalg.slogdet(updates.prior)[1]
    np.testing.assert_allclose(found.credit.budget.motion_loss, (prior[1:] - reported[:-1])[2::3])
    displaced = np.linalg.slogdet(marginalised_posterior(updates, isotropic_covariance(size)))[1]
    assert found.displacement.recovered_every_nats == pytest.approx(
        np.median((displaced - reported)[scored])
    )
    spread = (GROWTH_M**2 + 2 * SHIFT_M**2) * np.sqrt(2 / (3 * len(scored)))
    assert found.displacement.shown.displacement.value == pytest.approx(SHIFT_M**2, abs=3 * spread)
    assert found.displacement.needed_every_m == pytest.approx(SHIFT_M, rel=0.15)


def test_a_filter_that_tells_nothing_cannot_be_explained(ran):
    run, reference = ran
    evaluation = evaluate(run.belief, reference, options=PLAIN)
    with pytest.raises(SeriesError, match="leaves no telemetry"):
        explain_run(replace(run, telemetry=None), evaluation)


def test_updates_are_explained_on_all_axes_only(ran):
    run, reference = ran
    flat = evaluate(run.belief, reference, options=replace(PLAIN, axes="xy"))
    with pytest.raises(SeriesError, match="axes xy"):
        explain_run(run, flat)
