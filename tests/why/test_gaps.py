"""A gap in the reference, as of a tunnel: no window bridges it, and it raises no doubt."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval import Options, evaluate
from smfeval.align.joint import Joint
from smfeval.align.quantities import Extent
from smfeval.io import read
from smfeval.maths import so3
from smfeval.maths.arrays import bridges_gap
from smfeval.summarise.number import Intervals
from smfeval.summarise.relative import relative_errors
from smfeval.track import About, GaussianTrack, Track
from support import drifting

FIRST_S, LAST_S = 3.0, 73.0  # of the gap: 70 s
ABOUT = About(body="imu", world="map", gauge="se3")
TIME = np.arange(1000) * 0.1
STAMP = 1_700_000_000 * 10**9 + np.rint(TIME * 1e9).astype(np.int64)
SEEN = np.flatnonzero((TIME < FIRST_S) | (TIME >= LAST_S))
AFTER = TIME >= LAST_S


def drive():
    """Position and rotation of a body on a hilly road of loops."""
    phase = 2 * np.pi * TIME / 37
    position = np.stack([60 * np.sin(phase), 30 * np.sin(2 * phase), 2 * np.sin(3 * phase)], axis=1)
    heading = np.gradient(position, TIME, axis=0)
    yaw, zero = np.arctan2(heading[:, 1], heading[:, 0]), np.zeros(len(TIME))
    pitch = 0.15 * np.sin(3 * phase)
    yawed, pitched = (
        so3.exp(np.stack(each, axis=1)) for each in ((zero, zero, yaw), (zero, pitch, zero))
    )
    return position, so3.compose(yawed, pitched)


def scored(position, rotation, rows=SEEN):
    """Evaluation of a filter that reports 1 cm, against the reference at some of its scans."""
    rng = np.random.default_rng(8)
    covariance = np.tile(np.diag([1e-4] * 3 + [1e-6] * 3), (len(TIME), 1, 1))
    noise = 0.01 * rng.normal(size=position.shape)
    estimate = GaussianTrack(STAMP, position + noise, rotation, covariance, about=ABOUT)
    truth = [part[rows] for part in drive()]
    reference = Track(STAMP[rows], *truth, about=About(body="imu", world="site"))
    return evaluate(estimate, reference, options=Options(numbers=("k", "rmse")))


def causes(evaluation):
    return {doubt.cause for doubt in evaluation.doubts if doubt.explains}


def test_a_filter_that_is_lost_in_a_tunnel_is_overconfident_not_mirrored():
    position, rotation = drive()
    lost = position.copy()
    lost[AFTER] = position[AFTER] * (-1, 1, 1) + (3.0, 0, 0)
    found = scored(lost, rotation)
    assert found["rmse"].value > 5
    assert found.verdict.label == "overconfident"
    assert not causes(found)


def test_a_track_that_is_mirrored_on_both_sides_of_a_gap_is_still_named():
    position, rotation = drive()
    found = scored(position * (-1, 1, 1), rotation)
    assert "estimate-mirrored-x" in causes(found)
    assert found.verdict.label == "cannot tell"


def test_a_filter_that_falls_behind_in_a_tunnel_is_not_in_another_unit():
    position, rotation = drive()
    behind = position.copy()
    behind[AFTER] = 0.4 * (position[AFTER] - position[AFTER][0])
    behind[~AFTER] = 0.9 * position[~AFTER]
    found = scored(behind, rotation)
    assert "scale" not in causes(found)
    assert found.verdict.label == "overconfident"
    assert "scale" in causes(scored(0.4 * position, rotation))


def test_no_window_of_relative_motion_bridges_a_gap(rng):
    world = drifting.dead_reckoning(rng, 600)
    seen = world.seen(Joint("implied", 6), "se3")
    whole = seen.windows(20)
    assert whole is not None
    stamp = seen.stamp.copy()
    stamp[310:] += 70 * 10**9
    cut = replace(seen, stamp=stamp).windows(20)
    assert len(cut.first) == len(whole.first) - 1
    assert not ((cut.first < 310) & (cut.second >= 310)).any()
    assert bridges_gap(stamp, np.array([300, 310]), np.array([309, 330])).tolist() == [False, False]


@pytest.mark.parametrize("horizon", [Extent(100, "scans"), Extent(100.0, "m")])
def test_relative_errors_leave_a_gap_out(horizon):
    position, rotation = drive()
    lost = position.copy()
    lost[AFTER] += (38.0, 0, 0)  # between the two sides alone
    both = [
        Track(STAMP[SEEN], each[SEEN], rotation[SEEN], about=ABOUT) for each in (lost, position)
    ]
    (found,) = relative_errors(*both, [horizon], Intervals(None))
    assert found.dropped
    assert found.numbers["translation_max_m"].value < 1e-6


def test_a_lost_filter_stays_overconfident_with_a_gap_in_its_reference(shared_data):
    folder = shared_data / "campaign" / "hard" / "tunnel_1"
    reading = {"convention": "world-position", "order": "translation-first", "gauge": "se3"}
    estimate = read(folder / "fastlio2.txt.gz", **reading)
    reference = read(folder / "reference.tum.gz")
    seconds = (reference.stamp - reference.stamp[0]) / 1e9
    kept = reference[np.flatnonzero((seconds < 10) | (seconds >= 95))]
    found = evaluate(estimate, kept, options=Options(numbers=("k",)))
    assert found.verdict.label == "overconfident"
    assert not causes(found)
