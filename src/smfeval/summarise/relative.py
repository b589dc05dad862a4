"""Relative motion: the errors over a horizon (RPE), and whether they were claimed.

Relative pose error: for scans i and j a horizon apart, E = (ref_i^-1 ref_j)^-1 (est_i^-1 est_j).
Its translation and its angle are the errors. Where a track has no orientation, the difference of
the two displacements in the aligned world is used instead, and no rotation error exists.

Whether such errors were claimed is judged over windows that do not overlap (`summarise.windows`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.summarise.judgement import DOUBT, STEADY, Bound, Evidence, usable
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.windows import WindowRow, Windows, WindowSample, window_scores


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


@dataclass(frozen=True)
class RelativeMotion:
    """Relative motion of a track under its claim.

    Attributes
    ----------
    evidence
        k over horizons where J is given or implied, and bounds after a fit.
    windows
        Windows of the first usable horizon; None where there is none.
    reason
        Why there can be no rows; None where there can.
    """

    evidence: Evidence
    windows: Windows | None = None
    reason: str | None = None

    @cached_property
    def usable(self) -> tuple[WindowRow, ...]:
        """The rows that a verdict may rest on."""
        return usable(self.evidence.rows)

    @property
    def rows(self) -> tuple[WindowRow, ...]:
        """Rows over the whole track, by horizon."""
        return tuple(row for row in self.evidence.rows if not row.first_half)

    @property
    def first(self) -> WindowRow | None:
        """The first horizon over the whole track that is usable."""
        return next((row for row in self.usable if not row.first_half), None)

    @cached_property
    def sample(self) -> WindowSample | None:
        """The first usable horizon with its scores; None under a bound, which scores nothing."""
        if self.first is None or self.windows is None:
            return None
        return WindowSample(self.first, window_scores(self.windows))

    @property
    def worst_bound(self) -> Bound | None:
        """The bound of relative motion that comes nearest to convicting, where J is unknown."""
        if self.evidence.joint.kind != "unknown":
            return None
        over = (bound for bound in self.evidence.bounds if bound.horizon is not None)
        return max(over, key=lambda bound: bound.factor, default=None)

    def why_not(self, row: WindowRow) -> str | None:
        """Why a row is not usable; None where it is."""
        if row in self.usable:
            return None
        if row.lo < 1 / STEADY or row.hi > STEADY:
            return f"claims change more than {STEADY:.0f} times between the halves of the track"
        return "neighbouring windows are correlated"

    def row_dicts(self) -> list[dict[str, Any]]:
        """JSON data of every row; `low` and `high` are ends of the 95 % interval of k."""
        return [self._row_dict(row) for row in self.evidence.rows]

    def _row_dict(self, row: WindowRow) -> dict[str, Any]:
        low, high = row.interval(DOUBT)
        return {
            "scans": row.horizon,
            "seconds": row.seconds,
            "metres": row.metres,
            "first_half": row.first_half,
            "windows": row.windows,
            "still": row.still,
            "k": row.k,
            "low": finite_or_none(low),
            "high": finite_or_none(high),
            "usable": row in self.usable,
            "reason": self.why_not(row),
        }

    def bound_dicts(self) -> list[dict[str, Any]]:
        """JSON data of every bound: k and what an honest belief stays below."""
        return [
            {"name": each.name, "scans": each.horizon, "k": each.k, "limit": each.limit}
            for each in self.evidence.bounds
        ]
