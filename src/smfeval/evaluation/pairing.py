"""Which pose of the reference each scan meets: the nearest one, or the motion in between."""

from typing import TYPE_CHECKING

import numpy as np

from smfeval.associate import Pairs, nearest
from smfeval.errors import PairingError
from smfeval.evaluation.options import Options
from smfeval.track import AnyTrack, Track

if TYPE_CHECKING:
    from smfeval.evaluation.clock import ClockOffset


def nearest_pairs(estimate: AnyTrack, reference: AnyTrack, options: Options) -> Pairs:
    """Nearest stamps, as the options say."""
    return nearest(
        estimate.stamp,
        reference.stamp,
        tolerance_s=options.tolerance_s,
        offset_s=options.given_offset_s,
    )


def paired(
    estimate: AnyTrack, reference: Track, options: Options, clock: "ClockOffset | None" = None
) -> tuple[Pairs, Track, tuple[str, ...]]:
    """Pairs, the reference that they point into, and notes.

    By `gp` the reference is a continuous motion: it is interpolated to the stamps of the estimate,
    and what the interpolation does not know enters as the reference's covariance. `clock` is the
    offset that was found, to be named where the tracks then do not meet.
    """
    if options.association == "nearest":
        return nearest_pairs(estimate, reference, options), reference, ()
    from smfeval.associate.gp import interpolate  # noqa: PLC0415  its optimiser is slow to import

    try:
        found = interpolate(reference, estimate.stamp, offset_s=options.given_offset_s)
    except PairingError as error:
        raise PairingError(f"{clock.sentence}: {error}" if clock else str(error)) from error
    count = len(found.index)
    pairs = Pairs(
        found.index,
        np.arange(count),
        np.zeros(count),
        found.scans,
        len(reference),
        0.0,
        options.given_offset_s,
    )
    how = f"the reference is a continuous motion, white noise on {found.position.prior}"
    return pairs, found.track, (how, *found.notes)
