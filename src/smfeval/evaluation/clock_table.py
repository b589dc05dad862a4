"""What a clock offset does to error and belief: a table about the offset that was found.

At each offset the faster track is read at the stamps of the slower one and the alignment is fitted
again, on the same scans. Rotations and covariances stay those of the nearest scan at the offset in
the middle; they hardly change within 50 ms.
"""

from dataclasses import dataclass, replace

import numpy as np

from smfeval.evaluation.clock_errors import Meeting
from smfeval.evaluation.frames import one_world
from smfeval.evaluation.options import AlignmentKind, Options
from smfeval.evaluation.residuals import regular, residuals_of
from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.score import Residuals
from smfeval.summarise.inflation import median_chi_squared
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

ASIDE_S = tuple(0.01 * step for step in range(-5, 6))


@dataclass(frozen=True)
class ClockRow:
    """Scores with so much added to the estimate's stamps; k and NEES only where there is a belief.

    Attributes
    ----------
    offset_s
        Added to the estimate's stamps.
    k, median_nees
        Of the position on the scored axes; None for plain poses.
    rmse_m
        On the scored axes.
    """

    offset_s: float
    k: float | None
    rmse_m: float
    median_nees: float | None


def clock_table(
    met: Meeting,
    estimate: AnyTrack,
    reference: Track,
    *,
    kind: AlignmentKind,
    options: Options,
    middle_s: float,
) -> tuple[ClockRow, ...]:
    """Scores at offsets ASIDE_S from the one in the middle, all on the same scans."""
    offsets = [middle_s + aside for aside in ASIDE_S]
    chosen = np.flatnonzero(np.logical_and.reduce([met.usable(offset) for offset in offsets]))
    belief, truth = _met(met, chosen, estimate, reference, middle_s)
    alignment, left = one_world(belief, truth, kind, options)
    base = residuals_of(alignment(belief)[left], truth[left], options)
    good = regular(belief[left], base, options)

    rows = []
    for offset in offsets:
        source, target = met.positions(chosen, offset)
        ours, theirs = belief.replaced({"position": source}), truth.replaced({"position": target})
        alignment, _ = one_world(ours, theirs, kind, options)
        error = (alignment.moved(source) - target)[left][:, options.axis_index]
        rows.append(_row(offset, replace(base, error=error), good))
    return tuple(rows)


def _met(
    met: Meeting, chosen: Ints, estimate: AnyTrack, reference: Track, offset_s: float
) -> tuple[Track, Track]:
    """Estimate (particles by their moments) and reference as tracks that meet scan by scan."""
    belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
    nearest = met.curve.nearest(met.read_at(offset_s)[chosen])
    ours, theirs = (chosen, nearest) if met.forward else (nearest, chosen)
    stamp = (belief if met.forward else reference).stamp[chosen]
    source, target = met.positions(chosen, offset_s)
    return _read(belief, ours, stamp, source), _read(reference, theirs, stamp, target)


def _read(track: Track, scans: Ints, stamp: Ints, position: Floats) -> Track:
    """The track at other stamps and positions, with the rotations and covariances of some scans."""
    rows = {"stamp": stamp, "position": position, "rotation": track.rotation[scans]}
    if isinstance(track, GaussianTrack):
        rows["covariance"] = track.covariance[scans]
    return track.replaced(rows)


def _row(offset_s: float, residuals: Residuals, good: Bools) -> ClockRow:
    error = residuals.error[good]
    rmse = float(np.sqrt(np.einsum("ni,ni->", error, error) / len(error)))
    if residuals.covariance is None:
        return ClockRow(offset_s, None, rmse, None)
    nees = float(np.median(normal.fit(error, residuals.predicted[good]).nees))
    return ClockRow(offset_s, nees / median_chi_squared(residuals.dimension), rmse, nees)
