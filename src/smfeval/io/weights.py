"""What a header says of particle weights, and whether it is true."""

import numpy as np

from smfeval.io.header import Header
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import seconds_text
from smfeval.track import ParticleTrack

NORMALISED = 1e-6  # a sum this near to 1 is written as normalised
DOUBTED = 1e-3  # weights with few digits may miss 1 by this much and still be called normalised


def particle_fields(track: ParticleTrack) -> dict[str, str]:
    """The header fields of an ensemble."""
    normalised = track.weighted and bool((np.abs(weight_sums(track) - 1) <= NORMALISED).all())
    return {
        "WEIGHTED": str(track.weighted).lower(),
        "WEIGHT_FORMAT": "log" if track.log_weight else "linear",
        "WEIGHTS_NORMALIZED": str(normalised).lower(),
    }


def not_normalised(track: ParticleTrack, header: Header) -> tuple[str, ...]:
    """A note if weights are declared normalised but do not sum to one."""
    if not track.weighted or header.fields["WEIGHTS_NORMALIZED"] == "false":
        return ()
    total = weight_sums(track)
    off = np.abs(total - 1)
    if not (off > DOUBTED).any():
        return ()
    worst = int(np.argmax(off))
    return (
        f"weights are declared normalised but sum to {total[worst]:.6g} at stamp "
        f"{seconds_text(int(track.stamp[worst]))} "
        f"(not to 1 in {(off > DOUBTED).sum()} of {len(track)} scans); they are read as relative",
    )


def weight_sums(track: ParticleTrack) -> Floats:
    """The sum of the weights of each scan as they stand in the file. (n,)."""
    with np.errstate(over="ignore"):  # a log weight may be beyond what a double can hold
        linear = np.exp(track.weight) if track.log_weight else track.weight
        return np.add.reduceat(linear, track.offset[:-1])
