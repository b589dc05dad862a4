"""Poses and marginals of a gtsam smoother as a belief track.

The tangent of `gtsam.Pose3` is a right perturbation, T = T_mean Exp(phi, rho), rotation first: the
blocks are exchanged, and nothing else. Cross-covariances come from joint marginals of two poses.
gtsam itself is not imported: values and marginals bring their own methods.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from smfeval.errors import OptionError, TrackError
from smfeval.io.convention import CONVENTIONS, cross_to_right, to_right
from smfeval.maths import so3
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import Gauge
from smfeval.track import About, CrossCovariance, GaussianTrack, Provenance

INDEX_BITS = 56  # of a key; the letter of a symbol is above them
RIGHT = CONVENTIONS["right"]
TOLD = f"{RIGHT.words} (gtsam.Pose3); rotation-first (gtsam.Pose3)"


def from_gtsam(
    values: Any,
    marginals: Any,
    *,
    stamps: Mapping[int, int] | None = None,
    keys: Iterable[int] | None = None,
    cross_lags: int = 0,
    body: str | None = None,
    world: str | None = None,
    gauge: Gauge | None = None,
) -> GaussianTrack:
    """Take the poses of a gtsam smoother, with their marginal covariances, as a track.

    Parameters
    ----------
    values
        `gtsam.Values` with `Pose3`: world from body.
    marginals
        `gtsam.Marginals` of the graph at these values.
    stamps
        Nanoseconds by key. None: the index of each key counts seconds, and a note says so.
    keys
        Keys of the poses; None: those of `stamps`, or else all that are `Pose3`.
    cross_lags
        Also take the cross-covariances of poses so many places apart or fewer (0: none). The
        joint marginals of n poses and k lags are n k calls of gtsam.
    body, world, gauge
        What the track says of itself.
    """
    chosen = _pose_keys(values, keys if keys is not None else stamps)
    skipped = 0 if keys is not None or stamps is not None else len(values.keys()) - len(chosen)
    order, stamp, notes = _in_time(chosen, stamps)
    poses = [values.atPose3(key) for key in order]
    position = np.array([pose.translation() for pose in poses], dtype=np.float64).reshape(-1, 3)
    matrices = np.array([pose.rotation().matrix() for pose in poses], dtype=np.float64)
    pose = position, so3.quaternion(matrices)
    own = np.array([marginals.marginalCovariance(key) for key in order], dtype=np.float64)
    own = (own + np.swapaxes(own, 1, 2)) / 2  # symmetric up to the rounding of a Cholesky factor
    remarks = (f"{skipped} variables that are no Pose3 were left out",) if skipped else ()
    return GaussianTrack(
        stamp,
        *pose,
        to_right(own, pose, RIGHT, "rotation-first"),
        cross=_cross(marginals, order, cross_lags),
        about=About(body, world, gauge, algorithm="gtsam"),
        provenance=Provenance("gtsam", "gtsam values and marginals", TOLD, (), notes, remarks),
    )


def _pose_keys(values: Any, wanted: Iterable[int] | None) -> list[int]:
    """The keys that were asked for, or all of poses."""
    if wanted is not None:
        chosen = [int(key) for key in wanted]
        missing = next((key for key in chosen if not values.exists(key)), None)
        if missing is not None:
            raise OptionError(f"there is no variable {_symbol(missing)} among the values")
        return chosen
    found = []
    for key in map(int, values.keys()):
        try:
            values.atPose3(key)
        except (RuntimeError, ValueError, TypeError):  # how gtsam says that it is something else
            continue
        found.append(key)
    if not found:
        raise TrackError("there is no Pose3 among the values")
    return found


def _symbol(key: int) -> str:
    """A key as gtsam shows it: x12."""
    letter, index = key >> INDEX_BITS, key & ((1 << INDEX_BITS) - 1)
    return f"{chr(letter)}{index}" if letter else str(index)


def _in_time(
    keys: list[int], stamps: Mapping[int, int] | None
) -> tuple[list[int], Ints, tuple[str, ...]]:
    """Keys in the order of their stamps."""
    if stamps is None:
        index = {key: key & ((1 << INDEX_BITS) - 1) for key in keys}
        if len(set(index.values())) < len(index):
            raise OptionError("two poses have keys of the same index; name their keys or stamps")
        when = {key: value * NANOSECONDS for key, value in index.items()}
        notes: tuple[str, ...] = (
            "stamps are the indices of the keys, as seconds: none were given",
        )
    else:
        missing = next((key for key in keys if key not in stamps), None)
        if missing is not None:
            raise OptionError(f"pose {_symbol(missing)} has no stamp")
        when, notes = {key: int(stamps[key]) for key in keys}, ()
    order = sorted(keys, key=when.__getitem__)
    return order, np.array([when[key] for key in order], dtype=np.int64), notes


def _cross(marginals: Any, keys: list[int], lags: int) -> CrossCovariance | None:
    """Cov(xi_i, xi_j) of poses at most `lags` places apart."""
    pairs = [(i, j) for i in range(len(keys)) for j in range(i + 1, min(i + lags + 1, len(keys)))]
    if not pairs:
        return None
    blocks = np.empty((len(pairs), 6, 6))
    for row, (i, j) in enumerate(pairs):
        joint = marginals.jointMarginalCovariance([keys[i], keys[j]])
        blocks[row] = joint.at(keys[i], keys[j])
    unused = np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]])  # right to right needs no pose
    turned = cross_to_right(blocks, unused, unused, RIGHT, "rotation-first")
    return CrossCovariance(np.array(pairs), turned)
