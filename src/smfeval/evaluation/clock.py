"""How far is the estimate's clock off? Found from the motion, refined by the errors.

1. Speed and angular rate of both tracks tell the offset roughly, without any alignment
   (`associate.clock`).
2. The errors tell it finely: the shift that leaves no part of them along the velocity, with the
   alignment fitted again at each shift (`clock_errors`, `clock_fit`).
3. A table shows what the offset does to error and belief: k, RMSE and median NEES about it.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from smfeval.associate import Pairs, nearest
from smfeval.associate.clock import REACH_S, Correlation, correlate
from smfeval.associate.clock_excerpts import excerpts
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation.clock_errors import STRIDE_S, meeting
from smfeval.evaluation.clock_fit import LEVEL, Fitted, best_fit
from smfeval.evaluation.clock_table import ClockRow, clock_table
from smfeval.evaluation.frames import chosen_alignment, one_body
from smfeval.evaluation.options import AlignmentKind, Options
from smfeval.evaluation.residuals import reference_poses
from smfeval.track import AnyTrack, Track

ALIKE = 0.6  # correlation of a rate; walks of other people reach 0.4
SMALL_GAP_S, FOLLOWED = 5e-4, 0.1  # gaps to nearest poses: so small, or this part of the offset
UNLIKE = 0.2  # of squared displacements; walks of other people have 0.4 and more


@dataclass(frozen=True)
class ClockOffset:
    """The offset to be added to the estimate's stamps, and how well it is known."""

    offset_s: float
    low_s: float  # 95 % interval, for errors that are dependent
    high_s: float
    how: str  # what it was found from
    scans: int  # poses of the slower track that told
    of: int  # poses of the slower track
    curve: tuple[ClockRow, ...]

    @property
    def sentence(self) -> str:
        """The offset in words."""
        half_ms = 500 * (self.high_s - self.low_s)
        digits = int(np.clip(np.ceil(1 - np.log10(max(half_ms, 1e-9))), 0, 4))
        offset, low, high = (
            f"{1e3 * value:.{digits}f}" for value in (self.offset_s, self.low_s, self.high_s)
        )
        return (
            f"clock offset {offset} ms [{low}, {high}] added to the estimate's stamps (found from "
            f"{self.how} on {self.scans} of {self.of} poses; {100 * LEVEL:g} % interval)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return asdict(self) | {"curve": [asdict(row) for row in self.curve]}


def find_offset(
    estimate: AnyTrack, reference: AnyTrack, options: Options, *, reach_s: float = REACH_S
) -> ClockOffset:
    """The clock offset within `reach_s` of none; `options.offset_s` is not looked at.

    Raises a `PairingError` where the motion says nothing about the clock.
    """
    poses = reference_poses(estimate, reference)
    placed, _ = one_body(estimate, reference, options)
    kind, _ = chosen_alignment(placed, options)
    return offset_between(placed, poses, kind, options, reach_s=reach_s)


def resolved(
    estimate: AnyTrack,
    reference: Track,
    kind: AlignmentKind,
    options: Options,
    pairs: Pairs | None = None,
) -> tuple[Options, ClockOffset]:
    """Options with a number for the offset, and how it was found.

    Where the nearest poses cannot follow the shift, for it is smaller than their step, the
    reference is a continuous motion instead.
    """
    if pairs is not None:
        raise OptionError("the scans are already paired; a clock offset is found before that")
    clock = offset_between(estimate, reference, kind, options)
    found = replace(options, offset_s=clock.offset_s)
    if found.association == "nearest" and not _followed(estimate, reference, found):
        found = replace(found, association="gp")
    return found, clock


def _followed(estimate: AnyTrack, reference: Track, options: Options) -> bool:
    """Whether the gaps to the nearest poses are small beside the offset that was found."""
    offset_s, most = options.given_offset_s, options.tolerance_s
    try:
        pairs = nearest(estimate.stamp, reference.stamp, tolerance_s=most, offset_s=offset_s)
    except PairingError:
        return False
    return float(np.median(np.abs(pairs.gap_s))) <= max(SMALL_GAP_S, FOLLOWED * abs(offset_s))


def offset_between(
    estimate: AnyTrack,
    reference: Track,
    kind: AlignmentKind,
    options: Options,
    *,
    reach_s: float = REACH_S,
) -> ClockOffset:
    """The clock offset of two tracks about one body."""
    if not reach_s > 0:
        raise OptionError(f"a clock offset is searched within a positive time, not {reach_s:g} s")
    ours, theirs = excerpts(estimate, reference, reach_s=reach_s)
    rough = correlate(ours, theirs, reach_s=reach_s)
    met = meeting(ours, theirs, kind)
    found = best_fit(met, (rough.offset_s, *rough.rivals_s))
    _refuse_unlike(rough, found)
    _refuse_far(found.offset_s, found.high_s - found.low_s, reach_s)
    return ClockOffset(
        found.offset_s,
        found.low_s,
        found.high_s,
        f"{', '.join(rough.signals)} and error",
        found.poses,
        len(estimate if met.forward else reference),
        clock_table(met, ours, theirs, kind=kind, options=options, middle_s=found.offset_s),
    )


def _refuse_unlike(rough: Correlation, found: Fitted) -> None:
    """Raise where neither rates nor displacements say that both tracks saw one motion."""
    correlation = max(rough.correlation.values())
    if correlation < ALIKE and found.left.unlike > UNLIKE:
        raise PairingError(
            "the tracks do not move alike enough to tell the clock: their rates have a "
            f"correlation of {correlation:.2f}, and over {STRIDE_S:g} s their displacements differ "
            f"by {100 * np.sqrt(found.left.unlike):.0f} %"
        )


def _refuse_far(offset_s: float, width_s: float, reach_s: float) -> None:
    if abs(offset_s) > reach_s:
        raise PairingError(
            f"the errors ask for a clock offset of {offset_s:.4g} s, beyond the {reach_s:g} s "
            "that were searched"
        )
    if width_s > 2 * reach_s:
        raise PairingError(
            f"the motion says little about the clock: the offset is known to {width_s / 2:.3g} s, "
            f"and {reach_s:g} s were searched"
        )
