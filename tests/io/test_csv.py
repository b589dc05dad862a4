"""CSV with a row of names, and wide TUM with whole matrices."""

import gzip
import re
from contextlib import suppress

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval import evaluate, examine
from smfeval.cli.main import main
from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.io import format_of, is_geodetic, read, write
from smfeval.io.column_names import listed_names
from smfeval.io.convention import CONVENTIONS, from_right
from support.beliefs import gaussian, poses

N = 6


def csv(path, columns, *, separator=",", comment=""):
    """A file of named columns, each with its values."""
    cells = [
        [word if isinstance(word, str) else repr(word) for word in c] for c in columns.values()
    ]
    rows = [
        comment + separator.join(columns),
        *(separator.join(row) for row in zip(*cells, strict=True)),
    ]
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def pose_columns(track, *, stamp="t", position="{}", rotation="q{}", order="xyzw"):
    """Columns of a track with names of our choice."""
    quaternion = {
        rotation.format(part): track.rotation[:, "xyzw".index(part)].tolist() for part in order
    }
    place = {position.format(axis): track.position[:, i].tolist() for i, axis in enumerate("xyz")}
    seconds = [f"{s // 10**9}.{s % 10**9:09d}" for s in track.stamp.tolist()]
    return {stamp: seconds} | place | quaternion


def assert_same_poses(found, track):
    np.testing.assert_array_equal(found.stamp, track.stamp)
    np.testing.assert_array_equal(found.position, track.position)
    np.testing.assert_allclose(found.rotation, track.rotation, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("order", ["translation-first", "rotation-first"])
def test_what_is_written_is_read_again(name, convention, order, tmp_path, rng):
    track = gaussian(N, rng)
    write(track, tmp_path / name, convention=convention, order=order)
    found = read(tmp_path / name, convention=convention, order=order)
    assert_same_poses(found, track)
    np.testing.assert_allclose(found.covariance, track.covariance, rtol=1e-9, atol=1e-14)


def test_positions_alone_have_no_quaternion(tmp_path, rng):
    track = gaussian(N, rng).with_about(oriented=False)
    write(track, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().startswith("stamp,x,y,z,c11,c21,c22,c31,c32,c33\n")
    found = read(tmp_path / "a.csv")
    assert not found.about.oriented
    np.testing.assert_array_equal(found.covariance[:, :3, :3], track.covariance[:, :3, :3])
    assert not found.covariance[:, 3:].any()


@pytest.mark.parametrize(
    ("stamp", "position", "rotation"),
    [
        ("Timestamp", "{}", "q{}"),
        ("time", "p{}", "Q_{}"),
        ("stamp [s]", "pos_{}", "quat_{}"),
        ("header.stamp", "pose.pose.position.{}", "pose.pose.orientation.{}"),
        ("%time", "field.pose.pose.position.{}", "field.pose.pose.orientation.{}"),
        ("t_s", "p_RS_R_{} [m]", "q_RS_{} []"),
        ("T", "translation_{} (m)", "rotation_{}"),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
def test_the_usual_names_are_known(stamp, position, rotation, separator, tmp_path, rng):
    track = poses(N, rng)
    columns = pose_columns(track, stamp=stamp, position=position, rotation=rotation, order="wxyz")
    columns = {"frame_id": ["odom"] * N, "vx": [0.5] * N} | columns
    path = csv(tmp_path / "a.csv", columns, separator=separator)
    assert format_of(path) == "csv"
    found = read(path)
    assert_same_poses(found, track)
    assert any("2 columns not used" in remark for remark in found.provenance.remarks)


def test_names_are_separated_by_blanks_as_rows_may_be(tmp_path, rng):
    track = poses(N, rng)
    path = csv(tmp_path / "a.txt", pose_columns(track, order="wxyz"), separator="  ")
    assert_same_poses(read(path), track)


def test_a_comment_may_name_the_columns(tmp_path, rng):
    track = poses(N, rng)
    path = csv(tmp_path / "a.txt", pose_columns(track, order="wxyz"), comment="# ")
    assert format_of(path) == "csv"
    assert_same_poses(read(path), track)
    plain = csv(tmp_path / "b.txt", pose_columns(track), separator=" ", comment="# ")
    assert format_of(plain) == "tum"


@pytest.mark.parametrize(
    ("unit", "per_second"), [("ns", 10**9), ("us", 10**6), ("ms", 10**3), ("s", 1)]
)
@pytest.mark.parametrize("name", ["time_{}", "timestamp [{}]"])
def test_the_unit_of_stamps_is_that_of_their_name(unit, per_second, name, tmp_path, rng):
    track = poses(N, rng)
    columns = pose_columns(track)
    exact = [
        f"{s * per_second // 10**9}.{s * per_second % 10**9:09d}" for s in track.stamp.tolist()
    ]
    path = csv(tmp_path / "a.csv", {name.format(unit): exact} | dict(list(columns.items())[1:]))
    np.testing.assert_array_equal(read(path).stamp, track.stamp)
    path = csv(tmp_path / "b.csv", {"when": exact} | dict(list(columns.items())[1:]))
    assert_same_poses(read(path, columns=f"stamp_{unit}=when"), track)


def test_stamps_may_have_an_exponent(tmp_path, rng):
    """As numpy.savetxt writes them; to the digits that it writes."""
    track = poses(N, rng)
    columns = pose_columns(track) | {"t": [f"{s / 10**9:.18e}" for s in track.stamp.tolist()]}
    found = read(csv(tmp_path / "a.csv", columns))
    np.testing.assert_allclose(found.stamp - track.stamp, 0, atol=200)


def test_nineteen_digits_are_nanoseconds(tmp_path, rng):
    track = poses(N, rng)
    columns = pose_columns(track) | {"t": [str(s) for s in track.stamp.tolist()]}
    np.testing.assert_array_equal(read(csv(tmp_path / "a.csv", columns)).stamp, track.stamp)


def test_seconds_and_nanoseconds_in_two_columns_are_one_stamp(tmp_path, rng):
    track = poses(N, rng)
    columns = pose_columns(track)
    del columns["t"]
    columns["header.stamp.sec"] = [str(s // 10**9) for s in track.stamp.tolist()]
    columns["header.stamp.nanosec"] = [str(s % 10**9) for s in track.stamp.tolist()]
    assert_same_poses(read(csv(tmp_path / "a.csv", columns)), track)
    columns["header.stamp.nanosec"][2] = str(10**9)
    with pytest.raises(FormatError, match=r"a.csv:4: .* are not seconds and what is beyond them"):
        read(csv(tmp_path / "a.csv", columns))


def names_of(kind, *axes):
    """Names of columns, with each of the axes in place of `{}`."""
    return [kind.format(axis) for axis in axes]


WHOLE = [(i, j) for i in range(6) for j in range(6)]
LOWER = [(i, j) for i in range(6) for j in range(i + 1)]
UPPER = [(i, j) for i in range(6) for j in range(i, 6)]
POSITION = [(i, j) for i, j in UPPER if j < 3]
ROTATION = [(i, j) for i, j in UPPER if i > 2]
AXES = ("x", "y", "z", "roll", "pitch", "yaw")
PAIRS = ("xx", "xy", "xz", "yy", "yz", "zz")
# names of columns, the entries that they hold, and (of a diagonal) whether these are deviations
HEADERS = {
    "c11 whole": ([f"c{i + 1}{j + 1}" for i, j in WHOLE], WHOLE),
    "c11 lower": ([f"c{i + 1}{j + 1}" for i, j in LOWER], LOWER),
    "c11 upper": ([f"c{i + 1}{j + 1}" for i, j in UPPER], UPPER),
    "cov_1_1": ([f"cov_{i + 1}_{j + 1}" for i, j in WHOLE], WHOLE),
    "cov_0_0": ([f"cov_{i}_{j}" for i, j in WHOLE], WHOLE),
    "cov_0_0 lower": ([f"cov_{i}_{j}" for i, j in LOWER], LOWER),
    "P11": ([f"P{i + 1}{j + 1}" for i, j in UPPER], UPPER),
    "P00": ([f"P{i}{j}" for i, j in WHOLE], WHOLE),
    "P00 upper": ([f"P{i}{j}" for i, j in UPPER], UPPER),
    "P_0_0": ([f"P_{i}_{j}" for i, j in UPPER], UPPER),
    "PlotJuggler": ([f"/odom/pose/covariance[{i};{j}]" for i, j in UPPER], UPPER),
    "brackets": ([f"covariance[{k}]" for k in range(36)], WHOLE),
    "counted": ([f"cov{k}" for k in range(36)], WHOLE),
    "counted from 1": ([f"cov_{k + 1}" for k in range(36)], WHOLE),
    "with zeros": ([f"cov{k:02d}" for k in range(36)], WHOLE),
    "cov_0 lower": ([f"cov_{k}" for k in range(21)], LOWER),
    "cov_0 upper": ([f"cov_{k}" for k in range(21)], UPPER),
    "c1 lower": ([f"c{k + 1}" for k in range(21)], LOWER),
    "pose block by axes": (
        [f"cov_{a}_{b}" for i, a in enumerate(AXES) for b in AXES[i:]],
        UPPER,
    ),
    "cnspy": (
        [*names_of("p{}", *PAIRS), *names_of("q{}", "rr", "rp", "ry", "pp", "py", "yy")],
        POSITION + ROTATION,
    ),
    "P_xx": (names_of("P_{}", *PAIRS), POSITION),
    "cov_xy": (names_of("cov_{}", *PAIRS), POSITION),
    "xy_cov": (names_of("{}_cov", *PAIRS), POSITION),
    "c1 to c6": ([f"c{k + 1}" for k in range(6)], POSITION),
    "position_covariance": (
        [f"position_covariance[{k}]" for k in range(9)],
        [(i, j) for i in range(3) for j in range(3)],
    ),
    "var_x and cov_xy": (
        ["var_x", "cov_xy", "cov_xz", "var_y", "cov_yz", "var_z"],
        POSITION,
    ),
}
DIAGONALS = {
    "x_std": (names_of("{}_std", *AXES), 1.0),
    "std_x": (names_of("std_{}", *AXES), 1.0),
    "sigma_x": (names_of("sigma_{}", "x", "y", "z", "rx", "ry", "rz"), 1.0),
    "x_sigma": (names_of("{}_sigma", "x", "y", "z", "rot_x", "rot_y", "rot_z"), 1.0),
    "sx": (names_of("s{}", "x", "y", "z"), 1.0),
    "xstd": (names_of("{}stddev", "x", "y", "z"), 1.0),
    "pos_std_x": ([*names_of("pos_std_{}", *"xyz"), *names_of("rot_std_{}", *"xyz")], 1.0),
    "position_x_std": (names_of("position_{}_std", "x", "y", "z"), 1.0),
    "std_0": ([f"std_{k}" for k in range(6)], 1.0),
    "x_var": (names_of("{}_var", *AXES), 2.0),
    "var_x": (names_of("var_{}", "x", "y", "z"), 2.0),
    "var_1": ([f"var_{k + 1}" for k in range(6)], 2.0),
    "units": (["x_std_m", "y_std [m]", "z_std (m)", "roll_std_rad", "pitch_std", "yaw_std"], 1.0),
}


@pytest.mark.parametrize("how", HEADERS)
def test_covariances_are_read_as_written(how, tmp_path, rng):
    track, (names, entries) = gaussian(N, rng), HEADERS[how]
    columns = {
        name: track.covariance[:, i, j].tolist()
        for name, (i, j) in zip(names, entries, strict=True)
    }
    found = read(csv(tmp_path / "a.csv", pose_columns(track) | columns), convention="right")
    expected = np.zeros((N, 6, 6))
    for i, j in entries:
        expected[:, i, j] = expected[:, j, i] = track.covariance[:, i, j]
    np.testing.assert_array_equal(found.stamp, track.stamp)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-12)
    assert found.about.oriented == (len(entries) > 9)


@pytest.mark.parametrize(
    ("how", "degrees"),
    [*((how, False) for how in DIAGONALS), ("x_std", True), ("std_x", True), ("x_var", True)],
)
def test_deviations_and_variances_are_a_diagonal(how, degrees, tmp_path, rng):
    track, (names, power) = poses(N, rng), DIAGONALS[how]
    sigma = rng.uniform(0.1, 1.0, size=(N, len(names)))
    written = sigma.copy()
    if degrees:
        written[:, 3:] = np.degrees(sigma[:, 3:])
        names = [*names[:3], *names_of("{}_deg" if power == 1 else "{} [deg^2]", *names[3:])]
    columns = {name: (written[:, k] ** power).tolist() for k, name in enumerate(names)}
    found = read(csv(tmp_path / "a.csv", pose_columns(track) | columns), convention="right")
    variance = np.diagonal(found.covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(variance[:, : len(names)], sigma**2, rtol=1e-12)


def test_numbers_say_nothing_of_the_convention(tmp_path, rng):
    track, (names, entries) = gaussian(N, rng), HEADERS["P00"]
    columns = {
        name: track.covariance[:, i, j].tolist()
        for name, (i, j) in zip(names, entries, strict=True)
    }
    found = read(csv(tmp_path / "a.csv", pose_columns(track) | columns))
    assert "(assumed)" in found.provenance.convention


def test_columns_that_fit_in_two_ways_are_asked_about(tmp_path, rng):
    """Six equal numbers are a lower triangle as well as an upper one, and six variances."""
    track = poses(N, rng)
    columns = pose_columns(track) | {
        f"c{k}": [4.0 if k in (1, 6) else 1.0] * N for k in range(1, 7)
    }
    path = csv(tmp_path / "a.csv", columns)
    with pytest.raises(
        FormatError, match=r"in 3 ways; say which: '.*columns=lower=c1..c6' or '.*=upper"
    ):
        read(path)
    found = read(path, columns="variance=c1..c6")
    assert found.about.oriented
    one = read(path, columns="lower=c1..c6").covariance[0, :3, :3]
    np.testing.assert_array_equal(one, [[4, 1, 1], [1, 1, 1], [1, 1, 4]])


def test_two_sets_of_columns_are_asked_about(tmp_path, rng):
    track, (names, _) = poses(N, rng), HEADERS["P_xx"]
    columns = pose_columns(track) | {name: [float(name[2] == name[3])] * N for name in names}
    path = csv(tmp_path / "a.csv", columns | {f"std_{axis}": [2.0] * N for axis in "xyz"})
    with pytest.raises(FormatError, match=r"two covariances; say which: '.*columns=upper=P_xx"):
        read(path)
    assert read(path, columns="sigma=std_x..std_z").covariance[0, 0, 0] == 4.0
    assert read(path, columns="upper=P_xx..P_zz").covariance[0, 0, 0] == 1.0


@pytest.mark.parametrize(
    ("names", "alike", "say"),
    [
        ([f"a{k}" for k in range(6)], True, "upper=a0..a5"),
        (["sigma_xx", "sigma_yy", "sigma_zz"], True, "FIRST..LAST"),
        (["uncertainty", "foo"], True, "FIRST..LAST"),
        (["foo", "bar", "qux"], False, "FIRST..LAST"),
        (["lat_std", "lon_std"], True, "FIRST..LAST"),
    ],
)
def test_columns_that_may_be_a_covariance_are_not_lost(names, alike, say, tmp_path, rng):
    track = gaussian(N, rng)
    values = [track.covariance[:, i, j].tolist() for i, j in POSITION]
    columns = dict(zip(names, values, strict=False))
    path = csv(tmp_path / "a.csv", pose_columns(track) | columns)
    found = read(path)
    unread = found.provenance.unread
    assert (set(unread.names) <= set(names), unread.alike) == (True, alike)
    assert say in unread.columns
    with pytest.raises(OptionError, match="may be the covariance"):
        write(found, tmp_path / "a.tum")
    write(found, tmp_path / "a.tum", lossy=True)
    doubt, *_ = examine(found).doubts
    assert names[0] in doubt.sentence
    verdict = evaluate(found, track).verdict
    assert "reports no uncertainty" not in verdict.sentence
    assert names[0] in verdict.sentence


@pytest.mark.parametrize(
    "names",
    [
        ("vx", "vy", "vz"),
        ("twist.covariance[0]", "b_w_x", "acc_std"),
        ("foo", "seq"),
        ("p10", "p50"),
        ("roll", "roll_deg", "theta", "yaw"),
    ],
)
def test_other_columns_are_no_covariance(names, tmp_path, rng):
    columns = pose_columns(poses(N, rng)) | {name: rng.normal(size=N).tolist() for name in names}
    found = read(csv(tmp_path / "a.csv", columns))
    assert found.provenance.unread is None
    write(found, tmp_path / "a.tum")


def advised(refusal):
    """The sources that a refusal says to name instead."""
    return re.findall(r"'([^']*[?][^']*)'", str(refusal.value))


def test_columns_without_a_row_of_names_are_listed(tmp_path, rng):
    track = gaussian(N, rng)
    sigma = np.sqrt(np.diagonal(track.covariance, axis1=1, axis2=2))
    columns = pose_columns(track) | {f"s{k}": sigma[:, k].tolist() for k in range(6)}
    path = csv(tmp_path / "a.txt", columns, separator=" ")
    path.write_text(path.read_text().partition("\n")[2])
    with pytest.raises(FormatError, match=r"rows of 14 numbers .*columns=stamp,x,y,z,qx") as no:
        read(path)
    found = read(advised(no)[0], convention="right")
    np.testing.assert_allclose(np.diagonal(found.covariance, axis1=1, axis2=2), sigma**2)
    with pytest.raises(FormatError, match="14 columns; there are 17 names"):
        read(path, columns="stamp,x,y,z,qx,qy,qz,qw,cov_0..cov_8")


@pytest.mark.parametrize("width", [4, 7, 10, 11, 13, 14, 17, 26])
def test_rows_without_names_are_told_what_they_may_be(width, tmp_path):
    (tmp_path / "a.txt").write_text(f"{' '.join(['1.5'] * width)}\n")
    with pytest.raises(FormatError, match="without a row of names; if they are these") as refused:
        read(tmp_path / "a.txt")
    for source in advised(refused):
        assert len(listed_names(source.partition("columns=")[2])) == width


def test_the_columns_of_a_ros_message_have_its_convention(tmp_path, rng):
    track = gaussian(N, rng)
    pose = track.position, track.rotation
    written = from_right(track.covariance, pose, CONVENTIONS["ros"], "translation-first")
    columns = pose_columns(
        track, position="field.pose.pose.position.{}", rotation="field.pose.pose.orientation.{}"
    ) | {f"field.pose.covariance{k}": written.reshape(N, 36)[:, k].tolist() for k in range(36)}
    found = read(csv(tmp_path / "a.csv", columns))
    np.testing.assert_allclose(found.covariance, track.covariance, rtol=1e-9, atol=1e-15)
    assert "(the format)" in found.provenance.convention


def test_openvins_names_are_its_blocks(tmp_path, rng):
    """As its own file of 20 columns is read."""
    track = gaussian(N, rng)
    blocks = track.covariance.copy()
    blocks[:, :3, 3:] = blocks[:, 3:, :3] = 0
    upper = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    columns = pose_columns(track, stamp="timestamp(s)", position="t{}")
    for letter, start in (("r", 3), ("t", 0)):
        for i, j in upper:
            columns[f"P{letter}{i + 1}{j + 1}"] = blocks[:, start + i, start + j].tolist()
    found = read(csv(tmp_path / "a.csv", columns))
    recorded = csv(tmp_path / "b.txt", columns, separator=" ", comment="# ")
    assert format_of(recorded) == "openvins"
    np.testing.assert_allclose(found.covariance, read(recorded).covariance, rtol=1e-12)
    np.testing.assert_array_equal(found.covariance[:, 3:, 3:], blocks[:, 3:, 3:])


def test_deviations_are_a_diagonal_in_world_axes(tmp_path, rng):
    track = poses(N, rng)
    sigma = rng.uniform(0.1, 1.0, size=(N, 6))
    names = ("sigma_x", "sigma_y", "sigma_z", "std_roll", "std_pitch", "std_yaw")
    columns = pose_columns(track) | {n: sigma[:, i].tolist() for i, n in enumerate(names)}
    found = read(csv(tmp_path / "a.csv", columns))
    diagonal = np.eye(6) * (sigma**2)[:, None, :]
    pose = found.position, found.rotation
    back = from_right(found.covariance, pose, CONVENTIONS["ros"], "translation-first")
    np.testing.assert_allclose(back, diagonal, rtol=1e-9, atol=1e-12)

    for name in names[3:]:
        del columns[name]
    found = read(csv(tmp_path / "a.csv", columns))
    assert not found.about.oriented
    assert any("positions alone" in note for note in found.provenance.notes)
    np.testing.assert_allclose(found.covariance[:, :3, :3], diagonal[:, :3, :3], rtol=1e-12)


def test_columns_that_have_other_names_are_named(tmp_path, rng):
    track = poses(N, rng)
    columns = pose_columns(track, stamp="Zeit", position="ort {}", order="wxyz")
    path = csv(tmp_path / "a.csv", columns)
    said = "stamp=zeit,x=ort x,y=ort y,z=ort z"
    assert_same_poses(read(path, columns=said), track)
    with pytest.raises(FormatError, match=r"no column is known to be stamp, x, y and z; say it"):
        read(path)
    with pytest.raises(FormatError, match=r"there is no column 'zeitt'; 'Zeit' may be meant"):
        read(path, columns=said.replace("zeit", "zeitt"))


def test_what_the_user_names_wins_over_the_names(tmp_path, rng):
    track = poses(N, rng)
    columns = pose_columns(track) | {"time": ["nothing"] * N}
    path = csv(tmp_path / "a.csv", columns)
    with pytest.raises(FormatError, match=r"'t' and 'time' could both be stamp; say which"):
        read(path)
    assert_same_poses(read(path, columns="stamp=t"), track)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("stamp", "write them as stamp=t,x=px"),
        ("stamp=", "write them as stamp=t,x=px"),
        ("stamq=t", "'stamq' is nothing that a column holds; 'stamp' may be meant"),
        ("x=a,x=b", "x is named twice"),
    ],
)
def test_columns_that_cannot_be_meant(text, sentence, tmp_path):
    with pytest.raises(OptionError, match=sentence):
        read(tmp_path / "a.csv", columns=text)


HEAD = "t,x,y,z,qx,qy,qz,qw"
ROWS = [f"{i},{i},0,0,0,0,0,1" for i in range(4)]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([HEAD], "there is a row of names but no row of numbers"),
        ([HEAD, *ROWS, "4,4"], r"a.csv:6: 2 columns; there are 8 names"),
        ([HEAD, *ROWS, "4,4,0,0,0,0,0,1,9"], r"a.csv:6: 9 columns; there are 8 names"),
        ([HEAD, ROWS[0], "1,1,zwei,0,0,0,0,1"], r"a.csv:3: column 'y' is 'zwei', .* not a number"),
        ([HEAD, ROWS[0], "", "1,1,,0,0,0,0,1"], r"a.csv:4: there is nothing in column 'y'"),
        ([HEAD, ROWS[0], "later,1,0,0,0,0,0,1"], r"a.csv:3: column 't' is 'later'"),
        (
            [HEAD, "1e11,1,0,0,0,0,0,1"],
            r"a.csv:2: stamp 1\d+.* is no time in seconds; it looks like milliseconds",
        ),
        ([HEAD, "99999999999,1,0,0,0,0,0,1"], r"a.csv:2: stamp .* looks like milliseconds"),
        ([HEAD, ROWS[0], "1,nan,0,0,0,0,0,1"], r"a.csv:3: the pose has a NaN or an infinity"),
        ([HEAD + ",c11", *(f"{r},1" for r in ROWS)], "the covariance lacks entries"),
        ([HEAD + ",sigma_x", *(f"{r},1" for r in ROWS)], "the covariance lacks entries"),
        ([HEAD.replace("qw", "mode"), *ROWS], "no column is known to be qw; say it"),
        ([HEAD.replace("x,y", "x [mm],y"), *ROWS], r"'x \[mm\]' is not in metres or radians"),
        ([HEAD + ",px", *(f"{r},1" for r in ROWS)], "'x' and 'px' could both be x"),
        ([HEAD + ",sx,sy,sz", f"{ROWS[0]},1,-1,1"], r"a.csv:2: a standard deviation is negative"),
        (["ab,cd,ef,gh", "1,2,3,4"], "no column is known to be stamp"),
        ([HEAD, '0,"1', '0",0,0,0,0,0,1'], "a.csv"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(lines, sentence, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(SmfevalError, match=sentence) as refused:
        read(path)
    assert "\n" not in str(refused.value)


def test_a_row_that_the_end_of_the_file_cut_is_left_out(tmp_path, rng):
    write(gaussian(N, rng), tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "a.csv").write_text(text[:-5])
    found = read(tmp_path / "a.csv")
    assert len(found) == N - 1
    assert any("ends in the middle of a row" in note for note in found.provenance.notes)


def test_junk_is_refused_in_words(tmp_path, rng):
    """Bytes of a good file changed at random: a sentence or a track, never anything else."""
    write(gaussian(N, rng), tmp_path / "a.csv")
    good = (tmp_path / "a.csv").read_bytes()
    for _ in range(150):
        bad = bytearray(good)
        for at in rng.integers(0, len(bad), size=3):
            bad[at] = rng.choice(list(b'\x00\xff,;"\n\t #-e9z'))
        (tmp_path / "b.csv").write_bytes(bytes(bad))
        with suppress(SmfevalError):
            read(tmp_path / "b.csv")


@pytest.mark.parametrize("packed", [False, True])
def test_wide_tum_has_whole_matrices_or_triangles(packed, tmp_path, rng):
    track = gaussian(N, rng)
    whole = [*pose_columns(track).values(), *track.covariance.reshape(N, 36).T.tolist()]
    rows = ["".join(" ".join(map(str, row))) + "\n" for row in zip(*whole, strict=True)]
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    path.write_bytes(gzip.compress("".join(rows).encode()) if packed else "".join(rows).encode())
    assert format_of(path) == "wide-tum"
    found = read(path)
    assert_same_poses(found, track)
    np.testing.assert_array_equal(found.covariance, track.covariance)
    rows[2] = rows[2].replace(str(track.covariance[2, 0, 1]), "77", 1)
    (tmp_path / "b.txt").write_text("".join(rows))
    with pytest.raises(SmfevalError, match=r"b.txt:3: the covariance differs from its transpose"):
        read(tmp_path / "b.txt")


def test_wide_tum_may_have_upper_triangles(tmp_path, rng):
    track = gaussian(N, rng)
    packed = track.covariance[:, *np.triu_indices(6)]
    rows = zip(*pose_columns(track).values(), *packed.T.tolist(), strict=True)
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{' '.join(map(str, row))}\n" for row in rows))
    found = read(path)
    np.testing.assert_array_equal(found.covariance, track.covariance)
    assert any("read as upper triangles" in note for note in found.provenance.notes)


def test_a_comment_that_names_the_covariance_is_believed(tmp_path, rng):
    """Rows of 20 and 29 numbers are read by their names, not as OpenVINS or lower triangles."""
    track = gaussian(N, rng)
    for how in ("cnspy", "c11 upper"):
        names, entries = HEADERS[how]
        columns = pose_columns(track) | {
            name: track.covariance[:, i, j].tolist()
            for name, (i, j) in zip(names, entries, strict=True)
        }
        path = csv(tmp_path / "a.txt", columns, comment="#", separator=" ")
        assert format_of(path) == "csv"
        found = read(path, convention="right").covariance
        np.testing.assert_array_equal(found[:, :3, :3], track.covariance[:, :3, :3])


def stamp_columns(track, kind):
    whole = [str(s // 10**9) for s in track.stamp.tolist()]
    rest = [str(s % 10**9) for s in track.stamp.tolist()]
    received = [str(s + 5_000_000) for s in track.stamp.tolist()]
    late = [f"{(s + 5_000_000) / 1e9:.3f}" for s in track.stamp.tolist()]
    return {
        "rostopic echo -p": {"%time": received, "field.header.stamp": map(str, track.stamp)},
        "bagpy": {"Time": late, "header.stamp.secs": whole, "header.stamp.nsecs": rest},
        "PlotJuggler": {"__time": late, "/odom/header/stamp": map(str, track.stamp)},
    }[kind]


@pytest.mark.parametrize("kind", ["rostopic echo -p", "bagpy", "PlotJuggler"])
def test_the_stamp_of_the_header_comes_before_that_of_receiving(kind, tmp_path, rng):
    track = poses(N, rng)
    columns = {name: list(cells) for name, cells in stamp_columns(track, kind).items()}
    columns |= dict(list(pose_columns(track).items())[1:])
    found = read(csv(tmp_path / "a.csv", columns))
    assert_same_poses(found, track)
    first = next(iter(columns))
    assert any(f"not '{first}'" in remark for remark in found.provenance.remarks)


def test_seconds_that_are_named_bring_their_nanoseconds(tmp_path, rng):
    track = poses(N, rng)
    cells = stamp_columns(track, "bagpy")
    columns = {
        "Time": cells["Time"],
        "stamp.secs": cells["header.stamp.secs"],
        "stamp.nsecs": cells["header.stamp.nsecs"],
    } | dict(list(pose_columns(track).items())[1:])
    path = csv(tmp_path / "a.csv", columns)
    with pytest.raises(
        FormatError, match=r"could both be stamp; say which: '.*columns=stamp="
    ) as no:
        read(path)
    assert_same_poses(read(advised(no)[0]), track)
    del columns["stamp.nsecs"]
    with pytest.raises(SmfevalError, match=r"whole seconds, of about 6 rows each: their fractions"):
        read(csv(tmp_path / "a.csv", columns), columns="stamp=stamp.secs")


@pytest.mark.parametrize("degrees", [False, True])
def test_roll_pitch_and_yaw_are_a_rotation(degrees, tmp_path, rng):
    track = poses(N, rng)
    angles = Rotation.from_quat(track.rotation).as_euler("xyz", degrees=degrees)
    columns = dict(list(pose_columns(track).items())[:4])
    ending = "_deg" if degrees else ""
    columns |= {f"{name}{ending}": angles[:, i].tolist() for i, name in enumerate(AXES[3:])}
    path = csv(tmp_path / "a.csv", columns)
    found = read(path)
    same = np.abs(np.sum(found.rotation * track.rotation, axis=1))
    np.testing.assert_allclose(same, 1, atol=1e-9)
    if degrees:
        path.write_text(path.read_text().replace("_deg", ""))
        with pytest.raises(FormatError, match=r"if these are degrees, say so: .*yaw_deg=yaw"):
            read(path)


@pytest.mark.parametrize("yaw", ["yaw", "theta"])
@pytest.mark.parametrize("how", ["std", "cov", "P"])
def test_poses_in_a_plane(yaw, how, tmp_path, rng):
    n = 8
    angle, root = rng.normal(size=n), 0.1 * rng.normal(size=(n, 3, 3))
    covariance = root @ root.swapaxes(1, 2)
    columns = {"t": range(n), "x": range(n), "y": [1.5] * n, yaw: angle.tolist()}
    if how == "std":
        covariance *= np.eye(3)
        sigma = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        columns |= {f"{axis}_std": sigma[:, i].tolist() for i, axis in enumerate(("x", "y", "yaw"))}
    else:
        name = {"cov": "cov_{0}", "P": "P{1}{2}"}[how]
        columns |= {
            name.format(3 * i + j, i, j): covariance[:, i, j].tolist()
            for i in range(3)
            for j in range(3)
        }
    found = read(csv(tmp_path / "a.csv", columns), convention="ros")
    np.testing.assert_array_equal(found.position[:, 2], 0)
    np.testing.assert_allclose(found.rotation[:, 2], np.sin(angle / 2))
    back = from_right(
        found.covariance,
        (found.position, found.rotation),
        CONVENTIONS["ros"],
        "translation-first",
    )
    rows = [0, 1, 5]
    np.testing.assert_allclose(back[:, rows][:, :, rows], covariance, atol=1e-12)
    assert np.abs(back).sum() == pytest.approx(np.abs(covariance).sum())
    assert any("poses in a plane" in note for note in found.provenance.notes)


def test_yaw_alone_is_no_rotation_in_space(tmp_path, rng):
    columns = dict(list(pose_columns(poses(N, rng)).items())[:4]) | {"yaw": [0.5] * N}
    assert not read(csv(tmp_path / "a.csv", columns)).about.oriented


def test_short_names_that_fit_no_covariance_are_not_read(tmp_path, rng):
    """`p1` to `p9` may be anything: no matrix, no refusal, but a doubt."""
    columns = pose_columns(poses(N, rng)) | {f"p{k}": [float(k)] * N for k in range(1, 10)}
    found = read(csv(tmp_path / "a.csv", columns))
    assert not found.provenance.unread.alike
    columns["p4"] = ["a"] * N
    assert found.provenance.unread is not None
    read(csv(tmp_path / "a.csv", columns))
    named = {
        name.replace("p", "cov_") if name[1:] in "123456789" else name: cells
        for name, cells in columns.items()
        if name[0] == "p"
    }
    with pytest.raises(FormatError, match="column 'cov_4' is 'a'"):
        read(csv(tmp_path / "a.csv", pose_columns(poses(N, rng)) | named))


def test_columns_that_the_user_names_are_refused_where_they_are_no_covariance(tmp_path, rng):
    columns = pose_columns(poses(N, rng)) | {f"a{k}": [-1.0] * N for k in range(6)}
    path = csv(tmp_path / "a.csv", columns)
    with pytest.raises(SmfevalError, match="not positive semi-definite"):
        read(path, columns="covariance=a0..a5")


PLACE = np.array([[35.1, 136.9, 40.0], [35.1001, 136.9, 41.0], [35.1001, 136.9002, 42.5]])


@pytest.mark.parametrize(
    "names", [("lat", "lon", "alt"), ("Latitude [deg]", "longitude_deg", "height (m)")]
)
def test_latitudes_are_positions_about_the_first_fix_or_a_given_origin(names, tmp_path):
    columns = dict(zip(names, PLACE.T.tolist(), strict=True))
    path = csv(tmp_path / "a.csv", {"time": [0.0, 1.0, 2.0]} | columns)
    track = read(path)
    assert type(track).__name__ == "Track"
    assert not track.about.oriented
    np.testing.assert_array_equal(track.position[0], 0)
    # 1e-4 degrees of the meridian at 35.1 degrees are 11.0943 m, 2e-4 of the parallel 18.2355 m
    np.testing.assert_allclose(track.position[1], [0, 11.0943, 1], atol=2e-4)
    np.testing.assert_allclose(track.position[2], [18.2355, 11.0943, 2.5], atol=2e-4)
    assert any("above the ellipsoid" in note for note in track.provenance.notes)
    again = read(path, origin=PLACE[1])
    np.testing.assert_allclose(again.position[1], 0, atol=1e-8)


def test_the_covariance_beside_latitudes_is_of_east_north_and_up(tmp_path):
    place = dict(zip(("latitude", "longitude", "altitude"), PLACE.T.tolist(), strict=True))
    matrix = np.array([[4.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 16.0]])
    entries = {
        f"position_covariance_{at}": [value] * 3 for at, value in enumerate(matrix.ravel().tolist())
    }
    track = read(csv(tmp_path / "a.csv", {"time": [0.0, 1.0, 2.0]} | place | entries))
    np.testing.assert_allclose(track.position_covariance[0], matrix, atol=1e-12)


def test_latitudes_beside_x_y_z_are_not_used_unless_named(tmp_path, rng):
    track = poses(3, rng)
    place = dict(zip(("lat", "lon", "alt"), PLACE.T.tolist(), strict=True))
    path = csv(tmp_path / "a.csv", pose_columns(track) | place)
    assert_same_poses(read(path), track)
    named = read(path, columns="lat=lat,lon=lon,alt=alt")
    np.testing.assert_allclose(named.position[2], [18.2355, 11.0943, 2.5], atol=2e-4)


@pytest.mark.parametrize(
    ("names", "values", "sentence"),
    [
        (("lat_rad", "lon", "alt"), PLACE, "no column is known to be x, y and z"),
        (("lat [rad]", "lon", "alt"), PLACE, "column 'lat [rad]' is not in degrees"),
        (("lat", "lon", "h_msl"), PLACE, "no column is known to be alt"),
        (("lat", "lon", "alt"), PLACE * 1e7, "a.csv:2: latitude 351000000, .* is no place"),
    ],
)
def test_latitudes_that_cannot_be_read_are_refused(names, values, sentence, tmp_path):
    columns = dict(zip(names, values.T.tolist(), strict=True))
    path = csv(tmp_path / "a.csv", {"time": [0.0, 1.0, 2.0]} | columns)
    with pytest.raises(FormatError, match=sentence.replace("[", r"\[")):
        read(path)


def test_an_origin_is_for_latitudes_alone(tmp_path, rng):
    track = poses(3, rng)
    path = csv(tmp_path / "a.csv", pose_columns(track))
    assert not is_geodetic(path)
    with pytest.raises(OptionError, match="origin means nothing for poses"):
        read(path, origin=PLACE[0])
    place = dict(zip(("lat", "lon", "alt"), PLACE.T.tolist(), strict=True))
    assert is_geodetic(csv(tmp_path / "b.csv", {"time": [0.0, 1.0, 2.0]} | place))


@pytest.mark.parametrize("names", [("x", "y"), ("lat", "lon")])
def test_two_axes_without_a_yaw_are_positions_in_a_plane(names, tmp_path):
    place = [[35.1, 35.1001, 35.1002], [136.8, 136.8002, 136.8004]]
    columns = dict(zip(("t", *names), [[0.0, 0.1, 0.2], *place], strict=True))
    columns |= {"std_x": [0.1] * 3, "std_y": [0.2] * 3} if names == ("x", "y") else {}
    track = read(csv(tmp_path / "a.csv", columns))
    assert not track.about.oriented
    assert track.provenance.axes == ("xy", "there is no z")
    if names == ("x", "y"):
        np.testing.assert_array_equal(track.position.T, [*place, [0.0] * 3])
        variance = np.diagonal(track.position_covariance[0])
        np.testing.assert_allclose(variance, [0.01, 0.04, 0.0])
    else:
        assert track.representation == "deterministic"


@pytest.mark.parametrize("third", ["height_m", "Elevation", "z_offset", "depth"])
def test_two_axes_beside_what_may_be_the_third_are_refused(third, tmp_path):
    columns = {"t": [0.0, 0.1], "x": [1.0, 2.0], "y": [1.0, 2.0], third: [5.0, 6.0]}
    with pytest.raises(FormatError, match="no column is known to be z; say it"):
        read(csv(tmp_path / "a.csv", columns))


def test_protection_levels_are_read_where_columns_have_their_names(tmp_path, rng):
    made = poses(N, rng)
    levels = {"HPL [m]": ["0.5", "", "0.7", "nan", "0.9", "1"], "vpl_m": [0.1] * N}
    found = read(csv(tmp_path / "a.csv", pose_columns(made) | levels))
    horizontal = [0.5, np.nan, 0.7, np.nan, 0.9, 1.0]
    assert found.protection[:, 0].tolist() == pytest.approx(horizontal, nan_ok=True)
    assert found.protection[:, 3].tolist() == [0.1] * N
    assert np.isnan(found.protection[:, [1, 2, 4]]).all()
    assert found.provenance.unread is None


def test_what_converts_protection_levels_says_that_they_are_lost(tmp_path, rng, capsys):
    path = csv(tmp_path / "a.csv", pose_columns(poses(N, rng)) | {"hpl": [1.0] * N})
    assert main(["convert", str(path), str(tmp_path / "a.tum")]) == 0
    assert "the protection levels that it gives" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ({"hpl": ["far"] * N}, "column 'hpl' is 'far', which is not a number"),
        ({"hpl": [-1.0] * N}, "a protection level is negative"),
        ({"hpl": [1.0] * N, "pl_horizontal": [1.0] * N}, "could both be the horizontal protection"),
        ({"hpl [cm]": [1.0] * N}, "column 'hpl [cm]' is not in metres or radians"),
    ],
)
def test_protection_levels_that_cannot_be_meant_are_refused(levels, sentence, tmp_path, rng):
    path = csv(tmp_path / "a.csv", pose_columns(poses(N, rng)) | levels)
    with pytest.raises(SmfevalError, match=re.escape(sentence)):
        read(path)


@pytest.mark.parametrize(
    ("names", "sigmas"),
    [
        (("east", "north", "up"), ("std_e", "std_n", "std_u")),
        (("Easting [m]", "Northing [m]", "Up [m]"), ("east_std", "north_std", "up_std")),
        (("lat", "lon", "alt"), ("sde", "sdn", "sdu")),
        (("lat", "lon", "alt"), ("sigma_east", "sigma_north", "sigma_up")),
    ],
)
def test_east_north_and_up_are_axes_where_positions_are(names, sigmas, tmp_path):
    place = {name: [1.0 + i, 2.0 + i] for i, name in enumerate(names)}
    columns = (
        {"t": [0.0, 0.1]} | place | {name: [0.1 * (i + 1)] * 2 for i, name in enumerate(sigmas)}
    )
    track = read(csv(tmp_path / "a.csv", columns))
    np.testing.assert_allclose(
        np.diagonal(track.position_covariance[0]), [0.01, 0.04, 0.09], rtol=1e-9
    )
    if names[0] != "lat":
        np.testing.assert_array_equal(track.position[0], [1.0, 2.0, 3.0])


def test_east_and_north_beside_x_and_y_are_not_guessed(tmp_path):
    columns = {"t": [0.0, 0.1]} | {axis: [1.0, 2.0] for axis in "xyz"}
    columns |= {f"std_{axis}": [0.1, 0.1] for axis in "enu"}
    track = read(csv(tmp_path / "a.csv", columns))
    assert track.representation == "deterministic"
    assert track.provenance.unread.names == ("std_e", "std_n", "std_u")
