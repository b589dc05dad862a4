"""Fits of one track of positions to another, by the freedoms that an estimator leaves open.

Source: S. Umeyama, Least-squares estimation of transformation parameters between two point
patterns, 1991 (se3, sim3); the yaw fit is its plane case about the vertical axis.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track


@dataclass(frozen=True)
class Alignment:
    """reference_T_estimate of the worlds, how it was found, and how well it fits.

    `freedoms` counts the degrees of freedom that were taken from the data; `free` names the
    directions that the data leave open (degenerate geometry), where the fit is arbitrary.
    """

    kind: str
    rotation: Floats  # (3, 3)
    translation: Floats  # (3,)
    scale: float = 1.0
    freedoms: int = 0
    free: tuple[str, ...] = ()
    residual_m: float | None = None  # RMSE of the fitted poses
    fitted_scans: int = 0
    fitted_path_m: float = 0.0

    @overload
    def __call__(self, track: GaussianTrack) -> GaussianTrack: ...
    @overload
    def __call__(self, track: AnyTrack) -> AnyTrack: ...
    def __call__(self, track: AnyTrack) -> AnyTrack:
        """The same beliefs in the reference's world.

        A rotation and translation of the world multiply on the left and leave the right
        perturbation untouched; a scale stretches its position part.
        """
        turn = so3.quaternion(self.rotation)
        if isinstance(track, ParticleTrack):
            rows = {
                "particle_position": self.aligned_position(track.particle_position),
                "particle_rotation": so3.compose(turn, track.particle_rotation),
            }
            return track.with_arrays(rows)
        rows = {
            "position": self.aligned_position(track.position),
            "rotation": so3.compose(turn, track.rotation),
        }
        if isinstance(track, GaussianTrack) and self.scale != 1.0:
            stretch = np.array([self.scale] * 3 + [1.0] * 3)
            rows["covariance"] = track.covariance * np.outer(stretch, stretch)
            cross = track.cross and track.cross.transform(np.diag(stretch))
            return track.with_arrays(rows, cross=cross)
        return track.with_arrays(rows)

    def aligned_position(self, position: Floats) -> Floats:
        """Positions in the reference's world: scale R x + t. (n, 3)."""
        moved = so3.rotate_all(self.scale * self.rotation, position)
        moved += self.translation
        return moved


IDENTITY = Alignment("none", np.eye(3), np.zeros(3))


FEWEST_POSITIONS = 3  # poses that a fit needs
DEGENERATE = 1e-6  # spread of the positions across a direction, relative to their largest spread


@dataclass(frozen=True)
class CentredPositions:
    """Two sets of positions about their centres, and what their shape leaves open."""

    source_centre: Floats
    target_centre: Floats
    source: Floats
    target: Floats

    @cached_property
    def cross(self) -> Floats:
        """Sum of target source^T. (3, 3)."""
        return self.target.T @ self.source

    def spread(self) -> Floats:
        """Spread that source and target share along principal directions, largest first. (3,)."""
        return np.sqrt(np.linalg.svd(self.cross / len(self.source), compute_uv=False))


def turn_and_scale(kind: str, cross: Floats, square: float) -> tuple[Floats, float]:
    """Rotation and scale of a fit. (3, 3), scalar -> (3, 3), scalar.

    `cross` is the sum of target source^T and `square` that of |source|^2, about their centres.
    """
    if kind == "yaw":
        angle = np.arctan2(cross[1, 0] - cross[0, 1], cross[0, 0] + cross[1, 1])
        return so3.matrix(so3.exp(np.array([0.0, 0.0, angle]))), 1.0
    rotation = _rotation(cross)
    if kind == "se3" or square == 0:
        return rotation, 1.0
    scale = float(np.trace(rotation.T @ cross) / square)
    if scale <= 0:
        raise PairingError("the best scale is not positive: the tracks do not have the same shape")
    return rotation, scale


def fit_se3(source: Floats, target: Floats) -> Alignment:
    """Rotation and translation that bring source closest to target. (n, 3) each."""
    shape = _centre_positions(source, target)
    rotation, _ = turn_and_scale("se3", shape.cross, 0.0)
    return _make_alignment("se3", shape, rotation, freedoms=6, free=_free_rotations(shape.spread()))


def fit_sim3(source: Floats, target: Floats) -> Alignment:
    """Rotation, translation and scale."""
    shape = _centre_positions(source, target)
    square = float(np.sum(shape.source**2))
    rotation, scale = turn_and_scale("sim3", shape.cross, square)
    free = (*_free_rotations(shape.spread()), *(() if square else ("scale",)))
    return _make_alignment("sim3", shape, rotation, scale=scale, freedoms=7, free=free)


def fit_yaw(source: Floats, target: Floats) -> Alignment:
    """Translation and a rotation about the vertical axis: what gravity leaves open."""
    shape = _centre_positions(source, target)
    cross = shape.cross
    rotation, _ = turn_and_scale("yaw", cross, 0.0)
    turn = np.hypot(cross[1, 0] - cross[0, 1], cross[0, 0] + cross[1, 1])
    flat = np.sqrt(turn / len(source))  # horizontal spread that both tracks share
    size = max(float(shape.spread()[0]), float(np.abs(source).max()) * np.finfo(np.float64).eps)
    free = ("rotation about the vertical",) if flat <= DEGENERATE * size else ()
    return _make_alignment("yaw", shape, rotation, freedoms=4, free=free)


def fit_nothing(source: Floats, target: Floats) -> Alignment:
    """No alignment: both tracks speak of one world."""
    del source, target
    return IDENTITY


def fit_first_pose(estimate: AnyTrack, reference: Track) -> Alignment:
    """The motion that makes the first matched poses equal, orientation included."""
    if not (estimate.about.oriented and reference.about.oriented):
        raise PairingError("the first poses cannot be made equal: one track has no orientation")
    rotation = so3.matrix(reference.rotation[0]) @ so3.matrix(estimate.rotation[0]).T
    translation = reference.position[0] - rotation @ estimate.position[0]
    return Alignment(
        "first-pose", rotation, translation, freedoms=6, residual_m=0.0, fitted_scans=1
    )


FITS: dict[str, Callable[[Floats, Floats], Alignment]] = {
    "none": fit_nothing,
    "se3": fit_se3,
    "yaw": fit_yaw,
    "sim3": fit_sim3,
}


def _centre_positions(source: Floats, target: Floats) -> CentredPositions:
    if len(source) < FEWEST_POSITIONS:
        raise PairingError(f"{len(source)} matched poses are too few for a fit; 3 are needed")
    ours, theirs = centre_of(source), centre_of(target)
    return CentredPositions(ours, theirs, source - ours, target - theirs)


def centre_of(position: Floats) -> Floats:
    """Mean, from the first pose on: poses at one point have exactly no spread. (n, 3) -> (3,)."""
    return position[0] + (position - position[0]).mean(axis=0)


def _rotation(cross: Floats) -> Floats:
    """The rotation R that maximises trace(R^T cross), by singular values; never a reflection."""
    left, _, right = np.linalg.svd(cross)
    sign = np.sign(np.linalg.det(left @ right)) or 1.0
    return (left * np.array([1.0, 1.0, sign])) @ right


def _free_rotations(spread: Floats) -> tuple[str, ...]:
    if spread[0] == 0:
        return ("all rotations (the positions are one point)",)
    if spread[1] <= DEGENERATE * spread[0]:
        return ("rotation about the path (the positions lie on a line)",)
    return ()


def _make_alignment(
    kind: str,
    shape: CentredPositions,
    rotation: Floats,
    *,
    scale: float = 1.0,
    freedoms: int,
    free: tuple[str, ...],
) -> Alignment:
    residual = so3.rotate_all(scale * rotation, shape.source)
    residual -= shape.target
    steps = np.diff(shape.target, axis=0)
    open_freedoms = sum(3 if word.startswith("all") else 1 for word in free)
    return Alignment(
        kind,
        rotation,
        shape.target_centre - scale * rotation @ shape.source_centre,
        scale,
        freedoms - open_freedoms,
        free,
        float(np.sqrt(np.einsum("ni,ni->", residual, residual) / len(residual))),
        len(shape.source),
        float(np.sqrt(np.einsum("ni,ni->n", steps, steps)).sum()),
    )
