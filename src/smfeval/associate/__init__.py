"""PAIR in time: which pose of the reference each scan meets, the nearest, moved or not, or between.

::

    nearest       nearest stamps, one to one, and what the gaps between them leave open
    moved         poses moved by their own motion over the gap
    gp            the reference as a continuous motion, by a prior (`motion_prior`)
    clock         how far clocks differ: by rates (`clock_rates`), then errors (`clock_errors`)

A reference may be taken as uncertain, by white noise or by one error that all scans share.

White: every pose is as if it reported diag(sigma_m^2 I, sigma_rad^2 I) beside what it reports.

Shared: the reference's world is off by one motion, a translation d and a rotation theta about the
middle c of the positions. A pose moves by rho = R^T (d + theta x (p - c)), phi = R^T theta in the
axes of its body: xi = Ad(T_c^-1) (d, theta) with T_c = (R, p - c). What the alignment absorbs of it
changes no residual; the rest is added to every pose as a marginal.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment, centre_of
from smfeval.align.quantities import ReferenceSigma
from smfeval.associate.moved import move_reference, with_covariance
from smfeval.associate.nearest import ROLES, GapRisk, Pairs, gap_risk, nearest
from smfeval.errors import PairingError
from smfeval.maths import se3
from smfeval.maths.arrays import Choice, Floats
from smfeval.maths.stamps import NANOSECONDS
from smfeval.maths.symmetric import chunks
from smfeval.options import TOLERANCE_S, Options
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack, Track

if TYPE_CHECKING:
    from smfeval.associate.clock import TimeOffset

__all__ = [
    "GapRisk",
    "Pairs",
    "check_reference",
    "gap_risk",
    "independent_noise",
    "match_reference",
    "nearest",
    "nearest_pairs",
    "pair_scans",
    "with_shared_error",
    "with_white_noise",
    "without_covariance",
]

NEGLIGIBLE = 0.01  # sigma: left open by a move, it changes no variance by more than 1e-4
SLOWEST_TURN_S = 0.06  # between poses whose rotation is interpolated unasked: tests/power
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
        tolerance_s=options.usual_tolerance_s,
        offset_s=options.given_offset_s,
        names=names,
    )


def pair_scans(
    estimate: AnyTrack,
    reference: Track,
    options: Options,
    clock: "TimeOffset | None" = None,
    pairs: Pairs | None = None,
    *,
    choose: Choice | None = None,
) -> tuple[Pairs, Track, tuple[str, ...]]:
    """Pairs, the pose of the reference that belongs to each of them, and notes.

    By `interpolated` the nearest pose is moved to the stamp of its scan (`associate.moved`); by
    `nearest` it stays. By `gp` the reference is a continuous motion: it is interpolated to the
    stamps of the estimate. What either does not know enters as the reference's covariance, and so
    does the noise that the options assume of it. `clock` is the offset that was found, to be named
    where the tracks then do not meet. `pairs` may be given. Of the pairs, those chosen are kept.
    """
    reference, noise_notes = with_white_noise(reference, options.ref_sigma)
    clock_notes = () if clock is None else (clock.sentence,)
    if pairs is not None or options.association != "gp":
        pairs = pairs or nearest_pairs(estimate, reference, options)
        pairs = pairs if choose is None else pairs[choose(len(pairs))]
        reference, rate_notes = _at_its_rate(reference, pairs, options)
        met, pairs = match_reference(reference, pairs, options)
        if not isinstance(reference, GaussianTrack) and _is_negligible(met, estimate, pairs):
            met = without_covariance(met)
        return pairs, met, (*clock_notes, *noise_notes, *rate_notes)
    from smfeval.associate.gp import interpolate  # noqa: PLC0415  its optimiser is slow to import

    try:
        found = interpolate(
            reference, estimate.stamp, offset_s=options.given_offset_s, choose=choose
        )
    except PairingError as error:
        raise PairingError(f"{clock.sentence}: {error}" if clock else str(error)) from error
    pairs = replace(found.pairs, poses=len(reference))
    how = f"the reference is a continuous motion, white noise on {found.position.prior}"
    return pairs, found.track, (*clock_notes, *noise_notes, how, *found.notes)


def _at_its_rate(reference: Track, pairs: Pairs, options: Options) -> tuple[Track, tuple[str, ...]]:
    """The reference, and notes where poses farther away than usual are interpolated unasked.

    One that is slower than SLOWEST_TURN_S is then taken as positions: its rotation between poses
    cannot be known (a gait turns a sensor twice a second).
    """
    if options.tolerance_s is not None or pairs.tolerance_s <= TOLERANCE_S:
        return reference, ()
    step_s = float(np.median(np.diff(reference.stamp))) / NANOSECONDS
    gap = words.duration(float(np.abs(pairs.gap_s).max()))
    note = (
        f"few stamps meet within {words.duration(TOLERANCE_S)}: the reference (a pose every "
        f"{words.duration(step_s)}) is interpolated, over {gap} at most"
    )
    if step_s <= SLOWEST_TURN_S or not reference.about.oriented:
        return reference, (note,)
    note += ", and too sparse for rotations: positions are scored"
    return reference.with_about(oriented=False), (note,)


def match_reference(reference: Track, pairs: Pairs, options: Options) -> tuple[Track, Pairs]:
    """The nearest poses, moved to the stamps of their scans unless asked not to."""
    if options.association == "interpolated":
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
    poses = reference.stamp, reference.position, reference.rotation
    return Track(*poses, about=reference.about, provenance=reference.provenance)


def check_reference(estimate: AnyTrack, reference: AnyTrack) -> Track:
    """The reference, if it can be one.

    If it has uncertainty and the estimate has none, the two were probably exchanged.
    """
    certain = not isinstance(estimate, GaussianTrack | ParticleTrack)
    certain &= estimate.provenance.unread is None
    if certain and isinstance(reference, GaussianTrack | ParticleTrack):
        raise PairingError(
            f"the reference ({reference.provenance.name}) reports uncertainty and the estimate "
            f"({estimate.provenance.name}) does not: are they exchanged?"
        )
    if isinstance(reference, ParticleTrack):
        raise PairingError("the reference is a set of particles; poses are needed")
    still, parts = reference.rotation[:1], chunks(len(reference))
    if (  # GNSS written as TUM has placeholders
        reference.about.oriented
        and len(reference) >= FEW
        and all((reference.rotation[part] == still).all() for part in parts)
        and float(np.ptp(reference.position, axis=0).max()) > MOVED_M
    ):
        note = "its quaternion never changes on the way; taken as positions without orientation"
        return reference.with_about(oriented=False).with_notes(note)
    return reference


# Parts of (d, theta) that an alignment leaves; one that is not named fits all of them.
LEFT = {"none": np.ones(6), "yaw": np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.0])}


def with_white_noise(
    reference: Track, sigma: ReferenceSigma | None
) -> tuple[Track, tuple[str, ...]]:
    """The reference with this much more at every pose, and notes."""
    if sigma is None:
        return reference, ()
    variance, notes = _variances(sigma), [f"the reference is taken as uncertain by {sigma}, white"]
    if sigma.rotation_rad and not reference.about.oriented:
        variance[3:] = 0
        notes.append("the reference has no orientation that could be uncertain")
    return _add(reference, np.broadcast_to(np.diag(variance), (len(reference), 6, 6))), tuple(notes)


def with_shared_error(
    reference: Track, sigma: ReferenceSigma | None, alignment: Alignment
) -> tuple[Track, tuple[str, ...]]:
    """The matched reference with what an alignment leaves of an error of its world, and notes."""
    if sigma is None:
        return reference, ()
    left = LEFT.get(alignment.kind, np.zeros(6)) * _variances(sigma)
    if not left.any():
        how = f"is absorbed by the {alignment.kind} alignment"
        return reference, (f"the shared error of the reference {how}",)
    centre = centre_of(reference.position[: alignment.fitted_scans or None])
    covariance = np.empty((len(reference), 6, 6))
    for part in chunks(len(reference)):
        pose = reference.position[part] - centre, reference.rotation[part]
        covariance[part] = se3.sandwich(se3.adjoint(se3.inverse(pose)), np.diag(left))
    note = f"the reference is taken as uncertain by {sigma}, one error for all scans"
    if alignment.kind == "yaw":
        note += ", of which the yaw alignment leaves roll and pitch"
    return _add(reference, covariance).with_arrays({"shared": covariance}), (note,)


def independent_noise(reference: GaussianTrack) -> Floats | None:
    """Covariance of errors that scans do not share, as relative motion has them. (n, 6, 6)."""
    if reference.shared is None:
        return reference.covariance
    own = reference.covariance - reference.shared
    return own if own.any() else None


def _variances(sigma: ReferenceSigma) -> Floats:
    """Of (rho, phi), or of (d, theta). (6,)."""
    return np.repeat([sigma.position_m, sigma.rotation_rad], 3) ** 2


def _add(reference: Track, covariance: Floats) -> GaussianTrack:
    """With so much more covariance. (n, 6, 6)."""
    if isinstance(reference, GaussianTrack):
        covariance = reference.covariance + covariance
    return with_covariance(reference, covariance)
