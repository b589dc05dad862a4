"""Poses over time, plain (`Track`) or each with a 6x6 covariance (`GaussianTrack`)."""

from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import numpy as np

from smfeval.errors import TrackError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import is_symmetric, symmetrise
from smfeval.track.beliefs import Beliefs, Rows, as_floats, as_stamps, normalise_quaternions
from smfeval.track.row_checks import (
    Fault,
    Intake,
    covariance_faults,
    is_increasing,
    pose_faults,
    time_order,
    valid_rows,
)


@dataclass(frozen=True, eq=False, repr=False)
class Track(Beliefs):
    """Poses over time, without uncertainty."""

    position: Floats
    rotation: Floats
    intake: InitVar[Intake] = field(default=Intake(), kw_only=True)

    def __post_init__(self, intake: Intake) -> None:
        rows = self._check_shapes()
        if len(rows["stamp"]) == 0:
            raise TrackError("there is no scan in it")
        good, dropped = valid_rows(self._faults(rows), intake)
        if dropped or not is_increasing(rows["stamp"]):
            kept = np.flatnonzero(good)
            placed = replace(intake, where=lambda row: intake.where(int(kept[row])))
            order, twice, notes = time_order(rows["stamp"][kept], placed)
            rows = {name: array[kept[order]] for name, array in rows.items()}
            self._record(dropped + twice, notes)
        self._set_arrays(self._clean_rows(rows))

    @property
    def representation(self) -> str:
        """The SQUARE word for this kind of belief."""
        return "deterministic"

    def _rows(self) -> dict[str, Any]:
        return {"stamp": self.stamp, "position": self.position, "rotation": self.rotation}

    def _select(self, scans: Ints) -> Rows:
        return {name: array[scans] for name, array in self._rows().items()}

    def _check_shapes(self) -> Rows:
        """Return the arrays as given, in the right type and shape, or raise."""
        stamp = as_stamps(self.stamp)
        return {
            "stamp": stamp,
            "position": as_floats(self.position, (len(stamp), 3), "position"),
            "rotation": as_floats(self.rotation, (len(stamp), 4), "rotation"),
        }

    def _faults(self, rows: Rows) -> list[Fault]:
        return pose_faults(rows["position"], rows["rotation"])

    def _clean_rows(self, rows: Rows) -> Rows:
        return rows | {"rotation": normalise_quaternions(rows["rotation"])}


@dataclass(frozen=True, eq=False, repr=False)
class GaussianTrack(Track):
    """Poses with a 6x6 covariance each (SE(3) right perturbation, translation first)."""

    covariance: Floats

    @property
    def representation(self) -> str:
        """The SQUARE word for this kind of belief."""
        return "gaussian_se3"

    @property
    def position_covariance(self) -> Floats:
        """Covariance of the position in world axes: R S_tt R^T. (n, 3, 3)."""
        return so3.rotate_covariance(self.rotation, self.covariance[:, :3, :3])

    def _rows(self) -> dict[str, Any]:
        return super()._rows() | {"covariance": self.covariance}

    def _check_shapes(self) -> Rows:
        rows = super()._check_shapes()
        shape = (len(rows["stamp"]), 6, 6)
        return rows | {"covariance": as_floats(self.covariance, shape, "covariance")}

    def _faults(self, rows: Rows) -> list[Fault]:
        return super()._faults(rows) + covariance_faults(rows["covariance"])

    def _clean_rows(self, rows: Rows) -> Rows:
        rows = super()._clean_rows(rows)
        covariance: Floats = rows["covariance"]
        if is_symmetric(covariance):
            return rows
        return rows | {"covariance": symmetrise(covariance)}
