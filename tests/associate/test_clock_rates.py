"""The clock offset from the rates of two tracks, and tracks read as curves."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from smfeval.associate import clock_rates
from smfeval.associate.clock_errors import curve_of
from smfeval.associate.clock_rates import MOST_SCANS, correlate, excerpts
from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.track import About, Track
from support.clocks import START_NS, noisy, remembered, seen, walked

NOTHING = "says nothing about the time offset"


def made(time, position, turn=None, *, late_s=0.0, oriented=True):
    stamp = START_NS + np.round((time - late_s) * 1e9).astype(np.int64)
    turn = np.zeros_like(position) if turn is None else turn
    return Track(stamp, position, so3.exp(turn), about=About(oriented=oriented))


@pytest.mark.parametrize("late_s", [0.0, 0.0123, -3.3337, 7.77])
@pytest.mark.parametrize("rate_hz", [100, 20, 5])
def test_an_offset_is_found_to_a_fraction_of_a_step(rate_hz, late_s, rng):
    motion = walked(60, rng)
    estimate = noisy(seen(motion, 10, late_s=late_s, first_s=0.03), rng)
    found = correlate(estimate, seen(motion, rate_hz))
    assert found.offset_s == pytest.approx(late_s, abs=0.025)
    assert found.signals == ("speed", "angular rate")
    assert found.correlation["angular rate"] > 0.8


def test_the_offset_has_the_sign_of_what_must_be_added_to_the_estimate(rng):
    motion = walked(40, rng)
    one, other = seen(motion, 10), seen(motion, 20, late_s=2.0)
    assert correlate(one, other).offset_s == pytest.approx(-2, abs=0.02)
    assert correlate(other, one).offset_s == pytest.approx(2, abs=0.02)


def test_tracks_that_start_and_end_at_other_times_are_compared_where_they_overlap(rng):
    motion = walked(90, rng)
    late = seen(motion, 10, late_s=1.5, first_s=30)
    early = seen(motion, 50)
    found = correlate(late, early[early.stamp < START_NS + 70 * 10**9])
    assert found.offset_s == pytest.approx(1.5, abs=0.02)


def test_gaps_are_left_out(rng):
    motion = walked(60, rng)
    ours, theirs = seen(motion, 10, late_s=0.4), seen(motion, 100)
    holes = ours[(np.arange(len(ours)) % 150) < 120]
    far = theirs.position + 100 * ((np.arange(len(theirs)) // 1500) % 2)[:, None]
    jumps = theirs.with_arrays({"position": far})[(np.arange(len(theirs)) % 1500) < 1200]
    found = correlate(holes, jumps)
    assert found.offset_s == pytest.approx(0.4, abs=0.02)
    assert found.correlation["speed"] > 0.95  # the jumps are all in gaps


def test_positions_alone_are_enough(rng):
    motion = walked(60, rng)
    found = correlate(seen(motion, 10, late_s=1.2, oriented=False), seen(motion, 20))
    assert found.offset_s == pytest.approx(1.2, abs=0.02)
    assert set(found.correlation) == {"speed"}


def test_rates_do_not_know_scale_world_or_axes_of_the_body(rng):
    motion = walked(40, rng)
    reference, plain = seen(motion, 50), seen(motion, 10, late_s=0.7)
    turn = so3.exp(np.array([0.3, -0.8, 1.1]))
    moved = plain.with_arrays(
        {
            "position": 3 * so3.rotate_all(so3.matrix(turn), plain.position) + 5,
            "rotation": so3.compose(so3.compose(turn, plain.rotation), turn),
        }
    )
    assert correlate(moved, reference).offset_s == pytest.approx(
        correlate(plain, reference).offset_s, abs=1e-6
    )


TIME = np.arange(0, 60, 0.1)
STILL = np.zeros((len(TIME), 3))
ROUND = np.stack([np.cos(TIME), np.sin(TIME), 0 * TIME], axis=1)


@pytest.mark.parametrize("noise_m", [0.0, 1e-6, 0.01])
@pytest.mark.parametrize(
    ("position", "turn"),
    [(STILL, STILL), (np.outer(TIME, [1.0, 2.0, 0.5]), STILL), (ROUND, np.outer(TIME, [0, 0, 1]))],
    ids=["still", "straight", "circle"],
)
def test_motion_that_says_nothing_is_refused(position, turn, noise_m, rng):
    ours, theirs = (
        made(TIME, position + noise_m * rng.normal(size=position.shape), turn) for _ in range(2)
    )
    with pytest.raises(PairingError, match=NOTHING):
        correlate(ours, theirs)


@pytest.mark.parametrize("seed", range(15))
def test_other_walks_are_no_evidence(seed):
    one, other = (walked(40, np.random.default_rng([seed, part]), rate_hz=50) for part in range(2))
    with pytest.raises(PairingError, match=NOTHING):
        correlate(seen(one, 10), seen(other, 20))


def test_motion_that_repeats_has_rivals():
    speed = 1 + 0.3 * np.sin(2 * np.pi * TIME / 3)
    straight = np.outer(np.cumsum(0.1 * speed), [1.0, 0, 0])
    ours, theirs = made(TIME, straight, late_s=0.3), made(TIME, straight)
    found = correlate(ours, theirs)
    assert {round(each % 3, 1) for each in (found.offset_s, *found.rivals_s)} == {0.3}
    assert len(found.rivals_s) >= 2
    near = correlate(ours, theirs, reach_s=1)
    assert near.offset_s == pytest.approx(0.3, abs=0.01)
    assert near.rivals_s == ()


def test_clocks_that_differ_by_more_than_was_searched_are_refused(rng):
    time = np.arange(0, 400, 0.1)
    straight = np.outer(np.cumsum(0.1 * remembered(len(time), 0.98, rng)[:, 0] + 0.3), [1.0, 0, 0])
    with pytest.raises(PairingError, match=r"edge of the offsets searched \(2 s to either side\)"):
        correlate(made(time, straight, late_s=3), made(time, straight), reach_s=2.0)
    motion = walked(40, rng)
    with pytest.raises(PairingError, match=r"try an offset of 1000\.000 s"):
        correlate(seen(motion, 10, late_s=1000.0), seen(motion, 20))
    with pytest.raises(PairingError, match="at least 20 poses"):
        correlate(seen(motion, 10)[:19], seen(motion, 20))
    with pytest.raises(PairingError, match="too short a time"):
        correlate(seen(motion, 100)[:50], seen(motion, 100)[:50], reach_s=0.05)


def test_the_correlation_at_each_lag_is_pearsons_over_what_overlaps(rng):
    def signal(n):
        known = rng.random(n) < 0.8
        return clock_rates._Rates(
            np.where(known, rng.normal(size=n) + 0.5, 0.0), known.astype(float)
        )

    a, b = signal(150), signal(220)
    lags = np.arange(-60, 100, 7)
    found, _ = clock_rates._correlations(a, b, lags)
    for lag, value in zip(lags, found, strict=True):
        i = np.arange(max(0, -lag), min(150, 220 - lag))
        both = (a.known[i] * b.known[i + lag]) > 0
        pearson = np.corrcoef(a.value[i][both], b.value[i + lag][both])[0, 1]
        assert value == pytest.approx(pearson, abs=1e-10)


def test_effective_samples_are_those_of_bartlett(rng):
    n, rho = 200_000, 0.8
    shocks = rng.normal(size=(2, n))
    series = np.zeros((2, n))
    for k in range(1, n):
        series[:, k] = rho * series[:, k - 1] + shocks[:, k]
    rates = [clock_rates._Rates(each, np.ones(n)) for each in series]
    assert clock_rates._memory(*rates) == pytest.approx((1 + rho**2) / (1 - rho**2), rel=0.05)


def test_a_cubic_is_read_exactly_between_poses():
    time = np.arange(0, 10, 0.1)
    angle = 0.02 * time**3 - 0.1 * time**2
    axis = np.array([0.6, 0.0, 0.8])
    position = np.stack([angle, time, 1 - time**2], axis=1)
    curve = curve_of(made(time, position, np.outer(angle, axis)), START_NS)
    asked = np.linspace(1, 9, 333)
    expected = 0.02 * asked**3 - 0.1 * asked**2
    np.testing.assert_allclose(
        curve.position_at(asked), np.stack([expected, asked, 1 - asked**2], axis=1), atol=1e-4
    )  # tangents of a cubic are exact; stamps are rounded to nanoseconds
    away = Rotation.from_quat(curve.rotation_at(asked)).inv() * Rotation.from_rotvec(
        np.outer(expected, axis)
    )
    assert away.magnitude().max() < 1e-4


def test_a_walk_at_20_hz_is_read_as_by_a_spline(rng):
    motion = walked(20, rng)
    track = seen(motion, 20)
    time = (track.stamp - START_NS) / 1e9
    asked = np.linspace(1, 18, 1000)
    spline = CubicSpline(time, track.position)(asked)
    assert np.abs(curve_of(track, START_NS).position_at(asked) - spline).max() < 1e-3


def test_two_poses_a_hair_apart_give_no_wild_tangent(rng):
    motion = walked(20, rng)
    track = seen(motion, 20)
    hair = Track(
        track.stamp[100:101] + 150_000, track.position[100:101] + 0.01, track.rotation[100:101]
    )
    stamp = np.concatenate([track.stamp, hair.stamp])
    order = np.argsort(stamp)
    both = Track(
        stamp[order],
        np.concatenate([track.position, hair.position])[order],
        np.concatenate([track.rotation, hair.rotation])[order],
    )
    asked = np.linspace(4, 6, 500)
    away = curve_of(both, START_NS).position_at(asked) - motion.position(asked)
    assert np.abs(away).max() < 0.02


def test_nobody_knows_where_a_track_was_in_its_gaps_or_outside(rng):
    track = seen(walked(20, rng), 10)
    kept = np.ones(len(track), dtype=bool)
    kept[50:53], kept[100:102] = False, False
    curve = curve_of(track[kept], START_NS)
    known = curve.is_known(np.array([-0.01, 0.0, 5.2, 5.35, 10.05, 19.9, 19.95]))
    np.testing.assert_array_equal(known, [False, True, False, True, True, True, False])
    about = curve.is_known(np.array([0.45, 0.55, 5.15, 4.35, 4.45, 5.75, 5.85]), 0.5)
    np.testing.assert_array_equal(about, [False, True, False, True, False, False, True])


def test_short_tracks_are_taken_whole(rng):
    motion = walked(40, rng)
    ours, theirs = seen(motion, 10), seen(motion, 100)
    assert excerpts(ours, theirs, reach_s=0.05) == (ours, theirs)


def test_long_tracks_are_taken_in_stretches_with_room_for_the_shift():
    n = 40_000
    stamp = START_NS + np.arange(n) * 100_000_000
    track = Track(stamp, np.zeros((n, 3)), np.tile([0, 0, 0, 1.0], (n, 1)))
    ours, theirs = excerpts(track, track, reach_s=10.0)
    assert 0.9 * MOST_SCANS < len(ours) <= 1.01 * MOST_SCANS
    assert (ours.stamp[-1] - stamp[0]) > 0.9 * (stamp[-1] - stamp[0])
    for shift in (-100, 0, 100):  # scans: 10 s
        inside = np.clip(np.searchsorted(stamp, ours.stamp) + shift, 0, n - 1)
        assert np.isin(stamp[inside], theirs.stamp).all()
