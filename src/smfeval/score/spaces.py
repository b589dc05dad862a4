"""The spaces in which a belief is scored, and the residuals of matched, aligned tracks in them.

A space says what an error is, in which axes and unit, and how many dimensions it has; nothing
outside this module counts them. Position (d = 1 to 3) is always there; rotation (d = 3) and pose
(d = 6) where estimate and reference are oriented. Their error is xi = (rho, phi) =
Log(T_mean^-1 T_ref), a right perturbation as the covariance is. A belief may claim less: AMCL has
x, y and yaw, and claims nothing about z, roll and pitch. What is claimed is found and scored.
"""

from itertools import combinations
from typing import ClassVar, Literal, Protocol

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, Remedy, TrackError
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import chunks
from smfeval.schema import POSITION_AXES
from smfeval.score.pose import ROTATION, whiten_pose
from smfeval.score.residuals import Ensemble, Residuals, SpaceName
from smfeval.score.tangent import ClaimedAxes
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track
from smfeval.track.particles import second_moments

STANDING_M = 1e-3  # a step shorter than this has no direction; the last one that had is kept


class Space(Protocol):
    """What the numbers of a track ask of a space."""

    name: ClassVar[SpaceName]

    @property
    def dimension(self) -> int:
        """Number of scored axes."""
        ...

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Of the scored axes."""
        ...

    def whitened_moment(self, residuals: Residuals) -> Floats:
        """Mean of z z^T, z the whitened errors. (d, d)."""
        ...

    def correlation_terms(self, residuals: Residuals) -> "CorrelationTerms | None":
        """How position and rotation err together; None where a space has but one of them."""
        ...


@dataclass(frozen=True)
class CorrelationTerms:
    """Position error r and rotation error p under S, with blocks S_rr, S_rp, S_pp. (n,) each.

    Attributes
    ----------
    found
        r^T S_rr^-1 S_rp S_pp^-1 p, whose mean is that of `claimed` for an honest belief.
    claimed
        tr(S_rr^-1 S_rp S_pp^-1 S_pr): sum of the squared canonical correlations.
    position_nees, rotation_nees
        NEES of each over its dimension: what the scale of the covariance does to `found`.
    """

    found: Floats
    claimed: Floats
    position_nees: Floats
    rotation_nees: Floats


@dataclass(frozen=True)
class PositionSpace:
    """Errors of the position in the axes of the reference's world, on some of x, y and z.

    `reference_covariance` says whether the reference's own covariance enters the prediction.
    """

    axes: str = POSITION_AXES
    reference_covariance: bool = True

    name: ClassVar[SpaceName] = "position"
    unit: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        axes = self.axes
        known = all(axis in POSITION_AXES for axis in axes)
        if not axes or not known or len(set(axes)) != len(axes):
            raise OptionError(f"axes {axes!r}: write some of x, y and z, each once (xyz, xy, z)")

    @property
    def dimension(self) -> int:
        """Number of scored axes."""
        return len(self.axes)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Of the scored axes."""
        return tuple(self.axes)

    @property
    def is_whole(self) -> bool:
        """Whether all axes are scored, in their usual order."""
        return self.axes == POSITION_AXES

    @property
    def columns(self) -> list[int]:
        """Columns of the scored axes in a position."""
        return [POSITION_AXES.index(axis) for axis in self.axes]

    def residuals(
        self, estimate: AnyTrack, reference: Track, claimed: Floats | None = None
    ) -> Residuals:
        """Mean minus reference with the uncertainties of both, on the scored axes.

        `claimed` is the covariance of the residuals in world axes, where a fit changed it.
        """
        noise = None
        if self.reference_covariance and isinstance(reference, GaussianTrack):
            noise = self._select(reference.position_covariance)
        if isinstance(estimate, ParticleTrack):
            return self._particle_residuals(estimate, reference, noise)
        error = self._difference(estimate.position, reference.position)
        covariance = None
        if isinstance(estimate, GaussianTrack):
            covariance = self._select(estimate.position_covariance)
        if claimed is None or covariance is None:
            return Residuals(error, covariance, noise)
        return Residuals(error, self._select(claimed), noise, reported=covariance)

    def _particle_residuals(
        self, estimate: ParticleTrack, reference: Track, noise: Floats | None
    ) -> Residuals:
        truth = np.repeat(reference.position, estimate.count, axis=0)
        difference = (estimate.particle_position - truth)[:, self.columns]
        ensemble = Ensemble(estimate.offset, difference, estimate.probability)
        mean = np.repeat(estimate.position, estimate.count, axis=0)
        away = (estimate.particle_position - mean)[:, self.columns]
        covariance = second_moments(away, ensemble.probability, ensemble.offset)
        error = self._difference(estimate.position, reference.position)
        return Residuals(error, covariance, noise, ensemble)

    def _difference(self, position: Floats, reference: Floats) -> Floats:
        """Position minus reference; the scans of an axis are neighbours in memory. (n, d)."""
        error = np.empty((self.dimension, len(position)))
        for row, axis in zip(error, self.columns, strict=True):
            np.subtract(position[:, axis], reference[:, axis], out=row)
        return error.T

    def _select(self, covariance: Floats) -> Floats:
        if self.is_whole:
            return covariance
        return np.ascontiguousarray(covariance[:, self.columns][:, :, self.columns])

    def regular_scans(
        self, estimate: AnyTrack, residuals: Residuals, singular: Literal["refuse", "drop"]
    ) -> Bools:
        """Scans whose covariance has an inverse; the others are refused if asked to. (n,)."""
        if residuals.covariance is None:
            return np.ones(len(residuals), dtype=np.bool_)
        bad = residuals.likelihood_terms.singular
        if bad.all() or (bad.any() and singular == "refuse"):
            raise self._singular_error(estimate, residuals, bad)
        return ~bad

    def _singular_error(
        self, estimate: AnyTrack, residuals: Residuals, singular: Bools
    ) -> TrackError:
        scan = int(np.argmax(singular))
        covariance = residuals.predicted_covariance[scan]
        smallest = float(np.linalg.eigvalsh(covariance)[0])
        variances = ", ".join(
            f"{axis} {words.number(value)}"
            for axis, value in zip(self.axes, np.diag(covariance), strict=True)
        )
        several, fewer = int(singular.sum()), self._suggest_axes(residuals)
        remedy: Remedy | None = "axes" if fewer else None if singular.all() else "bad_rows"
        return TrackError(
            f"the covariance is singular on axes {self.axes} (variances {variances}; smallest "
            f"eigenvalue {words.number(smallest)}; {several} of {len(singular)} scans)"
            f"{fewer}",
            place=f"{estimate.provenance.name}, stamp {seconds_text(int(estimate.stamp[scan]))}",
            remedy=remedy,
        )

    def _suggest_axes(self, residuals: Residuals) -> str:
        """Fewer axes that could be scored instead: the most, in the order given."""
        for count in range(self.dimension - 1, 0, -1):
            for index in combinations(range(self.dimension), count):
                block = residuals.predicted_covariance[:, index][:, :, index]
                if not normal.is_singular(block).any():
                    return f"; score on axes {''.join(self.axes[i] for i in index)}"
        return ""

    def body_residuals(self, estimate: AnyTrack, residuals: Residuals) -> Residuals:
        """The residuals in body axes, where all axes are scored and the body has some."""
        if residuals.covariance is None or not self.is_whole or not estimate.about.oriented:
            return residuals

        def in_body(covariance: Floats) -> Floats:
            return so3.rotate_covariance(so3.inverse(estimate.rotation), covariance)

        if isinstance(estimate, GaussianTrack) and residuals.reported is None:
            covariance = estimate.covariance[:, :3, :3]  # a right perturbation is in body axes
        else:
            covariance = in_body(residuals.covariance)
        return Residuals(
            so3.rotate_back(estimate.rotation, residuals.error),
            covariance,
            None if residuals.noise is None else in_body(residuals.noise),
        )

    def whitened_moment(self, residuals: Residuals) -> Floats:
        """With the symmetric root. (d, d)."""
        return normal.whitened_moment(residuals.error, residuals.predicted_covariance)

    def correlation_terms(self, residuals: Residuals) -> None:
        """A position alone has none."""
        del residuals


@dataclass(frozen=True)
class ClaimedSpace:
    """A space of pose errors xi = (rho, phi) = Log(T_mean^-1 T_ref), on the claimed axes."""

    claimed: ClaimedAxes

    name: ClassVar[SpaceName]

    @property
    def dimension(self) -> int:
        """Number of claimed axes."""
        return len(self.claimed.rows)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Of the claimed axes."""
        return self.claimed.names

    @property
    def turning(self) -> list[int]:
        """Which of the claimed axes are those of the rotation."""
        return [at for at, row in enumerate(self.claimed.rows) if row in ROTATION]

    @property
    def moving(self) -> list[int]:
        """Which of the claimed axes are those of the position."""
        return [at for at, row in enumerate(self.claimed.rows) if row not in ROTATION]

    def select(self, residuals: Residuals, rotation: Floats) -> Residuals:
        """The part of pose errors (d = 6) that this space has."""
        return self.claimed.select(residuals, rotation, self.name)


@dataclass(frozen=True)
class RotationSpace(ClaimedSpace):
    """Errors phi = Log(R_mean^T R_ref) of the rotation, about the claimed axes.

    d = 3 (roll, pitch and yaw: about x, y and z of the body), or 1: yaw alone of planar beliefs.
    """

    name: ClassVar[SpaceName] = "rotation"
    unit: ClassVar[str] = "rad"

    def whitened_moment(self, residuals: Residuals) -> Floats:
        """With the symmetric root. (d, d)."""
        return normal.whitened_moment(residuals.error, residuals.predicted_covariance)

    def correlation_terms(self, residuals: Residuals) -> None:
        """A rotation alone has none."""
        del residuals


@dataclass(frozen=True)
class PoseSpace(ClaimedSpace):
    """Errors xi of position and rotation together.

    d = 6, or what is claimed: x, y and yaw of planar beliefs.
    """

    name: ClassVar[SpaceName] = "pose"
    unit: ClassVar[str] = "1"

    def whitened_moment(self, residuals: Residuals) -> Floats:
        """phi first, then rho given phi, each with the symmetric root. (d, d).

        A symmetric root of the whole would depend on the body's origin and on units.
        """
        moment = np.zeros((self.dimension, self.dimension))
        predicted = residuals.predicted_covariance
        for part in chunks(len(residuals)):
            error, covariance = residuals.error[part], predicted[part]
            white = whiten_pose(error, covariance, rotations=len(self.turning))
            moment += white.T @ white
        return moment / len(residuals)

    def correlation_terms(self, residuals: Residuals) -> "CorrelationTerms | None":
        """How rho and phi err together, under the predicted covariance."""
        if not self.moving or not self.turning or residuals.ensemble is not None:
            return None  # a sample of particles has some correlation by chance
        found = CorrelationTerms(*np.empty((4, len(residuals))))
        predicted = residuals.predicted_covariance
        for part in chunks(len(residuals)):
            error, covariance = residuals.error[part], predicted[part]
            r, p = (normal.columns(error[:, rows]) for rows in (self.moving, self.turning))
            rr, rp, pp = _blocks(covariance, self.moving, self.turning)
            own, other = normal.factor_covariance(rr), normal.factor_covariance(pp)
            first, second = own.solve(r), other.solve(p)
            cross = [list(np.ascontiguousarray(row)) for row in np.moveaxis(rp, 0, -1)]
            across = list(zip(*cross, strict=True))
            by_column = [own.solve(list(column)) for column in across]  # S_rr^-1 S_rp
            by_row = [other.solve(row) for row in cross]  # S_pp^-1 S_pr
            found.found[part] = sum(
                first[i] * cross[i][j] * second[j] for i in range(len(r)) for j in range(len(p))
            )
            found.claimed[part] = sum(
                by_column[j][i] * by_row[i][j] for i in range(len(r)) for j in range(len(p))
            )
            found.position_nees[part] = sum(x * y for x, y in zip(r, first, strict=True))
            found.rotation_nees[part] = sum(x * y for x, y in zip(p, second, strict=True))
        found.position_nees[:] /= len(self.moving)
        found.rotation_nees[:] /= len(self.turning)
        return found


def _blocks(covariance: Floats, first: list[int], second: list[int]) -> tuple[Floats, ...]:
    """S_11, S_12, S_22."""
    rows = covariance[:, first]
    last = covariance[:, second][:, :, second]
    return rows[:, :, first], rows[:, :, second], last


def path_axes(reference: Track) -> dict[str, Floats]:
    """Horizontal directions along and across (to the left of) the reference's motion. (n, 3) each.

    While standing, the last direction of motion holds; empty if nothing moves.
    """
    if len(reference) < 2:
        return {}
    x, y = (np.gradient(np.ascontiguousarray(axis)) for axis in reference.position[:, :2].T)
    length = np.sqrt(x * x + y * y)
    moving = length > STANDING_M
    if not moving.any():
        return {}
    if not moving.all():
        latest = np.maximum.accumulate(np.where(moving, np.arange(len(length)), -1))
        latest = np.where(latest < 0, int(np.argmax(moving)), latest)
        x, y, length = x[latest], y[latest], length[latest]
    along, cross = np.zeros((2, 3, len(x)))
    np.divide(x, length, out=along[0])
    np.divide(y, length, out=along[1])
    np.negative(along[1], out=cross[0])
    cross[1] = along[0]
    return {"along": along.T, "cross": cross.T}
