"""Which beliefs may meet: both uncertain, about one body, in worlds that an alignment joins."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.align.body import move_to_body
from smfeval.align.fit import Alignment
from smfeval.associate import Pairs, match_reference, nearest_pairs
from smfeval.dataclass import dataclass
from smfeval.errors import ConventionError, OptionError, PairingError
from smfeval.maths import se3
from smfeval.maths.arrays import Floats
from smfeval.options import Options
from smfeval.schema import GAUGE_ALIGNMENTS, AlignmentKind
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack
from smfeval.why.two_tracks import MatchedTracks

# each holds those before it
GAUGES_BY_FREEDOM: tuple[AlignmentKind, ...] = ("none", "yaw", "se3", "sim3")
ASSUMED_GAUGE: AlignmentKind = "se3"  # for a track that declares no gauge


def name_of(track: AnyTrack) -> str:
    """What the track is called in a report."""
    return track.provenance.name


def in_one_body(
    tracks: Sequence[AnyTrack], body_T_common: Sequence[se3.Pose | None], *, body: str | None = None
) -> list[AnyTrack]:
    """Every track about a common body; None leaves a track where it is.

    The common body is `body`, or else that of the first track that stays.
    """
    if len(body_T_common) != len(tracks):
        raise OptionError(f"{len(body_T_common)} extrinsics for {len(tracks)} tracks")
    paired = list(zip(tracks, body_T_common, strict=True))
    common = body or next((t.about.body for t, moved in paired if moved is None), None)
    return [track if E is None else move_to_body(track, E, common) for track, E in paired]


def as_gaussian(track: AnyTrack) -> tuple[GaussianTrack, tuple[str, ...]]:
    """The belief as mean and covariance, and what that leaves out; plain poses are refused."""
    name = name_of(track)
    if isinstance(track, GaussianTrack):
        return track, ()
    if isinstance(track, ParticleTrack):
        effective = float(np.median(effective_particles(track)))
        note = (
            f"{name}: particles, taken by mean and sample covariance ({words.number(effective)} "
            "effective particles: each variance is uncertain by about "
            f"{words.share(float(np.sqrt(2 / effective)))})"
        )
        return track.moments, (note,)
    unread = track.provenance.unread
    lacks = "reports no uncertainty" if unread is None else "was read without a covariance"
    how = f" (--columns {unread.columns} may read it)" if unread and unread.columns else ""
    raise PairingError(f"{name} {lacks}{how}; a pair needs a covariance or particles on both sides")


def effective_particles(track: ParticleTrack) -> Floats:
    """Kish's number of each scan: a variance has the relative error sqrt(2 / number). (n,)."""
    return 1 / np.add.reduceat(track.probability**2, track.offset[:-1])


def agree_on_body(tracks: Sequence[AnyTrack]) -> None:
    """Raise where two declared bodies differ."""
    bodies = {track.about.body: name_of(track) for track in tracks if track.about.body}
    if len(bodies) > 1:
        (one, first), (other, second), *_ = bodies.items()
        raise ConventionError(
            f"{first} is about body {one}, {second} about {other}; an extrinsic (pose of the "
            "common body in the track's own) is needed"
        )


def open_gauge(tracks: Sequence[AnyTrack], options: Options) -> AlignmentKind:
    """The alignment by option, or the one that settles what at least one track leaves open."""
    if options.alignment is not None:
        return options.alignment
    kinds = [GAUGE_ALIGNMENTS[t.about.gauge] if t.about.gauge else ASSUMED_GAUGE for t in tracks]
    return max(kinds, key=GAUGES_BY_FREEDOM.index)


def rename_track(track: GaussianTrack, name: str) -> GaussianTrack:
    """The same beliefs under another name."""
    return track.with_arrays({}, provenance=replace(track.provenance, name=name))


@dataclass(frozen=True)
class MatchedBeliefs:
    """The matched scans of two beliefs, each in its own world, and what joins the worlds."""

    whole: tuple[GaussianTrack, GaussianTrack]  # with all of their scans
    a: GaussianTrack
    b: GaussianTrack  # moved to the stamps of A
    pairs: Pairs
    kind: AlignmentKind
    names: tuple[str, str]
    has_particles: bool  # in one of the two
    notes: tuple[str, ...]

    def under(self, alignment: Alignment) -> MatchedTracks:
        """The two with the alignment that was found, for doubts."""
        return MatchedTracks(self.a, self.b, alignment, self.pairs, names=self.names)


def match_beliefs(
    a: AnyTrack, b: AnyTrack, options: Options, reference: AnyTrack | None = None
) -> MatchedBeliefs:
    """Pair two beliefs in time, as Gaussians, if they are about one body."""
    (first, first_notes), (second, second_notes) = as_gaussian(a), as_gaussian(b)
    agree_on_body([first, second, *([] if reference is None else [reference])])
    kind = open_gauge([first, second], options)
    names = name_of(a), name_of(b)
    met, pairs = match_reference(second, nearest_pairs(first, second, options, names), options)
    return MatchedBeliefs(
        (first, second),
        first[pairs.estimate],
        as_gaussian(met)[0],
        pairs=pairs,
        kind=kind,
        names=names,
        has_particles=isinstance(a, ParticleTrack) or isinstance(b, ParticleTrack),
        notes=first_notes + second_notes,
    )
