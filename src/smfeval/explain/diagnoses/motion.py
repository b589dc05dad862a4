"""Regimes of the motion: turning, fast, standing."""

from dataclasses import dataclass

import numpy as np

from smfeval.explain.diagnoses.case import Case
from smfeval.maths.arrays import Bools, Floats

STANDING_M_S = 0.05
TURNING_RAD_S = 0.02  # a degree per second: below, nothing turns
VARIED = 1.3  # mean of the upper third over that of the rest: less is one regime
RARE = 0.02  # share of the scans that a regime must have, and leave


@dataclass(frozen=True)
class Split:
    """Scans in a regime and the others."""

    name: str  # turning, fast, standing
    inside: Bools
    limit: float  # rad/s or m/s at the border


def splits(case: Case) -> list[Split]:
    """The regimes that this motion has."""
    found = [_upper_third("fast", case.speed, STANDING_M_S)]
    if case.turn_rate is not None:
        found.insert(0, _upper_third("turning", case.turn_rate, TURNING_RAD_S))
    found.append(Split("standing", case.speed < STANDING_M_S, STANDING_M_S))
    return [each for each in found if each is not None and _both(each.inside)]


def _upper_third(name: str, rate: Floats, least: float) -> Split | None:
    """The upper third of a rate, where it stands out."""
    limit = float(np.quantile(rate, 2 / 3))
    inside = rate > max(limit, least)
    if not _both(inside) or rate[inside].mean() < VARIED * rate[~inside].mean():
        return None
    return Split(name, inside, max(limit, least))


def _both(inside: Bools) -> bool:
    return bool(RARE < inside.mean() < 1 - RARE)
