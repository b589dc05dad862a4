"""How much of the error the time gaps alone could explain."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats, Ints
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
    median, p95, largest = np.quantile(risk, [0.5, 0.95, 1.0])
    return GapRisk(float(median), float(p95), float(largest), float((risk > RISK_LIMIT).mean()))


def speeds(stamp: Ints, position: Floats) -> Floats:
    """Speed at each pose by central differences. (n,), (n, 3) -> (n,)."""
    if len(stamp) < 2:
        return np.zeros(len(stamp))
    velocity = np.gradient(position, (stamp - stamp[0]) / NANOSECONDS, axis=0)
    return np.linalg.norm(velocity, axis=1)
