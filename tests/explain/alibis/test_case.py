"""The case repeats the evaluation; the curves are as defined; the ball is searched."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.align.extent import Extent
from smfeval.evaluation import Options, evaluate
from smfeval.evaluation.claim import judge_motion
from smfeval.explain.alibis.case import case_of, crossing, evaluated_judgement, judge
from smfeval.explain.alibis.clock import jitter_curve, scored_velocity
from smfeval.explain.alibis.lever_arm import (
    least_median,
    linearise_nees,
    project_to_ball,
    quadratic_forms,
    shortest_solution,
)
from smfeval.explain.alibis.reference_noise import noise_curve
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import judge as judge_evidence
from smfeval.track import ParticleTrack
from support.alibis import N, belief, noise, path, reference, remembering, times, velocity
from support.beliefs import stamps
from support.drifting import WORLDS, dead_reckoning, random_walk
from support.studies import drifting_tracks


def evaluated(rng, gauge="fixed", **options):
    made = belief(remembering(rng, N, 0.05), 1e-4 * np.diag([1.0, 2.0, 3.0]), gauge=gauge)
    return evaluate(made, reference(), options=Options(**options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axes": "xz"},
        {"axes": "y"},
        {"alignment": "se3"},
        {"alignment": "sim3"},
        {"alignment": "yaw", "fit_on": Extent(10, "s")},
        {"alignment": "first-pose"},
        {"alignment": "first-pose", "association": "gp"},
    ],
    ids=str,
)
def test_the_case_as_it_stands_repeats_the_evaluation(rng, options):
    evaluation = evaluated(rng, **options)
    case, _ = case_of(evaluation)
    again, before = judge(case), evaluated_judgement(evaluation)
    assert again.k.value == pytest.approx(before.k.value, rel=1e-9)
    assert again.k.low == pytest.approx(before.k.low, rel=1e-9)
    assert again.nees_median == pytest.approx(before.nees_median, rel=1e-9)
    assert (again.label, again.scans) == (before.label, before.scans)


@pytest.mark.parametrize("make", [dead_reckoning, random_walk])
@pytest.mark.parametrize("alignment", ["se3", "yaw", "sim3", "first-pose", "none"])
@pytest.mark.parametrize("joint", ["auto", "none"])
def test_the_case_of_a_drifting_track_repeats_the_evaluation(rng, make, alignment, joint):
    """J implied or unknown: projected, granted or reported covariances, each judged as scored."""
    estimate, truth = drifting_tracks(make(rng, 300), tighter=9)
    options = Options(alignment=alignment, joint=joint, singular="drop")
    evaluation = evaluate(estimate, truth, options=options)
    again, before = judge(case_of(evaluation)[0]), evaluated_judgement(evaluation)
    assert again.k.value == pytest.approx(before.k.value, rel=1e-9)
    assert again.nees_median == pytest.approx(before.nees_median, rel=1e-9)
    assert (again.label, again.scans) == (before.label, before.scans)


@pytest.mark.parametrize("alignment", ["se3", "none"])
def test_a_clock_offset_leaves_the_evidence_of_relative_motion(rng, alignment):
    """The covariance moves with the body, so that growth over windows stays what it was."""
    estimate, truth = drifting_tracks(dead_reckoning(rng, 1500), tighter=7)
    options = Options(alignment=alignment, singular="drop")
    case, _ = case_of(evaluate(estimate, truth, options=options))
    before, after = judge(case), judge(case.at_offset(0.05))
    assert (before.label, after.label) == ("overconfident", "overconfident")
    motions = [
        judge_motion(each.claim, each.reference, options.space)
        for each in (case, case.at_offset(0.05))
    ]
    assert len(motions[0].evidence.rows) == len(motions[1].evidence.rows) > 4


@pytest.mark.parametrize("world", ["dead reckoning", "loop closures", "increments AR(0.98)"])
@pytest.mark.parametrize("factor", [1, 1 / 7, 1 / 25])
def test_bounds_that_are_not_asked_for_change_no_label(world, factor):
    made = WORLDS[world](np.random.default_rng(5), 400).scaled(factor)
    evaluation = evaluate(*made.tracks(), options=Options(alignment="se3"))
    few = judge_motion(
        evaluation.claim, evaluation.reference, evaluation.options.space, all_bounds=False
    )
    found = judge_evidence(evaluation.relative_motion.evidence)
    assert judge_evidence(few.evidence) == found
    decided = found.evidence == "relative motion" and found.label != "cannot tell"
    assert bool(few.evidence.bounds) != decided


def test_a_fit_bound_that_convicts_needs_no_windows():
    made = WORLDS["loop closures"](np.random.default_rng(5), 400).scaled(1e-4)
    evaluation = evaluate(*made.tracks(), options=Options(alignment="se3"))
    few = judge_motion(
        evaluation.claim, evaluation.reference, evaluation.options.space, all_bounds=False
    )
    whole = evaluation.relative_motion.evidence
    assert [bound.name for bound in few.evidence.bounds] == ["fit bound"]
    assert few.evidence.bounds[0] == whole.bounds[0]
    assert len(whole.bounds) > 1
    assert judge_evidence(few.evidence).label == judge_evidence(whole).label == "overconfident"


def test_the_case_of_particles_repeats_their_second_moments(rng):
    n, count = 100, 8
    position = np.repeat(path(times(n)), count, axis=0) + 0.1 * rng.normal(size=(n * count, 3))
    made = ParticleTrack(
        stamps(n),
        np.arange(0, n * count + 1, count),
        position,
        np.tile([0.0, 0.0, 0.0, 1.0], (n * count, 1)),
        rng.uniform(0.5, 1.0, size=n * count),
        about=belief(np.zeros((2, 3))).about,
    )
    evaluation = evaluate(made, reference(n))
    again = judge(case_of(evaluation)[0])
    assert again.k.value == pytest.approx(evaluation["moment_k"].value, rel=1e-9)


def test_singular_scans_stay_left_out(rng):
    made = belief(0.1 + noise(rng))
    covariance = made.covariance.copy()
    covariance[::5, 2, :] = covariance[::5, :, 2] = 0.0
    flat = made.with_arrays({"covariance": covariance})
    evaluation = evaluate(flat, reference(), options=Options(singular="drop"))
    again = judge(case_of(evaluation)[0])
    assert again.scans == N - N // 5
    assert again.k.value == pytest.approx(evaluation["k"].value, rel=1e-9)


def test_noise_of_the_reference_enters_as_s_plus_sigma_squared(rng):
    case, _ = case_of(evaluated(rng))
    relative, enough = noise_curve(case)
    residuals = case.residuals
    for sigma in (0.0, 0.003, 0.2):
        wider = residuals.covariance + sigma**2 * np.eye(3)
        direct = np.einsum("ni,nij,nj->n", residuals.error, np.linalg.inv(wider), residuals.error)
        assert relative(sigma) == pytest.approx(direct / median_chi_squared(3), rel=1e-9)
    assert np.median(relative(enough)) <= 1
    assert (relative(0.01) < relative(0.001)).all()


def test_jitter_enters_as_the_outer_product_of_the_velocity(rng):
    case, _ = case_of(evaluated(rng))
    relative, residuals = jitter_curve(case), case.residuals
    v = scored_velocity(case)
    for jitter in (0.0, 0.002, 0.5):
        wider = residuals.covariance + jitter**2 * v[:, :, None] * v[:, None, :]
        direct = np.einsum("ni,nij,nj->n", residuals.error, np.linalg.inv(wider), residuals.error)
        assert relative(jitter) == pytest.approx(direct / median_chi_squared(3), rel=1e-6)
    assert (relative(0.01) <= relative(0.001)).all()
    assert relative(1e4) == pytest.approx(relative(np.inf), rel=1e-6)


def test_jitter_keeps_its_digits_where_the_covariance_is_tiny_beside_it(rng):
    """Each scan late by t under S = 1e-19 I: all of the error is along v, and NEES = (t / s)^2."""
    case, _ = case_of(evaluate(belief(0.1 + noise(rng), 1e-19 * np.eye(3)), reference()))
    late = rng.uniform(0.005, 0.02, size=N)
    position = case.estimate.position - late[:, None] * case.velocity
    moved = replace(case, reference=case.reference.with_arrays({"position": position}))
    nees = jitter_curve(moved)(0.01) * median_chi_squared(3)
    assert nees == pytest.approx((late / 0.01) ** 2, rel=1e-6)


def test_the_velocity_is_that_of_the_path():
    case, _ = case_of(evaluate(belief(np.zeros((N, 3)) + 0.1), reference()))
    assert scored_velocity(case)[1:-1] == pytest.approx(velocity(times())[1:-1], abs=0.01)


def test_a_falling_function_is_crossed_where_it_is_one():
    assert crossing(lambda x: 4 - x, 10.0) == pytest.approx(3)
    assert crossing(lambda x: 0.5 - x, 10.0) == 0
    assert crossing(lambda x: 4 - x, 2.0) is None


def test_the_linear_lever_arm_agrees_with_the_real_one(rng):
    case, _ = case_of(evaluated(rng, alignment="se3"))
    arm = np.array([0.004, -0.002, 0.007])
    exact = judge(case.with_lever_arm(arm)).k.value
    assert linearise_nees(case).median_at(arm) == pytest.approx(exact, rel=1e-3)


def test_the_search_of_the_ball_is_as_good_as_a_grid(rng):
    a = rng.normal(size=(400, 3, 3))
    wanted = np.array([0.3, -0.2, 0.1])
    b = -np.einsum("ndi,i->nd", a, wanted) + 0.2 * rng.normal(size=(400, 3))
    terms = quadratic_forms(b, a)
    line = np.linspace(-0.5, 0.5, 41)
    grid = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    for radius in (0.5, 0.2):
        inside = grid[np.linalg.norm(grid, axis=1) <= radius]
        best = min(terms.medians(part).min() for part in np.array_split(inside, 50))
        found = least_median(terms, radius)
        assert np.linalg.norm(found) <= radius * (1 + 1e-12)
        assert terms.median_at(found) <= 1.02 * best


def test_the_shortest_vector_that_is_enough_lies_on_the_way():
    """|b + x|^2 = |x - w|^2 for all: 1 is reached at |w| - 1."""
    wanted = np.array([2.0, 1.0, 2.0])
    terms = quadratic_forms(np.tile(-wanted, (9, 1)), np.tile(np.eye(3), (9, 1, 1)))
    found = shortest_solution(terms, least_median(terms, 5.0))
    assert np.linalg.norm(found) == pytest.approx(2.0, rel=0.01)
    assert found / np.linalg.norm(found) == pytest.approx(wanted / 3, abs=0.05)


def test_points_beyond_the_ball_are_brought_to_it():
    assert project_to_ball(np.array([[3.0, 4, 0], [0.1, 0, 0], [0, 0, 0]]), 1.0) == pytest.approx(
        np.array([[0.6, 0.8, 0], [0.1, 0, 0], [0, 0, 0]])
    )
