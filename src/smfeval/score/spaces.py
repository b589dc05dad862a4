"""The spaces in which a belief is scored, and the residuals of matched, aligned tracks in them.

A space says what an error is, in which axes and unit, and how many dimensions it has; nothing
outside this module counts them. Position (d = 1 to 3) is always there.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from smfeval import words
from smfeval.errors import OptionError, TrackError
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import seconds_text
from smfeval.score.residuals import Ensemble, Residuals
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

POSITION_AXES = "xyz"
STANDING_M = 1e-3  # a step shorter than this has no direction; the last one that had is kept


@dataclass(frozen=True)
class PositionSpace:
    """Errors of the position in the axes of the reference's world, on some of x, y and z.

    `reference_covariance` says whether the reference's own covariance enters the prediction.
    """

    axes: str = POSITION_AXES
    reference_covariance: bool = True

    name: ClassVar[str] = "position"
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
        outer = ensemble.probability[:, None, None] * away[:, :, None] * away[:, None, :]
        error = self._difference(estimate.position, reference.position)
        return Residuals(error, ensemble.sum(outer), noise, ensemble)

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
        bad = normal.is_singular(residuals.predicted_covariance, residuals.likelihood_terms.pivot)
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
        several = int(singular.sum())
        return TrackError(
            f"the covariance is singular on axes {self.axes} (variances {variances}; smallest "
            f"eigenvalue {words.number(smallest)}; {several} of {len(singular)} scans)"
            f"{self._suggest_axes(residuals)}",
            place=f"{estimate.provenance.name}, stamp {seconds_text(int(estimate.stamp[scan]))}",
            remedy=None if singular.all() else "bad_rows",
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
