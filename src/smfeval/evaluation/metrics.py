"""What an evaluation says beside the scores: gap risk and relative errors."""

import numpy as np

from smfeval import words
from smfeval.align.extent import Extent
from smfeval.associate import GapRisk, Pairs, gap_risk
from smfeval.associate.nearest import speeds
from smfeval.errors import OptionError
from smfeval.evaluation.result import ScoredScans
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.options import Options
from smfeval.summarise.number import Intervals
from smfeval.summarise.relative import (
    RelativeError,
    close_pairs,
    relative_error,
    summarise_relative,
)
from smfeval.summarise.windows import TOLERANCE

NO_RISK = GapRisk(median=0.0, p95=0.0, largest=0.0, above_limit=0.0, not_moved=0.0, excuse=1.0)


def gap_risk_of(
    scored: ScoredScans, pairs: Pairs, left: Ints, *, granted: bool = True
) -> GapRisk | None:
    """What the gaps between stamps leave open, in claimed sigmas; None without a belief.

    `granted` says whether the reference's covariance entered the prediction.
    """
    covariance = scored.residuals.covariance
    if covariance is None:
        return None
    variance = np.einsum("nii->n", covariance) / scored.residuals.dimension
    if not variance.min() > 0:
        return None
    gap_s = pairs.gap_s[left][scored.kept_scans]
    if not gap_s.any():  # the usual case of common stamps: nothing moves within no time
        return NO_RISK
    speed = speeds(scored.reference.stamp, scored.reference.position)
    open_m = None if pairs.open_m is None else pairs.open_m[left][scored.kept_scans]
    least = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[:, 0], 0.0))
    if not least.min() > 0:
        return None
    return gap_risk(speed, gap_s, np.sqrt(variance), least, open_m=open_m, granted=granted)


def rotation_deg(scored: ScoredScans) -> Floats | None:
    """Angle between estimated and reference rotation; None where a track has none. (n,)."""
    if not _is_oriented(scored):
        return None
    off = so3.angle_between(scored.reference.rotation, scored.estimate.rotation)
    return np.degrees(off, out=off)


def relative_errors(scored: ScoredScans, options: Options) -> tuple[RelativeError, ...]:
    """Relative pose error over every horizon that was asked for."""
    return tuple(
        _relative_error(scored, horizon, options.intervals) for horizon in options.horizons
    )


def _relative_error(scored: ScoredScans, horizon: Extent, intervals: Intervals) -> RelativeError:
    reference = scored.reference
    progress = horizon.progress(reference.stamp, reference.position)
    i, j, dropped = close_pairs(progress, horizon.size)
    if len(i) == 0 and dropped:
        raise OptionError(
            f"no two scans are {horizon} apart: {words.count(dropped, 'pair')} span more than "
            f"{words.exact(TOLERANCE)} times that"
        )
    if len(i) == 0:
        raise OptionError(
            f"no two scans are {horizon} apart; the track has {words.number(progress[-1])}"
        )
    errors = relative_error(
        (scored.estimate.position, scored.estimate.rotation),
        (reference.position, reference.rotation),
        (i, j),
        oriented=_is_oriented(scored),
    )
    travelled = progress[j] - progress[i] if horizon.unit == "m" else None
    return summarise_relative(str(horizon), errors, travelled, intervals, dropped=dropped)


def _is_oriented(scored: ScoredScans) -> bool:
    return scored.estimate.about.oriented and scored.reference.about.oriented
