"""Does the 90 % region of the interpolated reference hold poses left out 90 % of the time?

By simulation: draws of the prior, a walk that is no draw of it, and runs of poses left out. The
region is that of one more reading of the reference: interpolated covariance plus fitted noise.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from smfeval.associate.gp import interpolate
from smfeval.associate.motion_prior import MotionPrior
from smfeval.maths import so3
from smfeval.track import Track
from support.motion import draw, walk

pytestmark = pytest.mark.slow

POSES, RUNS = 6000, 6
LOWEST, HIGHEST = 0.88, 0.92
SHAPE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.4]])


def drawn(order, ratio, rng):
    """A draw of the prior at some 20 Hz, noise over the motion of one step as given."""
    step = 0.05 * rng.uniform(0.7, 1.3, POSES - 1)
    position = draw(step, MotionPrior(order, SHAPE, ratio * 0.05 ** (2 * order - 1)), rng)
    time = np.concatenate([[0.0], np.cumsum(step)])
    return track_of(time, position, np.zeros((POSES, 3)))


def walked(rate_hz, sigma_m, rng):
    time = np.arange(POSES) / rate_hz
    position, turn = walk(time, rng)
    return track_of(time, position + sigma_m * rng.normal(size=position.shape), turn)


def track_of(time, position, turn):
    return Track(np.round(time * 1e9).astype(np.int64), position, so3.exp(turn))


def inside(error, covariance):
    square = np.einsum("ni,ni->n", error, np.linalg.solve(covariance, error[..., None])[..., 0])
    return float((square <= chi2.ppf(0.9, 3)).mean())


def one_in_seven(rng):
    return rng.random(POSES) < 1 / 7


def runs_of(length):
    """Runs of poses that are left out, a hundred poses apart."""

    def chosen(rng):
        return (np.arange(POSES) + rng.integers(50)) % 100 < length

    return chosen


def held(make, left_out, seed):
    """How often poses left out lie in the 90 % regions of position and rotation."""
    rng = np.random.default_rng(seed)
    track = make(rng)
    out = left_out(rng)
    out[[0, -1]] = False
    found = interpolate(track[~out], track.stamp[out])
    truth = track[out]
    position = inside(found.track.position - truth.position, found.observation_covariance)
    if found.rotation is None or not found.rotation.motion.density.any():
        return position, np.nan
    factor = found.rotation.widening(found.gap_s)[:, None, None]
    spread = found.track.covariance[:, 3:, 3:] + factor * found.rotation.motion.noise
    turn = so3.log(so3.compose(so3.inverse(found.track.rotation), truth.rotation))
    return position, inside(turn, spread)


def coverage(make, left_out):
    return np.mean([held(make, left_out, seed) for seed in range(RUNS)], axis=0)


@pytest.mark.parametrize("ratio", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("order", [2, 3])
def test_draws_of_the_prior_are_covered(order, ratio):
    found = coverage(lambda rng: drawn(order, ratio, rng), one_in_seven)[0]
    assert LOWEST <= found <= HIGHEST


@pytest.mark.parametrize(("rate_hz", "sigma_m"), [(20, 0), (20, 1e-3), (100, 0), (100, 1e-2)])
def test_a_walk_is_covered(rate_hz, sigma_m):
    position, rotation = coverage(lambda rng: walked(rate_hz, sigma_m, rng), one_in_seven)
    assert LOWEST <= position <= HIGHEST
    assert LOWEST <= rotation <= HIGHEST


def test_a_walk_seen_at_10_hz_is_covered_by_a_region_that_is_rather_too_wide():
    # A gait of 1.9 Hz between samples is smoother than any of the priors.
    position, _ = coverage(lambda rng: walked(10, 0.0, rng), one_in_seven)
    assert LOWEST <= position <= 0.97


@pytest.mark.parametrize("length", [3, 8, 20])
def test_runs_of_poses_left_out_of_a_walk_are_covered(length):
    position, _ = coverage(lambda rng: walked(20, 0.0, rng), runs_of(length))
    assert 0.83 <= position <= 0.95  # the factor is interpolated between lengths of gap


@pytest.mark.parametrize("order", [2, 3])
def test_the_truth_behind_the_noise_of_a_draw_is_covered(order):
    held_truth = []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        clean = drawn(order, 0.0, rng)
        sigma = 0.05 ** (order - 0.5) * np.linalg.cholesky(SHAPE).T
        noisy = clean.with_arrays(
            {"position": clean.position + rng.normal(size=(POSES, 3)) @ sigma}
        )
        found = interpolate(noisy, clean.stamp)
        error = found.track.position - clean.position
        held_truth.append(inside(error, found.track.position_covariance))
    assert LOWEST <= np.mean(held_truth) <= HIGHEST
