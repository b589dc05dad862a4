import numpy as np

from smfeval.align.body import move_to_body
from smfeval.maths import se3
from support.beliefs import covariances, gaussian, particles, rotations


def test_covariance_of_another_body_is_that_of_moved_samples(rng):
    """Draw poses, move each by the extrinsic, and compare the spread about the moved mean."""
    track = gaussian(1, rng)
    small = track.with_arrays({"covariance": 1e-2 * covariances(1, rng)})
    extrinsic = (np.array([0.5, -0.3, 1.0]), rotations(1, rng)[0])
    xi = rng.multivariate_normal(np.zeros(6), small.covariance[0], size=400_000)
    mean = (small.position, small.rotation)
    drawn = se3.compose(se3.compose(mean, se3.exp(xi)), extrinsic)
    moved = move_to_body(small, extrinsic, "lidar")
    found = np.cov(se3.log(se3.compose(se3.inverse((moved.position, moved.rotation)), drawn)).T)
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    np.testing.assert_allclose(moved.covariance[0] / scale, found / scale, atol=0.01)
    assert moved.about.body == "lidar"


def test_moving_there_and_back_is_nothing(rng):
    track = gaussian(6, rng)
    extrinsic = (rng.normal(size=3), rotations(1, rng)[0])
    back = move_to_body(move_to_body(track, extrinsic, "lidar"), se3.inverse(extrinsic), "imu")
    np.testing.assert_allclose(back.position, track.position, atol=1e-13)
    np.testing.assert_allclose(back.covariance, track.covariance, atol=1e-13)


def test_particles_move_one_by_one(rng):
    track = particles(3, rng)
    extrinsic = (rng.normal(size=3), rotations(1, rng)[0])
    moved = move_to_body(track, extrinsic, "lidar")
    one = se3.compose((track.particle_position[4], track.particle_rotation[4]), extrinsic)
    np.testing.assert_allclose(moved.particle_position[4], one[0])
    np.testing.assert_allclose(moved.particle_rotation[4], one[1])
