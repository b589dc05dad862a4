"""A track as GeoJSON (RFC 7946): its line, a point for each scan with its covariance, ellipses.

Heights are above the WGS 84 ellipsoid, as the standard has them. Points have the properties `time`
(UTC), `stamp` (decimal seconds, as text) and `covariance_enu_m2`, the entries ee, en, eu, nn, nu,
uu of the covariance in east, north and up at the point. Polygons are regions that hold 95 % of the
horizontal belief, of 500 scans at most.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.io.atomic import row_slices, writing
from smfeval.io.geodetic import ELLIPSE_LEVEL, GeodeticTrack, evenly_spread, geodetic_track
from smfeval.io.options import WriteOptions
from smfeval.io.progress import report
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import seconds_text
from smfeval.track import AnyTrack

DECIMALS = np.array([10, 10, 5])  # of longitude, latitude (0.01 mm) and height


def write(track: AnyTrack, path: Path, options: WriteOptions) -> tuple[Path, ...]:
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
    line = {
        "type": "MultiLineString",
        "coordinates": [coordinates(track.llh[part]) for part in lines],
    }
    times = track.times
    about = {"name": track.name, "scans": len(times), "start": times[0], "end": times[-1]}
    yield _feature(line, about)
    for part in row_slices(len(times)):
        yield from _points(track, part, times)
    if track.covariance is not None:
        at = evenly_spread(len(times))
        for row, ring in zip(at.tolist(), track.ellipses(at), strict=True):
            geometry = {"type": "Polygon", "coordinates": [coordinates(ring)]}
            told = {"level": ELLIPSE_LEVEL, "time": times[row]}
            yield _feature(geometry, told | {"stamp": seconds_text(int(track.stamp[row]))})


def _points(track: GeodeticTrack, part: slice, times: list[str]) -> Iterator[dict[str, Any]]:
    places, stamps = coordinates(track.llh[part]), track.stamp[part].tolist()
    triangle = None
    if track.covariance is not None:
        triangle = track.covariance[part][:, *np.triu_indices(3)].tolist()
    for row, (place, stamp) in enumerate(zip(places, stamps, strict=True)):
        told: dict[str, Any] = {"time": times[part.start + row], "stamp": seconds_text(stamp)}
        if triangle is not None:
            told["covariance_enu_m2"] = triangle[row]
        yield _feature({"type": "Point", "coordinates": place}, told)
        report(part.start + row + 1, len(times))


def _feature(geometry: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def coordinates(llh: Floats) -> list[list[float]]:
    """Longitude, latitude and height, as maps order them. (n, 3)."""
    scale = 10.0**DECIMALS
    return (np.round(llh[:, [1, 0, 2]] * scale) / scale).tolist()
