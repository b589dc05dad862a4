"""A reference that is taken as uncertain: by white noise, or by one error that all scans share.

White: every pose is as if it reported diag(sigma_m^2 I, sigma_rad^2 I) beside what it reports.

Shared: the reference's world is off by one motion, a translation d and a rotation theta about the
middle c of the positions. A pose moves by rho = R^T (d + theta x (p - c)), phi = R^T theta in the
axes of its body: xi = Ad(T_c^-1) (d, theta) with T_c = (R, p - c). What the alignment absorbs of it
changes no residual; the rest is added to every pose as a marginal.
"""

import numpy as np

from smfeval.align.fit import Alignment, centre_of
from smfeval.align.reference_sigma import ReferenceSigma
from smfeval.maths import se3
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import chunks
from smfeval.track import GaussianTrack, Track

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
        rows = {"covariance": reference.covariance + covariance}
        return reference.with_arrays(rows, cross=reference.cross)
    return GaussianTrack(
        reference.stamp,
        reference.position,
        reference.rotation,
        covariance,
        about=reference.about,
        provenance=reference.provenance,
    )
