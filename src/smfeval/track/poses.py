"""Poses over time, plain (`Track`) or each with a 6x6 covariance (`GaussianTrack`)."""

from __future__ import annotations

from dataclasses import InitVar, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints, read_only
from smfeval.maths.symmetric import is_symmetric, pack_lower, symmetrise, unpack_lower
from smfeval.schema import PROTECTED
from smfeval.track.beliefs import Beliefs, Rows, as_floats, as_stamps, normalise_quaternions
from smfeval.track.cross import CrossCovariance, lost_pairs, valid_cross
from smfeval.track.row_checks import (
    NEAR_UNIT,
    Fault,
    Intake,
    covariance_faults,
    is_increasing,
    pose_faults,
    time_order,
    unit_notes,
    valid_rows,
)

PAIRS = Intake(where="pair {}".format)


@dataclass(frozen=True, eq=False, repr=False)
class Track(Beliefs):
    """Poses over time, without uncertainty.

    `protection` are protection levels that the estimator gives itself, a column for each of
    `schema.PROTECTED` in metres and radians, NaN where it gives none. (n, 5).
    """

    position: Floats
    rotation: Floats
    protection: Floats | None = field(default=None, kw_only=True)
    intake: InitVar[Intake] = field(default=Intake(), kw_only=True)

    def __post_init__(self, intake: Intake) -> None:
        rows = self._check_shapes()
        if len(rows["stamp"]) == 0:
            raise TrackError("there is no scan in it")
        good, dropped = valid_rows(self._faults(rows), intake)
        if dropped or not is_increasing(rows["stamp"]):
            kept = np.flatnonzero(good)
            placed = replace(intake, where=lambda row: intake.where(int(kept[row])))
            alone = None if "covariance" in rows else rows["position"][kept]
            order, twice, notes = time_order(rows["stamp"][kept], placed, alone)
            rows = {name: array[kept[order]] for name, array in rows.items()}
            self._record(dropped + twice, notes)
            self._renumber(kept[order], len(good))
        if notes := unit_notes(rows["rotation"]):
            self._record((), notes)
        self._set_arrays(self._clean_rows(rows))

    @property
    def representation(self) -> str:
        """The SQUARE word for this kind of belief."""
        return "deterministic"

    def _renumber(self, rows: Ints, count: int) -> None:
        """Follow the rows that were kept of those given, in their new order."""

    def _rows(self) -> dict[str, Any]:
        rows = {"stamp": self.stamp, "position": self.position, "rotation": self.rotation}
        return rows if self.protection is None else rows | {"protection": self.protection}

    def _select(self, scans: Ints) -> Rows:
        return {name: array[scans] for name, array in self._rows().items()}

    def _check_shapes(self) -> Rows:
        """Return the arrays as given, in the right type and shape, or raise."""
        stamp = as_stamps(self.stamp)
        rows: Rows = {
            "stamp": stamp,
            "position": as_floats(self.position, (len(stamp), 3), "position"),
            "rotation": as_floats(self.rotation, (len(stamp), 4), "rotation"),
        }
        if self.protection is None:
            return rows
        shape = (len(stamp), len(PROTECTED))
        rows["protection"] = as_floats(self.protection, shape, "protection")
        if (rows["protection"] < 0).any():
            raise TrackError("a protection level is negative; NaN says that there is none")
        return rows

    def _faults(self, rows: Rows) -> list[Fault]:
        return pose_faults(rows["position"], rows["rotation"], within=NEAR_UNIT)

    def _clean_rows(self, rows: Rows) -> Rows:
        return rows | {"rotation": normalise_quaternions(rows["rotation"])}


@dataclass(frozen=True, eq=False, repr=False)
class GaussianTrack(Track):
    """Poses with a 6x6 covariance each (SE(3) right perturbation, translation first).

    Covariances (n, 6, 6) are kept as their lower triangles, row by row, `triangle` (n, 21), and
    may be given so; the matrices are made when they are first asked for.
    `cross` has the cross-covariances of some pairs of scans, where the estimator tells them.
    `shared` is the part of the covariance that is one error of the whole world, where a reference
    is taken to have one (`associate.with_shared_error`): relative motion does not see it.
    """

    triangle: Floats
    cross: CrossCovariance | None = field(default=None, kw_only=True)
    shared: Floats | None = field(default=None, init=False)

    def __init__(
        self,
        stamp: Ints,
        position: Floats,
        rotation: Floats,
        covariance: Floats | None = None,
        *,
        triangle: Floats | None = None,
        cross: CrossCovariance | None = None,
        **more: Any,
    ):
        given = triangle if covariance is None else covariance
        object.__setattr__(self, "triangle", given)  # until it is checked
        object.__setattr__(self, "cross", cross)
        super().__init__(stamp, position, rotation, **more)

    def __post_init__(self, intake: Intake) -> None:
        super().__post_init__(intake)
        if self.cross is not None:
            checked = self.with_cross(self.cross, intake=replace(PAIRS, bad_rows=intake.bad_rows))
            object.__setattr__(self, "cross", checked.cross)
            object.__setattr__(self, "provenance", checked.provenance)

    @property
    def representation(self) -> str:
        """The SQUARE word for this kind of belief."""
        return "gaussian_se3"

    @cached_property
    def covariance(self) -> Floats:
        """The whole matrices. (n, 6, 6)."""
        return read_only(unpack_lower(self.triangle))

    @property
    def position_covariance(self) -> Floats:
        """Covariance of the position in world axes: R S_tt R^T. (n, 3, 3)."""
        return so3.rotate_covariance(self.rotation, self.triangle[:, :6])

    def with_cross(self, cross: CrossCovariance | None, *, intake: Intake = PAIRS) -> Self:
        """Return the same beliefs with these cross-covariances, checked; `intake` names pairs."""
        if cross is None:
            return self.with_arrays({}, cross=None)
        good, dropped = valid_cross(cross, self.stamp, self.covariance, intake)
        provenance = replace(self.provenance, dropped=self.provenance.dropped + dropped)
        return self.with_arrays({}, cross=good, provenance=provenance)

    def with_arrays(self, rows: Rows, **changes: Any) -> Self:
        """Return a copy that shares everything not named; nothing is checked again.

        New covariances without new cross-covariances (`cross=`) leave none of these: the old ones
        would not belong to them.
        """
        if "covariance" in rows:
            changes = {"cross": None} | changes
            others = {name: rows[name] for name in rows.keys() - {"covariance"}}
            rows = others | {"triangle": pack_lower(rows["covariance"])}
        return super().with_arrays(rows, **changes)

    def _part(self, scans: Ints) -> Self:
        if self.cross is None:
            return super()._part(scans)
        cross = self.cross.at(scans, len(self))
        provenance = replace(
            self.provenance,
            remarks=self.provenance.remarks + lost_pairs(len(self.cross), cross),
        )
        return self.with_arrays(self._select(scans), cross=cross, provenance=provenance)

    def _renumber(self, rows: Ints, count: int) -> None:
        if self.cross is None:
            return
        if int(self.cross.pairs.max()) >= count:
            raise TrackError(f"a cross-covariance is of a row beyond the {count} that are given")
        cross = self.cross.at(rows, count)
        remarks = self.provenance.remarks + lost_pairs(len(self.cross), cross)
        object.__setattr__(self, "provenance", replace(self.provenance, remarks=remarks))
        object.__setattr__(self, "cross", cross)

    def _rows(self) -> dict[str, Any]:
        shared = {} if self.shared is None else {"shared": self.shared}
        return super()._rows() | {"triangle": self.triangle} | shared

    def _check_shapes(self) -> Rows:
        rows, given = super()._check_shapes(), self.triangle
        shape = (len(rows["stamp"]), *((21,) if np.shape(given)[1:] == (21,) else (6, 6)))
        return rows | {"covariance": as_floats(given, shape, "covariance")}

    def _faults(self, rows: Rows) -> list[Fault]:
        return super()._faults(rows) + covariance_faults(rows["covariance"])

    def _clean_rows(self, rows: Rows) -> Rows:
        rows = super()._clean_rows(rows)
        covariance: Floats = rows.pop("covariance")
        if covariance.ndim == 3:
            even = is_symmetric(covariance)
            covariance = pack_lower(covariance if even else symmetrise(covariance))
        return rows | {"triangle": covariance}
