"""Covariance conventions, converted at the door, and who decides how a source is read.

A source describes the error of a pose in its own way. With (t, R) the mean, its tangent vector
(position part, rotation part) is carried to the right perturbation T = T_mean Exp(rho, phi) by a
Jacobian J, to first order exactly, and the covariance becomes J S J^T, the cross-covariance of two
poses J_i C J_j^T:

================  ====================================  ==========================
convention        the source samples                     J
================  ====================================  ==========================
right             T = T_mean Exp(rho, phi)               identity
left              T = Exp(rho, phi) T_mean               Ad(T_mean^-1)
world-position    t = t_mean + d, R = R_mean Exp(phi)    rho = R^T d
ros               t = t_mean + d, R = Exp(theta) R_mean  rho = R^T d, phi = R^T theta
================  ====================================  ==========================

`world-position` is the error state of IKFoM filters (Fast-LIO2, Faster-LIO, Point-LIO) and of
OpenVINS: R3 x SO(3). `ros` is geometry_msgs/PoseWithCovariance (REP 103): fixed parent axes.

The user, the file, the preset or the format decides (`choose`).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.errors import FormatError
from smfeval.io.options import ReadOptions
from smfeval.io.presets import preset_named, preset_of_algorithm
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints, read_only
from smfeval.maths.symmetric import pack_lower, unpack_lower
from smfeval.schema import Order
from smfeval.track import About, AnyTrack, GaussianTrack, Intake, Provenance, Track
from smfeval.track.beliefs import normalise_quaternions

CHUNK = 65536  # scans per step, so that a million Jacobians are never held at once


POSITION_ONLY = "position only, in world axes"  # of a belief without rotations


@dataclass(frozen=True)
class Convention:
    """A way to write the error of a pose, and its Jacobian to the right perturbation."""

    words: str
    jacobian: Callable[[se3.Pose], Floats] | None


def _world_axes_jacobian(pose: se3.Pose, *, rotation: bool) -> Floats:
    """Of a position error in world axes, and a rotation error in them or in those of the body."""
    jacobian = np.zeros((*pose[0].shape[:-1], 6, 6))
    jacobian[..., :3, :3] = so3.matrix(pose[1]).swapaxes(-1, -2)
    jacobian[..., 3:, 3:] = jacobian[..., :3, :3] if rotation else np.eye(3)
    return jacobian


CONVENTIONS = {
    "right": Convention("right perturbation, T = T_mean Exp(xi)", None),
    "left": Convention(
        "left perturbation, T = Exp(xi) T_mean", lambda pose: se3.adjoint(se3.inverse(pose))
    ),
    "world-position": Convention(
        "position error in world axes, rotation error on the body side (R3 x SO(3))",
        partial(_world_axes_jacobian, rotation=False),
    ),
    "ros": Convention(
        "position and rotation error in fixed axes of the parent frame",
        partial(_world_axes_jacobian, rotation=True),
    ),
}


def to_right(covariance: Floats, pose: se3.Pose, convention: Convention, order: Order) -> Floats:
    """Covariance of the right perturbation, translation first.

    (n, 6, 6), or lower triangles (n, 21), and so is what is returned.
    """
    if convention.jacobian is None and order == "translation-first":
        return covariance
    packed, out = covariance.ndim == 2, np.empty_like(covariance)
    for part, step in _jacobians(convention.jacobian, pose):
        right = unpack_lower(covariance[part]) if packed else covariance[part]
        right = _swap_blocks(right) if order == "rotation-first" else right
        right = right if step is None else se3.sandwich(step, right)
        out[part] = pack_lower(right) if packed else right
    return out


def from_right(covariance: Floats, pose: se3.Pose, convention: Convention, order: Order) -> Floats:
    """The inverse of `to_right`: the covariance as another convention writes it."""
    out = covariance
    if convention.jacobian is not None:
        out = np.empty_like(covariance)
        for part, step in _jacobians(convention.jacobian, pose):
            back = np.linalg.inv(step).astype(np.float64, copy=False)
            out[part] = se3.sandwich(back, covariance[part])
    return _swap_blocks(out) if order == "rotation-first" else out


def _jacobians(
    jacobian: Callable[[se3.Pose], Floats] | None, pose: se3.Pose
) -> Iterator[tuple[slice, Any]]:
    """Some scans at a time, and their Jacobians, of poses with their quaternions made unit."""
    rotation = normalise_quaternions(pose[1])
    for start in range(0, len(rotation), CHUNK):
        part = slice(start, start + CHUNK)
        yield part, jacobian and jacobian((pose[0][part], rotation[part]))


def refuse_row(wrong: Any, where: Callable[[int], str], reason: Callable[[int], str]) -> None:
    """Raise on the first row of a mask (n,), with its place and what is wrong with it."""
    if wrong.any():
        row = int(np.argmax(np.asarray(wrong)))
        raise FormatError(f"{where(row)}: {reason(row)}")


def refuse_negative(deviation: Floats, where: Callable[[int], str]) -> None:
    """Raise on a standard deviation below zero, and name its row. (n, d)."""
    negative = (deviation < 0).any(axis=1)
    refuse_row(negative, where, lambda row: "a standard deviation is negative")


def from_deviations(deviation: Floats) -> Floats:
    """Diagonal covariance from standard deviations. (n, d) -> (n, d, d)."""
    return np.eye(deviation.shape[-1]) * (deviation**2)[..., None]


def _swap_blocks(covariance: Floats) -> Floats:
    """Exchange the two 3x3 blocks of rows and of columns."""
    return np.roll(covariance, 3, axis=(-1, -2))


@dataclass(frozen=True)
class Choice:
    """A value, who decided it, and a note where somebody was overruled."""

    value: Any
    decided_by: str
    note: str | None = None


FALLBACKS = ("the format", "assumed")


def choose(what: str, *candidates: tuple[str, Any]) -> Choice:
    """The first candidate (who, value) that has a value; notes a later one that differs.

    What a format implies or we assume is a fallback; overruling it needs no note. Where no
    candidate has a value, None is decided by nobody.
    """
    known = [(who, value) for who, value in candidates if value is not None]
    who, value = known[0] if known else ("nobody", None)
    overruled = [
        f"{other} says {given}"
        for other, given in known[1:]
        if other not in FALLBACKS and given != value
    ]
    note = f"{what}: {who} ({value}) wins; {', '.join(overruled)}" if overruled else None
    return Choice(value, who, note)


@dataclass(frozen=True)
class SettledConvention:
    """How a source's covariance is to be read."""

    convention: Convention
    order: Order
    words: str
    notes: tuple[str, ...]
    assumed: bool  # in part: neither options nor file nor format tell

    def record(self, source: Provenance) -> Provenance:
        """The provenance of a track whose covariance was read so."""
        notes, assumed = source.notes + self.notes, self.assumed
        return replace(source, convention=self.words, notes=notes, convention_assumed=assumed)

    def to_right(self, covariance: Floats, pose: se3.Pose) -> Floats:
        """Covariance as smfeval keeps it: right perturbation, translation first; packed or not."""
        with np.errstate(invalid="ignore", over="ignore"):  # bad rows are for the track to judge
            return read_only(to_right(covariance, pose, self.convention, self.order))

    def cross_to_right(self, block: Floats, first: se3.Pose, second: se3.Pose) -> Floats:
        """Cov(xi_i, xi_j) of two scans' right perturbations: J_i C J_j^T. (k, 6, 6)."""
        ordered = _swap_blocks(block) if self.order == "rotation-first" else block
        jacobian = self.convention.jacobian
        if jacobian is None:
            return ordered
        out = np.empty_like(ordered)
        with np.errstate(invalid="ignore", over="ignore"):
            both = zip(_jacobians(jacobian, first), _jacobians(jacobian, second), strict=True)
            for (part, left), (_, right) in both:
                out[part] = left @ ordered[part] @ np.swapaxes(right, -1, -2)
        return out


PresetOrder = Literal["state_order", "message_order"]


def settle_convention(
    options: ReadOptions,
    *,
    declared: tuple[str | None, Order | None] = (None, None),
    implied: tuple[str | None, Order | None] = (None, None),
    preset_order: PresetOrder | None = None,
) -> SettledConvention:
    """Decide convention and block order of a source that carries covariances.

    A preset knows the filter's error state whatever the file says. `preset_order` names the block
    order of the preset that this source could have; None where columns have an order of their own.
    """
    preset, who = preset_named(options.preset), f"the preset {options.preset}"
    name = choose(
        "covariance convention",
        ("the option", options.convention),
        (who, preset.convention if preset else None),  # before the header: see `ReadOptions`
        ("the header", declared[0]),
        ("the format", implied[0]),
        ("assumed", "right"),
    )
    order = choose(
        "block order",
        ("the option", options.order),
        ("the header", declared[1]),
        (who, getattr(preset, preset_order or "", None)),
        ("the format", implied[1]),
        ("assumed", "translation-first"),
    )
    convention = CONVENTIONS[name.value]
    told = f"{convention.words} ({name.decided_by}); {order.value} ({order.decided_by})"
    notes = tuple(choice.note for choice in (name, order) if choice.note)
    assumed = "assumed" in (name.decided_by, order.decided_by)
    return SettledConvention(convention, order.value, told, notes, assumed)


def track_of_arrays(
    stamp: Ints,
    pose: tuple[Floats, Floats | None],
    covariance: Floats | None,
    options: ReadOptions,
    *,
    provenance: Provenance,
    intake: Intake,
    about: About | None = None,
    declared: tuple[str | None, Order | None] = (None, None),
    implied: str | None = None,
    protection: Floats | None = None,
) -> Track:
    """Poses or beliefs of arrays as a table has them, translation first.

    Without rotations it is a belief about positions alone, in world axes: of a covariance
    (n, 6, 6) or (n, 3, 3) the block of the position counts.
    """
    position, rotation = pose
    about = about or About()
    about = about if rotation is not None else replace(about, oriented=False)
    turn = np.tile([0.0, 0.0, 0.0, 1.0], (len(stamp), 1)) if rotation is None else rotation
    shared: dict[str, Any] = {"about": about, "intake": intake, "protection": protection}
    if covariance is None:
        return Track(stamp, position, turn, provenance=provenance, **shared)
    settled = settle_convention(options, declared=declared, implied=(implied, "translation-first"))
    if rotation is None:
        covariance = np.pad(covariance[:, :3, :3], ((0, 0), (0, 3), (0, 3)))
        settled = replace(settled, words=POSITION_ONLY, assumed=False)
    else:
        covariance = settled.to_right(covariance, (position, rotation))
    provenance = settled.record(provenance)
    return GaussianTrack(stamp, position, turn, covariance, provenance=provenance, **shared)


def settle_about(track: AnyTrack, options: ReadOptions) -> AnyTrack:
    """Body, world and gauge of a track that was read, as option, preset or file decide."""
    preset, gaussian = preset_named(options.preset), isinstance(track, GaussianTrack)
    changes: dict[str, Any] = {}
    notes = []
    if not gaussian:
        given = sorted(options.given_names & {"convention", "order", "lag"})
        notes = [f"option {name} has no effect: there are no covariances" for name in given]
    for word in ("body", "world", "gauge"):
        choice = choose(
            word,
            ("the option", getattr(options, word)),
            ("the header", getattr(track.about, word)),
            (f"the preset {options.preset}", getattr(preset, word, None)),
        )
        changes |= {} if choice.value is None else {word: choice.value}
        notes += [choice.note] if choice.note else []
    if preset is not None and preset.caution and gaussian:
        notes.append(f"preset {preset.name}: {preset.caution}")

    remarks, read_as = track.provenance.remarks, track.provenance.convention
    told = options.preset or options.convention
    known = None if told or not gaussian else preset_of_algorithm(track.about.algorithm)
    if known and read_as and not read_as.startswith(CONVENTIONS[known.convention].words):
        remarks += (
            f"the header says {track.about.algorithm}, whose own covariance is {known.convention}: "
            f"if it was copied as it is, --from {known.name} reads it so",
        )
    settled = track.with_arrays({}, provenance=replace(track.provenance, remarks=remarks))
    return settled.with_about(**changes).with_notes(*notes)
