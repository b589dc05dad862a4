"""u-blox UBX and NMEA GST: covariances in our axes, what is left out, ellipses; real streams."""

import json

import numpy as np
import pytest

import smfeval
from smfeval.cli.main import main
from smfeval.errors import FormatError
from smfeval.io import declared_gauge, format_of, is_geodetic, read
from smfeval.io.receivers import ellipse_ratios
from smfeval.track import Track
from support.logs import nav_cov, nav_pvt, sentence

PLACE = (35.165393934, 136.881442407, 39.6452)
ORIGIN = (35.165361090, 136.881408660, 41.3910)
ENU = (3.07450920851, 3.64385504182, -1.74580178405)  # of PLACE about ORIGIN, by PROJ 9
NED = np.array([[9.0, 1.5, 0.3], [1.5, 4.0, -0.2], [0.3, -0.2, 16.0]])
MATRIX = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])


def stream(path, *parts):
    path.write_bytes(b"".join(each if isinstance(each, bytes) else each.encode() for each in parts))
    return path


def test_nav_cov_is_turned_from_north_east_down(tmp_path):
    path = stream(tmp_path / "a.ubx", nav_pvt(1000, PLACE, second=1, nano=-5), nav_cov(1000, NED))
    track = read(path, origin=ORIGIN)
    np.testing.assert_allclose(track.position[0], ENU, atol=1.2e-2)  # rounded to 1e-7 degrees
    expected = MATRIX @ NED @ MATRIX.T
    np.testing.assert_allclose(track.position_covariance[0], expected, atol=1e-4)
    assert track.stamp[0] == np.datetime64("2024-05-06T07:08:01", "ns").astype(int) - 5
    assert (track.about.body, track.about.gauge, track.about.oriented) == (
        "antenna",
        "fixed",
        False,
    )
    assert "full" in track.provenance.convention
    assert is_geodetic(path)
    assert declared_gauge(path) == "fixed"


def test_accuracies_alone_are_radial_and_diagonal(tmp_path):
    track = read(stream(tmp_path / "a.ubx", nav_pvt(1000, PLACE, (3.0, 5.0), second=1)))
    np.testing.assert_allclose(track.position_covariance[0], np.diag([4.5, 4.5, 25.0]), atol=1e-9)
    assert any("hAcc / sqrt 2" in note for note in track.provenance.notes)
    assert "diagonal" in track.provenance.convention


def test_fixes_and_covariances_meet_by_itow_also_a_week_later(tmp_path):
    week = [nav_pvt(1000, PLACE, second=1, date=(2024, 5, day)) for day in (6, 13)]
    parts = (week[0], nav_cov(1000, NED), week[1], nav_cov(1000, 4 * NED))
    track = read(stream(tmp_path / "a.ubx", *parts))
    factor = track.position_covariance[1] / track.position_covariance[0]
    np.testing.assert_allclose(factor, 4.0, rtol=1e-5)


def test_fixes_that_cannot_be_used_are_counted_by_their_reasons(tmp_path):
    parts = []
    changes = ({}, {"fix": 0}, {"ok": 0}, {"invalid": 1}, {"date": (2024, 0, 0)}, {}, {}, {})
    for number, changed in enumerate(changes):
        parts.append(nav_pvt(1000 * number, PLACE, second=number, carrier=2, **changed))
        if number != 6:
            parts.append(nav_cov(1000 * number, NED, valid=int(number != 5)))
    broken = bytearray(nav_pvt(9000, PLACE, second=9))
    broken[20] ^= 1
    track = read(stream(tmp_path / "a.ubx", *parts, bytes(broken), nav_cov(1000, NED)[:20]))
    counted = {left.reason: left.count for left in track.provenance.dropped}
    assert counted["no valid NAV-COV of the same iTOW"] == 2
    assert counted["no fix (gnssFixOk, fixType)"] == 2
    assert counted["position marked invalid (invalidLlh)"] == 1
    assert counted["messages that are damaged or cut off"] >= 1
    assert "fixes: 8 fixed" in track.provenance.remarks


def test_a_covariance_that_contradicts_the_accuracy_is_noted(tmp_path):
    agreeing = nav_pvt(1000, PLACE, (np.sqrt(13.0), 4.0), second=1)
    path = stream(tmp_path / "a.ubx", agreeing, nav_cov(1000, NED))
    assert read(path).provenance.notes == ()
    path = stream(tmp_path / "a.ubx", agreeing, nav_cov(1000, 4 * NED))
    assert "NAV-COV implies 2 times" in read(path).provenance.notes[0]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.ubx", nav_cov(1000, NED), "has NAV-COV, but no NAV-PVT"),
        ("a.ubx", b"\xb5\x62 nothing", "neither NAV-PVT nor NAV-COV"),
        ("a.ubx", nav_pvt(1, PLACE, ok=0), "no fix is left: no fix"),
        ("a.nmea", sentence("GPGLL,5327.0,N,00214.4,W,103607.00,A,A").encode(), "there is no GST"),
        ("a.nmea", b"$GP nothing\r\n", "there is no GST"),
        ("a.nmea", sentence("GNGST,103607.00,38,60,38,89,15,24,31").encode(), "no GGA or GNS"),
    ],
)
def test_streams_without_a_belief_are_refused_in_words(name, content, word, tmp_path, capsys):
    assert main(["check", str(stream(tmp_path / name, content))]) == 2
    said = capsys.readouterr()
    assert word in said.err
    assert (said.out, len(said.err.splitlines())) == ("", 1)


def epoch(clock, gst, *, day="060524", quality=1, separation="40.0"):
    where = "3509.9236360,N,13652.8865444,E"
    parts = [f"GNRMC,{clock},A,{where},0.0,,{day},,,A,V"] if day else []
    parts += [f"GNGGA,{clock},{where},{quality},09,1.0,-0.3548,M,{separation},M,,"]
    return "".join(map(sentence, [*parts, f"GNGST,{clock},1.0,{gst}"]))


def ellipse(covariance):
    """Axes and bearing of the one-sigma ellipse of a covariance of north and east."""
    value, vector = np.linalg.eigh(covariance)
    bearing = np.degrees(np.arctan2(vector[1, 1], vector[0, 1])) % 180
    return np.sqrt(value[1]), np.sqrt(value[0]), bearing


PLANE = np.array([[4.0, 1.2], [1.2, 1.0]])  # north, east


def gst(scale=1.0):
    major, minor, bearing = ellipse(PLANE)
    shape = f"{scale * major:.4f},{scale * minor:.4f},{bearing:.4f}"
    return f"{shape},2.0000,1.0000,3.5000"


def test_gst_with_an_ellipse_of_one_sigma_has_its_correlation(tmp_path):
    track = read(stream(tmp_path / "a.nmea", epoch("070801.25", gst())), origin=ORIGIN)
    np.testing.assert_allclose(track.position[0], ENU, atol=2e-3)
    expected = [[1.0, 1.2, 0], [1.2, 4.0, 0], [0, 0, 12.25]]
    np.testing.assert_allclose(track.position_covariance[0], expected, atol=2e-3)
    assert track.stamp[0] == np.datetime64("2024-05-06T07:08:01.250", "ns").astype(int)
    assert "full" in track.provenance.convention
    assert track.provenance.notes == ()


def test_an_ellipse_of_another_size_is_not_mixed_with_the_deviations(tmp_path):
    track = read(stream(tmp_path / "a.nmea", epoch("070801.00", gst(2.448))))
    np.testing.assert_allclose(track.position_covariance[0], np.diag([1.0, 4.0, 12.25]), atol=1e-6)
    (note,) = track.provenance.notes
    assert note.startswith("the error ellipse of GST is 2.45 times as large")
    assert "95 % would be 2.45" in note
    assert "diagonal" in track.provenance.convention


def test_days_follow_the_dates_of_the_stream_over_midnight(tmp_path):
    parts = [epoch("235959.00", gst()), epoch("000000.00", gst(), day=""),
             epoch("000001.00", gst(), day="070524")]  # fmt: skip
    track = read(stream(tmp_path / "a.nmea", *parts))
    assert np.diff(track.stamp).tolist() == [10**9, 10**9]
    track = read(stream(tmp_path / "a.nmea", epoch("070801.00", gst(), day="")))
    assert track.stamp[0] == (7 * 3600 + 8 * 60 + 1) * 10**9
    assert any("no sentence has a date" in note for note in track.provenance.notes)


def test_sentences_that_cannot_be_used_are_counted(tmp_path):
    bad = epoch("070805.00", gst()).replace("GNGST,070805.00,1.0", "GNGST,070805.00,1.1")
    parts = [epoch("070801.00", gst()), epoch("070802.00", ",,,,,"), bad,
             epoch("070803.00", gst(), quality=0),
             epoch("070804.00", gst(), separation="")]  # fmt: skip
    track = read(stream(tmp_path / "a.nmea", *parts))
    counted = {left.reason: left.count for left in track.provenance.dropped}
    assert counted == {
        "messages that are damaged or cut off": 1,
        "no fix (quality, position or altitude)": 1,
        "no standard deviation (empty or 0)": 1,
    }
    assert any("1 fixes have no separation" in note for note in track.provenance.notes)


@pytest.fixture(scope="module")
def real(shared_data):
    folder = shared_data / "gnss_receivers"
    return folder, json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("name", ["mixed_ubx_nmea.ubx", "zed_x20p_nav.ubx"])
def test_real_streams_have_the_values_of_their_oracle(name, real):
    folder, known = real
    expected = known[name]
    joined = expected["hAcc_is_sqrt_of_NN_plus_EE"][0]["iTOW_ms"]
    fix = next(each for each in expected["nav_pvt"] if each["iTOW_ms"] == joined)
    origin = (fix["lat_deg"], fix["lon_deg"], fix["height_m"])
    track = read(folder / name, origin=origin)
    assert len(track) == 1
    precise = "NAV-HPPOSLLH" in track.provenance.format  # NAV-PVT is rounded to 1e-7 degrees
    np.testing.assert_allclose(track.position[0], 0, atol=6e-3 if precise else 1e-6)
    matrix = np.reshape(expected["last_as_ENU_row_major_m2"], (3, 3))
    np.testing.assert_allclose(track.position_covariance[0], matrix, rtol=1e-6)
    assert track.provenance.notes == ()


def test_real_fixes_without_a_covariance_have_their_accuracies(real):
    folder, known = real
    track = read(folder / "pvt_39.ubx")
    assert len(track) == known.get("pvt_39.ubx", {}).get("n_nav_pvt", 39)
    horizontal = np.sqrt(track.position_covariance[0, 0, 0] + track.position_covariance[0, 1, 1])
    assert horizontal == pytest.approx(6.298, abs=1e-3)


@pytest.mark.parametrize("name", ["mixed_ubx_nmea.ubx", "gst.nmea"])
def test_real_ellipses_are_larger_than_the_deviations_and_not_used(name, real):
    folder, known = real
    (expected,) = known[name]["gst"]
    sigma = np.array([[expected["std_lat"], expected["std_lon"], expected["std_alt"]]])
    shape = np.array([[expected["major"], expected["minor"], expected["orient_deg"]]])
    ratio = [expected["ratio_lat"], expected["ratio_lon"]]
    np.testing.assert_allclose(ellipse_ratios(sigma, shape)[0], ratio, rtol=1e-12)
    track = read(folder / name, format="nmea")
    diagonal = np.diag(track.position_covariance[0])
    np.testing.assert_allclose(np.sqrt(diagonal), sigma[0, [1, 0, 2]], rtol=1e-6)
    assert any("it was not used" in note for note in track.provenance.notes)


def test_a_receiver_is_scored_against_another_about_one_origin(tmp_path):
    north = (PLACE[0] + 2e-5, *PLACE[1:])
    parts = [part for i in range(30) for part in (nav_pvt(i, PLACE, second=i), nav_cov(i, NED))]
    estimate = stream(tmp_path / "a.ubx", *parts)
    other = [nav_pvt(i, north, (0.02, 0.03), second=i) for i in range(30)]
    reference = stream(tmp_path / "b.ubx", *other)
    found = smfeval.evaluate(estimate, reference).per_scan()
    total = NED + np.diag([0.02**2 / 2, 0.02**2 / 2, 0.03**2])
    south = np.array([-2.2188, 0.0, 0.0])  # 2e-5 degrees of latitude there
    expected = south @ np.linalg.solve(total, south)
    np.testing.assert_allclose(found["nees"], expected, rtol=2e-3)
    with pytest.raises(FormatError, match="no GST"):
        read(estimate, format="nmea")


@pytest.mark.parametrize("before", [b"u-blox log\r\n", b"text " * 5000 + b"\n"])
def test_messages_may_begin_behind_something_else(before, tmp_path):
    path = stream(tmp_path / "a.log", before, nav_pvt(1000, PLACE, second=1))
    assert format_of(path) == "ubx"
    assert len(read(path)) == 1
    broken = bytearray(nav_pvt(1000, PLACE, second=1))
    broken[-1] ^= 1
    with pytest.raises(FormatError, match="binary data of no format"):
        read(stream(tmp_path / "b.log", b"text\n", bytes(broken)))


@pytest.mark.parametrize("kind", ["GGA", "GNS"])
def test_without_gst_positions_alone_are_read(kind, tmp_path):
    whole = epoch("070801.25", gst()) + epoch("070802.25", gst())
    kept = [line for line in whole.splitlines(keepends=True) if "GST" not in line]
    text = "".join(kept)
    if kind == "GNS":
        where = "3509.9236360,N,13652.8865444,E"
        text = "".join(
            sentence(f"GNGNS,07080{i}.25,{where},AN,09,1.0,-0.3548,40.0,,") for i in (1, 2)
        )
    found = read(stream(tmp_path / "a.nmea", text), origin=ORIGIN)
    assert type(found) is Track
    np.testing.assert_allclose(found.position[0], ENU, atol=2e-3)
    np.testing.assert_array_equal(np.diff(found.stamp), 10**9)
    assert any("positions without uncertainty" in note for note in found.provenance.notes)
    belief = read(stream(tmp_path / "b.nmea", whole), origin=ORIGIN)
    np.testing.assert_array_equal(found.position, belief.position)


WHEN = {"year": 2024, "month": 5, "day": 6, "hour": 7, "min": 8, "validDate": 1, "validTime": 1}


def message(kind, **fields):
    """A message as pyubx2 writes it."""
    from pyubx2 import GET, UBXMessage  # noqa: PLC0415  an extra

    place = {"lat": PLACE[0], "lon": PLACE[1], "height": round(PLACE[2] * 1e3)}
    return UBXMessage(
        kind[:3], kind, GET, **place | {"hAcc": 3000, "vAcc": 5000} | fields
    ).serialize()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("NAV-PVAT", {"sec": 1, "fixType": 3, "gnssFixOK": 1}),
        ("HNR-PVT", {"second": 1, "gpsFix": 4, "GPSfixOK": 1}),
    ],
)
def test_fixes_of_fused_receivers_are_read(kind, names, tmp_path):
    parts = [message(kind, iTOW=1000, **WHEN | names, nano=100)]
    parts.append(message(kind, iTOW=2000, **WHEN | names | {list(names)[2]: 0}))
    parts.append(message(kind, iTOW=3000, **WHEN | names | {list(names)[1]: 5}))
    track = read(stream(tmp_path / "a.ubx", *parts), origin=ORIGIN)
    assert track.stamp.tolist() == [
        np.datetime64("2024-05-06T07:08:01", "ns").astype(int) + 100,
    ]
    np.testing.assert_allclose(track.position[0], ENU, atol=1.2e-2)
    np.testing.assert_allclose(track.position_covariance[0], np.diag([4.5, 4.5, 25]), atol=1e-4)
    assert [left.count for left in track.provenance.dropped] == [2]
    assert track.provenance.format == f"u-blox UBX, {kind}"


def test_fixes_are_of_one_kind_and_the_others_are_counted(tmp_path):
    other = message("HNR-PVT", iTOW=500, second=0, gpsFix=3, GPSfixOK=1, **WHEN)
    track = read(stream(tmp_path / "a.ubx", other, other, nav_pvt(1000, PLACE, second=1)))
    assert len(track) == 1
    assert "2 HNR-PVT not used" in track.provenance.remarks


def test_precise_places_have_a_tenth_of_a_millimetre_and_the_date_of_their_fix(tmp_path):
    parts = {"lat": 35.1653939, "_HPlat": 34.5e-9, "lon": 136.8814424, "_HPlon": 7.5e-9}
    parts |= {"height": 39645, "_HPheight": 0.25}
    precise = message("NAV-HPPOSLLH", iTOW=1000, hAcc=14.15, vAcc=20.05, **parts)
    path = stream(tmp_path / "a.ubx", nav_pvt(1000, PLACE, second=1), precise)
    track = read(path, origin=ORIGIN)
    np.testing.assert_allclose(track.position[0], ENU, atol=2e-4)
    sigma = np.sqrt(np.diag(track.position_covariance[0]))
    np.testing.assert_allclose(sigma, [0.0141 / np.sqrt(2), 0.0141 / np.sqrt(2), 0.02], rtol=1e-6)
    assert track.stamp[0] == np.datetime64("2024-05-06T07:08:01", "ns").astype(int)
    assert track.provenance.format == "u-blox UBX, NAV-PVT and NAV-HPPOSLLH"


def test_precise_places_alone_have_stamps_within_the_week(tmp_path):
    parts = [
        message("NAV-HPPOSLLH", iTOW=at, invalidLlh=int(at == 3000)) for at in (1000, 2000, 3000)
    ]
    track = read(stream(tmp_path / "a.ubx", *parts))
    assert track.stamp.tolist() == [10**9, 2 * 10**9]
    assert any("start of the GPS week" in note for note in track.provenance.notes)
    assert [left.count for left in track.provenance.dropped] == [1]


def test_protection_levels_are_those_of_the_fix_of_the_same_time(tmp_path):
    def levels(at, frame, *, valid=1):
        axes = {"plPos1": 3000, "plPos2": 4000, "plPos3": 7000}
        risk = {"tmirCoeff": 5, "tmirExp": -1}
        return message("NAV-PL", iTOW=at, plPosValid=valid, plPosFrame=frame, **axes, **risk)

    fixes = [nav_pvt(at * 1000, PLACE, second=at) for at in (1, 2, 3, 4)]
    path = stream(
        tmp_path / "a.ubx", *fixes, levels(1000, 2), levels(2000, 3), levels(3000, 1, valid=0)
    )
    track = read(path)
    nan = np.nan
    expected = [[5, 3, 4, 7, nan], [5, nan, nan, 7, nan], [nan] * 5, [nan] * 5]
    np.testing.assert_array_equal(track.protection, expected)  # horizontal, along, cross, vertical
    assert "NAV-PL: protection levels of a risk of 0.5 % on each axis" in track.provenance.remarks
    assert read(stream(tmp_path / "b.ubx", *fixes)).protection is None


def test_rmc_alone_is_a_track_in_a_plane(tmp_path):
    lines = [
        sentence(f"GNRMC,1036{second:02d}.00,{status},3510.5,N,13652.25,E,1.0,90.0,060524,,,A")
        for second, status in ((7, "A"), (8, "V"), (9, "A"))
    ]
    (tmp_path / "a.nmea").write_text("".join(lines))
    track = read(tmp_path / "a.nmea", origin=(35.175, 136.87, 0.0))
    assert len(track) == 2
    east = 6385209 * np.cos(np.radians(35.175)) * np.radians(136 + 52.25 / 60 - 136.87)
    np.testing.assert_allclose(track.position[:, 0], east, rtol=1e-4)  # N(35.175 deg) = 6385209 m
    np.testing.assert_allclose(track.position[:, 1], 0, atol=1e-2)
    assert track.provenance.axes == ("xy", "there is no z")
    assert [left.count for left in track.provenance.dropped] == [1]
