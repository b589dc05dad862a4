"""Tracks on maps: KML 2.2 for Google Earth and the like, and GeoJSON (RFC 7946).

Both have the track over time, covariances of all scans in east, north and up at the point, and
polygons that hold 95 % of the horizontal belief, of 500 scans at most.

KML: the track is a `gx:MultiTrack`, one `gx:Track` for each stretch without a gap, covariances are
arrays beside it. Everything is clamped to the ground: heights are above the WGS 84 ellipsoid, while
KML's are above the sea. GeoJSON: its line, and a point for each scan with the properties `time`
(UTC), `stamp` (decimal seconds, as text) and `covariance_enu_m2`, the entries ee, en, eu, nn, nu,
uu. Heights are above the ellipsoid, as the standard has them.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from smfeval import words
from smfeval.associate.origin import origin_of
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.io.atomic import row_slices, writing
from smfeval.io.geodetic import refuse_nowhere
from smfeval.io.options import WriteOptions
from smfeval.io.progress import report
from smfeval.maths import geodesy
from smfeval.maths.arrays import Floats, Ints, gap_mask, spaced_indices
from smfeval.maths.se3 import sandwich
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.maths.stamps import seconds_text
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack

ENTRIES = ("ee", "en", "eu", "nn", "nu", "uu")  # of a covariance, m^2
DECIMALS = np.array([10, 10, 5])  # of longitude, latitude (0.01 mm) and height

HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">
<Document>
<name>{name}</name>
<Style id="track"><LineStyle><color>ffb27200</color><width>3</width></LineStyle></Style>
<Style id="ellipse"><LineStyle><color>ff005ed5</color></LineStyle>\
<PolyStyle><color>40005ed5</color></PolyStyle></Style>
"""
TAIL = "</Document>\n</kml>\n"


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

    def ellipses(self) -> Iterator[tuple[int, Floats]]:
        """Evenly spaced rows, and rings (v + 1, 3) about their points with 95 % of a Gaussian.

        They run counter-clockwise and close, at the height of the point.
        """
        if self.covariance is None:
            return iter(())
        at = spaced_indices(len(self.stamp), MOST_ELLIPSES)
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
        return zip(at.tolist(), _unwrapped(llh, self.llh[at, None, 1]), strict=True)


ELLIPSE_LEVEL = 0.95
ELLIPSE_VERTICES = 36
MOST_ELLIPSES = 500  # that a map draws; covariances of all scans are in the file


def geodetic_track(
    track: AnyTrack, origin: tuple[float, float, float] | None, path: Path
) -> GeodeticTrack:
    """Places on Earth of a track whose axes are east, north, up about an origin.

    That is the one that is given, or else the one that the track carries.
    """
    belief = track.moments if isinstance(track, ParticleTrack) else track
    place = origin_of(track) if origin is None else np.array(origin, dtype=np.float64)
    if place is None:
        raise OptionError(f"{path}: the track does not say where on Earth it is", remedy="origin")
    refuse_nowhere(place)
    llh = geodesy.llh_from_ecef(geodesy.ecef_from_enu(belief.position, place))
    llh = _unwrapped(llh, llh[:1, 1])
    covariance = None
    if isinstance(belief, GaussianTrack):
        turn = geodesy.enu_axes(llh) @ geodesy.enu_axes(place).T
        covariance = sandwich(turn, belief.position_covariance)
    return GeodeticTrack(track.provenance.name, belief.stamp, llh, covariance)


def _unwrapped(llh: Floats, near: Floats) -> Floats:
    """The places with longitudes within half a turn of others, so that no line runs round."""
    turns = np.round((llh[..., 1] - near) / 360)
    found = llh.copy()
    found[..., 1] -= 360 * turns
    return found


def coordinates(llh: Floats) -> list[list[float]]:
    """Longitude, latitude and height, as maps order them. (n, 3)."""
    scale = 10.0**DECIMALS
    return (np.round(llh[:, [1, 0, 2]] * scale) / scale).tolist()


def write_kml(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
    """Write a track about the origin that is given, or that it carries."""
    with writing(path) as stream:
        for text in _kml_document(geodetic_track(track, options.origin, path)):
            stream.write(text.encode())
    return (path,)


def _kml_document(track: GeodeticTrack) -> Iterator[str]:
    yield HEAD.format(name=escape(words.printable(track.name)))
    if track.covariance is not None:
        yield '<Schema id="belief">\n'
        for entry in ENTRIES:
            yield f'<gx:SimpleArrayField name="covariance_{entry}_m2" type="double"/>\n'
        yield "</Schema>\n"
    yield "<Placemark><name>track</name><styleUrl>#track</styleUrl><gx:MultiTrack>\n"
    yield "<altitudeMode>clampToGround</altitudeMode><gx:interpolate>0</gx:interpolate>\n"
    times = track.times
    for part in track.stretches:
        yield from _kml_stretch(track, part, times[part])
        report(part.stop, len(times))
    yield "</gx:MultiTrack></Placemark>\n"
    if track.covariance is not None:
        yield "<Folder><name>95 % ellipses</name>\n"
        for row, ring in track.ellipses():
            places = " ".join(",".join(map(_number, place)) for place in coordinates(ring))
            yield (
                f"<Placemark><TimeStamp><when>{times[row]}</when></TimeStamp>"
                "<styleUrl>#ellipse</styleUrl><Polygon><altitudeMode>clampToGround</altitudeMode>"
                f"<outerBoundaryIs><LinearRing><coordinates>{places}</coordinates></LinearRing>"
                "</outerBoundaryIs></Polygon></Placemark>\n"
            )
        yield "</Folder>\n"
    yield TAIL


def _kml_stretch(track: GeodeticTrack, part: slice, times: list[str]) -> Iterator[str]:
    yield "<gx:Track>\n"
    yield "".join(f"<when>{time}</when>\n" for time in times)
    yield "".join(
        f"<gx:coord>{' '.join(map(_number, place))}</gx:coord>\n"
        for place in coordinates(track.llh[part])
    )
    if track.covariance is not None:
        yield '<ExtendedData><SchemaData schemaUrl="#belief">\n'
        triangle = track.covariance[part][:, *np.triu_indices(3)]
        for entry, values in zip(ENTRIES, triangle.T.tolist(), strict=True):
            inner = "".join(f"<gx:value>{value!r}</gx:value>\n" for value in values)
            yield f'<gx:SimpleArrayData name="covariance_{entry}_m2">\n{inner}'
            yield "</gx:SimpleArrayData>\n"
        yield "</SchemaData></ExtendedData>\n"
    yield "</gx:Track>\n"


def _number(value: float) -> str:
    """Decimal digits without an exponent."""
    return f"{value:.10f}".rstrip("0").rstrip(".")


def write_geojson(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
    """Write a track about the origin that is given, or that it carries."""
    found = geodetic_track(track, options.origin, path)
    with writing(path) as stream:
        stream.write(b'{"type":"FeatureCollection","features":[\n')
        for number, feature in enumerate(_features(found)):
            text = json.dumps(feature, separators=(",", ":"), allow_nan=False)
            stream.write(f"{',' if number else ''}{text}\n".encode())
        stream.write(b"]}\n")
    return (path,)


def _features(track: GeodeticTrack) -> Iterator[dict[str, Any]]:
    lines = [part for part in track.stretches if part.stop - part.start > 1]
    coordinates_of_lines = [coordinates(track.llh[part]) for part in lines]
    times = track.times
    about = {"name": track.name, "scans": len(times), "start": times[0], "end": times[-1]}
    yield _feature("MultiLineString", coordinates_of_lines, about)
    for part in row_slices(len(times)):
        triangle = None
        if track.covariance is not None:
            triangle = track.covariance[part][:, *np.triu_indices(3)].tolist()
        for row, place in enumerate(coordinates(track.llh[part])):
            scan = part.start + row
            told = {"time": times[scan], "stamp": seconds_text(int(track.stamp[scan]))}
            more = {} if triangle is None else {"covariance_enu_m2": triangle[row]}
            yield _feature("Point", place, told | more)
            report(scan + 1, len(times))
    for row, ring in track.ellipses():
        stamp = seconds_text(int(track.stamp[row]))
        told = {"level": ELLIPSE_LEVEL, "time": times[row], "stamp": stamp}
        yield _feature("Polygon", [coordinates(ring)], told)


def _feature(kind: str, places: list[Any], properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": places}
    return {"type": "Feature", "geometry": geometry, "properties": properties}
