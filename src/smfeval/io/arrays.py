"""Arrays of a program of the user's own as a track."""

from dataclasses import replace
from typing import Any

import numpy as np

from smfeval.errors import TrackError
from smfeval.io.convention import settle_about, track_of_arrays
from smfeval.io.formats import CONVENTION_OPTIONS
from smfeval.io.options import ReadOptions
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import LAST_SECOND, NANOSECONDS
from smfeval.track import Provenance, Track

ROTATION_LIMIT = 1e-3  # of an entry of R R^T - I, and of the last row of a pose
NO_ROTATION_NOTE = "the rotation has no covariance: positions alone are scored"


def from_arrays(
    stamp: Any, pose: Any, covariance: Any = None, *, name: str = "arrays", **reading: Any
) -> Track:
    """Make a track of arrays, with a covariance a `GaussianTrack`.

    Parameters
    ----------
    stamp
        (n,) seconds as floats, whole nanoseconds as integers, or datetime64.
    pose
        World from body: (n, 4, 4) matrices, (n, 7) x y z and quaternion x y z w, or (n, 3)
        positions alone.
    covariance
        (n, 6, 6) of position and rotation, or (n, 3, 3) of the position in world axes, which is
        then scored alone; None: poses without uncertainty, such as a reference.
    name
        What reports call the track.
    **reading
        How the covariance is written and what the track says of itself, by the names of `read`:
        `convention="world-position"`, `order`, `preset`, `body`, `world`, `gauge`, `bad_rows`.
    """
    options = ReadOptions(**reading)
    options.refuse_unused("arrays, which are no", frozenset(CONVENTION_OPTIONS))
    stamps = _stamps(stamp)
    position, rotation = _poses(_numbers(pose, "pose"), len(stamps))
    provenance = Provenance(name)
    matrices = None
    if covariance is not None:
        matrices = _numbers(covariance, "covariance")
        size = 3 if matrices.shape[-1:] == (3,) else 6
        if matrices.shape != (len(stamps), size, size):
            raise TrackError(
                f"covariance has shape {matrices.shape}; ({len(stamps)}, 6, 6) is needed, or "
                f"({len(stamps)}, 3, 3) of the position"
            )
        if rotation is not None and size == 3:
            rotation, provenance = None, replace(provenance, remarks=(NO_ROTATION_NOTE,))
    track = track_of_arrays(
        stamps,
        (position, rotation),
        matrices,
        options,
        provenance=provenance,
        intake=options.intake(lambda row: f"{name}: row {row}"),
    )
    settled = settle_about(track, options)
    assert isinstance(settled, Track)
    return settled


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
        return given  # whole nanoseconds, or what the track refuses
    if not (np.abs(given) < LAST_SECOND).all():
        raise TrackError("stamps as floats are seconds, and some are beyond the year 2261 or NaN")
    return np.round(given * NANOSECONDS).astype(np.int64)


def _poses(pose: Floats, count: int) -> tuple[Floats, Floats | None]:
    """Positions, and quaternions where there are rotations."""
    if pose.shape == (count, 3):
        return pose, None
    if pose.shape == (count, 7):
        return pose[:, :3], pose[:, 3:]
    if pose.shape != (count, 4, 4):
        raise TrackError(
            f"pose has shape {pose.shape}; for {count} stamps ({count}, 4, 4), ({count}, 7) or "
            f"({count}, 3) is needed"
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
