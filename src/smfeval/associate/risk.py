"""How much of the error the time gaps alone could explain."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.order import median, quantile
from smfeval.maths.stamps import NANOSECONDS

RISK_LIMIT = 0.3  # sigma: a gap may move the reference by this much before we warn


@dataclass(frozen=True)
class GapRisk:
    """Reference speed times gap, in units of the reported sigma, over the scans."""

    median: float
    p95: float
    largest: float
    above_limit: float  # fraction of scans above RISK_LIMIT


def gap_risk(speed: Floats, gap_s: Floats, sigma_m: Floats) -> GapRisk:
    """Distance that the reference moves within the gap, in sigmas. (n,) each."""
    risk = speed * np.abs(gap_s) / sigma_m
    return GapRisk(
        median=median(risk),
        p95=float(quantile(risk, 0.95)),
        largest=float(risk.max()),
        above_limit=float((risk > RISK_LIMIT).mean()),
    )


def speeds(stamp: Ints, position: Floats) -> Floats:
    """Speed at each pose by central differences. (n,), (n, 3) -> (n,)."""
    if len(stamp) < 2:
        return np.zeros(len(stamp))
    time_s = (stamp - stamp[0]) / NANOSECONDS
    square = np.zeros(len(stamp))
    for axis in position.T:
        velocity = np.gradient(np.ascontiguousarray(axis), time_s)
        square += np.multiply(velocity, velocity, out=velocity)
    return np.sqrt(square, out=square)
