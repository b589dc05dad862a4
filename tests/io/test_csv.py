"""CSV with a row of names, and wide TUM with whole matrices."""

import gzip
from contextlib import suppress

import numpy as np
import pytest

from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.io import format_of, read, write
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


COVARIANCE_NAMES = {
    "c11": lambda i, j: f"c{i + 1}{j + 1}",
    "cov_1_1": lambda i, j: f"cov_{i + 1}_{j + 1}",
    "P": lambda i, j: f"P{i + 1}{j + 1}",
    "counted": lambda i, j: f"covariance[{6 * i + j}]",
    "counted without brackets": lambda i, j: f"cov{6 * i + j}",
}


@pytest.mark.parametrize(
    ("how", "part"),
    [(how, "whole") for how in COVARIANCE_NAMES]
    + [(how, part) for how in ("c11", "cov_1_1", "P") for part in ("upper", "lower")],
)
def test_covariances_are_read_as_written(how, part, tmp_path, rng):
    track, name = gaussian(N, rng), COVARIANCE_NAMES[how]
    kept = {"whole": lambda i, j: True, "upper": lambda i, j: i <= j, "lower": lambda i, j: i >= j}
    entries = {
        name(i, j): track.covariance[:, i, j].tolist()
        for i in range(6)
        for j in range(6)
        if kept[part](i, j)
    }
    found = read(csv(tmp_path / "a.csv", pose_columns(track) | entries))
    assert_same_poses(found, track)
    np.testing.assert_allclose(found.covariance, track.covariance, rtol=1e-12)
    assert "(assumed)" in found.provenance.convention


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
