"""One origin for tracks that name the place on Earth of their zero (`ENU_ORIGIN` in a header).

Each has east, north, up axes about a place of its own. Where tracks meet, all are carried into the
axes of one: a rigid motion of the world, which changes neither motion nor belief.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from smfeval.align.fit import Alignment
from smfeval.errors import OptionError
from smfeval.maths import geodesy
from smfeval.maths.arrays import Floats
from smfeval.maths.se3 import sandwich
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

ORIGIN_KEY = "ENU_ORIGIN"
SomeTrack = TypeVar("SomeTrack", bound=AnyTrack)


def origin_of(track: AnyTrack) -> Floats | None:
    """Latitude, longitude (deg) and height (m) of the zero; None: the track does not say. (3,)."""
    text = dict(track.about.extra).get(ORIGIN_KEY)
    if text is None:
        return None
    try:
        origin = np.array([float(word) for word in text.split(",")])
    except ValueError:
        origin = np.empty(0)
    if not is_place(origin):
        name = track.provenance.name
        raise OptionError(f"{name}: {ORIGIN_KEY} {text!r} in the header is no place on Earth")
    return origin


def is_place(llh: Floats) -> bool:
    """Whether numbers are latitude, longitude and height of a place on Earth."""
    sound = llh.shape == (3,) and bool(np.isfinite(llh).all())
    return sound and abs(llh[0]) <= 90 and abs(llh[1]) <= 360


def origin_text(origin: Floats) -> str:
    """An origin as a header has it, with every digit."""
    return ",".join(repr(float(value)) for value in np.ravel(origin))


def share_origin(*tracks: SomeTrack) -> tuple[SomeTrack, ...]:
    """All tracks about the origin of the first that names one; what names none stays as it is."""
    origins = [origin_of(track) for track in tracks]
    common = next((origin for origin in origins if origin is not None), None)
    return tuple(
        track if own is None or common is None else carry_to_origin(track, own, common)
        for track, own in zip(tracks, origins, strict=True)
    )


def carry_to_origin(track: SomeTrack, own: Floats, origin: Floats) -> SomeTrack:
    """The same poses in the east, north, up axes at another origin.

    x' = Q x + t with Q = A' A^T, where A and A' are the axes at the two origins. A belief without
    rotations has its covariance in these axes, so that is turned: Q S Q^T.
    """
    if np.array_equal(own, origin):
        return track
    turn = geodesy.enu_axes(origin) @ geodesy.enu_axes(own).T
    shift = geodesy.enu_from_ecef(geodesy.ecef_from_llh(own), origin)
    extra = dict(track.about.extra) | {ORIGIN_KEY: origin_text(origin)}
    moved: Any = Alignment("none", turn, shift)(track).with_about(extra=tuple(extra.items()))
    remark = f"carried to the origin {origin_text(origin)}"
    provenance = replace(moved.provenance, remarks=(*moved.provenance.remarks, remark))
    if moved.about.oriented or isinstance(track, ParticleTrack):
        return moved.with_arrays({}, provenance=provenance)
    rows, changes = {"rotation": track.rotation}, {"provenance": provenance}
    if not isinstance(track, GaussianTrack):
        return moved.with_arrays(rows, **changes)
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = turn
    cross = track.cross and track.cross.transform(both)
    covariance = sandwich(both, track.covariance)
    return moved.with_arrays(rows | {"covariance": covariance}, cross=cross, **changes)
