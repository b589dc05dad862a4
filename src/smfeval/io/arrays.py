"""Arrays of a program of the user's own as a track."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import TrackError
from smfeval.io.convention import settle_about, track_of_arrays
from smfeval.io.formats import CONVENTION_OPTIONS
from smfeval.io.options import ReadOptions
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints, nanoseconds
from smfeval.maths.stamps import LAST_SECOND
from smfeval.track import Provenance, Track

ROTATION_LIMIT = 1e-3  # of an entry of R R^T - I, and of the last row of a pose
ROWS_NOTE = "stamps are row numbers, as seconds: none were given"
LEAST_STEP_NS = 1e5  # between two scans: integers nearer to each other are no nanoseconds
NO_Z = "there is no z"
NO_ROTATION_NOTE = "the rotation has no covariance: positions alone are scored"


def from_arrays(
    stamp: ArrayLike | None,
    pose: ArrayLike,
    covariance: ArrayLike | None = None,
    *,
    rotation: Any = None,
    sigma: ArrayLike | None = None,
    name: str = "arrays",
    **reading: Any,
) -> Track:
    """Make a track of arrays, with a covariance a `GaussianTrack`.

    Parameters
    ----------
    stamp
        (n,) seconds as floats, whole nanoseconds as integers, or datetime64; None: row numbers.
    pose
        World from body: (n, 4, 4) matrices, (n, 7) x y z and quaternion x y z w, or positions,
        (n, 3), or (n, 2) in a plane.
    covariance
        (n, 6, 6) of position and rotation, or (n, 3, 3) or (n, 2, 2) of the position in world
        axes, which is then scored alone; None: poses without uncertainty, such as a reference.
    rotation
        Beside positions: (n, 4) quaternions x y z w, (n, 3, 3) matrices, or a `Rotation` of scipy.
    sigma
        Instead of a covariance: (n, 2), (n, 3) or (n, 6) standard deviations.
    name
        What reports call the track.
    **reading
        How the covariance is written and what the track says of itself, by the names of `read`:
        `convention="world-position"`, `order`, `preset`, `body`, `world`, `gauge`, `bad_rows`.
    """
    options = ReadOptions(**reading)
    options.refuse_unused("arrays, which are no", frozenset(CONVENTION_OPTIONS))
    numbers = _numbers(pose, "pose")
    stamps = _stamps(np.arange(float(len(numbers))) if stamp is None else stamp)
    position, turn = _poses(numbers, len(stamps))
    if rotation is not None and turn is None:
        turn = _quaternions(rotation, len(stamps))
    elif rotation is not None:
        raise TrackError(f"pose {numbers.shape} holds rotations already; rotation= is of positions")
    axes = ("xy", NO_Z) if numbers.shape[-1] == 2 else None
    provenance = Provenance(name, notes=(ROWS_NOTE,) if stamp is None else (), axes=axes)
    matrices = _covariances(covariance, sigma, len(stamps))
    if matrices is not None and turn is not None and matrices.shape[-1] == 3:
        turn, provenance = None, replace(provenance, remarks=(NO_ROTATION_NOTE,))
    intake = options.intake(lambda row: f"{name}: row {row}")
    track = track_of_arrays(
        stamps, (position, turn), matrices, options, provenance=provenance, intake=intake
    )
    settled = settle_about(track, options)
    assert isinstance(settled, Track)
    return settled


def _covariances(covariance: Any, sigma: Any, count: int) -> Floats | None:
    """(n, 6, 6) or (n, 3, 3) of a covariance or of standard deviations; None without either."""
    if covariance is not None and sigma is not None:
        raise TrackError("covariance= and sigma= are both given; one is needed")
    if covariance is None and sigma is None:
        return None
    if sigma is not None:
        given = _numbers(sigma, "sigma")
        if given.shape not in [(count, size) for size in (2, 3, 6)]:
            text = f"({count}, 3), ({count}, 2) or ({count}, 6) is needed"
            raise TrackError(f"sigma has shape {given.shape}; {text}")
        matrices = given[:, :, None] ** 2 * np.eye(given.shape[1])
    else:
        matrices = _numbers(covariance, "covariance")
    if matrices.shape not in [(count, size, size) for size in (2, 3, 6)]:
        raise TrackError(
            f"covariance has shape {matrices.shape}; ({count}, 6, 6) is needed, or ({count}, 3, 3) "
            f"or ({count}, 2, 2) of the position"
        )
    planar = matrices.shape[-1] == 2  # a plane says nothing of z
    return np.pad(matrices, ((0, 0), (0, 1), (0, 1))) if planar else matrices


def _quaternions(rotation: Any, count: int) -> Floats:
    """Quaternions x y z w of quaternions, matrices or a `Rotation` of scipy."""
    given = _numbers(rotation.as_quat() if hasattr(rotation, "as_quat") else rotation, "rotation")
    if given.shape == (count, 3, 3):
        return so3.quaternion(given)
    if given.shape != (count, 4):
        text = f"({count}, 4) quaternions or ({count}, 3, 3) matrices are needed"
        raise TrackError(f"rotation has shape {given.shape}; {text}")
    return given


def _numbers(array: Any, name: str) -> Floats:
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrackError(f"{name} is no array of numbers ({error})") from error


def _stamps(stamp: Any) -> Ints:
    """Nanoseconds of seconds, nanoseconds or dates."""
    given = np.asarray(stamp)
    if given.dtype.kind == "M":
        return given.astype("datetime64[ns]").astype(np.int64)
    if given.dtype.kind != "f":
        if given.dtype.kind in "iu" and given.ndim == 1 and len(given) > 1:
            step = float(np.median(np.abs(np.diff(given.astype(np.float64)))))
            if 0 < step < LEAST_STEP_NS:
                raise TrackError(
                    f"stamps as integers are nanoseconds, and theirs are {step:g} apart, which is "
                    "no time between scans; give seconds as floats, or datetime64"
                )
        return given  # whole nanoseconds, or what the track refuses
    if not (np.abs(given) < LAST_SECOND).all():
        raise TrackError("stamps as floats are seconds, and some are beyond the year 2261 or NaN")
    return nanoseconds(given.astype(np.float64))


def _poses(pose: Floats, count: int) -> tuple[Floats, Floats | None]:
    """Positions, and quaternions where there are rotations."""
    if pose.shape == (count, 2):
        return np.pad(pose, ((0, 0), (0, 1))), None
    if pose.shape == (count, 3):
        return pose, None
    if pose.shape == (count, 7):
        return pose[:, :3], pose[:, 3:]
    if pose.shape != (count, 4, 4):
        raise TrackError(
            f"pose has shape {pose.shape}; for {count} stamps ({count}, 4, 4), ({count}, 7), "
            f"({count}, 3) or ({count}, 2) is needed"
        )
    turn = pose[:, :3, :3]
    off = np.abs(turn @ turn.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2))
    last = np.abs(pose[:, 3] - [0, 0, 0, 1]).max(axis=1)
    for wrong, reason in (
        (last > ROTATION_LIMIT, "its last row is not 0 0 0 1 (is it transposed?)"),
        ((off > ROTATION_LIMIT) | (np.linalg.det(turn) < 0), "its upper left 3x3 is no rotation"),
    ):
        if wrong.any():
            raise TrackError(f"pose {int(np.argmax(wrong))} is no rigid motion: {reason}")
    return pose[:, :3, 3], so3.quaternion(turn)
