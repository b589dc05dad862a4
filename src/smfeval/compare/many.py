"""All pairs of two or more tracks, and for three or more which of them is to blame."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from smfeval.compare.attribution import Attribution, attribute
from smfeval.compare.frames import name_of
from smfeval.compare.hat import FEWEST
from smfeval.compare.pair import Pair, compare_pair
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.track import AnyTrack


@dataclass(frozen=True, repr=False)
class Comparison:
    """Every pair of the tracks, in their order; the attribution is None for two."""

    tracks: tuple[AnyTrack, ...]
    options: Options
    pairs: tuple[Pair, ...]
    attribution: Attribution | None

    def __repr__(self) -> str:
        return "\n".join(pair.claim.sentence for pair in self.pairs)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the tracks and of all pairs, each once."""
        told = [
            f"{name_of(track)}: {note}"
            for track in self.tracks
            for note in (*track.provenance.notes, *track.provenance.remarks)
        ]
        told += [
            f"{name_of(track)}: {left.count} rows left out: {left.reason} (first: {left.first})"
            for track in self.tracks
            for left in track.provenance.dropped
        ]
        told += [note for pair in self.pairs for note in pair.notes]
        return tuple(dict.fromkeys(told))


def compare_all(
    tracks: Sequence[AnyTrack],
    *,
    options: Options | None = None,
    reference: AnyTrack | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Compare every two of the tracks; `told` hears how many pairs of how many are done."""
    options = options or Options()
    if len(tracks) < 2:
        raise OptionError("a pair needs two tracks")
    if len(tracks) > 2 and options.offset_s:
        raise OptionError("an offset of the clock says nothing about more than two tracks")
    both = list(combinations(tracks, 2))
    pairs = []
    for done, (a, b) in enumerate(both, start=1):
        pairs.append(compare_pair(a, b, options=options, reference=reference))
        told(done, len(both))
    attribution = attribute(tracks, options=options) if len(tracks) >= FEWEST else None
    return Comparison(tuple(tracks), options, tuple(pairs), attribution)
