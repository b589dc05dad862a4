"""Does the 95 % interval of the clock offset hold the truth? By simulation of walks."""

import numpy as np
import pytest

from smfeval.errors import PairingError
from smfeval.evaluation import Options
from smfeval.summarise.number import Intervals
from support.clocks import SIGMA_M, SIGMA_RAD, believed, find_offset, remembered, seen, walked

pytestmark = pytest.mark.slow

RUNS = 120
TARGET = 0.9
LEAST = TARGET - 3 * np.sqrt(TARGET * (1 - TARGET) / RUNS)
OPTIONS = Options(intervals=Intervals(None))


def drifting(n, rng):
    return 0.1 * np.cumsum(rng.normal(size=(n, 3)), axis=0)


def mixed(n, rng):
    return 0.9 * remembered(n, 0.98, rng) + 0.3 * rng.normal(size=(n, 3))


ERRORS = {
    "independent": lambda n, rng: rng.normal(size=(n, 3)),
    "AR(1) 0.9": lambda n, rng: remembered(n, 0.9, rng),
    "AR(1) 0.98": lambda n, rng: remembered(n, 0.98, rng),
    "AR(1) 0.98 and noise": mixed,
    "random walk": drifting,
}


def outcome(seed, errors, rate_hz, oriented):
    """Whether the interval holds the truth, and how far the offset is off; None if refused."""
    rng = np.random.default_rng(seed)
    motion = walked(60, rng, rate_hz=50)
    late_s = rng.uniform(-0.3, 0.3)
    plain = seen(motion, 10, late_s=late_s, first_s=0.033, oriented=oriented)
    n = len(plain)
    estimate = believed(plain, SIGMA_M * errors(n, rng), SIGMA_RAD * errors(n, rng))
    try:
        found = find_offset(estimate, seen(motion, rate_hz, oriented=oriented), OPTIONS)
    except PairingError:
        return None
    return found.low_s <= late_s <= found.high_s, found.offset_s - late_s


@pytest.mark.parametrize("oriented", [True, False], ids=["poses", "positions"])
@pytest.mark.parametrize("rate_hz", [100, 20])
@pytest.mark.parametrize("name", ERRORS)
def test_the_interval_of_the_offset_covers(name, rate_hz, oriented):
    told = [outcome(seed, ERRORS[name], rate_hz, oriented) for seed in range(RUNS)]
    held = [each for each in told if each is not None]
    assert np.mean([hit for hit, _ in held]) >= LEAST
    assert len(held) >= 0.9 * RUNS
    assert np.sqrt(np.mean([miss**2 for _, miss in held])) < 5e-3
