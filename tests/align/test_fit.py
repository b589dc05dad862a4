import numpy as np
import pytest
from evo.core.geometry import umeyama_alignment

from smfeval.align.fit import Alignment, fit_first_pose, fit_se3, fit_sim3, fit_yaw
from smfeval.align.quantities import Extent
from smfeval.errors import PairingError
from smfeval.evaluation import Options, evaluate
from smfeval.maths import se3, so3
from smfeval.summarise.number import Intervals
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit, covariances, gaussian, particles, poses, rotations

SCALE, MOVE = 1.7, np.array([30.0, -4.0, 2.0])
FITS = [fit_se3, fit_yaw, fit_sim3]


def turn(rng, *, yaw=False):
    vector = np.array([0.0, 0.0, 2.1]) if yaw else so3.log(rotations(1, rng)[0])
    return so3.matrix(so3.exp(vector))


def walk(n, rng):
    return 100 + np.cumsum(rng.normal(size=(n, 3)), axis=0)


def mean_square(alignment, source, target):
    return np.mean(np.sum((alignment.aligned_position(source) - target) ** 2, axis=1))


@pytest.mark.parametrize(
    ("fit", "yaw", "scale", "freedoms"),
    [(fit_se3, False, 1.0, 6), (fit_yaw, True, 1.0, 4), (fit_sim3, False, SCALE, 7)],
)
def test_a_known_transform_is_found_again(fit, yaw, scale, freedoms, rng):
    source, rotation = walk(50, rng), turn(rng, yaw=yaw)
    target = scale * source @ rotation.T + MOVE
    found = fit(source, target)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-13)
    np.testing.assert_allclose(found.translation, MOVE, atol=1e-10)
    assert found.scale == pytest.approx(scale, rel=1e-13)
    assert (found.freedoms, found.free, found.fitted_scans) == (freedoms, (), 50)
    assert found.residual_m < 1e-12 * np.abs(target).max()


@pytest.mark.parametrize("with_scale", [False, True])
def test_noisy_tracks_are_aligned_as_evo_does(with_scale, rng):
    source = walk(200, rng)
    target = SCALE * source @ turn(rng).T + MOVE + rng.normal(size=source.shape)
    rotation, translation, scale = umeyama_alignment(source.T, target.T, with_scale)
    found = (fit_sim3 if with_scale else fit_se3)(source, target)
    np.testing.assert_allclose(found.rotation, rotation, rtol=0, atol=1e-12)
    assert found.scale == pytest.approx(scale, rel=1e-12)
    np.testing.assert_allclose(found.translation, translation, rtol=1e-12)


@pytest.mark.parametrize("fit", FITS)
def test_a_mirror_image_is_never_answered_with_a_reflection(fit, rng):
    source = walk(60, rng)
    found = fit(source, source * np.array([1.0, 1.0, -1.0]))
    assert np.linalg.det(found.rotation) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(3), atol=1e-12)


def test_no_angle_on_a_fine_grid_beats_the_yaw_fit(rng):
    source = walk(40, rng)
    target = source @ turn(rng).T + 3 * rng.normal(size=source.shape)
    found = fit_yaw(source, target)
    least = mean_square(found, source, target)
    for angle in np.linspace(-np.pi, np.pi, 721):
        rotation = so3.matrix(so3.exp(np.array([0.0, 0.0, angle])))
        move = target.mean(axis=0) - rotation @ source.mean(axis=0)
        assert mean_square(Alignment("yaw", rotation, move), source, target) >= least - 1e-9
    np.testing.assert_allclose(found.rotation[2], [0, 0, 1], atol=1e-15)


@pytest.mark.parametrize("fit", FITS)
def test_no_small_further_motion_improves_a_fit(fit, rng):
    source = walk(40, rng)
    target = 1.2 * source @ turn(rng).T + rng.normal(size=source.shape)
    found = fit(source, target)
    least = mean_square(found, source, target)
    axes = np.eye(3)[2:] if fit is fit_yaw else np.eye(3)
    for axis in [*axes, *-axes]:
        further = so3.matrix(so3.exp(1e-3 * axis))
        rotation = further @ found.rotation
        move = target.mean(axis=0) - found.scale * rotation @ source.mean(axis=0)
        assert mean_square(Alignment("", rotation, move, found.scale), source, target) > least
        shifted = Alignment("", found.rotation, found.translation + 1e-3 * axis, found.scale)
        assert mean_square(shifted, source, target) > least


def test_residual_and_path_length_are_those_of_the_fitted_poses(rng):
    source = walk(30, rng)
    target = source + rng.normal(size=source.shape)
    found = fit_se3(source, target)
    assert found.residual_m == pytest.approx(np.sqrt(mean_square(found, source, target)), rel=1e-9)
    path = np.linalg.norm(np.diff(target, axis=0), axis=1).sum()
    assert found.fitted_path_m == pytest.approx(path, rel=1e-12)


def test_first_poses_become_equal_and_relative_motion_stays(rng):
    estimate, reference = gaussian(8, rng), poses(8, rng)
    alignment = fit_first_pose(estimate, reference)
    moved = alignment(estimate)
    np.testing.assert_allclose(moved.position[0], reference.position[0], atol=1e-12)
    turned = so3.matrix(moved.rotation[0]) - so3.matrix(reference.rotation[0])
    np.testing.assert_allclose(turned, 0, atol=1e-12)
    first, again = (
        se3.compose(se3.inverse((t.position[0], t.rotation[0])), (t.position[5], t.rotation[5]))
        for t in (estimate, moved)
    )
    np.testing.assert_allclose(first[0], again[0], atol=1e-12)
    assert (alignment.kind, alignment.freedoms) == ("first-pose", 6)


def test_first_poses_without_orientation_cannot_be_made_equal(rng):
    with pytest.raises(PairingError, match="no orientation"):
        fit_first_pose(gaussian(5, rng), poses(5, rng).with_about(oriented=False))


def line(n=20):
    return 5.0 + np.linspace(0, 10, n)[:, None] * np.array([1.0, 2.0, -1.0])


@pytest.mark.parametrize(("fit", "freedoms"), [(fit_se3, 5), (fit_sim3, 6)])
@pytest.mark.parametrize("exact", ["both", "source", "target"])
def test_positions_on_a_line_leave_the_rotation_about_it_free(fit, freedoms, exact, rng):
    """One exact line is enough: against it the other track's noise cannot fix the roll."""
    source, target = line(), line() @ turn(rng).T
    noise = 0.01 * rng.normal(size=source.shape)
    source = source + (noise if exact == "target" else 0)
    target = target + (noise if exact == "source" else 0)
    found = fit(source, target)
    assert found.free == ("rotation about the path (the positions lie on a line)",)
    assert found.freedoms == freedoms
    assert found.residual_m < 0.02


@pytest.mark.parametrize(("fit", "freedoms"), [(fit_se3, 3), (fit_sim3, 3)])
@pytest.mark.parametrize("place", [0.1, 1e6 / 3])
def test_positions_in_one_point_leave_all_rotations_free(fit, freedoms, place):
    found = fit(np.full((1000, 3), place), np.full((1000, 3), 7.1))
    assert found.free[0] == "all rotations (the positions are one point)"
    assert ("scale" in found.free) == (fit is fit_sim3)
    assert found.freedoms == freedoms
    np.testing.assert_allclose(found.aligned_position(np.full((1, 3), place)), np.full((1, 3), 7.1))


def test_a_plane_path_leaves_nothing_free(rng):
    _, flat, _ = circuit(100)
    assert fit_se3(flat, flat @ turn(rng).T).free == ()


@pytest.mark.parametrize("straight", ["source", "target"])
def test_a_vertical_path_leaves_the_yaw_free(straight, rng):
    up = np.array([3.0, -2.0, 0.0]) + np.linspace(0, 10, 20)[:, None] * np.array([0.0, 0.0, 1.0])
    shaky = up + 0.01 * rng.normal(size=up.shape)
    found = fit_yaw(up, shaky) if straight == "source" else fit_yaw(shaky, up)
    assert found.free == ("rotation about the vertical",)
    assert found.freedoms == 3


def test_a_level_line_fixes_the_yaw(rng):
    level = line() * np.array([1.0, 1.0, 0.0])
    found = fit_yaw(level, level @ turn(rng, yaw=True).T)
    assert found.free == ()
    assert found.freedoms == 4


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_poses_are_too_few(fit, n, rng):
    with pytest.raises(PairingError, match=f"{n} matched poses are too few"):
        fit(walk(n, rng), walk(n, rng))


def test_a_reference_in_one_point_has_no_scale(rng):
    with pytest.raises(PairingError, match="scale is not positive"):
        fit_sim3(walk(10, rng), np.full((10, 3), 0.1))


PREFIXES = [(Extent(30, "scans"), 30), (Extent(4.0, "s"), 40), (Extent(25.0, "m"), None)]


@pytest.mark.parametrize(("extent", "fitted"), PREFIXES, ids=str)
def test_a_fit_on_the_start_scores_only_the_rest(extent, fitted, rng):
    stamp, position, rotation = circuit(200)
    if fitted is None:
        path = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(position, axis=0), axis=1))])
        fitted = int((path < 25.0).sum())
    reference = Track(stamp, position, rotation, about=ABOUT)
    noisy = position @ turn(rng).T + 0.1 * rng.normal(size=position.shape)
    noisy[fitted:] += 5.0  # what comes after must not move the fit
    estimate = GaussianTrack(stamp, noisy, rotation, covariances(200, rng), about=ABOUT)
    options = Options(alignment="se3", fit_on=extent, intervals=Intervals(None))
    result = evaluate(estimate, reference, options=options)
    alone = fit_se3(noisy[:fitted], position[:fitted])
    np.testing.assert_allclose(result.alignment.rotation, alone.rotation, atol=1e-13)
    np.testing.assert_allclose(result.alignment.translation, alone.translation, atol=1e-11)
    assert result.alignment.fitted_scans == fitted
    expected = np.linalg.norm(alone.aligned_position(noisy[fitted:]) - position[fitted:], axis=1)
    np.testing.assert_allclose(result.position.series["ape"], expected, rtol=1e-10)
    assert result.to_dict()["association"]["left_for_the_fit"] == fitted


def test_a_fit_on_the_start_that_leaves_nothing_is_refused(rng):
    reference = poses(20, rng)
    options = Options(alignment="se3", fit_on=Extent(20, "scans"))
    with pytest.raises(PairingError, match="leaves none of the 20 scans"):
        evaluate(gaussian(20, rng), reference, options=options)


def test_a_world_alignment_leaves_the_right_perturbation_untouched(rng):
    track = gaussian(10, rng)
    moved = fit_se3(track.position, walk(10, rng))(track)
    assert moved.triangle is track.triangle


def test_a_turned_world_turns_the_position_covariance(rng):
    track, rotation = gaussian(10, rng), turn(rng)
    moved = Alignment("se3", rotation, MOVE)(track)
    expected = rotation @ track.position_covariance @ rotation.T
    np.testing.assert_allclose(moved.position_covariance, expected, atol=1e-16)


def test_a_scaled_world_has_the_covariance_of_scaled_samples(rng):
    """Draw poses of the belief, align each as a pose, and compare the spread about the mean."""
    track = gaussian(1, rng).with_arrays({"covariance": 1e-2 * covariances(1, rng)})
    alignment = Alignment("sim3", turn(rng), MOVE, SCALE)
    moved = alignment(track)
    xi = rng.multivariate_normal(np.zeros(6), track.covariance[0], size=400_000)
    position, rotation = se3.compose((track.position, track.rotation), se3.exp(xi))
    drawn = (
        alignment.aligned_position(position),
        so3.compose(so3.quaternion(alignment.rotation), rotation),
    )
    found = np.cov(se3.log(se3.compose(se3.inverse((moved.position, moved.rotation)), drawn)).T)
    size = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(moved.covariance[0] / size, found / size, atol=0.01)
    ratio = moved.position_covariance[0] / (
        alignment.rotation @ track.position_covariance[0] @ alignment.rotation.T
    )
    np.testing.assert_allclose(ratio, SCALE**2, rtol=1e-9)


def test_particles_are_scaled_one_by_one(rng):
    track = particles(4, rng)
    alignment = Alignment("sim3", turn(rng), MOVE, SCALE)
    expected = SCALE * track.particle_position @ alignment.rotation.T + MOVE
    np.testing.assert_allclose(alignment(track).particle_position, expected, atol=1e-13)
