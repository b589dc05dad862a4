"""Telemetry of any filter beside its belief: the rows that meet a scan, as an `UpdateLog`.

A table may leave out what the belief tells (the covariance after an update) or what follows from it
(the covariance before). What is assumed and what is not taken is said in notes, with counts.
"""

from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.associate.nearest import best_of_each, closest
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.explain.updates import UpdateLog, implied_prior, rows_of
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.stamps import NANOSECONDS, seconds_text
from smfeval.track import AnyTrack, GaussianTrack

STAMP_TOLERANCE_NS = 1_000_000  # a row within 1 ms of a scan is of this scan: stamps are rounded
POSE = 6  # rows of an information about position and rotation
UNIT_NORMALS = 0.05  # tr(sigma^2 J) / N is 1 for unit normals; farther off, it is said


@dataclass(frozen=True)
class TelemetryTable:
    """One row per scan, as a filter logged it; matrices are in world axes, None: not logged.

    The rotation of a 6 x 6 information is a perturbation on the side of the body, R Exp(phi).
    """

    stamp: Ints  # (n,) ns, ascending, each once
    matched: Ints  # (n,)
    sigma_m: Floats  # (n,) > 0
    information: Floats | None  # (n, 3, 3) or (n, 6, 6): H^T R^-1 H
    normals: Floats | None  # (n, 3, 3) sum of n n^T: sigma^2 times that of the position
    prior: Floats | None  # (n, 3, 3) of the position
    posterior: Floats | None
    residual_rms_m: Floats | None
    innovation_rms_m: Floats | None
    notes: tuple[str, ...] = ()

    def at(self, rows: Ints) -> "TelemetryTable":
        """Some of the rows."""
        return replace(self, **rows_of(self, rows))


def update_log(
    table: TelemetryTable, belief: AnyTrack, *, offset_s: float = 0.0
) -> tuple[UpdateLog, tuple[str, ...]]:
    """The rows that meet a scan of the belief, with its stamps, and notes on all that is assumed.

    `offset_s` is added to the stamps of the table.
    """
    if not isinstance(belief, GaussianTrack):
        raise SeriesError("updates are explained of a belief with a covariance; this one has none")
    rows, scans, notes = _meet(table, belief, offset_s)
    here, believed = table.at(rows), belief[scans]
    posterior = believed.position_covariance if here.posterior is None else here.posterior
    prior, prior_notes = _prior(here, believed, posterior)
    normals, shape_notes = _normals(here)
    log = UpdateLog(
        stamp=believed.stamp,
        matched=here.matched,
        normals=normals,
        sigma_m=here.sigma_m,
        prior=prior,
        posterior=posterior,
        residual_rms_m=here.residual_rms_m,
        innovation_rms_m=here.innovation_rms_m,
        directions_known=here.information is not None,
    )
    not_logged = here.residual_rms_m is None or here.innovation_rms_m is None
    silent = (
        "residual_rms_m and innovation_rms_m are not logged, so what the innovations show of a "
        "displacement is not known",
    )
    return log, (*table.notes, *notes, *shape_notes, *prior_notes, *(silent if not_logged else ()))


def _meet(
    table: TelemetryTable, belief: GaussianTrack, offset_s: float
) -> tuple[Ints, Ints, list[str]]:
    """Rows and scans within the tolerance, each once, in the order of time; what is left over."""
    stamp = table.stamp + round(offset_s * NANOSECONDS)
    scan = closest(stamp, belief.stamp)
    gap = np.abs(belief.stamp[scan] - stamp)
    near = np.flatnonzero(gap <= STAMP_TOLERANCE_NS)
    rows = near[best_of_each(scan[near], gap[near])]
    within = words.duration(STAMP_TOLERANCE_NS / NANOSECONDS)
    if not len(rows):
        logged, believed = (
            f"{seconds_text(each[0])} to {seconds_text(each[-1])} s"
            for each in (stamp, belief.stamp)
        )
        raise SeriesError(
            f"no row of telemetry is within {within} of a scan of the belief: the telemetry is "
            f"from {logged}, the belief from {believed}, and the nearest two stamps are "
            f"{words.duration(int(gap.min()) / NANOSECONDS)} apart"
        )
    lost = len(stamp) - len(rows)
    notes = [
        f"{words.count_of(lost, len(stamp), 'row')} of telemetry left out: no scan of the belief "
        f"within {within}, or another row is nearer"
    ]
    return rows, scan[rows], notes if lost else []


def _normals(table: TelemetryTable) -> tuple[Floats, list[str]]:
    """sum of n n^T, and what does not fit; as if all around where it is not known. (n, 3, 3)."""
    if table.normals is None:
        even = table.matched[:, None, None] / 3 * np.eye(3)
        return even, [
            "no information is logged: the credit is for normals that face all directions evenly, "
            "which is the most that N points can bring, and degeneracy is not known"
        ]
    normals, seen = table.normals, table.matched > 0
    if not seen.any():
        return normals, []
    unit = float(np.median(np.trace(normals, axis1=1, axis2=2)[seen] / table.matched[seen]))
    if abs(unit - 1) <= UNIT_NORMALS:
        return normals, []
    variance = float(np.median(table.sigma_m**2))
    missing = abs(unit / variance - 1) <= UNIT_NORMALS
    why = (
        "the information seems to be H^T H without 1/sigma^2: name its columns normals_xx ..."
        if missing
        else "the points have weights, or another noise than sigma"
    )
    said = f"sigma^2 tr(information) is {words.number(unit)} N, and N for unit normals: {why}"
    return normals, [said]


def _prior(
    table: TelemetryTable, belief: GaussianTrack, posterior: Floats
) -> tuple[Floats, list[str]]:
    """Covariances before the updates: as logged, or implied; NaN where not known. (n, 3, 3)."""
    if table.prior is not None:
        return table.prior, []
    if table.information is None:
        return np.full_like(posterior, np.nan), []
    whole = table.information.shape[-1] == POSE
    after = posterior
    if whole:  # covariance of (position in world axes, rotation in body axes)
        turn = np.zeros((len(belief), POSE, POSE))
        turn[:, :3, :3], turn[:, 3:, 3:] = so3.matrix(belief.rotation), np.eye(3)
        after = se3.sandwich(turn, belief.covariance)
    prior = implied_prior(after, table.information)
    unknown = int(np.isnan(prior[:, 0, 0]).sum())
    source = "pose and its 6 x 6 information" if whole else "position and its information alone"
    notes = [f"the covariance before an update is not logged; it follows from that of the {source}"]
    if not whole:
        notes.append("the information about the rotation is not known, so it is approximate")
    if unknown:
        notes.append(
            f"{words.count_of(unknown, len(prior), 'scan')} report less precision than their "
            "information brings: the covariance before these updates is not known"
        )
    return prior, notes
