"""Two streams of beliefs: matched in time, brought to one world, and what is granted."""

import numpy as np
import pytest

from smfeval import About, GaussianTrack, OptionError, Track
from smfeval.maths import se3, so3
from smfeval.online.beliefs import BeliefWatch, match, start_from_dict
from smfeval.online.eprocess import EProcess


def circle(n, dt_s=0.1, begin_s=0.0):
    """A drive along a circle of 20 m. -> stamps, positions, quaternions."""
    time = begin_s + dt_s * np.arange(n)
    angle = 0.2 * time
    position = 20 * np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    turn = np.stack([0 * angle, 0 * angle, angle], axis=1)
    return np.round(1e9 * time).astype(np.int64), position, so3.exp(turn)


def estimate(rng, n, *, sigma_m=0.05, sigma_rad=0.01, claimed=1.0, world=None, start_only=False):
    """A belief with independent errors, or with an error at its first scan alone, in its world."""
    stamp, position, rotation = circle(n)
    draws = rng.standard_normal((n, 6)) * np.repeat([sigma_m, sigma_rad], 3)
    if start_only:  # a filter that has not settled at its first scan, and is exact afterwards
        draws[1:] = 0
    pose = se3.compose((position, rotation), se3.exp(draws))
    if world is not None:
        pose = se3.compose(world, pose)
    covariance = claimed * np.diag(np.repeat([sigma_m**2, sigma_rad**2], 3))
    return GaussianTrack(stamp, *pose, np.broadcast_to(covariance, (n, 6, 6)).copy())


WORLD = (np.array([5.0, -3.0, 1.0]), so3.exp(np.array([0.0, 0.0, 2.0])))


@pytest.mark.parametrize("start_only", [False, True])
def test_alignment_at_the_start_raises_no_alarm(start_only):
    """Starts that are wrong by a degree swing the far side of the circle by metres."""
    raised, swing = 0, []
    for run in range(40):
        rng = np.random.default_rng([1, run])
        first = estimate(rng, 150, start_only=start_only)
        second = estimate(rng, 150, start_only=start_only, world=WORLD)
        watch, _, _ = BeliefWatch(EProcess(0.05, "gaussian"), EProcess(0.05)).advance(first, second)
        raised += watch.process.alarm is not None
        swing.append(watch.last_error_m)
        assert watch.matched + watch.singular >= 1
    assert raised <= 6  # 5 % of 40, with a chance of 0.1 %
    assert np.max(swing) > 0.3


def test_without_the_lever_arm_it_would(rng):
    """The same start, claimed without its rotation, is refuted."""
    stamp, position, rotation = circle(300)
    exact = Track(stamp, position, rotation)
    first = estimate(rng, 300, sigma_m=0.01, sigma_rad=0.02, start_only=True)
    honest, _, _ = BeliefWatch().advance(first, exact)
    assert honest.process.alarm is None
    blind = first.covariance.copy()
    blind[:, 3:, 3:] *= 1e-6
    bold, _, _ = BeliefWatch().advance(first.with_arrays({"covariance": blind}), exact)
    assert bold.process.alarm is not None


@pytest.mark.parametrize("gauge", ["none", "first-pose"])
def test_two_beliefs_that_are_too_tight_raise_the_alarm(gauge, rng):
    pair = [estimate(rng, 400, claimed=1 / 100) for _ in range(2)]
    watch, _, _ = BeliefWatch(gauge=gauge).advance(*pair)
    assert watch.process.alarm is not None
    assert watch.matched == watch.process.alarm
    assert watch.last_stamp == pair[0].stamp[watch.process.alarm - 1]


def test_the_nees_is_that_of_the_summed_covariances(rng):
    first, second = estimate(rng, 2), estimate(rng, 2)
    watch, _, _ = BeliefWatch(gauge="none").advance(first, second)
    error = first.position[1] - second.position[1]
    total = first.position_covariance[1] + second.position_covariance[1]
    assert watch.last_nees == pytest.approx(error @ np.linalg.solve(total, error))


def test_a_reference_between_stamps_is_interpolated_and_never_convicts(rng):
    stamp, position, rotation = circle(600, dt_s=0.05, begin_s=-0.08)
    first = estimate(rng, 200, sigma_m=0.002)
    watch, _, _ = BeliefWatch(gauge="none").advance(first, Track(stamp, position, rotation))
    assert watch.process.alarm is None
    assert watch.matched == 200
    coarse = Track(stamp[::8], position[::8], rotation[::8])  # 0.4 s apart: a line misses 1.6 cm
    watch, _, _ = BeliefWatch(gauge="none").advance(first, coarse, ended=True)
    assert watch.matched > 100
    assert watch.process.alarm is None
    sparse = Track(stamp[::20], position[::20], rotation[::20])
    watch, _, _ = BeliefWatch(gauge="none").advance(first, sparse, ended=True)
    assert (watch.matched, watch.unmatched) == (0, 200)


@pytest.mark.parametrize("step", [1, 3, 50])
def test_how_scans_arrive_does_not_matter(step, rng):
    first = estimate(rng, 120, claimed=0.005)
    stamp, position, rotation = circle(300, dt_s=0.05, begin_s=-0.07)
    second = Track(stamp, position, rotation)
    whole, _, _ = BeliefWatch().advance(first, second)
    assert whole.process.alarm is not None
    watch, have, ahead = BeliefWatch(), [first[:1], second[:1]], [1, 1]
    while watch.process.alarm is None:
        watch, done, unneeded = watch.advance(*have)
        tracks = (first, second)
        begin = [ahead[0] - len(have[0]) + done, ahead[1] - len(have[1]) + unneeded]
        ahead = [min(ahead[0] + step, 120), min(ahead[1] + 2 * step, 300)]
        have = [track[at:end] for track, at, end in zip(tracks, begin, ahead, strict=True)]
        if not len(have[0]):
            break
    assert watch.process.alarm == whole.process.alarm
    assert watch.process.evidence == pytest.approx(whole.process.evidence, rel=1e-9)
    assert watch.last_stamp == whole.last_stamp


def test_a_start_survives_as_plain_numbers(rng):
    watch, _, _ = BeliefWatch().advance(estimate(rng, 5), estimate(rng, 5))
    again = start_from_dict(watch.start.to_dict())
    for name in ("first_position", "second_position", "turn", "covariance"):
        np.testing.assert_array_equal(getattr(again, name), getattr(watch.start, name))


def test_planar_beliefs_are_counted_out_or_watched_on_their_axes(rng):
    first, second = estimate(rng, 50), estimate(rng, 50)
    flat = first.covariance.copy()
    flat[:, 2, :] = flat[:, :, 2] = 0
    flat[:, 3:5, :] = flat[:, :, 3:5] = 0
    first, second = (each.with_arrays({"covariance": flat}) for each in (first, second))
    level = so3.exp(np.stack([0 * first.position[:, 0]] * 2 + [0.2 * first.stamp / 1e9], axis=1))
    first, second = (each.with_arrays({"rotation": level}) for each in (first, second))
    watch, _, _ = BeliefWatch(gauge="none").advance(first, second)
    assert (watch.matched, watch.singular) == (0, 50)
    watch, _, _ = BeliefWatch(gauge="none", axes="xy").advance(first, second)
    assert (watch.matched, watch.singular) == (50, 0)
    with pytest.raises(OptionError, match="some of x, y and z"):
        BeliefWatch(axes="xq")


def test_matches_wait_for_the_second_stream(rng):
    first = estimate(rng, 10)
    stamp, position, rotation = circle(4)
    found = match(first, Track(stamp, position, rotation, about=About()))
    assert found.consumed == 4
    assert found.row.tolist() == [0, 1, 2, 3]
