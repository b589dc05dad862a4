"""Gauge sensitivity: k_pair under every alignment, admissible or not.

An alignment with fewer freedoms than the tracks leave open charges the open gauge to the beliefs,
so its k_pair proves nothing; one with as many or more takes mean squared difference away.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.compare.frames import FREEDOMS
from smfeval.compare.sampled import GAUSSIANS, Sampled
from smfeval.errors import PairingError
from smfeval.evaluation.frames import one_world
from smfeval.evaluation.options import AlignmentKind, Options
from smfeval.evaluation.residuals import residuals_of
from smfeval.maths.arrays import Ints
from smfeval.track import GaussianTrack

SWEPT: tuple[AlignmentKind, ...] = (*FREEDOMS, "first-pose")
SWEEP_SCANS = 100_000  # evenly spaced: more would not move a median that a table shows


@dataclass(frozen=True)
class GaugeRow:
    """k_pair under one alignment; None, and the reason, where it does not exist."""

    gauge: AlignmentKind
    admissible: bool
    chosen: bool
    k: float | None
    reason: str | None = None


def gauge_sweep(
    a: GaussianTrack,
    b: GaussianTrack,
    chosen: AlignmentKind,
    options: Options,
    *,
    counts: Sampled = GAUSSIANS,
) -> tuple[GaugeRow, ...]:
    """k_pair of matched tracks under each alignment; `counts` are of the same scans."""
    kept = thinned(len(a))
    a, b, counts = a[kept], b[kept], counts.at(kept, kept)
    return tuple(_row(kind, chosen, a, b, options, counts=counts) for kind in SWEPT)


def thinned(count: int) -> Ints:
    """At most SWEEP_SCANS evenly spaced scans."""
    return np.arange(0, count, -(-count // SWEEP_SCANS))


def _row(
    kind: AlignmentKind,
    chosen: AlignmentKind,
    a: GaussianTrack,
    b: GaussianTrack,
    options: Options,
    *,
    counts: Sampled,
) -> GaugeRow:
    admissible = _freedom(kind) >= _freedom(chosen)
    try:
        alignment, _ = one_world(a, b, kind, options)
    except PairingError as error:
        return GaugeRow(kind, admissible, kind == chosen, None, str(error))
    k = counts.inflation(residuals_of(alignment(a), b, options))
    return GaugeRow(kind, admissible, kind == chosen, k)


def _freedom(kind: AlignmentKind) -> int:
    return FREEDOMS.index("se3" if kind == "first-pose" else kind)
