"""The body frame: beliefs about one point of a rigid body, moved to another."""

from dataclasses import replace

import numpy as np

from smfeval.align.joint import INCREMENTS, increments_text, read_increments
from smfeval.errors import ConventionError
from smfeval.maths import se3
from smfeval.maths.arrays import Floats
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

CHUNK = 65536  # scans per step: bounds the memory of the products


def move_to_body(track: AnyTrack, body_T_other: se3.Pose, other: str | None) -> AnyTrack:
    """The belief about another body frame that is rigidly fixed to the track's own.

    T' = T E and S' = Ad(E^-1) S Ad(E^-1)^T for the right perturbation: the lever arm carries
    rotation uncertainty into the position. Cross-covariances C transform as S does. White noise
    that INCREMENTS declares stays the same in all directions: it is moved by itself, and what a
    lever arm l makes of its rotation is at most |l|^2 times that.
    """
    if not track.about.oriented and np.any(body_T_other[0]):
        raise ConventionError(
            f"{track.provenance.name} has positions only; an extrinsic with a lever arm needs an "
            "orientation"
        )
    about = track.with_about(body=other).about
    if isinstance(track, ParticleTrack):
        pose = (track.particle_position, track.particle_rotation)
        position, rotation = se3.compose(pose, body_T_other)
        rows = {"particle_position": position, "particle_rotation": rotation}
        return track.with_arrays(rows, about=about)
    position, rotation = se3.compose((track.position, track.rotation), body_T_other)
    rows = {"position": position, "rotation": rotation}
    if not isinstance(track, GaussianTrack):
        return track.with_arrays(rows, about=about)
    adjoint = se3.adjoint(se3.inverse(body_T_other))
    rows["covariance"] = _transform_covariance(track.covariance, adjoint)
    extra = dict(about.extra)
    if INCREMENTS in extra:
        level, shift, turn = read_increments(extra[INCREMENTS])
        moved = float(np.hypot(shift, turn * np.linalg.norm(body_T_other[0])))
        old, new = (np.diag(np.repeat([each, turn], 3) ** 2) for each in (shift, moved))
        rows["covariance"] += new - se3.sandwich(adjoint, old)
        extra[INCREMENTS] = increments_text(level, moved, turn)
        about = replace(about, extra=tuple(extra.items()))
    cross = track.cross and track.cross.transform(adjoint)
    return track.with_arrays(rows, about=about, cross=cross)


def _transform_covariance(covariance: Floats, adjoint: Floats) -> Floats:
    """Ad S Ad^T, exactly symmetric."""
    out = np.empty_like(covariance)
    for start in range(0, len(covariance), CHUNK):
        part = slice(start, start + CHUNK)
        out[part] = se3.sandwich(adjoint, covariance[part])
    return out


def to_common_body(estimate: AnyTrack, reference: AnyTrack, extrinsic: se3.Pose | None) -> AnyTrack:
    """The estimate about the reference's body; raises where two declared bodies differ.

    `extrinsic` is the pose of the reference's body in the estimate's.
    """
    ours, theirs = estimate.about.body, reference.about.body
    if extrinsic is not None:
        return move_to_body(estimate, extrinsic, theirs)
    if ours and theirs and ours != theirs:
        raise ConventionError(
            f"the estimate is about body {ours}, the reference about {theirs}; an extrinsic (pose "
            f"of {theirs} in {ours}) is needed"
        )
    return estimate
