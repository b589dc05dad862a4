"""Poses and marginals of a gtsam smoother as a belief track.

The tangent of `gtsam.Pose3` is a right perturbation, T = T_mean Exp(phi, rho), rotation first: the
blocks are exchanged, and nothing else. A `gtsam.Pose2` (x, y, yaw) says nothing of z, roll and
pitch. Cross-covariances come from joint marginals of two poses. gtsam itself is not imported:
values and marginals bring their own methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from smfeval.errors import OptionError, TrackError
from smfeval.io.convention import CONVENTIONS
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import Gauge
from smfeval.track import About, CrossCovariance, GaussianTrack, Provenance

INDEX_BITS = 56  # of a key; the letter of a symbol is above them
RIGHT = CONVENTIONS["right"]
READ_AS = {
    "Pose3": f"{RIGHT.words} (gtsam.Pose3); rotation-first (gtsam.Pose3)",
    "Pose2": f"{RIGHT.words} (gtsam.Pose2); x, y, yaw (gtsam.Pose2)",
}
PLACES = {"Pose3": [3, 4, 5, 0, 1, 2], "Pose2": [0, 1, 5]}  # in a tangent with translation first


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
        `gtsam.Values` with `Pose3`, or `Pose2`: world from body.
    marginals
        `gtsam.Marginals` of the graph at these values.
    stamps
        Nanoseconds by key. None: the index of each key counts seconds, and a note says so.
    keys
        Keys of the poses; None: those of `stamps`, or else all poses.
    cross_lags
        Also take the cross-covariances of poses so many places apart or fewer (0: none). The
        joint marginals of n poses and k lags are n k calls of gtsam.
    body, world, gauge
        What the track says of itself.
    """
    kind, chosen = _pose_keys(values, keys if keys is not None else stamps)
    skipped = 0 if keys is not None or stamps is not None else len(values.keys()) - len(chosen)
    order, stamp, notes = in_time(chosen, stamps)
    poses = [getattr(values, f"at{kind}")(key) for key in order]
    size = 3 if kind == "Pose3" else 2
    position, matrices = np.zeros((len(poses), 3)), np.tile(np.eye(3), (len(poses), 1, 1))
    position[:, :size] = [pose.translation() for pose in poses]
    matrices[:, :size, :size] = [pose.rotation().matrix() for pose in poses]
    own = np.array([marginals.marginalCovariance(key) for key in order], dtype=np.float64)
    own = (own + np.swapaxes(own, 1, 2)) / 2  # symmetric up to the rounding of a Cholesky factor
    remarks = (f"{skipped} variables that are no {kind} were left out",) if skipped else ()
    about = Provenance("gtsam", "gtsam values and marginals", READ_AS[kind], (), notes, remarks)
    return GaussianTrack(
        stamp,
        position,
        so3.quaternion(matrices),
        _translation_first(own, kind),
        cross=_cross(marginals, order, cross_lags, kind),
        about=About(body, world, gauge, algorithm="gtsam"),
        provenance=about,
    )


def _translation_first(blocks: Floats, kind: str) -> Floats:
    """Blocks of 6x6 with the translation first; zero where a planar pose says nothing."""
    found = np.zeros((len(blocks), 6, 6))
    rows = np.array(PLACES[kind])
    found[:, rows[:, None], rows] = blocks
    return found


def _pose_keys(values: Any, wanted: Iterable[int] | None) -> tuple[str, list[int]]:
    """What kind the poses are, and the keys that were asked for, or those of all poses."""
    if wanted is not None:
        chosen = [int(key) for key in wanted]
        missing = next((key for key in chosen if not values.exists(key)), None)
        if missing is not None:
            raise OptionError(f"there is no variable {_symbol(missing)} among the values")
    else:
        chosen = list(map(int, values.keys()))
    for kind in READ_AS:
        found = [key for key in chosen if _is_pose(values, key, kind)]
        if found:
            return kind, chosen if wanted is not None else found
    raise TrackError("there is no Pose3 and no Pose2 among the values")


def _is_pose(values: Any, key: int, kind: str) -> bool:
    try:
        getattr(values, f"at{kind}")(key)
    except (AttributeError, RuntimeError, ValueError, TypeError):  # it is something else
        return False
    return True


def _symbol(key: int) -> str:
    """A key as gtsam shows it: x12."""
    letter, index = key >> INDEX_BITS, key & ((1 << INDEX_BITS) - 1)
    return f"{chr(letter)}{index}" if letter else str(index)


def in_time(
    keys: list[int], stamps: Mapping[int, int] | None
) -> tuple[list[int], Ints, tuple[str, ...]]:
    """Keys in the order of their stamps, the stamps, and a note where none were given."""
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


def _cross(marginals: Any, keys: list[int], lags: int, kind: str) -> CrossCovariance | None:
    """Cov(xi_i, xi_j) of poses at most `lags` places apart."""
    pairs = [(i, j) for i in range(len(keys)) for j in range(i + 1, min(i + lags + 1, len(keys)))]
    if not pairs:
        return None
    blocks = [
        marginals.jointMarginalCovariance([keys[i], keys[j]]).at(keys[i], keys[j]) for i, j in pairs
    ]
    return CrossCovariance(np.array(pairs), _translation_first(np.array(blocks), kind))
