"""Latitude, longitude and height as a track: positions and covariances in one local frame.

The frame has east-north-up axes about one origin, the first fix or the one that is given. A
covariance arrives in the axes at its own point and is turned exactly into those at the origin.
A receiver has no attitude: rotations are identity and marked as unknown.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from smfeval.associate.origin import ORIGIN_KEY, is_place, origin_text
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.io.convention import refuse_row
from smfeval.io.log_rows import LogRows
from smfeval.io.options import ReadOptions
from smfeval.maths import geodesy
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.se3 import sandwich
from smfeval.track import About, AnyTrack, GaussianTrack, Intake, Provenance, Track

NO_ALTITUDE = "there is no altitude: places on the ellipsoid"
ABOUT = About(body="antenna", world="enu", gauge="fixed", oriented=False)


@dataclass(frozen=True)
class LocalPositions:
    """Positions (n, 3) and covariances (n, 3, 3) in one local frame, and where that is."""

    position: Floats
    covariance: Floats
    note: str
    origin: str | None = None  # latitude, longitude and height, to read another file about it

    def track(
        self,
        stamp: Ints,
        provenance: Provenance,
        intake: Intake,
        body: str | None = None,
        **more: Any,
    ) -> Track:
        """A belief about positions, or positions alone where the provenance has no convention.

        The body is the antenna, or what a file calls it. The covariance of the rotation is zero.
        `more` are further arrays of a Track.
        """
        extra = ((ORIGIN_KEY, self.origin),) if self.origin else ()
        about = replace(ABOUT, body=body or ABOUT.body, extra=extra)
        provenance = replace(provenance, remarks=(self.note, *provenance.remarks))
        pose = self.position, np.tile([0.0, 0.0, 0.0, 1.0], (len(self.position), 1))
        more |= {"about": about, "provenance": provenance, "intake": intake}
        if provenance.convention is None:
            return Track(stamp, *pose, **more)
        covariance = np.pad(self.covariance, ((0, 0), (0, 3), (0, 3)))
        return GaussianTrack(stamp, *pose, covariance, **more)


def local_from_llh(llh: Floats, covariance: Floats, options: ReadOptions) -> LocalPositions:
    """Local positions of geodetic ones (degrees, m); covariances in east, north, up there."""
    origin, note = _origin(options, llh)
    turn = geodesy.enu_axes(origin) @ geodesy.enu_axes(llh).swapaxes(-1, -2)
    position = geodesy.enu_from_ecef(geodesy.ecef_from_llh(llh), origin)
    return LocalPositions(position, sandwich(turn, covariance), note, origin_text(origin))


def local_from_ecef(ecef: Floats, covariance: Floats, options: ReadOptions) -> LocalPositions:
    """Local positions of Earth-centred ones (m), with covariances in the same axes."""
    origin, note = _origin(options, geodesy.llh_from_ecef(ecef))
    turned = sandwich(geodesy.enu_axes(origin), covariance)
    position = geodesy.enu_from_ecef(ecef, origin)
    return LocalPositions(position, turned, note, origin_text(origin))


def _origin(options: ReadOptions, llh: Floats) -> tuple[Floats, str]:
    """The origin that was given, or the first fix that is finite, and a note on it."""
    if options.origin is None:
        origin = llh[int(np.argmax(np.isfinite(llh).all(axis=1)))]
    else:
        origin = np.array(options.origin, dtype=np.float64)
        refuse_nowhere(origin)
    place = f"{origin[0]:.9f} {origin[1]:.9f} {origin[2]:.4f} (latitude, longitude, height)"
    which = "first fix" if options.origin is None else "given origin"
    return origin, f"east-north-up axes about the {which} {place}"


@dataclass(frozen=True, kw_only=True)
class Fixes(LogRows):
    """Fixes of a receiver; covariances are in east, north, up at each of them."""

    unit = "fix"
    none_left = "no fix is left: {} in every one"

    llh: Floats  # degrees, m above the ellipsoid
    covariance: Floats  # (n, 3, 3)
    convention: str | None  # None: positions alone
    protection: Floats | None = None  # as of a Track
    body: str | None = None

    def track(self, options: ReadOptions) -> Track:
        """A belief about the position of the antenna in one local frame."""
        refuse_off_earth(self.llh, self.where)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite the track refuses
            local = local_from_llh(self.llh, self.covariance, options)
        provenance = self.provenance(self.convention)
        intake = options.intake(self.where)
        return local.track(self.stamp, provenance, intake, self.body, protection=self.protection)


def is_of_fixes(track: AnyTrack) -> bool:
    """Whether a track is of positions alone, and says where on Earth they are."""
    return not track.about.oriented and ORIGIN_KEY in dict(track.about.extra)


def refuse_nowhere(origin: Floats) -> None:
    """Raise on numbers that are no latitude, longitude and height."""
    if not is_place(origin):
        raise OptionError(
            f"origin {tuple(origin.tolist())} is no place on Earth; "
            "latitude and longitude in degrees and height in metres are needed"
        )


def refuse_off_earth(llh: Floats, where: Callable[[int], str]) -> None:
    """Raise on a latitude or longitude that no place has, and name its row."""
    refuse_row(
        (np.abs(llh[:, 0]) > 90) | (np.abs(llh[:, 1]) > 360),
        where,
        lambda row: f"latitude {llh[row, 0]:.9g}, longitude {llh[row, 1]:.9g} is no place on Earth",
    )
