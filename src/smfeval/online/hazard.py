"""Is an estimate that calls itself safe beyond an alert limit, scan by scan?

It calls itself safe where its protection levels are within their limits (`score.integrity`).
Against a reference it is hazardous where its error is beyond a limit then. Of two estimates that
both call themselves safe, one is where they are more than two limits apart. What the alignment at
the first pose, the reference and a straight line between its scans may make of the distance is
granted: its protection level, and what the line may miss.
"""

import numpy as np

from smfeval.align.quantities import RISK, AlertLimits
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths.arrays import Bools, Floats
from smfeval.score.integrity import protection_level

COLUMNS = {"horizontal": [0, 1], "vertical": [2]}


@dataclass(frozen=True)
class HazardLimits:
    """Alert limits of positions, the risk of their protection levels, and of whom they are held."""

    limits: AlertLimits
    risk: float = RISK
    of_pair: bool = False  # else of an estimate and a reference

    def __post_init__(self) -> None:
        other = [name for name in self.limits.given if name not in COLUMNS]
        if other:
            raise OptionError(f"watch has horizontal and vertical alert limits, not {other[0]}")

    def refuse_other_axes(self, axes: str) -> None:
        """Raise on a limit of what is not compared."""
        for name in self.limits.given:
            if not {"xyz"[column] for column in COLUMNS[name]} <= {*axes}:
                raise OptionError(f"a {name} alert limit means nothing on axes {axes}")

    def available(self, *covariances: Floats) -> Bools:
        """Scans in which all beliefs call themselves safe. (n, 3, 3) each -> (n,)."""
        within = [
            protection_level(_block(each, name), risk=self.risk) <= limit
            for name, limit in self.limits.given.items()
            for each in covariances
        ]
        return np.logical_and.reduce(within)

    def beyond(self, error: Floats, granted: Floats, missed_m: Floats) -> Bools:
        """Scans whose distance is beyond a limit, of a pair two, and what is granted. (n, 3)."""
        reach = 2.0 if self.of_pair else 1.0
        far = [
            np.linalg.norm(error[:, COLUMNS[name]], axis=1)
            > reach * limit + missed_m + protection_level(_block(granted, name), risk=self.risk)
            for name, limit in self.limits.given.items()
        ]
        return np.logical_or.reduce(far)


def _block(covariance: Floats, name: str) -> Floats:
    columns = COLUMNS[name]
    return covariance[:, columns][:, :, columns]
