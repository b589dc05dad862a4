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
from smfeval.score import Residuals
from smfeval.summarise.relative import (
    RelativeError,
    angle,
    horizon_pairs,
    relative_error,
    summarised,
)

PATH_AXES = ("along", "cross", "vertical")


def gap_risk_of(scored: Scored, pairs: Pairs, left: Ints) -> GapRisk | None:
    """How far the reference moves within the gaps, in reported sigmas; None without a belief."""
    covariance = scored.residuals.covariance
    if covariance is None:
        return None
    sigma = np.sqrt(np.trace(covariance, axis1=1, axis2=2) / scored.residuals.dimension)
    if not (sigma > 0).all():
        return None
    speed = speeds(scored.reference.stamp, scored.reference.position)
    return gap_risk(speed, pairs.gap_s[left][scored.kept], sigma)


def path_residuals(scored: Scored, options: Options) -> dict[str, Residuals]:
    """Residuals along each scored axis, and along the path where all three are scored."""
    residuals, d = scored.residuals, scored.residuals.dimension
    axes = {
        name: residuals.on(np.broadcast_to(np.eye(d)[i], (len(residuals), 1, d)))
        for i, name in enumerate(options.axes)
    }
    basis = path_axes(scored.reference) if options.axes == "xyz" else None
    if basis is not None:
        for i, name in enumerate(PATH_AXES):
            axes[name] = residuals.on(basis[:, i : i + 1])
    return axes


def rotation_deg(scored: Scored) -> Floats | None:
    """Angle between estimated and reference rotation; None where a track has none. (n,)."""
    if not _oriented(scored):
        return None
    off = so3.compose(so3.inverse(scored.reference.rotation), scored.estimate.rotation)
    return np.degrees(angle(off))


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
