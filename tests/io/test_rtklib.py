"""RTKLIB solutions: places, times, covariances with signed roots, and what is refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smfeval.errors import FormatError, OptionError, SmfevalError, TrackError
from smfeval.io import read
from smfeval.maths import geodesy
from smfeval.track import GaussianTrack, Track

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "gnss_nagoya"
real_data = pytest.mark.skipif(not DATA.is_dir(), reason="GNSS data is not beside the checkout")

LLH = (
    "%  GPST                  latitude(deg) longitude(deg)  height(m)   Q  ns   sdn(m)   sde(m)"
    "   sdu(m)  sdne(m)  sdeu(m)  sdun(m) age(s)  ratio"
)
DMS = LLH.replace("(deg)", "(d'\")").replace("sdun", "sdue")  # the slip is RTKLIB's own
ECEF = (
    "%  GPST   x-ecef(m)   y-ecef(m)   z-ecef(m)   Q  ns   sdx(m)   sdy(m)   sdz(m)  sdxy(m)"
    "  sdyz(m)  sdzx(m) age(s)  ratio"
)
BASELINE = (
    "%  GPST  e-baseline(m)  n-baseline(m)  u-baseline(m)   Q  ns   sde(m)   sdn(m)   sdu(m)"
    "  sden(m)  sdnu(m)  sdue(m) age(s)  ratio"
)
ORIGIN = (35.165361090, 136.881408660, 41.3910)
# Latitude, longitude, height and east, north, up about ORIGIN by PROJ 9 (+proj=topocentric).
PLACES = np.array([
    [35.165393934, 136.881442407, 39.6452, 3.07450920851, 3.64385504182, -1.74580178405],
    [35.2, 136.9, 100.0, 1693.0560097880532, 3843.195003940165, 57.22276960933323],
    [36.0, 137.5, 0.0, 55773.39293092821, 92774.3923261826, -962.0181452650795],
])  # fmt: skip
SIGMA = (3.0, 4.0, 8.0, 1.5, 1.25, -1.0)  # sdn sde sdu sdne sdeu sdun


def row(second, position, sigma=SIGMA, *, quality=1, time=None):
    time = time or f"2023/07/11 06:04:{second:06.3f}"
    numbers = " ".join(f"{number:.12f}" for number in (*position,))
    return f"{time} {numbers} {quality} 19 {' '.join(map(str, sigma))} 0.03 5.9"


def written(folder, heading, *rows, name="a.pos"):
    path = folder / name
    path.write_text("\n".join(["% program   : RTKLIB ver.2.4.3", heading, *rows]) + "\n")
    return path


@pytest.fixture
def path(tmp_path):
    return written(tmp_path, LLH, *(row(i, place[:3]) for i, place in enumerate(PLACES)))


# places


def test_positions_about_an_origin_agree_with_proj(path):
    track = read(path, origin=ORIGIN)
    np.testing.assert_allclose(track.position, PLACES[:, 3:], atol=1e-7)


def test_the_first_fix_is_the_origin_and_is_stated(path):
    track = read(path)
    np.testing.assert_allclose(track.position[0], 0.0, atol=1e-9)
    assert any(
        "first fix 35.165393934 136.881442407 39.6452" in n for n in track.provenance.remarks
    )


def test_the_given_origin_is_stated(path):
    notes = read(path, origin=ORIGIN).provenance.remarks
    assert any("given origin 35.165361090 136.881408660 41.3910" in note for note in notes)


def test_earth_centred_and_geodetic_files_of_one_drive_are_the_same_track(path, tmp_path):
    llh = PLACES[:, :3]
    axes = geodesy.enu_axes(llh)
    n, e, u, ne, eu, un = np.sign(SIGMA) * np.square(SIGMA)
    enu = np.array([[e, ne, eu], [ne, n, un], [eu, un, u]])
    ecef = axes.swapaxes(-1, -2) @ enu @ axes
    root = np.sign(ecef) * np.sqrt(np.abs(ecef))
    entries = root[:, [0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]]
    rows = (row(i, geodesy.ecef_from_llh(llh[i]), entries[i]) for i in range(3))
    other = read(written(tmp_path, ECEF, *rows, name="ecef.pos"), origin=ORIGIN)
    track = read(path, origin=ORIGIN)
    np.testing.assert_allclose(other.position, track.position, atol=1e-8)
    np.testing.assert_allclose(other.covariance, track.covariance, atol=1e-12 * 64)
    np.testing.assert_array_equal(other.stamp, track.stamp)


def test_degrees_minutes_and_seconds_are_the_same_place(tmp_path):
    south = written(tmp_path, DMS, "2023/07/11 06:04:30.000 -0 30 36.00000 -70 05 06.00000 10 "
                    "1 19 1 1 1 0 0 0 0 0")  # fmt: skip
    track = read(south, origin=(-0.51, -(70 + 5 / 60 + 6 / 3600), 10.0))
    np.testing.assert_allclose(track.position[0], 0.0, atol=1e-8)


def test_baselines_are_taken_as_they_are(tmp_path):
    path = written(
        tmp_path,
        "% ref pos   : 35.134709483  136.977574275   104.7280\n" + BASELINE,
        row(0, (1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 0.5, -0.25, 0.75)),
    )
    track = read(path)
    np.testing.assert_array_equal(track.position, [[1.0, 2.0, 3.0]])
    expected = [[1.0, 0.25, 0.5625], [0.25, 4.0, -0.0625], [0.5625, -0.0625, 9.0]]
    np.testing.assert_allclose(track.position_covariance[0], expected)
    assert any("base station at 35.134709483" in note for note in track.provenance.remarks)


def test_baselines_have_no_other_origin(tmp_path):
    path = written(tmp_path, BASELINE, row(0, (1.0, 2.0, 3.0)))
    with pytest.raises(OptionError, match="baselines start at the base station"):
        read(path, origin=ORIGIN)


@pytest.mark.parametrize("origin", [(91.0, 0.0, 0.0), (0.0, np.nan, 0.0), (0.0, 500.0, 0.0)])
def test_an_origin_that_is_no_place_is_refused(path, origin):
    with pytest.raises(OptionError, match="is no place on Earth"):
        read(path, origin=origin)


# covariances


def test_cross_columns_are_roots_with_a_sign(path):
    track = read(path)
    expected = [[16.0, 2.25, 1.5625], [2.25, 9.0, -1.0], [1.5625, -1.0, 64.0]]
    np.testing.assert_allclose(track.position_covariance[0], expected, atol=1e-12)
    assert not track.covariance[:, 3:].any()
    np.testing.assert_array_equal(track.rotation, np.tile([0.0, 0, 0, 1], (3, 1)))


def test_a_covariance_far_away_is_turned_into_the_axes_of_the_origin(path):
    """S = J S_there J^T, J by differences: steps of a metre there, seen from the origin."""
    track, there = read(path), PLACES[2, :3]
    normal, meridian = radii(there[0])
    parallel = normal * np.cos(np.radians(there[0]))
    metre = np.diag([np.degrees(1 / meridian), np.degrees(1 / parallel), 1.0])
    steps = np.stack([there + metre[[1, 0, 2]], there - metre[[1, 0, 2]]])  # east, north, up
    seen = geodesy.enu_from_ecef(geodesy.ecef_from_llh(steps), PLACES[0, :3])
    jacobian = (seen[0] - seen[1]).T / 2
    n, e, u, ne, eu, un = np.sign(SIGMA) * np.square(SIGMA)
    expected = jacobian @ [[e, ne, eu], [ne, n, un], [eu, un, u]] @ jacobian.T
    np.testing.assert_allclose(track.position_covariance[2], expected, atol=1e-5)
    turned = np.abs(track.position_covariance[2] - track.position_covariance[0]).max()
    assert turned > 0.5  # it would matter: 100 km turn the axes by a degree


def radii(latitude):
    """Radii of curvature of WGS 84 east-west and north-south, at height zero."""
    root = np.sqrt(1 - geodesy.ECCENTRICITY2 * np.sin(np.radians(latitude)) ** 2)
    return geodesy.EQUATOR_M / root, geodesy.EQUATOR_M * (1 - geodesy.ECCENTRICITY2) / root**3


def test_the_track_is_of_an_antenna_without_attitude(path):
    about = read(path).about
    assert (about.body, about.world, about.gauge, about.oriented) == (
        "antenna",
        "enu",
        "fixed",
        False,
    )


def test_zero_deviations_in_every_row_are_no_belief(tmp_path):
    rows = (row(i, ORIGIN, (0.0,) * 6) for i in range(3))
    track = read(written(tmp_path, LLH, *rows))
    assert type(track) is Track
    assert not track.about.oriented
    assert any("every standard deviation is zero" in note for note in track.provenance.notes)


def test_a_row_that_rounding_made_indefinite_is_refused_or_left_out(tmp_path):
    """Fully correlated: 0.00304 and 0.00374 round down, the root of their product up."""
    rounded = (0.0030, 0.0037, 0.0100, 0.0034, 0.0, 0.0)
    rows = (row(0, ORIGIN), row(1, ORIGIN, rounded), row(2, ORIGIN))
    path = written(tmp_path, LLH, *rows)
    with pytest.raises(TrackError, match=r"a\.pos:4: .*not positive semi-definite") as refused:
        read(path)
    assert refused.value.remedy == "bad_rows"
    track = read(path, bad_rows="drop")
    assert isinstance(track, GaussianTrack)
    assert len(track) == 2
    (dropped,) = track.provenance.dropped
    assert (dropped.reason, dropped.count) == ("covariance not positive semi-definite", 1)
    assert dropped.first.endswith("a.pos:4")


def test_a_first_fix_that_is_not_finite_is_not_the_origin(tmp_path):
    path = written(tmp_path, LLH, row(0, (np.nan, 0, 0)), row(1, ORIGIN), row(2, ORIGIN))
    with pytest.raises(TrackError, match=r"a\.pos:3: the pose has a NaN"):
        read(path)
    np.testing.assert_allclose(read(path, bad_rows="drop").position, 0.0, atol=1e-9)


# times


@pytest.mark.parametrize("time", ["2023/07/11 06:04:30.000", "2270 194670.000"])
def test_calendar_and_week_are_the_same_instant(tmp_path, time):
    track = read(written(tmp_path, LLH, row(0, ORIGIN, time=time)))
    assert track.stamp.tolist() == [1_689_055_470 * 10**9]  # date -u -d '2023-07-11 06:04:30' +%s


@pytest.mark.parametrize("time", ["2023/07/11 06:04:30.123456789", "2270 194670.123456789"])
def test_every_digit_of_a_time_is_kept(tmp_path, time):
    track = read(written(tmp_path, LLH, row(0, ORIGIN, time=time)))
    assert track.stamp.tolist() == [1_689_055_470_123_456_789]


@pytest.mark.parametrize("scale", ["GPST", "UTC", "JST"])
def test_the_time_scale_is_named_and_not_changed(tmp_path, scale):
    track = read(written(tmp_path, LLH.replace("GPST", scale), row(0, ORIGIN)))
    assert track.stamp.tolist() == [1_689_055_440 * 10**9]
    assert any(f"stamps count {scale} from 1970" in note for note in track.provenance.remarks)


@pytest.mark.parametrize(
    "time",
    [
        "2023/13/11 06:04:31.000", "2023/07/11 25:04:31.000", "1200/07/11 06:04:31.000",
        "2023/07/11 06:04:31.0x0", "2270 604800.000", "2270 194671.000", "-1 5", "x y",
    ],
)  # fmt: skip
def test_a_time_that_cannot_be_read_is_refused_with_its_line(tmp_path, time):
    path = written(tmp_path, LLH, row(0, ORIGIN), row(1, ORIGIN, time=time))
    with pytest.raises(FormatError, match=rf"a\.pos:4: '{time}' is no time"):
        read(path)


@pytest.mark.parametrize("time", ["2270 604800.0", "2270 -1.0", "99999 0.0", "2270 nan"])
def test_a_week_that_cannot_be_read_is_refused_with_its_line(tmp_path, time):
    path = written(tmp_path, LLH, row(0, ORIGIN, time="2270 0.0"), row(1, ORIGIN, time=time))
    with pytest.raises(FormatError, match=rf"a\.pos:4: '{time}' is no time"):
        read(path)


# text


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\N{BYTE ORDER MARK}" + text,
        lambda text: text.replace(" 1 19 ", ",1,19,").replace(" 0.03 ", "\t0.03\t"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n2023", "\n\n   2023"),
    ],
)
def test_the_way_the_text_is_laid_out_does_not_matter(path, change):
    plain = read(path)
    path.write_bytes(change(path.read_text()).encode())
    other = read(path)
    np.testing.assert_array_equal(other.position, plain.position)
    np.testing.assert_array_equal(other.covariance, plain.covariance)
    np.testing.assert_array_equal(other.stamp, plain.stamp)


def test_a_gzipped_file_is_read(path, tmp_path):
    packed = tmp_path / "b.pos.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read(packed).position, read(path).position)


def test_quality_is_counted_in_words(tmp_path):
    rows = (row(i, ORIGIN, quality=q) for i, q in enumerate((2, 1, 2, 2, 1, 5, 9)))
    notes = read(written(tmp_path, LLH, *rows)).provenance.remarks
    (note,) = (note for note in notes if note.startswith("quality"))
    assert note.startswith("quality: 3 float, 2 fix, 1 ")
    assert "1 single" in note
    assert "1 of unknown quality 9" in note


def test_heights_above_the_geoid_leave_a_note(path):
    head = "% (lat/lon/height=WGS84/geodetic,Q=1:fix,2:float)\n"
    path.write_text(head + path.read_text())
    assert any("WGS84/geodetic" in note for note in read(path).provenance.remarks)


def test_a_row_that_is_commented_out_leaves_a_note(path):
    path.write_text(path.read_text().replace("\n2023", "\n%023", 1))
    track = read(path)
    assert len(track) == 2
    assert any("a.pos:3: a row is commented out" in note for note in track.provenance.notes)


def test_two_headings_that_agree_are_one_file(path):
    path.write_text(path.read_text() + LLH + "\n" + row(30, ORIGIN) + "\n")
    assert len(read(path)) == 4


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda text: text.replace(LLH, ""), "no line names the columns"),
        (lambda text: text.replace("sdn(m)", "sdx(m)"), "2: the columns are not those of RTKLIB"),
        (lambda text: text + ECEF + "\n", "6: other columns than at line 2"),
        (lambda text: text.partition("2023")[0], "there is a header but no row"),
        (lambda text: text.replace(" 5.9\n", "\n", 1), "3: 14 columns; the heading has 15"),
        (lambda text: text.replace("4.0", "4.o", 1), "3: column 9 is '4.o'"),
        (lambda text: text.replace("35.2", "95.2", 1), "4: latitude 95.2.* no place on Earth"),
        (lambda text: text.replace(" 8.0", " -8.0", 1), "3: a standard deviation is negative"),
        (lambda text: text.replace("RTKLIB", "RT\0LIB"), "1: this is binary data"),
        (lambda text: " \n", "the file is empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(path, edit, sentence):
    path.write_text(edit(path.read_text()))
    with pytest.raises(FormatError, match=rf"a\.pos:? ?{sentence}"):
        read(path, format="rtklib")


@pytest.mark.parametrize("word", ["nan", "inf", "1e400"])
def test_a_deviation_that_is_not_finite_is_refused_with_its_line(path, word):
    path.write_text(path.read_text().replace("4.0", word, 1))
    with pytest.raises(TrackError, match=r"a\.pos:3: the covariance has a NaN, an infinity"):
        read(path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    heading=st.sampled_from([LLH, ECEF, BASELINE]),
    at=st.integers(0, 10**6),
    byte=st.integers(0, 255),
    cut=st.booleans(),
)
def test_a_damaged_file_gives_an_error_of_ours_or_as_many_rows(tmp_path, heading, at, byte, cut):
    path = written(tmp_path, heading, *(row(i, place[:3]) for i, place in enumerate(PLACES)))
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at : at + (25 if cut else 1)] = b"" if cut else bytes([byte])
    path.write_bytes(data)
    assert rows_or_sentence(path) in (3, "a sentence", "a row is commented out")


def rows_or_sentence(path):
    try:
        track = read(path)
    except SmfevalError as error:
        return "a sentence" if str(path) in str(error) else str(error)
    noted = any("commented out" in note for note in track.provenance.notes)
    return "a row is commented out" if noted and len(track) == 2 else len(track)


# a real drive


@real_data
@pytest.mark.parametrize(("name", "scans"), [("rtk", 531), ("spp", 550)])
def test_a_real_solution_is_read_whole(name, scans):
    track = read(DATA / f"2023_rover_1Hz_{name}.pos")
    assert isinstance(track, GaussianTrack)
    assert len(track) == scans


@real_data
def test_steps_of_a_real_drive_are_those_of_the_radii_of_curvature():
    path = DATA / "2023_reference_1Hz.pos"
    track = read(path)
    lines = [line.split() for line in path.read_text().splitlines() if line[0] != "%"]
    llh = np.array([line[2:5] for line in lines], dtype=float)
    latitude, step = np.radians(llh[:-1, 0]), np.diff(llh, axis=0)
    normal, meridian = radii(llh[:-1, 0])
    east = (normal + llh[:-1, 2]) * np.cos(latitude) * np.radians(step[:, 1])
    north = (meridian + llh[:-1, 2]) * np.radians(step[:, 0])
    expected = np.stack([east, north, step[:, 2]], axis=1)
    np.testing.assert_allclose(np.diff(track.position, axis=0), expected, atol=0.02)


@real_data
def test_on_the_real_drive_only_the_rtk_solution_is_overconfident():
    reference = read(DATA / "2023_reference_1Hz.pos", origin=ORIGIN)
    inflation = {}
    for name in ("rtk", "spp"):
        track = read(DATA / f"2023_rover_1Hz_{name}.pos", origin=ORIGIN)
        at = np.searchsorted(reference.stamp, track.stamp)
        np.testing.assert_array_equal(reference.stamp[at], track.stamp)
        error = track.position - reference.position[at]
        weighted = np.linalg.solve(track.position_covariance, error[..., None])[..., 0]
        inflation[name] = np.median(np.sum(error * weighted, axis=1)) / 2.366
    assert inflation["spp"] < 1
    assert inflation["rtk"] > 20
