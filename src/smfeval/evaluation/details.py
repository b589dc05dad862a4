"""What an evaluation shows beside the scores: gap risk, path axes, rotation, relative errors."""

import numpy as np

from smfeval.align.extent import Extent
from smfeval.associate import GapRisk, Pairs, gap_risk
from smfeval.associate.risk import speeds
from smfeval.errors import OptionError
from smfeval.evaluation.options import Options
from smfeval.evaluation.residuals import path_axes
from smfeval.evaluation.result import Scored
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.score.crps import crps
from smfeval.summarise.relative import (
    RelativeError,
    horizon_pairs,
    relative_error,
    summarised,
)

NO_RISK = GapRisk(median=0.0, p95=0.0, largest=0.0, above_limit=0.0)


def gap_risk_of(scored: Scored, pairs: Pairs, left: Ints) -> GapRisk | None:
    """How far the reference moves within the gaps, in reported sigmas; None without a belief."""
    covariance = scored.residuals.covariance
    if covariance is None:
        return None
    variance = np.einsum("nii->n", covariance) / scored.residuals.dimension
    if not variance.min() > 0:
        return None
    gap_s = pairs.gap_s[left][scored.kept]
    if not gap_s.any():  # the usual case of common stamps: nothing moves within no time
        return NO_RISK
    speed = speeds(scored.reference.stamp, scored.reference.position)
    return gap_risk(speed, gap_s, np.sqrt(variance))


def crps_by_axis(scored: Scored, options: Options) -> dict[str, Floats]:
    """CRPS along each scored axis, and along the path where all three are scored. (n,) each."""
    residuals = scored.residuals
    if "crps" not in scored.series:
        return {}
    by_axis = dict(zip(options.axes, crps(residuals).T, strict=True))
    if options.axes == "xyz":
        for name, direction in path_axes(scored.reference).items():
            by_axis[name] = crps(residuals.along(direction))[:, 0]
        by_axis["vertical"] = by_axis["z"]
    return by_axis


def rotation_deg(scored: Scored) -> Floats | None:
    """Angle between estimated and reference rotation; None where a track has none. (n,)."""
    if not _oriented(scored):
        return None
    off = so3.angle_between(scored.reference.rotation, scored.estimate.rotation)
    return np.degrees(off, out=off)


def relative_errors(scored: Scored, options: Options) -> tuple[RelativeError, ...]:
    """Relative pose error over every horizon that was asked for."""
    return tuple(_relative(scored, horizon) for horizon in options.horizons)


def _relative(scored: Scored, horizon: Extent) -> RelativeError:
    reference = scored.reference
    progress = horizon.progress(reference.stamp, reference.position)
    pairs = horizon_pairs(progress, horizon.size)
    if len(pairs[0]) == 0:
        raise OptionError(f"no two scans are {horizon} apart; the track has {progress[-1]:.3g}")
    errors = relative_error(
        (scored.estimate.position, scored.estimate.rotation),
        (reference.position, reference.rotation),
        pairs,
        oriented=_oriented(scored),
    )
    travelled = progress[pairs[1]] - progress[pairs[0]] if horizon.unit == "m" else None
    return summarised(str(horizon), errors, travelled)


def _oriented(scored: Scored) -> bool:
    return scored.estimate.about.oriented and scored.reference.about.oriented
