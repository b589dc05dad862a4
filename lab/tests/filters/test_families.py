"""The paper's filters as settings over shared parts: what a setting does, and that they track."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab_support import room
from smfeval.errors import OptionError
from smfeval.evaluation import Options, evaluate
from smfeval.maths import so3
from smfeval_lab.filters import FILTERS, filter_named, ieskf, run_filter
from smfeval_lab.filters.ieskf import Settings
from smfeval_lab.filters.ieskf.cloud import first_points
from smfeval_lab.filters.ieskf.constant_velocity import (
    predict_constant,
    state_at_rest,
)
from smfeval_lab.filters.ieskf.inertial import chosen_densities, predict, process_noise, transitions
from smfeval_lab.filters.ieskf.maps import VoxelMap, search_steps
from smfeval_lab.filters.ieskf.planes import planes_through
from smfeval_lab.filters.ieskf.rotations import exp
from smfeval_lab.filters.ieskf.start import state_from_standstill
from smfeval_lab.filters.ieskf.state import (
    ACCELERATION_BIAS,
    GYRO_BIAS,
    ROTATION,
    SIZE,
    VELOCITY,
)
from smfeval_lab.recording.usable import NO_IMU
from smfeval_lab.sensors.lidar import LIDARS
from smfeval_lab.simulate import simulate

FAMILIES = [
    name for name, each in FILTERS.items() if each.family and "ieskf" in each.implementation
]
DENSE = ("every=1", "voxel_m=0.25", "map_voxel_m=0.5")  # a room has few points


@pytest.fixture(scope="module")
def recording():
    return room.recording(5, sweep=True, duration_s=4.0, count=900)


@pytest.fixture(scope="module")
def runs(recording):
    return {name: run_filter(name, recording, DENSE) for name in FAMILIES}


def aligned_errors(done):
    """Errors after the mean rotation and the mean place are laid upon the truth. (n,)."""
    position, rotation = room.pose((done.belief.stamp - room.START) / room.NS)
    turn = so3.matrix(rotation[0]) @ so3.matrix(done.belief.rotation[0]).T
    moved = done.belief.position @ turn.T - position
    return np.linalg.norm(moved - moved[0], axis=1)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_tracks_in_a_room(runs, name):
    assert aligned_errors(runs[name]).max() < 0.05


@pytest.mark.parametrize("name", FAMILIES)
def test_its_belief_and_telemetry_agree_and_bear_its_name(runs, name):
    done = runs[name]
    assert done.belief.about.algorithm == name
    matched = done.telemetry.matched > 0
    np.testing.assert_allclose(
        done.belief.position_covariance[matched],
        done.telemetry.posterior[matched],
        rtol=1e-6,
        atol=1e-15,
    )


@pytest.mark.parametrize("name", ["ieskf", "point-lio", *FAMILIES])
def test_beliefs_begin_at_the_first_update_so_that_the_first_pose_can_be_aligned(recording, name):
    done = run_filter(name, recording, DENSE[:2] if name == "point-lio" else DENSE)
    assert done.telemetry.matched[0] > 0
    assert done.belief.stamp[0] == done.telemetry.stamp[0]
    assert "1 scan before the first update: no belief" in done.notes
    first = evaluate(done.belief, recording.reference, options=Options(alignment="first-pose"))
    assert first["k"].value > 0.03  # with P0 = I it is 1e-5


def test_a_run_without_any_update_stays_whole(recording):
    none = replace(recording.scans, offset=0 * recording.scans.offset)
    blind = replace(recording, scans=none)
    assert len(run_filter("ieskf", blind).belief) == len(ieskf.run(blind).belief)


def test_what_a_user_sets_comes_after_what_the_family_sets():
    assert filter_named("fast-lio2").settings().process == "sample"
    assert filter_named("fast-lio2").settings(["process=told"]).process == "told"


def test_a_variance_per_sample_enters_with_the_square_of_the_step(recording):
    settings = Settings(process="sample", gyro_variance=0.2, acceleration_variance=0.3)
    density = chosen_densities(recording.imu, recording.imu_noise, settings)
    state, _ = state_from_standstill(recording, settings)
    h, rate, force = np.array([0.005]), np.array([[0.1, 0.2, 0.3]]), np.array([[0.1, 0.0, 9.8]])
    F = transitions(h, state.rotation[None], rate, force, state.tilt)
    Q = process_noise(F, h, density)[0]
    np.testing.assert_allclose(np.diag(Q)[VELOCITY], 0.3 * 0.005**2, rtol=1e-3)
    np.testing.assert_allclose(np.diag(Q)[ROTATION], 0.2 * 0.005**2, rtol=1e-3)
    walks = np.r_[np.diag(Q)[GYRO_BIAS], np.diag(Q)[ACCELERATION_BIAS]]
    np.testing.assert_allclose(walks, 1e-4 * 0.005**2)

    half = replace(recording.imu, stamp=recording.imu.stamp // 2)
    np.testing.assert_allclose(
        chosen_densities(half, recording.imu_noise, settings), density / np.sqrt(2)
    )


def test_the_integer_division_leaves_the_error_of_the_rotation_unturned(recording):
    state, _ = state_from_standstill(recording, Settings())
    end, density = state.stamp + 3 * room.NS, np.ones(4)
    _, way, exact = predict(state, recording.imu, end, density)
    _, _, kept = predict(state, recording.imu, end, density, "identity")
    turned = way.rotation[-1].T @ way.rotation[0]
    np.testing.assert_allclose(exact[ROTATION, ROTATION], turned, atol=1e-9)
    np.testing.assert_array_equal(kept[ROTATION, ROTATION], np.eye(3))


def test_a_world_that_is_not_levelled_has_the_axes_of_the_body(recording):
    state, _ = state_from_standstill(recording, Settings(level=False))
    np.testing.assert_array_equal(state.rotation, np.eye(3))
    still = recording.imu.acceleration[:200].mean(axis=0)
    np.testing.assert_allclose(state.tilt, (still / np.linalg.norm(still))[:2], atol=1e-2)
    upside_down = replace(recording.imu, acceleration=-recording.imu.acceleration)
    with pytest.raises(OptionError, match="level=true"):
        state_from_standstill(replace(recording, imu=upside_down), Settings(level=False))


@pytest.mark.parametrize("count", [3, 4])
def test_a_plane_through_fewer_points_is_that_of_these_alone(rng, count):
    point = rng.normal(size=(50, 5, 3)) * [1.0, 1.0, 0.01]
    some = planes_through(point, 0.5, np.full(50, count))
    these = planes_through(np.ascontiguousarray(point[:, :count]), 0.5)
    np.testing.assert_allclose(some.normal, these.normal, atol=1e-9)
    np.testing.assert_allclose(some.offset, these.offset, atol=1e-9)
    np.testing.assert_array_equal(some.good, these.good)


def test_a_plane_by_its_offset_is_the_least_squares_of_n_x_equal_to_minus_one(rng):
    point = rng.normal(size=(50, 5, 3)) * [0.4, 0.4, 0.02] + [60.0, 10.0, -1.0]
    found = planes_through(point, 0.5, fit="offset")
    for each, normal, offset in zip(point, found.normal, found.offset, strict=True):
        n = np.linalg.lstsq(each, -np.ones(5), rcond=None)[0]
        np.testing.assert_allclose([*normal, offset], [*n, 1] / np.linalg.norm(n), rtol=1e-6)
    straight = planes_through(point, 0.5).normal
    assert np.abs(found.normal[:, 2]).mean() < np.abs(straight[:, 2]).mean() - 0.01  # it tilts
    line = np.linspace(0, 1, 5)[:, None] * np.ones(3)
    assert not planes_through(line[None], 0.5, least_spread=0.0, fit="offset").good.any()


def test_neighbourhoods_are_those_of_faces_edges_and_cubes():
    square = {name: np.sum(search_steps(name) ** 2, axis=1) for name in ("7", "19", "27", "125")}
    assert square["7"].max() == 1
    assert square["19"].max() == 2
    assert square["27"].max() == 3
    assert np.abs(search_steps("125")).max() == 2
    assert all(len(np.unique(search_steps(name), axis=0)) == int(name) for name in square)


def test_map_rules_of_the_families_keep_the_points_they_say():
    points = np.array([[0.10, 0.1, 0.1], [0.20, 0.2, 0.2], [0.12, 0.1, 0.1], [0.24, 0.25, 0.25]])
    parts, eye = [points[:n] for n in range(1, 5)], np.zeros(3)
    kept = {rule: [VoxelMap(0.5, rule).add(part, eye) for part in parts] for rule in RULES_KEPT}
    assert kept == RULES_KEPT


RULES_KEPT = {"nearer": [1, 2, 2, 3], "first": [1, 1, 1, 1]}


def test_the_transition_of_constant_velocity_is_its_derivative(recording, rng):
    state = state_at_rest(recording).plus(rng.normal(size=SIZE))
    end, small = state.stamp + room.NS // 10, 1e-6
    arrived, _, F = predict_constant(state, end, (0.0, 0.0))
    for i in range(GYRO_BIAS.stop):
        moved, _, _ = predict_constant(state.plus(small * np.eye(SIZE)[i]), end, (0.0, 0.0))
        np.testing.assert_allclose(moved.minus(arrived) / small, F[:, i], atol=1e-5)


def test_constant_velocity_holds_in_the_axes_of_the_body(recording):
    state = replace(
        state_at_rest(recording),
        velocity=np.array([1.0, 0.0, 0.0]),
        gyro_bias=np.array([0.0, 0.0, np.pi / 2]),
    )
    arrived, way, _ = predict_constant(state, state.stamp + room.NS, (0.0, 0.0))
    np.testing.assert_allclose(arrived.rotation, exp(np.array([0, 0, np.pi / 2])), atol=1e-12)
    np.testing.assert_allclose(arrived.position, [0.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(way.rate[0], state.gyro_bias, atol=1e-12)


def test_a_filter_without_imu_needs_none(recording, runs):
    blind = replace(recording, imu=NO_IMU)
    done = run_filter("i2ekf-lo", blind, DENSE)
    assert np.array_equal(done.belief.position, runs["i2ekf-lo"].belief.position)
    with pytest.raises(OptionError, match="needs both IMU and scans"):
        run_filter("fast-lio2", blind)


def test_an_imu_leaves_nothing_to_undistort_again():
    with pytest.raises(OptionError, match="constant_velocity"):
        filter_named("fast-lio2").settings(["undistortions=2"])


def test_thinning_to_a_measured_point_takes_one_of_each_voxel(rng):
    point = rng.uniform(0, 4, size=(500, 3))
    kept = first_points(point, 1.0)
    assert len(np.unique(np.floor(kept), axis=0)) == len(kept) == 64
    assert (np.abs(kept[:, None] - point).sum(axis=2).min(axis=1) == 0).all()
    np.testing.assert_array_equal(kept, first_points(point, 1.0))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_error_of_the_map_is_carried_beside_a_family_too(recording, runs, name):
    short = replace(recording, scans=room.scans(2.0, np.random.default_rng(1), 0.02, 900, True))
    done = run_filter(name, short, (*DENSE, "map_error=carried", "cross_lags=5"))
    assert np.isfinite(done.belief.covariance).all()
    assert (np.linalg.eigvalsh(done.belief.covariance) > 0).all()
    assert done.belief.cross is not None


@pytest.fixture(scope="module")
def experiment():
    """The very code that makes the tables of docs/research/families.md."""
    path = Path(__file__).parents[2] / "experiments" / "families.py"
    spec = importlib.util.spec_from_file_location("families_experiment", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def walk():
    return simulate("college_short", 1, lidar=LIDARS["dense"], duration_s=40.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fast-lio2", "faster-lio", "point-lio", "i2ekf-lo"])
def test_a_family_errs_and_believes_as_the_real_filter_does(shared_data, experiment, walk, name):
    ours = experiment.run_case(experiment.Case("fidelity", "college_short", 1, name), walk)
    real = experiment.real_scores(shared_data / "campaign", "easy/college_1", name, 40.0)
    assert ours["above_credit"] == pytest.approx(real["above_credit"], abs=0.6)
    for score in ("mae", "k"):
        assert 1 / 3 < ours[score] / real[score] < 3
