"""Fits of one track of positions to another, by the freedoms that an estimator leaves open.

The gauge of an estimator says which freedoms between its world and that of the reference are open;
the alignment settles them.

Source: S. Umeyama, Least-squares estimation of transformation parameters between two point
patterns, 1991 (se3, sim3); the yaw fit is its plane case about the vertical axis.
"""

from collections.abc import Callable
from typing import overload

import numpy as np

from smfeval.align.quantities import Extent
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import chunks
from smfeval.schema import GAUGE_ALIGNMENTS, AlignmentKind
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
FREEDOMS = {"se3": 6, "sim3": 7, "yaw": 4}
DEGENERATE = 1e-6  # spread of the positions across a direction, relative to their largest spread


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
    return _fit_positions("se3", source, target)


def fit_sim3(source: Floats, target: Floats) -> Alignment:
    """Rotation, translation and scale."""
    return _fit_positions("sim3", source, target)


def fit_yaw(source: Floats, target: Floats) -> Alignment:
    """Translation and a rotation about the vertical axis: what gravity leaves open."""
    return _fit_positions("yaw", source, target)


def _fit_positions(kind: str, source: Floats, target: Floats) -> Alignment:
    """Least squares about the centres of both, and which freedoms their shape leaves open."""
    if len(source) < FEWEST_POSITIONS:
        raise PairingError(f"{len(source)} matched poses are too few for a fit; 3 are needed")
    source_centre, target_centre = centre_of(source), centre_of(target)
    cross, square = np.zeros((3, 3)), 0.0
    for part in chunks(len(source)):
        ours, theirs = source[part] - source_centre, target[part] - target_centre
        cross += theirs.T @ ours
        square += float(np.sum(ours**2)) if kind == "sim3" else 0.0
    rotation, scale = turn_and_scale(kind, cross, square)

    # spread that both share along principal directions, largest first
    spread = np.sqrt(np.linalg.svd(cross / len(source), compute_uv=False))
    free: tuple[str, ...] = ()
    if kind == "yaw":
        turn = np.hypot(cross[1, 0] - cross[0, 1], cross[0, 0] + cross[1, 1])
        flat = np.sqrt(turn / len(source))  # horizontal spread that both share
        size = max(float(spread[0]), float(np.abs(source).max()) * np.finfo(np.float64).eps)
        free = ("rotation about the vertical",) if flat <= DEGENERATE * size else ()
    elif spread[0] == 0:
        free = ("all rotations (the positions are one point)",)
    elif spread[1] <= DEGENERATE * spread[0]:
        free = ("rotation about the path (the positions lie on a line)",)
    open_freedoms = 3 if kind != "yaw" and spread[0] == 0 else len(free)
    if kind == "sim3" and not square:
        free, open_freedoms = (*free, "scale"), open_freedoms + 1

    moved = target_centre - scale * rotation @ source_centre
    left = path_m = 0.0
    for part in chunks(len(source)):
        residual = so3.rotate_all(scale * rotation, source[part] - source_centre)
        residual -= target[part] - target_centre
        steps = np.diff(target[part.start : part.stop + 1], axis=0)
        left += float(np.einsum("ni,ni->", residual, residual))
        path_m += float(np.sqrt(np.einsum("ni,ni->n", steps, steps)).sum())
    count, residual_m = len(source), float(np.sqrt(left / len(source)))
    freedoms = FREEDOMS[kind] - open_freedoms
    return Alignment(kind, rotation, moved, scale, freedoms, free, residual_m, count, path_m)


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


def centre_of(position: Floats) -> Floats:
    """Mean, from the first pose on: poses at one point have exactly no spread. (n, 3) -> (3,)."""
    away = sum((position[part] - position[0]).sum(axis=0) for part in chunks(len(position)))
    return position[0] + away / len(position)


def _rotation(cross: Floats) -> Floats:
    """The rotation R that maximises trace(R^T cross), by singular values; never a reflection."""
    left, _, right = np.linalg.svd(cross)
    sign = np.sign(np.linalg.det(left @ right)) or 1.0
    return (left * np.array([1.0, 1.0, sign])) @ right


def choose_alignment(estimate: AnyTrack, kind: AlignmentKind | None) -> AlignmentKind:
    """The alignment asked for, else that of the gauge the estimate declares, else se3."""
    return alignment_of(estimate.about.gauge) if kind is None else kind


def alignment_of(gauge: str | None) -> AlignmentKind:
    """The alignment that settles a declared gauge; se3 where none is declared."""
    return "se3" if gauge is None else GAUGE_ALIGNMENTS[gauge]


def fit_alignment(
    estimate: AnyTrack, reference: Track, kind: AlignmentKind, fit_on: Extent | None = None
) -> tuple[Alignment, Ints]:
    """The alignment of matched tracks, and the scans that are left to score.

    `fit_on` says how much of the start is fitted on; the rest is left to score.
    """
    count = len(estimate)
    if fit_on is not None and kind in ("none", "first-pose"):
        raise PairingError(f"a fit on the start needs an alignment that is fitted; {kind} is not")
    if kind == "first-pose":
        if count < 2:
            raise PairingError(
                "one matched pose is used up by the alignment; none is left to score"
            )
        return fit_first_pose(estimate, reference), np.arange(1, count)
    fitted, first = count, 0
    if fit_on is not None:
        progress = fit_on.progress(reference.stamp, reference.position)
        fitted = first = int(np.searchsorted(progress, fit_on.size))
        if fitted >= count:
            raise PairingError(
                f"a fit on the first {fit_on} leaves none of the {count} scans to score"
            )
    alignment = FITS[kind](estimate.position[:fitted], reference.position[:fitted])
    return alignment, np.arange(first, count)


def alignment_notes(scored: int, matched: int) -> tuple[str, ...]:
    """What an alignment on the start does to the errors of the rest."""
    if scored == matched:
        return ()
    return ("the error of the alignment at the start is shared by all scored scans",)
