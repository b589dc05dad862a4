"""A cause is put into the measurement of an honest belief: clocks and the time between poses."""

import numpy as np
import pytest

from smfeval.evaluation import Options, evaluate
from support.alibis import (
    WIDE,
    N,
    S,
    alibis_of,
    belief,
    held,
    noise,
    path,
    reference,
    rows,
    times,
    velocity,
)


@pytest.mark.parametrize("late_ms", [20, -35])
def test_a_late_clock_is_found_with_its_offset(rng, late_ms):
    found = alibis_of(belief(noise(rng), late_s=1e-3 * late_ms), reference())
    row = rows(found)["clock offset"]
    assert held(found) == {"clock offset", "all at once"}
    assert float(row.granted.split(" ms")[0]) == pytest.approx(-late_ms, abs=0.5)
    assert row.judgement.k.value == pytest.approx(1 / WIDE, abs=0.1)
    assert 1e3 * row.need.size == pytest.approx(abs(late_ms), rel=0.05)
    assert "the kindest to the estimate" in found.sentence


def test_an_offset_beyond_reach_does_not_hold(rng):
    found = alibis_of(belief(noise(rng), late_s=0.08), reference())
    row = rows(found)["clock offset"]
    assert not row.holds(found.scored)
    assert row.outcome(found.scored) == "in part"
    assert row.need.size is None
    assert row.need.kindest == pytest.approx(0.05)
    assert row.need.k_left == pytest.approx(row.judgement.k.value, rel=1e-3)


def test_a_jitter_of_the_clock_is_found_with_its_size(rng):
    jitter = 0.009 * rng.normal(size=(N, 1))
    found = alibis_of(belief(noise(rng), S, of=path(times() + jitter[:, 0]) + noise(rng)),
                      reference())  # fmt: skip
    row = rows(found)["clock jitter"]
    assert row.need.size == pytest.approx(0.009, rel=0.1)
    assert "clock jitter" in held(found)
    assert not {"clock offset", "lever arm", "gauge se3"} & held(found)


def test_a_jitter_far_below_a_millisecond_is_found_with_its_size(rng):
    small = 1e-8 * np.eye(3)  # 0.1 mm; the motion is 1.5 to 4.5 m/s
    jitter = 2e-4 * rng.normal(size=N)
    made = path(times() + jitter) + noise(rng, covariance=small)
    found = alibis_of(belief(np.zeros((N, 3)), small, of=made), reference())
    assert rows(found)["clock jitter"].need.size == pytest.approx(2e-4, rel=0.1)


def test_no_jitter_explains_errors_across_the_motion(rng):
    across = np.cross(velocity(times()), [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    found = alibis_of(belief(noise(rng) + 0.05 * rng.normal(size=(N, 1)) * across), reference())
    row = rows(found)["clock jitter"]
    assert row.need.size is None
    assert row.need.k_left > 10
    assert row.outcome(found.scored) == "no"


def test_poses_between_the_reference_s_poses_need_no_alibi_and_a_wrong_clock_does(rng):
    """Scans 4 ms after the nearest pose of a reference at 10 Hz: up to 2 cm of motion."""
    between = belief(noise(rng), late_s=-0.004).shift_stamps(4_000_000)
    for association in ("moved", "nearest"):
        scored = evaluate(between, reference(), options=Options(association=association))
        assert scored.verdict.label != "overconfident"
    wrong = alibis_of(belief(noise(rng), late_s=-0.004), reference())  # no gap: a wrong clock
    assert "clock offset" in held(wrong)
    assert "continuous reference" not in held(wrong)
