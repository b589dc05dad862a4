"""Latitude, longitude and height as a track: positions and covariances in one local frame.

The frame has east-north-up axes about one origin, the first fix or the one that is given. A
covariance arrives in the axes at its own point and is turned exactly into those at the origin.
A receiver has no attitude: rotations are identity and marked as unknown.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.options import ReadOptions
from smfeval.maths import geodesy
from smfeval.maths.arrays import Floats
from smfeval.maths.se3 import sandwich
from smfeval.track import About

ABOUT = About(body="antenna", world="enu", gauge="fixed", oriented=False)
ORIGIN_KEY = "ENU_ORIGIN"  # header key of the local frame's origin


@dataclass(frozen=True)
class LocalPositions:
    """Positions (n, 3) and covariances (n, 3, 3) in one local frame, and where that is."""

    position: Floats
    covariance: Floats
    note: str
    origin: str | None = None  # latitude, longitude and height, to read another file about it

    def about(self, body: str | None = None) -> About:
        """Frames and gauge of such a track; the body is the antenna or what a file calls it."""
        extra = ((ORIGIN_KEY, self.origin),) if self.origin else ()
        return replace(ABOUT, body=body or ABOUT.body, extra=extra)

    @property
    def pose(self) -> tuple[Floats, Floats]:
        """Positions, and rotations that mean nothing."""
        return self.position, np.tile([0.0, 0.0, 0.0, 1.0], (len(self.position), 1))

    @property
    def belief(self) -> Floats:
        """Covariances of pose, whose rotation block is zero. (n, 6, 6)."""
        return np.pad(self.covariance, ((0, 0), (0, 3), (0, 3)))


def local_from_llh(llh: Floats, covariance: Floats, options: ReadOptions) -> LocalPositions:
    """Local positions of geodetic ones (degrees, m); covariances in east, north, up there."""
    origin = _origin(options, llh)
    turn = geodesy.enu_axes(origin) @ geodesy.enu_axes(llh).swapaxes(-1, -2)
    ecef = geodesy.ecef_from_llh(llh)
    return _about_origin(ecef, sandwich(turn, covariance), origin, options)


def local_from_ecef(ecef: Floats, covariance: Floats, options: ReadOptions) -> LocalPositions:
    """Local positions of Earth-centred ones (m), with covariances in the same axes."""
    origin = _origin(options, geodesy.llh_from_ecef(ecef))
    return _about_origin(ecef, sandwich(geodesy.enu_axes(origin), covariance), origin, options)


def refuse_off_earth(llh: Floats, where: Callable[[int], str]) -> None:
    """Raise on a latitude or longitude that no place has, and name its row."""
    beyond = (np.abs(llh[:, 0]) > 90) | (np.abs(llh[:, 1]) > 360)
    if beyond.any():
        row = int(np.argmax(beyond))
        latitude, longitude, _ = llh[row]
        raise FormatError(
            f"{where(row)}: latitude {latitude:.9g}, longitude {longitude:.9g} is no place on Earth"
        )


def _about_origin(
    ecef: Floats, covariance: Floats, origin: Floats, options: ReadOptions
) -> LocalPositions:
    place = ",".join(repr(float(value)) for value in np.ravel(origin))
    position = geodesy.enu_from_ecef(ecef, origin)
    return LocalPositions(position, covariance, _origin_note(options, origin), place)


def _origin(options: ReadOptions, llh: Floats) -> Floats:
    """The origin that was given, or the first fix that is finite."""
    if options.origin is None:
        return llh[int(np.argmax(np.isfinite(llh).all(axis=1)))]
    origin = np.array(options.origin, dtype=np.float64)
    if not np.isfinite(origin).all() or abs(origin[0]) > 90 or abs(origin[1]) > 360:
        raise OptionError(
            f"origin {options.origin} is no place on Earth; "
            "latitude and longitude in degrees and height in metres are needed"
        )
    return origin


def _origin_note(options: ReadOptions, origin: Floats) -> str:
    place = f"{origin[0]:.9f} {origin[1]:.9f} {origin[2]:.4f} (latitude, longitude, height)"
    if options.origin is not None:
        return f"east-north-up axes about the given origin {place}"
    return (
        f"east-north-up axes about the first fix {place}; "
        "another file is in this frame only if it is read with this origin"
    )
