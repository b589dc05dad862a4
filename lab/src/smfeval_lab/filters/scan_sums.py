"""What a scan contributes to the covariance that `carried` follows: sums over its rows.

The covariance of the map's error changes neither the mean nor the gain of a filter. All that it
needs of a scan is a record of a few hundred numbers (`ScanSums`), made here from the filter's rows
and from nowhere else: `CarriedCovariance` reads the records as they come, or later from a log
(`map_log`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.symmetric import symmetrise
from smfeval_lab.filters.births import BirthClasses, class_information, levers
from smfeval_lab.filters.normals import scatter_information, world_axes
from smfeval_lab.filters.patch_noise import NO_PAIR, PatchPairs
from smfeval_lab.filters.view import view_pull

CLASSES = 16  # anchors that are kept, beside the newest: more change little (docs/research/map.md)


@dataclass(frozen=True)
class Motion:
    """How the body moves at the end of a scan, and what its prediction does to the scan."""

    position: Floats  # (3,) world
    velocity: Floats  # (3,) world
    rate: Floats  # (3,) body
    sweep: Floats  # (6, d) displacement of the scan (world axes) by the error state before it


@dataclass(frozen=True)
class Prediction:
    """What a prediction does to the error state, in the tangent space of the last linearisation."""

    transition: Floats  # (d, d) F
    added: Floats  # (d, d) Q
    motion: Motion  # as predicted


@dataclass(frozen=True)
class Matches:
    """What an update rested on: its rows at the last linearisation."""

    H: Floats  # (m, 6) residuals by position (world axes) and rotation (body axes)
    weight: Floats  # (m,) information of each row: 1 / r, times the weight of a kernel
    residual: Floats  # (m,) at the posterior
    birth: Ints  # (m, k) number of the scan that each map point of a row was born in
    gain: Floats  # (d, 6) G of K = G H^T W
    place: Floats  # (m, 3) of the points, world
    fit: Floats | None = None  # (m, k, 3) map points of the rows' planes; None: planes are exact
    seen_from: Floats | None = None  # (births, 3) where the body was, world
    range_m2: float = 0.0  # variance of a range


@dataclass(frozen=True)
class ScanSums:
    """One scan. The fields of the update are zero without matches.

    How a log keeps a field is a row of `map_log.COLUMNS`.
    """

    # prediction, see `Prediction` and `Motion`
    transition: Floats  # (d, d)
    added: Floats  # (d, d)
    step_m: float  # way since the scan before
    velocity: Floats  # (3,)
    rate: Floats  # (3,)
    sweep: Floats  # (6, d)
    # update
    position: Floats  # (3,) posterior
    rotation: Floats  # (3, 3) posterior
    matched: int  # rows
    precision: float  # 1 / r: sum of w^2 over sum of w
    gain: Floats  # (d, 6) G; I - K H is I - G sum_a A_a
    information: Floats  # (classes + 1, 6, 6) A_a, oldest first, then zeros; rotation in body axes
    square_m2: float  # mean square of the residuals
    pair: Floats  # (2, 6, 6) `PatchPairs.moments`
    scatter: Floats  # (6, 6) N: information that is the scatter of normals (`normals`)
    view: Floats  # (6, 2) sums of w h phi, by how planes were seen when they were mapped (`view`)
    # map
    kept: int  # points that entered it; 0: no new class
    joined: int  # class that was joined with the next one before the birth; -1: none


ROUNDING = 1e-12  # of the covariance: less of Q is what a difference of covariances leaves


def added_noise(F: Floats, before: Floats, prior: Floats) -> Floats:
    """Q of a prediction: prior - F P F^T. (d, d)."""
    Q = symmetrise(prior - F @ before @ F.T)
    sigma = np.sqrt(np.diag(prior))
    Q[np.abs(Q) < ROUNDING * np.outer(sigma, sigma)] = 0.0
    return Q


def sweep_of(
    rotation: Floats, velocity: Floats, scan_s: float, size: int, at: Sequence[int]
) -> Floats:
    """Displacement of a scan by the error state that undistorts it. (6, d).

    A point taken a time tau before the end is undistorted by -v tau: with the wrong velocity, and
    turned by the wrong rotation, it is off by -tau (dv - dtheta x v), on average over the scan
    with half its duration. A wrong bias of the gyroscope turns it by tau R dbg. `at` is where
    velocity and bias begin in the error state; below 0: nowhere.
    """
    sweep, tau = np.zeros((6, size)), 0.5 * scan_s
    if at[0] >= 0:
        sweep[:3, at[0] : at[0] + 3] = -tau * np.eye(3)
        sweep[:3, 3:6] = tau * levers(velocity[None])[0, :3, 3:] @ rotation
    if at[1] >= 0:
        sweep[3:, at[1] : at[1] + 3] = tau * rotation
    return sweep


class ScanRecorder:
    """Makes the records, scan by scan; it keeps which births are one class.

    Parameters
    ----------
    classes
        Classes of births that are kept, beside the newest.
    """

    def __init__(self, classes: int = CLASSES):
        self.classes = BirthClasses(classes)
        self._pairs = PatchPairs()
        self._scan = -1
        self._births = 0
        self._walked_m = 0.0
        self._position: Floats | None = None

    def record(
        self,
        prediction: Prediction,
        matches: Matches | None,
        position: Floats,
        rotation: Floats,
        kept: int | None,
    ) -> ScanSums:
        """The record of a scan that was predicted, matched (None: not) and added to the map.

        The pose is the posterior's. `kept` points of the scan are new in the map; None: it was not
        added. Births are counted as the map counts them, with scans of which no point was new.
        """
        self._scan += 1
        motion = prediction.motion
        before, self._position = self._position, motion.position
        step_m = 0.0 if before is None else float(np.linalg.norm(motion.position - before))
        self._walked_m += step_m
        update = self._sums(matches, len(prediction.transition), position, rotation)
        joined = -1
        if kept:
            joined = self.classes.add(self._births, self._scan, self._walked_m)
        self._births += kept is not None
        return ScanSums(
            transition=prediction.transition,
            added=prediction.added,
            step_m=step_m,
            velocity=motion.velocity,
            rate=motion.rate,
            sweep=motion.sweep,
            position=position,
            rotation=rotation,
            kept=kept or 0,
            joined=joined,
            **update,
        )

    def _sums(
        self, matches: Matches | None, size: int, position: Floats, rotation: Floats
    ) -> dict[str, Any]:
        """The fields of the update."""
        information = np.zeros((self.classes.most + 1, 6, 6))
        if matches is None:
            return {
                "matched": 0,
                "precision": 0.0,
                "gain": np.zeros((size, 6)),
                "information": information,
                "square_m2": 0.0,
                "pair": NO_PAIR,
                "scatter": np.zeros((6, 6)),
                "view": np.zeros((6, 2)),
            }
        H, weight, residual = matches.H, matches.weight, matches.residual
        first = self.classes.first
        information[: len(first)] = class_information(H, weight, matches.birth, first)
        for each, seen in zip(self.classes.classes, np.einsum("kii->k", information), strict=False):
            if seen > 0:
                each.used = self._scan
        return {
            "matched": len(residual),
            "precision": float(weight @ weight / weight.sum()),
            "gain": matches.gain,
            "information": information,
            "square_m2": float(residual @ residual) / len(residual),
            "pair": self._pairs.moments(matches, information.sum(axis=0), rotation),
            **_sums_of_planes(matches, position, rotation),
        }


def _sums_of_planes(rows: Matches, position: Floats, rotation: Floats) -> dict[str, Floats]:
    """What the map points of the rows' planes tell of them, rotation in body axes."""
    if rows.fit is None:
        return {"scatter": np.zeros((6, 6)), "view": np.zeros((6, 2))}
    arm, turn = rows.place - position, world_axes(rotation)
    N, rough = scatter_information(rows.fit, rows.H[:, :3], arm, rows.weight)
    return {"scatter": turn.T @ N @ turn, "view": view_pull(rows, position, rough)}
