"""GNSS fixes in bags: covariance types, axes, what is left out, and the same scores as a .pos."""

from pathlib import Path

import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg

import smfeval
from smfeval.errors import FormatError, OptionError
from smfeval.io import declared_gauge, read
from smfeval.io.ros import candidates
from smfeval.io.rtklib import FROM_NEU, read_solution
from smfeval.track import GaussianTrack
from support.commands import run

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "gnss_nagoya"
PLACE = (35.165393934, 136.881442407, 39.6452)
ORIGIN = (35.165361090, 136.881408660, 41.3910)
ENU = (3.07450920851, 3.64385504182, -1.74580178405)  # of PLACE about ORIGIN, by PROJ 9
FULL = np.array([[4.0, 1.5, 0.2], [1.5, 9.0, -0.3], [0.2, -0.3, 16.0]])  # east, north, up
GPS_FIX = (
    "std_msgs/Header header\ngps_msgs/GPSStatus status\nfloat64 latitude\nfloat64 longitude\n"
    "float64 altitude\nfloat64 err_horz\nfloat64[9] position_covariance\n"
    "uint8 position_covariance_type\n"
)


def fix(bag, second, llh=PLACE, covariance=FULL, *, kind=3, status=0):
    return bag.make(
        "sensor_msgs/msg/NavSatFix",
        header=bag.header(int(second * 1e9), "gps"),
        status=bag.make("sensor_msgs/msg/NavSatStatus", status=status, service=1),
        latitude=llh[0],
        longitude=llh[1],
        altitude=llh[2],
        position_covariance=np.array(covariance, dtype=np.float64).reshape(9),
        position_covariance_type=kind,
    )


@pytest.fixture
def mcap(new_bag):
    return new_bag("mcap")


def filled(bag, *messages):
    for message in messages:
        bag.add("/fix", message)
    return bag.write()


def test_a_fix_is_an_east_north_up_belief_about_the_origin(bag):
    track = read(f"{filled(bag, fix(bag, 1), fix(bag, 2))}:/fix", origin=ORIGIN)
    assert isinstance(track, GaussianTrack)
    np.testing.assert_allclose(track.position[0], ENU, atol=1e-7)
    np.testing.assert_allclose(track.position_covariance[0], FULL, atol=1e-5)
    assert (track.about.body, track.about.gauge, track.about.oriented) == ("gps", "fixed", False)
    assert declared_gauge(f"{bag.folder / bag.name}{'.bag' * (bag.kind == 'bag')}:/fix") == "fixed"


def test_type_0_is_no_belief_whatever_its_numbers(mcap):
    path = filled(mcap, fix(mcap, 1, kind=0), fix(mcap, 2, kind=0))
    track = read(f"{path}:/fix")
    assert not isinstance(track, GaussianTrack)
    said = "type 0 (unknown): its numbers are no covariance; positions alone were read"
    assert any(said in note for note in track.provenance.notes)


def test_unknown_rows_no_fix_and_no_altitude_are_left_out_and_counted(mcap):
    flat = (*PLACE[:2], np.nan)
    path = filled(
        mcap, fix(mcap, 1), fix(mcap, 2, kind=0), fix(mcap, 3, status=-1), fix(mcap, 4, flat),
        fix(mcap, 5, status=-1), fix(mcap, 6, covariance=2 * FULL),
    )  # fmt: skip
    track = read(f"{path}:/fix")
    assert track.stamp.tolist() == [10**9, 6 * 10**9]
    dropped = {left.reason: (left.count, left.first) for left in track.provenance.dropped}
    assert {reason: count for reason, (count, _) in dropped.items()} == {
        "no fix (status -1)": 2, "no altitude": 1, "covariance of type 0 (unknown)": 1,
    }  # fmt: skip
    assert dropped["no altitude"][1].endswith("/fix message 4")


def test_approximated_and_radial_covariances_are_named(mcap):
    radial = [fix(mcap, i, covariance=np.diag([i, i, 2.0]), kind=1) for i in (1, 2)]
    notes = " ".join(read(f"{filled(mcap, *radial)}:/fix").provenance.notes)
    assert "2 of 2 covariances are approximated (type 1)" in notes
    assert "same variance in every message" in notes


def test_of_a_diagonal_covariance_only_the_diagonal_is_read(mcap):
    track = read(f"{filled(mcap, fix(mcap, 1, kind=2), fix(mcap, 2, kind=2))}:/fix")
    np.testing.assert_allclose(track.position_covariance[0], FULL * np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": 7}, r"/fix message 1: position_covariance_type 7 is not defined; 0 to 3"),
        ({"status": -1}, r"no fix is left: no fix \(status -1\) in every message"),
        ({"llh": (95.0, 1.0, 2.0)}, r"message 1: latitude 95, longitude 1 is no place on Earth"),
    ],
)
def test_what_cannot_be_meant_is_refused(mcap, change, said):
    with pytest.raises(FormatError, match=said):
        read(f"{filled(mcap, fix(mcap, 1, **change))}:/fix")


def test_options_that_mean_nothing_are_refused(mcap):
    mcap.add("/odom", mcap.odometry(10**9, [0, 0, 0, 0, 0, 0, 1], np.eye(6)))
    path = filled(mcap, fix(mcap, 1))
    with pytest.raises(OptionError, match="option convention means nothing for GNSS fixes"):
        read(f"{path}:/fix", convention="ros")
    with pytest.raises(OptionError, match="option origin means nothing for poses"):
        read(f"{path}:/odom", origin=ORIGIN)
    assert any("the others that can be read are GNSS" in n for n in read(path).provenance.notes)


def test_check_lists_fixes_with_the_types_of_their_covariances(mcap, capsys):
    path = filled(mcap, fix(mcap, 1), fix(mcap, 2, kind=0))
    assert [each.covariance for each in candidates(path)] == [
        "constant, 1 of type 0 (unknown), 1 of type 3 (known)"
    ]
    assert "/fix  sensor_msgs/NavSatFix, 2 messages" in run(capsys, "check", str(path)).out


def test_gps_fix_is_read_and_its_95_percent_errors_are_not(mcap):
    mcap.store.register(get_types_from_msg("int16 status\n", "gps_msgs/msg/GPSStatus"))
    mcap.store.register(get_types_from_msg(GPS_FIX, "gps_msgs/msg/GPSFix"))
    message = mcap.make(
        "gps_msgs/msg/GPSFix",
        header=mcap.header(10**9, "gps"),
        status=mcap.make("gps_msgs/msg/GPSStatus", status=0),
        latitude=PLACE[0], longitude=PLACE[1], altitude=PLACE[2], err_horz=77.0,
        position_covariance=FULL.reshape(9),
        position_covariance_type=3,
    )  # fmt: skip
    track = read(f"{filled(mcap, message)}:/fix", origin=ORIGIN)
    np.testing.assert_allclose(track.position_covariance[0], FULL, atol=1e-5)
    notes = " ".join(track.provenance.notes)
    assert "may be above sea level" in notes
    assert "95 % values; they were not used" in notes


@pytest.mark.skipif(not DATA.is_dir(), reason="GNSS data is not beside the checkout")
def test_a_bag_made_from_a_solution_scores_like_it(mcap):
    source, reference = DATA / "2023_rover_1Hz_spp.pos", DATA / "2023_reference_1Hz.pos"
    table = read_solution(source)
    covariance = (np.sign(table.deviation) * table.deviation**2)[:, FROM_NEU]
    for stamp, llh, matrix in zip(table.stamp.tolist(), table.position, covariance, strict=True):
        message = fix(mcap, 0, llh, matrix)
        message.header = mcap.header(stamp, "antenna")
        mcap.add("/fix", message)
    plain = smfeval.evaluate(source, reference, bad_rows="drop")
    bagged = smfeval.evaluate(f"{mcap.write()}:/fix", reference, bad_rows="drop")
    assert len(bagged.per_scan()) == 550
    assert bagged.per_scan().equals(plain.per_scan())
    assert bagged.verdict.headline == plain.verdict.headline
