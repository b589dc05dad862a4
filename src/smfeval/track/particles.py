"""Weighted particles over time: ragged, as flat arrays and offsets; weights kept raw."""

from __future__ import annotations

from dataclasses import InitVar, field, replace
from functools import cached_property

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.maths import so3
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.track.beliefs import Beliefs, Rows, as_floats, as_stamps, normalise_quaternions
from smfeval.track.poses import GaussianTrack
from smfeval.track.row_checks import Fault, Intake, pose_faults, time_order, valid_rows

SMALLEST_TOTAL = 1e-290  # of linear weights; floats near the smallest one have few digits


@dataclass(frozen=True, eq=False, repr=False)
class ParticleTrack(Beliefs):
    """Scan i has the particles offset[i] to offset[i + 1] of the flat arrays.

    `weight` is kept as the filter wrote it, linear or logarithmic, normalised or not;
    `probability` is what it means. `position` and `rotation` are the weighted means.
    """

    offset: Ints
    particle_position: Floats
    particle_rotation: Floats
    weight: Floats
    log_weight: bool = field(default=False, kw_only=True)
    weighted: bool = field(default=True, kw_only=True)  # False: the filter has equal particles
    intake: InitVar[Intake] = field(default=Intake(), kw_only=True)

    def __post_init__(self, intake: Intake) -> None:
        rows = self._check_shapes()
        count, start = np.diff(rows["offset"]), rows["offset"][:-1]
        scan_of = np.repeat(np.arange(len(count)), count)
        faults = pose_faults(rows["particle_position"], rows["particle_rotation"])
        faults = [fault_per_scan(fault, scan_of, len(count)) for fault in faults]
        good, dropped = valid_rows([*faults, self._weight_fault(rows)], intake)
        kept = np.flatnonzero(good)
        again = replace(intake, where=lambda scan: intake.where(int(start[kept[scan]])))
        order, twice, notes = time_order(rows["stamp"][kept], again)
        self._set_arrays(rows)
        if dropped or twice or notes:
            rows = self._select(kept[order])
        rows["particle_rotation"] = normalise_quaternions(rows["particle_rotation"])
        self._set_arrays(rows)
        self._record(dropped + twice, notes)

    @property
    def representation(self) -> str:
        """The SQUARE word for this kind of belief."""
        return "ensemble_se3"

    @property
    def count(self) -> Ints:
        """Particles in each scan. (n,)."""
        return np.diff(self.offset)

    @cached_property
    def probability(self) -> Floats:
        """Normalised weight of each particle: sums to one over a scan. (m,)."""
        linear = self.weight
        if self.log_weight:
            largest = np.maximum.reduceat(self.weight, self.offset[:-1])
            linear = np.exp(self.weight - np.repeat(largest, self.count))
        return linear / np.repeat(self._sum(linear), self.count)

    @cached_property
    def position(self) -> Floats:
        """Weighted mean position. (n, 3)."""
        return self._sum(self.probability[:, None] * self.particle_position)

    @cached_property
    def rotation(self) -> Floats:
        """Weighted mean rotation (chordal). (n, 4)."""
        return so3.mean(second_moments(self.particle_rotation, self.probability, self.offset))

    @cached_property
    def moments(self) -> GaussianTrack:
        """The Gaussian with the same mean and covariance as the particles.

        The covariance is that of (R^T (t_i - t), Log(R^T R_i)) about the mean (t, R), so its
        position block is exactly the weighted sample covariance of the positions.
        """
        return GaussianTrack(
            self.stamp,
            self.position,
            self.rotation,
            second_moments(self._spread(), self.probability, self.offset),
            about=self.about,
            provenance=self.provenance,
        )

    def _spread(self) -> Floats:
        """Each particle seen from its scan's mean: (R^T (t_i - t), Log(R^T R_i)). (m, 6)."""
        mean = np.repeat(self.rotation, self.count, axis=0)
        away = self.particle_position - np.repeat(self.position, self.count, axis=0)
        turned = so3.log(so3.compose(so3.inverse(mean), self.particle_rotation))
        return np.concatenate([so3.rotate_back(mean, away), turned], axis=1)

    def _sum(self, values: Floats) -> Floats:
        """Sum over the particles of each scan. (m, ...) -> (n, ...)."""
        return np.add.reduceat(values, self.offset[:-1], axis=0)

    def _select(self, scans: Ints) -> Rows:
        count = self.count[scans]
        offset = np.concatenate([[0], np.cumsum(count)])
        within = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
        particle = np.repeat(self.offset[:-1][scans], count) + within
        return {
            "stamp": self.stamp[scans],
            "offset": offset,
            "particle_position": self.particle_position[particle],
            "particle_rotation": self.particle_rotation[particle],
            "weight": self.weight[particle],
        }

    def _check_shapes(self) -> Rows:
        stamp, offset = as_stamps(self.stamp), as_stamps(self.offset)
        if len(stamp) == 0:
            raise TrackError("there is no scan in it")
        if len(offset) != len(stamp) + 1 or offset[0] != 0 or (np.diff(offset) < 1).any():
            raise TrackError("offsets must start at 0 and give each scan at least one particle")
        m = int(offset[-1])
        return {
            "stamp": stamp,
            "offset": offset,
            "particle_position": as_floats(self.particle_position, (m, 3), "particle_position"),
            "particle_rotation": as_floats(self.particle_rotation, (m, 4), "particle_rotation"),
            "weight": as_floats(self.weight, (m,), "weight"),
        }

    def _weight_fault(self, rows: Rows) -> Fault:
        """Weights that cannot be normalised: NaN, negative, all zero."""
        weight, start = rows["weight"], rows["offset"][:-1]
        if self.log_weight:
            usable = np.isfinite(np.maximum.reduceat(weight, start))
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                total, least = np.add.reduceat(weight, start), np.minimum.reduceat(weight, start)
            usable = np.isfinite(total) & (total >= SMALLEST_TOTAL) & (least >= 0)

        def sentence(scan: int) -> str:
            weights = weight[rows["offset"][scan] : rows["offset"][scan + 1]]
            if np.isnan(weights).any() or (not self.log_weight and (weights < 0).any()):
                return "a particle's weight is negative or not a number"
            return "the weights of all particles of this timestep are zero, tiny or not finite"

        return Fault(
            "weights cannot be normalised", ~usable, sentence, lambda scan: int(start[scan])
        )


def second_moments(vector: Floats, weight: Floats, offset: Ints) -> Floats:
    """Sum of w x x^T over the particles of each scan, entry by entry. (m, d), (m,) -> (n, d, d)."""
    columns = np.ascontiguousarray(vector.T)
    moment = np.empty((len(offset) - 1, len(columns), len(columns)))
    for i, one in enumerate(columns):
        weighted = weight * one
        for j, other in enumerate(columns[: i + 1]):
            entry = np.add.reduceat(weighted * other, offset[:-1])
            moment[:, i, j] = moment[:, j, i] = entry
    return moment


def fault_per_scan(fault: Fault, scan_of: Ints, scans: int) -> Fault:
    """Carry a fault of particles over to the scans that hold them."""
    mask: Bools = np.zeros(scans, dtype=np.bool_)
    mask[scan_of[fault.mask]] = True
    first = dict(zip(scan_of[fault.mask][::-1], np.flatnonzero(fault.mask)[::-1], strict=True))
    return Fault(
        fault.kind,
        mask,
        lambda scan: fault.sentence(int(first[scan])),
        lambda scan: int(first[scan]),
    )
