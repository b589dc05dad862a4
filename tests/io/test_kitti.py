"""KITTI poses: matrices, the times file beside them, and what is refused."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from smfeval.errors import FormatError, OptionError, SmfevalError, TrackError
from smfeval.io import files_to_read, read, write
from smfeval.io.formats import TIMES
from smfeval.track import GaussianTrack, Track

FIRST_NS = 1_403_636_580_838_555_648  # a double would lose its last digits


@pytest.fixture
def track():
    rng = np.random.default_rng(3)
    stamp = FIRST_NS + np.cumsum(rng.integers(1, 10**8, 40))
    rotation = Rotation.random(40, rng=rng).as_quat(canonical=True)
    return Track(stamp, rng.normal(size=(40, 3)) * 100, rotation)


def rows(count, seed=0):
    """Text of random rigid motions, by scipy alone."""
    rng = np.random.default_rng(seed)
    matrix = Rotation.random(count, rng=rng).as_matrix()
    pose = np.concatenate([matrix, rng.normal(size=(count, 3, 1))], axis=2)
    lines = [" ".join(f"{number:.9e}" for number in row) for row in pose.reshape(count, 12)]
    return lines, matrix, pose[:, :, 3]


def written(folder, lines, times, name="poses.txt"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    (folder / "times.txt").write_text("\n".join(times) + "\n")
    return path


def test_a_matrix_becomes_the_rotation_that_scipy_reads(tmp_path):
    lines, matrix, position = rows(5)
    path = written(tmp_path, lines, [f"{i * 0.1:e}" for i in range(5)])
    track = read(path)
    np.testing.assert_allclose(Rotation.from_quat(track.rotation).as_matrix(), matrix, atol=1e-8)
    np.testing.assert_allclose(track.position, position, rtol=1e-9)
    assert track.stamp.tolist() == [0, 100_000_000, 200_000_000, 300_000_000, 400_000_000]


def test_what_is_written_reads_back_with_every_nanosecond(tmp_path, track):
    files = write(track, tmp_path / "a.kitti")
    back = read(files[0])
    assert [file.name for file in files] == ["a.kitti", "a.times.txt"]
    np.testing.assert_array_equal(back.stamp, track.stamp)
    np.testing.assert_array_equal(back.position, track.position)
    np.testing.assert_allclose(back.rotation, track.rotation, atol=1e-15)


def test_the_times_are_decimal_seconds_with_nine_digits(tmp_path, track):
    _, times = write(track, tmp_path / "a.kitti")
    first = times.read_text().splitlines()[0]
    whole, fraction = first.split(".")
    assert (len(fraction), int(whole) * 10**9 + int(fraction)) == (9, track.stamp[0])


def test_a_gzipped_name_gives_a_gzipped_file(tmp_path, track):
    path, times = write(track, tmp_path / "a.kitti.gz")
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == len(track)
    assert times.name == "a.times.txt"
    np.testing.assert_array_equal(read(path).stamp, track.stamp)


def test_if_the_second_file_cannot_be_written_the_first_is_not_touched(tmp_path, track):
    path = tmp_path / "a.kitti"
    path.write_text("precious")
    (tmp_path / "a.times.txt").mkdir()  # a folder stands where the stamps belong
    with pytest.raises(OptionError, match=r"a\.times\.txt: (cannot be written|this is a folder)"):
        write(track, path)
    assert path.read_text() == "precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.kitti", "a.times.txt"]


def test_writing_a_belief_needs_the_word_lossy(tmp_path, track):
    belief = GaussianTrack(
        track.stamp, track.position, track.rotation, np.tile(np.eye(6), (40, 1, 1))
    )
    with pytest.raises(OptionError, match="would lose the covariance"):
        write(belief, tmp_path / "a.kitti")
    write(belief, tmp_path / "a.kitti", lossy=True)
    np.testing.assert_array_equal(read(tmp_path / "a.kitti").position, track.position)


def test_a_times_file_of_another_name_can_be_given(tmp_path):
    lines, _, _ = rows(3)
    path = written(tmp_path, lines, ["0", "1", "2"])
    (tmp_path / "clock.csv").write_text("5.5\n6.5\n7.5\n")
    track = read(path, times=tmp_path / "clock.csv")
    assert track.stamp.tolist() == [5_500_000_000, 6_500_000_000, 7_500_000_000]
    assert f"stamps from {tmp_path / 'clock.csv'}" in track.provenance.remarks


def test_the_file_with_its_own_name_comes_before_times_txt(tmp_path):
    lines, _, _ = rows(2)
    path = written(tmp_path, lines, ["0", "1"], name="a.kitti")
    TIMES.beside(path)[0].write_text("7\n8\n")
    assert read(path).stamp.tolist() == [7_000_000_000, 8_000_000_000]


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("a.kitti", "a.times.txt"),
        ("a.b.txt", "a.b.times.txt"),
        ("a.kitti.gz", "a.times.txt"),
        ("poses", "poses.times.txt"),
        ("poses.GZ", "poses.times.txt"),
    ],
)
def test_the_times_file_is_named_after_the_poses(tmp_path, name, times):
    assert TIMES.beside(tmp_path / name)[0] == tmp_path / times


def test_as_many_stamps_as_poses_are_needed(tmp_path):
    path = written(tmp_path, rows(3)[0], ["0", "1"])
    with pytest.raises(FormatError, match=r"times\.txt: 2 stamps for 3 poses in .*poses\.txt"):
        read(path)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("1 0 0 0 0 1 0 0 0 0 -1 0", "reflection"),
        ("1 0 0 0 0 1 0 0 0 0 1.002 0", "R R\\^T differs from identity by 0.004"),
        ("0 0 0 0 0 0 0 0 0 0 0 0", "differs from identity by 1"),
        ("1 0 0 0 0 1 0 0 0 1e300 1 0", "no rotation"),
        ("1 0 0 nan 0 1 0 0 0 0 1 0", "NaN"),
        ("inf 0 0 0 0 1 0 0 0 0 1 0", "infinity"),
    ],
)
def test_a_row_that_is_no_pose_is_refused_with_its_line_or_left_out(tmp_path, row, sentence):
    lines, _, position = rows(3)
    path = written(tmp_path, [lines[0], row, *lines[1:]], ["0", "1", "2", "3"])
    with pytest.raises(TrackError, match=rf"poses\.txt:2: .*{sentence}"):
        read(path)
    track = read(path, bad_rows="drop")
    np.testing.assert_allclose(track.position, position, rtol=1e-9)
    assert track.stamp.tolist() == [0, 2_000_000_000, 3_000_000_000]
    assert [dropped.count for dropped in track.provenance.dropped] == [1]
    assert track.provenance.dropped[0].first.endswith("poses.txt:2")


def test_a_rounded_rotation_is_accepted(tmp_path):
    lines, matrix, position = rows(4)
    pose = np.concatenate([matrix, position[:, :, None]], axis=2).reshape(-1, 12)
    lines = [" ".join(f"{number:.4f}" for number in row) for row in pose]
    track = read(written(tmp_path, lines, ["0", "1", "2", "3"]))
    np.testing.assert_allclose(Rotation.from_quat(track.rotation).as_matrix(), matrix, atol=2e-4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 0 0 0 0 1 0 0 0 0 1", "2: 11 columns"),
        ("1 0 0 0 0 1 0 0 0 0 1 x", "2: column 12 is 'x'"),
    ],
)
def test_a_row_that_is_no_matrix_is_refused_with_its_line(tmp_path, text, sentence):
    path = written(tmp_path, [rows(1)[0][0], text], ["0", "1"])
    with pytest.raises(FormatError, match=sentence):
        read(path)


def test_milliseconds_in_the_times_file_are_refused_with_a_hint(tmp_path):
    path = written(tmp_path, rows(2)[0], ["1403636580838", "1403636580938"])
    with pytest.raises(FormatError, match=r"times\.txt:1: .*looks like milliseconds"):
        read(path)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_file_gives_an_error_of_ours_or_as_many_rows(tmp_path, at, byte, cut):
    path = written(tmp_path, rows(6)[0], [str(i) for i in range(6)])
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at : at + (20 if cut else 1)] = b"" if cut else bytes([byte])
    path.write_bytes(data)
    assert rows_or_sentence(path) in (6, "a sentence that names the file")


def rows_or_sentence(path):
    try:
        return len(read(path, format="kitti"))
    except SmfevalError as error:
        return "a sentence that names the file" if str(path.parent) in str(error) else str(error)


def test_a_stamp_that_comes_twice_is_named_by_its_line_in_the_times_file(tmp_path):
    path = written(tmp_path, rows(4)[0], ["# clock", "0", "1", "1", "2"])
    with pytest.raises(TrackError, match=r"times\.txt:4: stamp 1\.000000000 stands .*times\.txt:3"):
        read(path)
    track = read(path, duplicates="first")
    assert track.stamp.tolist() == [0, 10**9, 2 * 10**9]
    assert track.provenance.dropped[0].first.endswith("times.txt:4")
    np.testing.assert_allclose(track.position, rows(4)[2][[0, 1, 3]], rtol=1e-9)


def test_unsorted_stamps_are_sorted_with_a_note_that_names_the_times_file(tmp_path):
    track = read(written(tmp_path, rows(3)[0], ["2", "0", "1"]))
    np.testing.assert_allclose(track.position, rows(3)[2][[1, 2, 0]], rtol=1e-9)
    assert any("times.txt: stamps step back 1 times" in note for note in track.provenance.notes)


def test_a_bad_row_with_a_stamp_that_comes_twice_is_left_out_first(tmp_path):
    lines = rows(3)[0]
    path = written(
        tmp_path, [lines[0], "1 0 0 nan 0 1 0 0 0 0 1 0", *lines[1:]], ["0", "0", "1", "2"]
    )
    assert read(path, bad_rows="drop").stamp.tolist() == [0, 10**9, 2 * 10**9]


@pytest.mark.parametrize("existing", [None, "old"])
def test_if_the_first_file_cannot_be_written_the_second_is_not_touched(existing, tmp_path, track):
    times = tmp_path / "a.times.txt"
    if existing:
        times.write_text(existing)
    (tmp_path / "a.kitti").mkdir()
    with pytest.raises(OptionError, match=r"a\.kitti: (cannot be written|this is a folder)"):
        write(track, tmp_path / "a.kitti")
    assert (times.read_text() if times.exists() else None) == existing
    assert {file.name for file in tmp_path.iterdir()} <= {"a.kitti", "a.times.txt"}


def test_a_first_file_that_is_new_vanishes_if_the_second_cannot_be_written(tmp_path, track):
    (tmp_path / "a.times.txt").mkdir()
    with pytest.raises(OptionError, match=r"a\.times\.txt: (cannot be written|this is a folder)"):
        write(track, tmp_path / "a.kitti")
    assert [file.name for file in tmp_path.iterdir()] == ["a.times.txt"]


def test_both_files_are_replaced_together(tmp_path, track):
    write(track, tmp_path / "a.kitti")
    write(track[:5], tmp_path / "a.kitti")
    assert len(read(tmp_path / "a.kitti")) == 5
    assert len(list(tmp_path.iterdir())) == 2


def test_the_times_file_may_be_named_as_text(tmp_path):
    path = written(tmp_path, rows(2)[0], ["0", "1"])
    (tmp_path / "clock.csv").write_text("5\n6\n")
    assert read(path, times=str(tmp_path / "clock.csv")).stamp.tolist() == [5 * 10**9, 6 * 10**9]


def test_without_times_scans_are_counted(tmp_path):
    lines, _, _ = rows(5)
    path = tmp_path / "poses.txt"
    path.write_text("\n".join(lines) + "\n")
    counted = read(path)
    assert counted.stamp.tolist() == [i * 10**9 for i in range(5)]
    assert any("carry no stamps" in note for note in counted.provenance.notes)
    found = read(path, times="10Hz")
    assert found.stamp.tolist() == [i * 10**8 for i in range(5)]
    assert found.provenance.notes == ()
    assert files_to_read(path, times="10Hz") == [path]
