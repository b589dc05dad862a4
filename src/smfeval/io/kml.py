"""A track as KML 2.2 for Google Earth and the like: places over time, and 95 % ellipses.

The track is a `gx:MultiTrack`, one `gx:Track` for each stretch without a gap; covariances of all
scans, in east, north and up at the point, are arrays beside it. Ellipses, of 500 scans at most, are
polygons with their time. Everything is clamped to the ground: heights are above the WGS 84
ellipsoid, while KML's are above the sea.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from smfeval import words
from smfeval.io.atomic import writing
from smfeval.io.geodetic import GeodeticTrack, evenly_spread, geodetic_track
from smfeval.io.geojson import coordinates
from smfeval.io.options import WriteOptions
from smfeval.io.progress import report
from smfeval.maths.arrays import Floats
from smfeval.track import AnyTrack

ENTRIES = ("ee", "en", "eu", "nn", "nu", "uu")  # of a covariance, m^2
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


def write(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
    """Write a track about the origin that is given, or that it carries."""
    found = geodetic_track(track, options.origin, path)
    with writing(path) as stream:
        for text in _document(found):
            stream.write(text.encode())
    return (path,)


def _document(track: GeodeticTrack) -> Iterator[str]:
    yield HEAD.format(name=escape(words.printable(track.name)))
    if track.covariance is not None:
        yield '<Schema id="belief">\n'
        for entry in ENTRIES:
            yield f'<gx:SimpleArrayField name="{_array(entry)}" type="double"/>\n'
        yield "</Schema>\n"
    yield "<Placemark><name>track</name><styleUrl>#track</styleUrl><gx:MultiTrack>\n"
    yield "<altitudeMode>clampToGround</altitudeMode><gx:interpolate>0</gx:interpolate>\n"
    times = track.times
    for part in track.stretches:
        yield from _stretch(track, part, times[part])
        report(part.stop, len(times))
    yield "</gx:MultiTrack></Placemark>\n"
    if track.covariance is not None:
        yield from _ellipses(track, times)
    yield TAIL


def _array(entry: str) -> str:
    return f"covariance_{entry}_m2"


def _stretch(track: GeodeticTrack, part: slice, times: list[str]) -> Iterator[str]:
    yield "<gx:Track>\n"
    yield "".join(f"<when>{time}</when>\n" for time in times)
    yield "".join(
        f"<gx:coord>{_number(lon)} {_number(lat)} {_number(height)}</gx:coord>\n"
        for lon, lat, height in coordinates(track.llh[part])
    )
    if track.covariance is not None:
        yield '<ExtendedData><SchemaData schemaUrl="#belief">\n'
        triangle = track.covariance[part][:, *np.triu_indices(3)]
        for entry, values in zip(ENTRIES, triangle.T.tolist(), strict=True):
            inner = "".join(f"<gx:value>{value!r}</gx:value>\n" for value in values)
            yield f'<gx:SimpleArrayData name="{_array(entry)}">\n{inner}</gx:SimpleArrayData>\n'
        yield "</SchemaData></ExtendedData>\n"
    yield "</gx:Track>\n"


def _ellipses(track: GeodeticTrack, times: list[str]) -> Iterator[str]:
    at = evenly_spread(len(times))
    yield "<Folder><name>95 % ellipses</name>\n"
    for row, ring in zip(at.tolist(), track.ellipses(at), strict=True):
        yield (
            f"<Placemark><TimeStamp><when>{times[row]}</when></TimeStamp>"
            "<styleUrl>#ellipse</styleUrl><Polygon><altitudeMode>clampToGround</altitudeMode>"
            f"<outerBoundaryIs><LinearRing><coordinates>{_ring(ring)}</coordinates></LinearRing>"
            "</outerBoundaryIs></Polygon></Placemark>\n"
        )
    yield "</Folder>\n"


def _ring(llh: Floats) -> str:
    return " ".join(",".join(map(_number, place)) for place in coordinates(llh))


def _number(value: float) -> str:
    """Decimal digits without an exponent."""
    return f"{value:.10f}".rstrip("0").rstrip(".")
