"""Alert limits of a running estimate: who calls itself safe, and is beyond its limit."""

import numpy as np
import pytest

from smfeval import GaussianTrack, OptionError, Track
from smfeval.align.quantities import parse_alert_limits
from smfeval.maths import se3, so3
from smfeval.online.beliefs import BeliefWatch, HazardLimits
from smfeval.online.eprocess import EProcess
from support.beliefs import circuit

N = 200
NEVER = EProcess(1e-12, "long")  # no alarm by evidence


def estimate(sigma_m, jump_m=0.0, at=120, axis=0, sigma_rad=1e-4):
    """Without errors but for a jump from a scan on; sigma is as reported, whatever they are."""
    stamp, position, rotation = circuit(N)
    position = position.copy()
    position[at:, axis] += jump_m
    covariance = np.diag(np.repeat([sigma_m**2, sigma_rad**2], 3))
    return GaussianTrack(stamp, position, rotation, np.tile(covariance, (N, 1, 1)))


def watch(limits, *, of_pair=False, gauge="none"):
    alert = HazardLimits(parse_alert_limits(limits), of_pair=of_pair)
    return BeliefWatch(NEVER, NEVER, NEVER, gauge=gauge, alert=alert)


TRUTH = Track(*circuit(N))


@pytest.mark.parametrize("batch", [1, 7, 50, N])
def test_the_alarm_is_at_the_first_hazardous_scan_however_scans_come(batch):
    found, first = watch("50cm"), estimate(0.1, 0.6)
    for begin in range(0, N, batch):
        if found.hazard:
            break
        found, _, _ = found.advance(first[begin : begin + batch], TRUTH, ended=True)
    assert found.hazard
    assert (found.matched, found.available) == (121, 121)
    assert found.last_stamp == TRUTH.stamp[120]
    assert found.last_error_m == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("limits", "sigma_m", "jump_m", "axis", "hazard", "available"),
    [
        ("50cm", 0.1, 0.4, 0, False, N),  # misleading at most
        ("50cm", 0.2, 0.9, 0, False, 0),  # says that it does not know
        ("50cm", 0.1, 0.6, 2, False, N),  # up, which has no limit
        ("50cm,50cm vertical", 0.1, 0.6, 2, True, 121),
        ("50cm,30cm vertical", 0.1, 0.6, 0, False, 0),  # one level is beyond its limit
    ],
)
def test_hazardous_is_what_is_available_and_beyond_a_limit(
    limits, sigma_m, jump_m, axis, hazard, available
):
    found, _, _ = watch(limits).advance(estimate(sigma_m, jump_m, axis=axis), TRUTH, ended=True)
    assert (found.hazard, found.available) == (hazard, available)


@pytest.mark.parametrize(("jump_m", "hazard"), [(0.9, False), (1.1, True)])
def test_two_estimates_may_be_two_limits_apart(jump_m, hazard):
    pair = estimate(0.1, jump_m), estimate(0.1)
    assert watch("50cm", of_pair=True).advance(*pair, ended=True)[0].hazard == hazard
    humble = estimate(0.2)  # does not call itself safe
    assert not watch("50cm", of_pair=True).advance(pair[0], humble, ended=True)[0].hazard


def test_the_alignment_at_the_first_pose_is_no_hazard():
    """A start that is wrong by a degree swings the far side of the way by 30 cm and more."""
    first = estimate(0.01, sigma_rad=np.radians(0.5))
    turn = np.zeros((N, 3))
    turn[0, 2] = np.radians(1)
    position, rotation = se3.compose((first.position, first.rotation), (0 * turn, so3.exp(turn)))
    first = first.with_arrays({"position": position, "rotation": rotation})
    found, _, _ = watch("10cm", gauge="first-pose").advance(first[:100], TRUTH, ended=True)
    assert not found.hazard
    assert found.last_error_m > 0.15


def test_limits_of_what_is_not_compared_are_refused():
    with pytest.raises(OptionError, match="horizontal and vertical alert limits, not attitude"):
        watch("2deg")
    alert = HazardLimits(parse_alert_limits("1m,1m vertical"))
    with pytest.raises(OptionError, match="a vertical alert limit means nothing on axes xy"):
        BeliefWatch(axes="xy", alert=alert)
