"""Which pose of the reference each scan meets: the nearest, moved or not, or one in between."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from smfeval.associate.moved import move_reference
from smfeval.associate.nearest import ROLES, Pairs, nearest
from smfeval.associate.reference_noise import with_white_noise
from smfeval.errors import PairingError
from smfeval.maths.symmetric import chunks
from smfeval.options import Options
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

if TYPE_CHECKING:
    from smfeval.associate.clock import ClockOffset

NEGLIGIBLE = 0.01  # sigma: left open by a move, it changes no variance by more than 1e-4
FEW, MOVED_M = 10, 1.0  # fewer scans, or a shorter way, may well be without a turn


def nearest_pairs(
    estimate: AnyTrack,
    reference: AnyTrack,
    options: Options,
    names: tuple[str, str] = ROLES,
) -> Pairs:
    """Nearest stamps, as the options say; `names` are those of the two in a sentence."""
    return nearest(
        estimate.stamp,
        reference.stamp,
        tolerance_s=options.tolerance_s,
        offset_s=options.given_offset_s,
        names=names,
    )


def pair_scans(
    estimate: AnyTrack,
    reference: Track,
    options: Options,
    clock: "ClockOffset | None" = None,
    pairs: Pairs | None = None,
) -> tuple[Pairs, Track, tuple[str, ...]]:
    """Pairs, the pose of the reference that belongs to each of them, and notes.

    By `moved` the nearest pose is moved to the stamp of its scan (`associate.moved`); by `nearest`
    it stays. By `gp` the reference is a continuous motion: it is interpolated to the stamps of the
    estimate. What either does not know enters as the reference's covariance, and so does the noise
    that the options assume of it. `clock` is the offset that was found, to be named where the
    tracks then do not meet. `pairs` may be given.
    """
    reference, noise_notes = with_white_noise(reference, options.ref_sigma)
    clock_notes = () if clock is None else (clock.sentence,)
    if pairs is not None or options.association != "gp":
        pairs = pairs or nearest_pairs(estimate, reference, options)
        met, pairs = match_reference(reference, pairs, options)
        if not isinstance(reference, GaussianTrack) and _is_negligible(met, estimate, pairs):
            met = without_covariance(met)
        return pairs, met, (*clock_notes, *noise_notes)
    from smfeval.associate.gp import interpolate  # noqa: PLC0415  its optimiser is slow to import

    try:
        found = interpolate(reference, estimate.stamp, offset_s=options.given_offset_s)
    except PairingError as error:
        raise PairingError(f"{clock.sentence}: {error}" if clock else str(error)) from error
    pairs = replace(found.pairs, poses=len(reference))
    how = f"the reference is a continuous motion, white noise on {found.position.prior}"
    return pairs, found.track, (*clock_notes, *noise_notes, how, *found.notes)


def match_reference(reference: Track, pairs: Pairs, options: Options) -> tuple[Track, Pairs]:
    """The nearest poses, moved to the stamps of their scans unless asked not to."""
    if options.association == "moved":
        return move_reference(reference, pairs)
    return reference[pairs.reference], pairs


def _is_negligible(met: Track, estimate: AnyTrack, pairs: Pairs) -> bool:
    """Whether what the moves leave open is nothing beside the sigma of every scan's belief."""
    if not isinstance(met, GaussianTrack):
        return True
    belief = estimate.moments if isinstance(estimate, ParticleTrack) else estimate
    if not isinstance(belief, GaussianTrack):
        return True
    claimed = np.einsum("nii->ni", belief.covariance)[pairs.estimate]
    left = np.einsum("nii->ni", met.covariance)
    return all(
        (left[:, at].max(axis=1) <= NEGLIGIBLE**2 * claimed[:, at].min(axis=1)).all()
        for at in (slice(0, 3), slice(3, 6))
    )


def without_covariance(reference: Track) -> Track:
    """The poses of a reference alone."""
    if not isinstance(reference, GaussianTrack):
        return reference
    return Track(
        reference.stamp,
        reference.position,
        reference.rotation,
        about=reference.about,
        provenance=reference.provenance,
    )


def check_reference(estimate: AnyTrack, reference: AnyTrack) -> Track:
    """The reference, if it can be one.

    If it has uncertainty and the estimate has none, the two were probably exchanged.
    """
    certain = not isinstance(estimate, GaussianTrack | ParticleTrack)
    if certain and isinstance(reference, GaussianTrack | ParticleTrack):
        raise PairingError(
            f"the reference ({reference.provenance.name}) reports uncertainty and the estimate "
            f"({estimate.provenance.name}) does not: are they exchanged?"
        )
    if isinstance(reference, ParticleTrack):
        raise PairingError("the reference is a set of particles; poses are needed")
    if _never_turns(reference):
        note = "its quaternion never changes on the way; taken as positions without orientation"
        return reference.with_about(oriented=False).with_notes(note)
    return reference


def _never_turns(reference: Track) -> bool:
    """Whether a moving reference has placeholder rotations (GNSS written as TUM)."""
    if not reference.about.oriented or len(reference) < FEW:
        return False
    first, parts = reference.rotation[0], chunks(len(reference))
    if not all((reference.rotation[part] == first).all() for part in parts):
        return False
    return float(np.ptp(reference.position, axis=0).max()) > MOVED_M
