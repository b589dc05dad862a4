"""Residuals of matched, aligned tracks: errors and covariances in the axes of the reference."""

from itertools import combinations

import numpy as np

from smfeval.errors import PairingError, TrackError
from smfeval.evaluation.options import Options
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import chunks
from smfeval.score import Ensemble, Residuals
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

FEW, MOVED_M = 10, 1.0  # fewer scans, or a shorter way, may well be without a turn
STANDING_M = 1e-3  # a step shorter than this has no direction; the last one that had is kept


def residuals_of(estimate: AnyTrack, reference: Track, options: Options) -> Residuals:
    """Mean minus reference with the uncertainties of both, on the scored axes."""
    index = options.axis_index
    noise = None
    if options.reference_covariance and isinstance(reference, GaussianTrack):
        noise = _select_axes(reference.position_covariance, index)
    if isinstance(estimate, ParticleTrack):
        return _particle_residuals(estimate, reference, index, noise)
    error = _difference(estimate.position, reference.position, index)
    covariance = None
    if isinstance(estimate, GaussianTrack):
        covariance = _select_axes(estimate.position_covariance, index)
    return Residuals(error, covariance, noise)


def _particle_residuals(
    estimate: ParticleTrack, reference: Track, index: list[int], noise: Floats | None
) -> Residuals:
    truth = np.repeat(reference.position, estimate.count, axis=0)
    difference = (estimate.particle_position - truth)[:, index]
    ensemble = Ensemble(estimate.offset, difference, estimate.probability)
    mean = np.repeat(estimate.position, estimate.count, axis=0)
    away = (estimate.particle_position - mean)[:, index]
    outer = ensemble.probability[:, None, None] * away[:, :, None] * away[:, None, :]
    error = _difference(estimate.position, reference.position, index)
    return Residuals(error, ensemble.sum(outer), noise, ensemble)


def _difference(position: Floats, reference: Floats, index: list[int]) -> Floats:
    """Position minus reference on some axes; the scans of an axis are neighbours in memory."""
    error = np.empty((len(index), len(position)))
    for row, axis in zip(error, index, strict=True):
        np.subtract(position[:, axis], reference[:, axis], out=row)
    return error.T


def _select_axes(covariance: Floats, index: list[int]) -> Floats:
    if index == [0, 1, 2]:
        return covariance
    return np.ascontiguousarray(covariance[:, index][:, :, index])


def regular_scans(estimate: AnyTrack, residuals: Residuals, options: Options) -> Bools:
    """Scans whose covariance has an inverse on the scored axes; refuses the others if asked to."""
    if residuals.covariance is None:
        return np.ones(len(residuals), dtype=np.bool_)
    singular = normal.is_singular(residuals.predicted_covariance, residuals.likelihood_terms.pivot)
    if singular.all() or (singular.any() and options.singular == "refuse"):
        raise _singular_error(estimate, residuals, singular, options.axes)
    return ~singular


def _singular_error(
    estimate: AnyTrack, residuals: Residuals, singular: Bools, axes: str
) -> TrackError:
    scan = int(np.argmax(singular))
    covariance = residuals.predicted_covariance[scan]
    smallest = float(np.linalg.eigvalsh(covariance)[0])
    variances = ", ".join(
        f"{axis} {value:.3g}" for axis, value in zip(axes, np.diag(covariance), strict=True)
    )
    several = int(singular.sum())
    return TrackError(
        f"the covariance is singular on axes {axes} (variances {variances}; smallest eigenvalue "
        f"{smallest:.3g}; {several} of {len(singular)} scans){_suggest_axes(residuals, axes)}",
        place=f"{estimate.provenance.name}, stamp {seconds_text(int(estimate.stamp[scan]))}",
        remedy=None if singular.all() else "bad_rows",
    )


def _suggest_axes(residuals: Residuals, axes: str) -> str:
    """Fewer axes that could be scored instead: the most, in the order given."""
    for count in range(len(axes) - 1, 0, -1):
        for index in combinations(range(len(axes)), count):
            block = residuals.predicted_covariance[:, index][:, :, index]
            if not normal.is_singular(block).any():
                return f"; score on axes {''.join(axes[i] for i in index)}"
    return ""


def body_residuals(estimate: AnyTrack, residuals: Residuals) -> Residuals:
    """The same residuals in body axes, where all three axes are scored; else as they are."""
    if residuals.covariance is None or residuals.dimension < 3 or not estimate.about.oriented:
        return residuals

    def in_body(covariance: Floats) -> Floats:
        return so3.rotate_covariance(so3.inverse(estimate.rotation), covariance)

    if isinstance(estimate, GaussianTrack):
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


def check_reference(estimate: AnyTrack, reference: AnyTrack) -> Track:
    """The reference, if it can be one.

    If it has uncertainty and the estimate has none, the two were probably exchanged.
    """
    certain = not isinstance(estimate, GaussianTrack | ParticleTrack)
    if certain and isinstance(reference, GaussianTrack | ParticleTrack):
        raise PairingError(
            f"the reference ({reference.provenance.name}) reports uncertainty and the estimate "
            f"({estimate.provenance.name}) does not: are they exchanged?"
        )
    if isinstance(reference, ParticleTrack):
        raise PairingError("the reference is a set of particles; poses are needed")
    if _never_turns(reference):
        note = "its quaternion never changes on the way; taken as positions without orientation"
        return reference.with_about(oriented=False).with_notes(note)
    return reference


def _never_turns(reference: Track) -> bool:
    """Whether a moving reference has placeholder rotations (GNSS written as TUM)."""
    if not reference.about.oriented or len(reference) < FEW:
        return False
    first, parts = reference.rotation[0], chunks(len(reference))
    if not all((reference.rotation[part] == first).all() for part in parts):
        return False
    return float(np.ptp(reference.position, axis=0).max()) > MOVED_M
