"""KML and GeoJSON, read back by parsers of the standard library."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from smfeval.errors import OptionError
from smfeval.io import maps, read, write
from smfeval.maths import geodesy
from smfeval.track import About, GaussianTrack, Provenance
from support.beliefs import covariances, gaussian, particles, poses, stamps
from support.commands import refused, run

N = 50
CHI_SQUARED_95 = 5.991464547107979  # two degrees of freedom, tables
ORIGIN = np.array([35.15, 136.97, 40.0])
KML = {"k": "http://www.opengis.net/kml/2.2", "gx": "http://www.google.com/kml/ext/2.2"}


def fixes(rng, *, origin=ORIGIN, spread_m=3000.0, name="rover.pos") -> GaussianTrack:
    """A receiver's track with a gap in its middle."""
    stamp = stamps(N) + np.where(np.arange(N) < 30, 0, 60 * 10**9)
    position = np.cumsum(spread_m / N * rng.normal(size=(N, 3)), axis=0)
    place = ",".join(map(repr, origin.tolist()))
    about = About("antenna", "enu", "fixed", oriented=False, extra=(("ENU_ORIGIN", place),))
    covariance = np.pad(covariances(N, rng, d=3, scale=0.5), ((0, 0), (0, 3), (0, 3)))
    turn = np.tile([0.0, 0.0, 0.0, 1.0], (N, 1))
    return GaussianTrack(
        stamp, position, turn, covariance, about=about, provenance=Provenance(name=name)
    )


def features(path: Path, kind: str) -> list[dict]:
    found = json.loads(path.read_text())
    assert found["type"] == "FeatureCollection"
    return [each for each in found["features"] if each["geometry"]["type"] == kind]


def llh_of(coordinates) -> np.ndarray:
    return np.array(coordinates)[..., [1, 0, 2]]


def full(triangle) -> np.ndarray:
    """Symmetric matrices of ee, en, eu, nn, nu, uu. (n, 6) -> (n, 3, 3)."""
    return np.array(triangle)[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]


def assert_same_belief(track, llh, covariance):
    """Places and covariances turned back into the axes at the origin are those of the track."""
    back = geodesy.enu_from_ecef(geodesy.ecef_from_llh(llh), ORIGIN)
    np.testing.assert_allclose(back, track.position, atol=2e-5)
    turn = geodesy.enu_axes(ORIGIN) @ geodesy.enu_axes(llh).swapaxes(1, 2)
    turned = turn @ covariance @ turn.swapaxes(1, 2)
    np.testing.assert_allclose(turned, track.position_covariance, rtol=1e-6, atol=1e-9)


def test_geojson_has_the_places_and_covariances_of_the_track(tmp_path, rng):
    track = fixes(rng)
    assert write(track, tmp_path / "a.geojson") == [tmp_path / "a.geojson"]
    points = features(tmp_path / "a.geojson", "Point")
    llh = llh_of([each["geometry"]["coordinates"] for each in points])
    told = [each["properties"] for each in points]
    assert_same_belief(track, llh, full([each["covariance_enu_m2"] for each in told]))
    seconds = [each["stamp"].split(".") for each in told]
    assert [int(s) * 10**9 + int(ns) for s, ns in seconds] == track.stamp.tolist()
    assert told[0]["time"] == "2023-11-14T22:13:20.000000000Z"

    (line,) = features(tmp_path / "a.geojson", "MultiLineString")
    lengths = [len(part) for part in line["geometry"]["coordinates"]]
    assert lengths == [30, 20]  # no line crosses the gap
    assert line["properties"]["name"] == "rover.pos"


def test_kml_has_the_same(tmp_path, rng):
    track = fixes(rng, name="<a & b>.pos")
    write(track, tmp_path / "a.kml")
    document = ET.fromstring((tmp_path / "a.kml").read_text()).find("k:Document", KML)
    assert document.find("k:name", KML).text == "<a & b>.pos"
    parts = document.findall(".//gx:Track", KML)
    assert [len(part.findall("gx:coord", KML)) for part in parts] == [30, 20]
    coordinates = [
        list(map(float, each.text.split())) for each in document.iter(f"{{{KML['gx']}}}coord")
    ]
    arrays: dict[str, list[float]] = {}
    for each in document.iter(f"{{{KML['gx']}}}SimpleArrayData"):
        arrays.setdefault(each.get("name"), []).extend(float(value.text) for value in each)
    named = [f"covariance_{entry}_m2" for entry in ("ee", "en", "eu", "nn", "nu", "uu")]
    assert_same_belief(track, llh_of(coordinates), full(np.stack([arrays[n] for n in named], 1)))
    declared = [f.get("name") for f in document.findall(".//gx:SimpleArrayField", KML)]
    assert declared == named
    when = [each.text for each in document.findall(".//gx:Track/k:when", KML)]
    assert np.array([w.rstrip("Z") for w in when], "M8[ns]").astype(int).tolist() == (
        track.stamp.tolist()
    )


def test_ellipses_have_the_mahalanobis_distance_of_their_level(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(maps, "MOST_ELLIPSES", 7)
    track = fixes(rng)
    write(track, tmp_path / "a.geojson")
    write(track, tmp_path / "a.kml")
    places = {
        each["properties"]["stamp"]: each for each in features(tmp_path / "a.geojson", "Point")
    }
    polygons = features(tmp_path / "a.geojson", "Polygon")
    assert len(polygons) == 7
    for each in polygons:
        (ring,) = each["geometry"]["coordinates"]
        assert ring[0] == ring[-1]
        point = places[each["properties"]["stamp"]]
        centre = llh_of(point["geometry"]["coordinates"])
        away = geodesy.enu_from_ecef(geodesy.ecef_from_llh(llh_of(ring)), centre)[:-1, :2]
        precision = np.linalg.inv(full([point["properties"]["covariance_enu_m2"]])[0, :2, :2])
        square = np.einsum("vi,ij,vj->v", away, precision, away)
        np.testing.assert_allclose(
            square, CHI_SQUARED_95, rtol=1e-3
        )  # coordinates have 10 decimals
        x, y = away.T
        assert np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) > 0  # counter-clockwise, RFC 7946
    document = ET.fromstring((tmp_path / "a.kml").read_text())
    rings = [each.text.split() for each in document.findall(".//k:LinearRing/k:coordinates", KML)]
    assert [[float(n) for n in place.split(",")] for place in rings[3]] == (
        polygons[3]["geometry"]["coordinates"][0]
    )


def test_a_real_solution_keeps_its_latitudes_and_deviations(shared_data, tmp_path):
    """The columns of the file itself: latitude, longitude, height, sdn, sde, sdu."""
    source = shared_data / "gnss_nagoya" / "2023_rover_1Hz_rtk.pos"
    write(read(source), tmp_path / "a.geojson")
    rows = [line.split() for line in source.read_text().splitlines() if line[0] not in "% "]
    columns = np.array([row[2:10] for row in rows], dtype=float)
    points = features(tmp_path / "a.geojson", "Point")
    assert len(points) == len(columns)
    llh = llh_of([each["geometry"]["coordinates"] for each in points])
    np.testing.assert_allclose(llh, columns[:, :3], atol=2e-5, rtol=0)
    np.testing.assert_allclose(llh[:, :2], columns[:, :2], atol=2e-9, rtol=0)
    covariance = full([each["properties"]["covariance_enu_m2"] for each in points])
    variances = np.diagonal(covariance, axis1=1, axis2=2)
    sdn, sde, sdu = columns[:, 5:8].T
    np.testing.assert_allclose(variances, np.stack([sde, sdn, sdu], 1) ** 2, rtol=1e-6)


def test_a_track_across_the_date_line_stays_together(tmp_path, rng):
    track = fixes(rng, origin=np.array([-17.0, 179.9999, 0.0]))
    write(track, tmp_path / "a.geojson")
    every = [
        np.array(each["geometry"]["coordinates"])[..., 0].ravel()
        for kind in ("Point", "Polygon")
        for each in features(tmp_path / "a.geojson", kind)
    ]
    assert np.ptp(np.concatenate(every)) < 1


@pytest.mark.parametrize("name", ["a.kml", "a.geojson"])
def test_what_says_nothing_of_the_earth_is_refused(name, tmp_path, rng):
    track = gaussian(N, rng)
    with pytest.raises(OptionError, match="would lose the orientation"):
        write(track, tmp_path / name)
    with pytest.raises(OptionError, match="does not say where on Earth it is"):
        write(track, tmp_path / name, lossy=True)
    with pytest.raises(OptionError, match="is no place on Earth"):
        write(track, tmp_path / name, lossy=True, origin=(91.0, 0.0, 0.0))
    with pytest.raises(OptionError, match="would lose the orientation and the particles"):
        write(particles(N, rng), tmp_path / name)
    with pytest.raises(OptionError, match="origin means nothing for TUM"):
        write(track, tmp_path / "a.tum", lossy=True, origin=(1.0, 0.0, 0.0))
    assert list(tmp_path.iterdir()) == []
    write(poses(N, rng), tmp_path / name, lossy=True, origin=ORIGIN)
    assert "covariance" not in (tmp_path / name).read_text()


def test_convert_takes_the_origin_of_the_track_or_of_the_user(tmp_path, capsys, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    write(fixes(rng), "own.square")
    write(gaussian(N, rng), "local.square")
    assert run(capsys, "convert", "own.square", "own.kml").code == 0
    assert run(capsys, "convert", "own.square", "moved.kml", "--origin", "10,20,0").code == 0
    assert Path("own.kml").read_text() != Path("moved.kml").read_text()
    said = refused(capsys, "convert", "local.square", "local.kml", "--lossy")
    assert "--origin LAT,LON,HEIGHT says where its zero is" in said
    done = run(
        capsys, "convert", "local.square", "local.geojson", "--lossy", "--origin", "35,136,0", "-v"
    )
    assert done.code == 0
    assert "lost" in done.out
    (first, *_), local = features(Path("local.geojson"), "Point"), read("local.square")
    llh = llh_of(first["geometry"]["coordinates"])
    origin = np.array([35.0, 136.0, 0.0])
    back = geodesy.enu_from_ecef(geodesy.ecef_from_llh(llh), origin)
    np.testing.assert_allclose(back, local.position[0], atol=2e-5)
    assert "GeoJSON is written, not read" in refused(capsys, "check", "local.geojson")
    assert "KML is written, not read" in refused(capsys, "convert", "own.kml", "own.tum")
    assert "--force overwrites it" in refused(capsys, "convert", "own.square", "own.kml")
