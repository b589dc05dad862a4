"""Errors of whole poses, xi = (rho, phi) = Log(T_mean^-1 T_ref), and what a belief claims of them.

The covariance of a belief is that of its right perturbation, T = T_mean Exp(xi), so error and
covariance are in the same axes, those of the body. A reference T_ref = T Exp(-xi_ref) of covariance
S_ref is predicted by T_mean Exp(xi) Exp(-xi_ref): S + S_ref to first order, whatever the error.
"""

from collections.abc import Collection
from typing import Literal

import numpy as np

from smfeval import words
from smfeval.align.joint import rotate_blocks
from smfeval.dataclass import dataclass
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, median_of, spaced_indices
from smfeval.maths.se3 import Pose
from smfeval.maths.symmetric import chunks, unpack_lower
from smfeval.score.pose import AXES, ROTATION
from smfeval.score.residuals import Ensemble, Residuals, SpaceName
from smfeval.score.rotation import SIGMA_REFUSED_RAD
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

POSITION_ROWS = (0, 1, 2)
UNCLAIMED = 1e-15  # variance of an axis beside the largest of its kind: nothing is claimed
NOT_CLAIMED = "nothing is reported"
SAMPLED = 2000  # scans, evenly spaced, that show what a track claims
SMALL_RAD = 1e-3  # below this a series of two terms is exact to the last bit

WIDE = f"sigma above {words.exact(SIGMA_REFUSED_RAD)} rad"

Frame = Literal["body", "world"]


def pose_error(estimate: Pose, reference: Pose) -> Floats:
    """xi = (rho, phi) = Log(T_mean^-1 T_ref), over chunks of scans. (n, 3), (n, 4) -> (n, 6).

    rho = V(phi)^-1 d = d - phi x d / 2 + c phi x (phi x d), d = R_mean^T (p_ref - p_mean) and
    c = (1 - a cot a) / (4 a^2) with a half the angle.
    """
    out = np.empty((6, len(estimate[0])))
    for part in chunks(out.shape[1]):
        q = so3.compose(
            so3.inverse(np.asfortranarray(estimate[1][part])), np.asfortranarray(reference[1][part])
        )
        x, y, z = out[3:, part] = np.ascontiguousarray(so3.log(q).T)
        square = x * x + y * y + z * z
        small = square < SMALL_RAD**2
        half = 0.5 * np.sqrt(np.where(small, 1.0, square))
        exact = (1 - half / np.tan(half)) / (4 * half * half)
        c = np.where(small, 1 / 12 + square / 720, exact)
        away = so3.rotate_back(estimate[1][part], reference[0][part] - estimate[0][part])
        d = np.ascontiguousarray(away.T)
        once = _cross((x, y, z), d)
        twice = _cross((x, y, z), once)
        for row, straight, first, second in zip(out[:3], d, once, twice, strict=True):
            row[part] = straight - 0.5 * first + c * second
    return out.T


def _cross(a: tuple[Floats, ...], b: Floats | tuple[Floats, ...]) -> tuple[Floats, ...]:
    """a x b, by columns."""
    (ax, ay, az), (bx, by, bz) = a, b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def pose_residuals(
    estimate: AnyTrack,
    reference: Track,
    *,
    reference_covariance: bool = True,
    claimed: Floats | None = None,
) -> Residuals:
    """Errors of whole poses with the uncertainties of both, d = 6.

    `claimed` is the covariance of the errors where a fit changed it. (n, 6, 6).
    """
    belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
    error = pose_error((belief.position, belief.rotation), (reference.position, reference.rotation))
    noise = None
    if reference_covariance and isinstance(reference, GaussianTrack):
        noise = reference.covariance
    if not isinstance(belief, GaussianTrack):
        return Residuals(error, None, noise, space="pose")
    if claimed is None:
        seen = _seen_from(estimate, reference) if isinstance(estimate, ParticleTrack) else None
        return Residuals(error, belief.covariance, noise, seen, space="pose")
    return Residuals(error, claimed, noise, reported=belief.covariance, space="pose")


def _seen_from(estimate: ParticleTrack, reference: Track) -> Ensemble:
    """Particles in the axes of the reference's body: (R_ref^T (t_i - t), Log(R_ref^T R_i))."""
    q = np.repeat(reference.rotation, estimate.count, axis=0)
    away = estimate.particle_position - np.repeat(reference.position, estimate.count, axis=0)
    turned = so3.log(so3.compose(so3.inverse(q), estimate.particle_rotation))
    difference = np.concatenate([so3.rotate_back(q, away), turned], axis=1)
    return Ensemble(estimate.offset, difference, estimate.probability)


def _rotate(rotation: Floats, covariance: Floats) -> Floats:
    """diag(R, R) S diag(R, R)^T over chunks of scans. (n, 4), (n, 6, 6) -> (n, 6, 6)."""
    out = np.empty_like(covariance)
    for part in chunks(len(covariance)):
        out[part] = rotate_blocks(so3.matrix(rotation[part]), covariance[part])
    return out


@dataclass(frozen=True)
class ClaimedAxes:
    """The rows of xi that a belief claims something about, in body axes or in those of the world.

    `reasons` says of the other rows why they are left out.
    """

    rows: tuple[int, ...]
    frame: Frame = "body"
    reasons: tuple[tuple[int, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the claimed rows."""
        return tuple(AXES[row] for row in self.rows)

    def of_rotation(self) -> "ClaimedAxes":
        """The rows of the rotation alone."""
        rows = tuple(row for row in self.rows if row in ROTATION)
        reasons = tuple(each for each in self.reasons if each[0] in ROTATION)
        return ClaimedAxes(rows, self.frame, reasons)

    def within(self, rows: Collection[int]) -> "ClaimedAxes":
        """Those of the claimed rows that are among some, in the axes of the world."""
        return ClaimedAxes(tuple(row for row in self.rows if row in rows), "world", self.reasons)

    @property
    def left_out(self) -> str:
        """The other rows and why they are left out: 'z (nothing is claimed)'; '' for none."""
        named = {
            why: words.join(AXES[row] for row, other in self.reasons if other == why)
            for why in dict.fromkeys(why for _, why in self.reasons)
        }
        return "; ".join(f"{rows} ({why})" for why, rows in named.items())

    def select(self, residuals: Residuals, rotation: Floats, space: SpaceName) -> Residuals:
        """The claimed rows of pose errors (d = 6) as the residuals of a space."""
        if self.frame == "world":
            residuals = _in_world(residuals, rotation)
        ensemble = residuals.ensemble
        if ensemble is not None:
            seen = ensemble.difference[:, self.rows]
            ensemble = Ensemble(ensemble.offset, seen, ensemble.probability)
        return Residuals(
            residuals.error[:, self.rows],
            self._block(residuals.covariance),
            self._block(residuals.noise),
            ensemble,
            self._block(residuals.reported),
            space,
            self.rows,
        )

    def _block(self, covariance: Floats | None) -> Floats | None:
        """The claimed rows and columns; a view where they are neighbours."""
        if covariance is None:
            return None
        first, last = self.rows[0], self.rows[-1] + 1
        if last - first == len(self.rows):
            return covariance[:, first:last, first:last]
        return covariance[:, self.rows][:, :, self.rows]


def _in_world(residuals: Residuals, rotation: Floats) -> Residuals:
    """The same errors in the axes of the world at the body: (R rho, R phi)."""
    halves = [so3.rotate(rotation, residuals.error[:, at : at + 3]) for at in (0, 3)]
    covariance, noise, reported = (
        None if each is None else _rotate(rotation, each)
        for each in (residuals.covariance, residuals.noise, residuals.reported)
    )
    error = np.concatenate(halves, axis=1)
    return Residuals(error, covariance, noise, residuals.ensemble, reported, residuals.space)


def find_claimed(triangle: Floats, rotation: Floats) -> ClaimedAxes:
    """The rows that a track claims, in body axes or, if that leaves it singular, in the world's.

    A row is not claimed where its variance is zero, or a rotation's sigma above SIGMA_REFUSED_RAD,
    in half of the scans or more. Lower triangles (n, 21), (n, 4).
    """
    at = spaced_indices(len(triangle), SAMPLED)
    covariance = unpack_lower(triangle[at])
    found = _claimed_rows(covariance, "body")
    if _is_regular(covariance, found):
        return found
    turned = _rotate(rotation[at], covariance)
    in_world = _claimed_rows(turned, "world")
    return in_world if _is_regular(turned, in_world) else found


def _claimed_rows(covariance: Floats, frame: Frame) -> ClaimedAxes:
    variance = median_of(np.einsum("nii->ni", covariance), axis=0)
    reasons: list[tuple[int, str]] = []
    for rows in (POSITION_ROWS, ROTATION):
        wide = [row for row in rows if rows == ROTATION and variance[row] > SIGMA_REFUSED_RAD**2]
        largest = max((variance[row] for row in rows if row not in wide), default=0.0)
        for row in rows:
            if row in wide:
                reasons.append((row, WIDE))
            elif variance[row] <= UNCLAIMED * largest or variance[row] <= 0:
                reasons.append((row, NOT_CLAIMED))
    without = {row for row, _ in reasons}
    kept = tuple(row for row in range(len(AXES)) if row not in without)
    return ClaimedAxes(kept, frame, tuple(reasons))


def _is_regular(covariance: Floats, axes: ClaimedAxes) -> bool:
    if not axes.rows:
        return False
    block = covariance[:, axes.rows][:, :, axes.rows]
    return float(np.mean(normal.is_singular(block))) < 0.5
