"""KITTI's t_rel and r_rel, and evo's statistics, against plain loops."""

import itertools

import numpy as np
import pytest

from smfeval import About, Options, Track, evaluate
from smfeval.errors import OptionError
from smfeval.maths import so3
from smfeval.summarise.relative import kitti_error


def drive(rng, scans=3000, step_m=1.0):
    """A winding drive and an estimate whose heading drifts."""
    heading = np.cumsum(0.01 * rng.normal(size=scans))
    drift = np.cumsum(1e-4 * rng.normal(size=scans)) + 1e-5 * np.arange(scans)
    stamp = np.arange(scans) * 10**8

    def track(angle, name):
        ahead = np.stack([np.cos(angle), np.sin(angle), np.zeros(scans)], axis=1)
        position = np.cumsum(step_m * ahead, axis=0)
        turn = np.zeros((scans, 3))
        turn[:, 2] = angle
        return Track(stamp, position, so3.exp(turn), about=About(body="car", world=name))

    return track(heading + drift, "odom"), track(heading, "map")


def matrices(track):
    poses = np.tile(np.eye(4), (len(track), 1, 1))
    poses[:, :3, :3] = so3.matrix(track.rotation)
    poses[:, :3, 3] = track.position
    return poses


def devkit(estimate, reference):
    """Mean errors over segments, one pose at a time as the benchmark defines them."""
    ours, truth = matrices(estimate), matrices(reference)
    path = [0.0]
    for one, next_one in itertools.pairwise(truth):
        path.append(path[-1] + np.linalg.norm(next_one[:3, 3] - one[:3, 3]))
    turns, shifts = [], []
    for first in range(0, len(truth), 10):
        for length in range(100, 900, 100):
            last = next((i for i in range(first, len(path)) if path[i] > path[first] + length), -1)
            if last < 0:
                continue
            moved = np.linalg.inv(truth[first]) @ truth[last]
            found = np.linalg.inv(ours[first]) @ ours[last]
            off = np.linalg.inv(found) @ moved
            turns.append(np.arccos(np.clip((np.trace(off[:3, :3]) - 1) / 2, -1, 1)) / length)
            shifts.append(np.linalg.norm(off[:3, 3]) / length)
    return len(turns), 100 * np.mean(shifts), np.degrees(np.mean(turns))


def test_kitti_errors_are_those_of_the_devkits_rule(rng):
    estimate, reference = drive(rng)
    found = kitti_error(estimate, reference)
    segments, percent, deg_per_m = devkit(estimate, reference)
    assert found.pairs == segments > 1000
    assert found.get("percent") == pytest.approx(percent, rel=1e-9)
    assert found.get("deg_per_m") == pytest.approx(deg_per_m, rel=1e-6)


def test_a_path_that_is_too_short_is_refused(rng):
    estimate, reference = drive(rng, scans=90)
    with pytest.raises(OptionError, match="100 to 800 m long; the path has 89 m"):
        kitti_error(estimate, reference)


def test_an_evaluation_has_them_on_request(rng):
    estimate, reference = drive(rng)
    found = evaluate(estimate, reference, options=Options(alignment="se3", kitti=True))
    (error,) = found.relative
    for name, number in kitti_error(estimate, reference).numbers.items():
        assert error.get(name) == pytest.approx(number.value, rel=1e-6)  # no alignment matters
    assert evaluate(estimate, reference, options=Options(alignment="se3")).relative == ()


def test_statistics_of_the_errors_are_those_of_evo(rng):
    estimate, reference = drive(rng, scans=400)
    found = evaluate(estimate, reference, options=Options(alignment="none"))
    ape = np.linalg.norm(estimate.position - reference.position, axis=1)
    expected = {
        "mae": ape.mean(),
        "rmse": np.sqrt(np.mean(ape**2)),
        "ape_median": np.median(ape),
        "ape_std": ape.std(),
        "ape_min": ape.min(),
        "ape_max": ape.max(),
        "ape_sse": np.sum(ape**2),
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-12), name
