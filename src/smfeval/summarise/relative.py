"""Relative pose error: how far the motion over a horizon is off, in position and rotation.

For scans i and j a horizon apart, E = (ref_i^-1 ref_j)^-1 (est_i^-1 est_j); its translation and its
angle are the errors. Where a track has no orientation, the difference of the two displacements in
the aligned world is used instead, and no rotation error exists.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints


@dataclass(frozen=True)
class RelativeError:
    """RPE over one horizon. `percent` and `deg_per_m` are KITTI's, for horizons in metres."""

    horizon: str
    pairs: int
    translation_rmse_m: float
    translation_mean_m: float
    rotation_mean_deg: float | None
    percent: float | None
    deg_per_m: float | None


def horizon_pairs(progress: Floats, size: float) -> tuple[Ints, Ints]:
    """For each scan i the first scan j that is at least `size` further on."""
    slack = 1e-9 * max(size, 1.0)  # 10 steps of 0.1 s are one second, whatever the last digit says
    j = np.searchsorted(progress, progress + size - slack)
    i = np.flatnonzero(j < len(progress))
    return i, j[i]


def relative_error(
    estimate: se3.Pose, reference: se3.Pose, pairs: tuple[Ints, Ints], *, oriented: bool
) -> tuple[Floats, Floats | None]:
    """Translation error (m) and rotation error (rad) of each pair of scans."""
    i, j = pairs
    if not oriented:
        moved = (estimate[0][j] - estimate[0][i]) - (reference[0][j] - reference[0][i])
        return np.linalg.norm(moved, axis=1), None
    motions = [
        se3.compose(se3.inverse((t[i], q[i])), (t[j], q[j])) for t, q in (estimate, reference)
    ]
    off = se3.compose(se3.inverse(motions[1]), motions[0])
    return np.linalg.norm(off[0], axis=1), so3.angle(off[1])


def summarise_relative(
    horizon: str,
    errors: tuple[Floats, Floats | None],
    travelled_m: Floats | None,
) -> RelativeError:
    """Numbers of one horizon; `travelled_m` is each pair's path length for horizons in metres."""
    translation, rotation = errors
    degrees = None if rotation is None else np.degrees(rotation)
    per_metre = None if travelled_m is None or degrees is None else degrees / travelled_m
    return RelativeError(
        horizon,
        len(translation),
        float(np.sqrt(np.mean(translation**2))),
        float(np.mean(translation)),
        None if degrees is None else float(np.mean(degrees)),
        None if travelled_m is None else float(np.mean(100 * translation / travelled_m)),
        None if per_metre is None else float(np.mean(per_metre)),
    )
