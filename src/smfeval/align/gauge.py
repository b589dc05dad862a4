"""The gauge: which freedoms between two worlds are open, and the alignment that settles them."""

import numpy as np

from smfeval.align.extent import Extent
from smfeval.align.fit import FITS, Alignment, fit_first_pose
from smfeval.errors import PairingError
from smfeval.maths.arrays import Ints
from smfeval.schema import GAUGE_ALIGNMENTS, AlignmentKind
from smfeval.track import AnyTrack, Track


def choose_alignment(
    estimate: AnyTrack, kind: AlignmentKind | None
) -> tuple[AlignmentKind, tuple[str, ...]]:
    """The alignment asked for, else that of the gauge the estimate declares, else se3; notes."""
    if kind is not None:
        return kind, ()
    if estimate.about.gauge is None:
        return "se3", ("the estimate declares no gauge; aligned by se3 (assumed)",)
    return alignment_of(estimate.about.gauge), ()


def alignment_of(gauge: str | None) -> AlignmentKind:
    """The alignment that settles a declared gauge; se3 where none is declared."""
    return "se3" if gauge is None else GAUGE_ALIGNMENTS[gauge]


def fit_alignment(
    estimate: AnyTrack, reference: Track, kind: AlignmentKind, fit_on: Extent | None = None
) -> tuple[Alignment, Ints]:
    """The alignment of matched tracks, and the scans that are left to score.

    `fit_on` says how much of the start is fitted on; the rest is left to score.
    """
    count = len(estimate)
    if fit_on is not None and kind in ("none", "first-pose"):
        raise PairingError(f"a fit on the start needs an alignment that is fitted; {kind} is not")
    if kind == "first-pose":
        if count < 2:
            raise PairingError(
                "one matched pose is used up by the alignment; none is left to score"
            )
        return fit_first_pose(estimate, reference), np.arange(1, count)
    fitted = count if fit_on is None else _count_fit_scans(reference, fit_on)
    alignment = FITS[kind](estimate.position[:fitted], reference.position[:fitted])
    return alignment, np.arange(0 if fit_on is None else fitted, count)


def _count_fit_scans(reference: Track, fit_on: Extent) -> int:
    """How many matched scans lie within the extent that the fit may use."""
    progress = fit_on.progress(reference.stamp, reference.position)
    count = int(np.searchsorted(progress, fit_on.size))
    if count >= len(progress):
        raise PairingError(
            f"a fit on the first {fit_on} leaves none of the {len(progress)} scans to score"
        )
    return count


def alignment_notes(scored: int, matched: int) -> tuple[str, ...]:
    """What an alignment on the start does to the errors of the rest."""
    if scored == matched:
        return ()
    return ("the error of the alignment at the start is shared by all scored scans",)
