"""Latitude, longitude and height as a track: positions and covariances in one local frame.

The frame has east-north-up axes about one origin, the first fix or the one that is given. A
covariance arrives in the axes at its own point and is turned exactly into those at the origin.
A receiver has no attitude: rotations are identity and marked as unknown.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from smfeval.errors import FormatError, OptionError
from smfeval.io.options import ReadOptions
from smfeval.maths import geodesy
from smfeval.maths.arrays import Floats, Ints, gap_mask
from smfeval.maths.se3 import sandwich
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.track import About, AnyTrack, GaussianTrack, ParticleTrack

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


@dataclass(frozen=True)
class GeodeticTrack:
    """A track as maps have it."""

    name: str
    stamp: Ints
    llh: Floats  # (n, 3): latitude, longitude in degrees, height in m
    covariance: Floats | None  # (n, 3, 3): m^2 in east, north, up at each point

    @property
    def times(self) -> list[str]:
        """Stamps as times of UTC: 2023-11-14T22:13:20.100000000Z."""
        return np.datetime_as_string(self.stamp.astype("datetime64[ns]"), timezone="UTC").tolist()

    @property
    def stretches(self) -> list[slice]:
        """Rows without a gap in time between them."""
        ends = [0, *(np.flatnonzero(gap_mask(self.stamp)) + 1).tolist(), len(self.stamp)]
        return [slice(*pair) for pair in pairwise(ends)]

    def ellipses(self, at: Ints) -> Floats:
        """Rings (m, v + 1, 3) about the points at some rows that hold 95 % of a Gaussian.

        They run counter-clockwise and close, at the height of the point.
        """
        assert self.covariance is not None
        values, vectors = np.linalg.eigh(self.covariance[at, :2, :2])
        radius = np.sqrt(np.maximum(values, 0) * chi_squared_tail_quantile(2, 1 - ELLIPSE_LEVEL))
        angle = np.linspace(0, 2 * np.pi, ELLIPSE_VERTICES + 1)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        sense = np.sign(np.linalg.det(vectors))[:, None]
        radius = radius * np.concatenate([sense, np.ones_like(sense)], axis=1)
        ring = np.einsum("nij,nj,jv->nvi", vectors, radius, circle)
        enu = np.concatenate([ring, np.zeros((*ring.shape[:2], 1))], axis=-1)
        llh = geodesy.llh_from_ecef(geodesy.ecef_from_enu(enu, self.llh[at][:, None, :]))
        llh[..., 2] = self.llh[at, None, 2]
        return unwrapped(llh, self.llh[at, None, 1])


ELLIPSE_LEVEL = 0.95
ELLIPSE_VERTICES = 36
MOST_ELLIPSES = 500  # that a map draws; covariances of all scans are in the file


def evenly_spread(count: int) -> Ints:
    """Rows whose ellipses are drawn."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_ELLIPSES)).astype(np.int64))


def geodetic_track(
    track: AnyTrack, origin: tuple[float, float, float] | None, path: Path
) -> GeodeticTrack:
    """Places on Earth of a track whose axes are east, north, up about an origin.

    That is the one that is given, or else the one that the track carries.
    """
    belief = track.moments if isinstance(track, ParticleTrack) else track
    place = _own_origin(track) if origin is None else np.array(origin, dtype=np.float64)
    if place is None:
        raise OptionError(f"{path}: the track does not say where on Earth it is", remedy="origin")
    _refuse_nowhere(place)
    llh = geodesy.llh_from_ecef(geodesy.ecef_from_enu(belief.position, place))
    llh = unwrapped(llh, llh[:1, 1])
    covariance = None
    if isinstance(belief, GaussianTrack):
        turn = geodesy.enu_axes(llh) @ geodesy.enu_axes(place).T
        covariance = sandwich(turn, belief.position_covariance)
    return GeodeticTrack(track.provenance.name, belief.stamp, llh, covariance)


def is_of_fixes(track: AnyTrack) -> bool:
    """Whether a track is of positions alone, and says where on Earth they are."""
    return not track.about.oriented and ORIGIN_KEY in dict(track.about.extra)


def _own_origin(track: AnyTrack) -> Floats | None:
    """The origin in the header of a track that was read from fixes."""
    said = dict(track.about.extra).get(ORIGIN_KEY)
    try:
        return None if said is None else np.array([float(word) for word in said.split(",")])
    except ValueError as error:
        raise OptionError(f"{ORIGIN_KEY} {said!r} in the header is no place on Earth") from error


def _refuse_nowhere(origin: Floats) -> None:
    """Raise on numbers that are no latitude, longitude and height."""
    sound = origin.shape == (3,) and np.isfinite(origin).all()
    if not sound or abs(origin[0]) > 90 or abs(origin[1]) > 360:
        raise OptionError(
            f"origin {tuple(origin.tolist())} is no place on Earth; "
            "latitude and longitude in degrees and height in metres are needed"
        )


def unwrapped(llh: Floats, near: Floats) -> Floats:
    """The places with longitudes within half a turn of others, so that no line runs round."""
    turns = np.round((llh[..., 1] - near) / 360)
    found = llh.copy()
    found[..., 1] -= 360 * turns
    return found


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
    _refuse_nowhere(origin)
    return origin


def _origin_note(options: ReadOptions, origin: Floats) -> str:
    place = f"{origin[0]:.9f} {origin[1]:.9f} {origin[2]:.4f} (latitude, longitude, height)"
    if options.origin is not None:
        return f"east-north-up axes about the given origin {place}"
    return (
        f"east-north-up axes about the first fix {place}; "
        "another file is in this frame only if it is read with this origin"
    )
