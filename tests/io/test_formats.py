from importlib import import_module

import numpy as np
import pytest

from smfeval.errors import FormatError, OptionError
from smfeval.io import (
    atomic,
    declared_gauge,
    files_to_write,
    read,
    write,
)
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import FORMATS, Format, format_for_writing, recognise_format
from smfeval.io.progress import listening
from support.beliefs import gaussian


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_functions(name):
    for function in filter(None, (FORMATS[name].reader, FORMATS[name].writer)):
        module, _, word = function.rpartition(".")
        assert callable(getattr(import_module(f"smfeval.io.{module}"), word))


@pytest.mark.parametrize("gauge", [None, "se3", "gravity_yaw", "sim3", "fixed"])
@pytest.mark.parametrize("name", ["a.square", "a.square.gz", "a.parquet", "a.tum", "a.kitti"])
@pytest.mark.parametrize("options", [{}, {"preset": "fast-lio2"}, {"gauge": "sim3"}])
def test_the_gauge_is_known_without_the_rows(name, gauge, options, tmp_path, rng, monkeypatch):
    write(gaussian(5, rng).with_about(gauge=gauge), tmp_path / name, lossy=True)
    with monkeypatch.context() as patched:
        patched.setattr(Format, "read", lambda *_: pytest.fail("rows were read"))
        found = declared_gauge(tmp_path / name, **options)
    assert found == read(tmp_path / name, **options).about.gauge


@pytest.mark.parametrize(
    "place",
    [
        "openvins/V1_02_est.txt",
        "gnss_nagoya/2023_rover_1Hz_rtk.pos",
        "spires/fast_lio2.square",
        "bags/robot_localization_test2_jackal.bag:/jackal_velocity_controller/odom",
    ],
)
def test_the_gauge_of_real_files_is_known_without_the_rows(shared_data, place):
    source = str(shared_data / place)
    assert declared_gauge(source) == read(source).about.gauge


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "the file is empty"),
        (b"\x00\x01\x02\x03" * 50, "binary data"),
        (b"1 2 3 4 5\n", r"not recognised \(first row: 5 columns; TUM has 8"),
        (b"hello world\n", "not recognised"),
    ],
)
def test_files_of_no_format_are_refused(content, word, tmp_path):
    (tmp_path / "junk").write_bytes(content)
    with pytest.raises(FormatError, match=word):
        recognise_format(tmp_path / "junk")


def test_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(FormatError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(FormatError, match="there is no such file"):
        read(tmp_path / "missing.square")


def test_formats_to_write_are_chosen_by_ending_or_name(tmp_path):
    assert format_for_writing(tmp_path / "a.square.gz").name == "square"
    assert format_for_writing(tmp_path / "a.odd", "tum").name == "tum"
    with pytest.raises(OptionError, match="the ending names no format"):
        format_for_writing(tmp_path / "a.odd")
    with pytest.raises(OptionError, match="read, not written"):
        format_for_writing(tmp_path / "a.txt", "euroc")


def test_a_failed_write_leaves_nothing(tmp_path, rng):
    with pytest.raises(OptionError, match="cannot be written"):
        write(gaussian(3, rng), tmp_path / "nowhere" / "a.square")
    assert list(tmp_path.iterdir()) == []


LONG = "x" * 5000


@pytest.mark.parametrize("source", [LONG, f"{LONG}.square", f"{LONG}.bag:/odom", f"folder/{LONG}"])
def test_a_name_that_the_system_cannot_look_up_is_refused_in_one_short_sentence(source):
    with pytest.raises(
        FormatError, match=r"\.\.\.: cannot be read \(File name too long\)"
    ) as caught:
        read(source)
    assert len(str(caught.value)) < 200
    with pytest.raises(FormatError, match="File name too long"):
        read_extrinsic(source)
    with pytest.raises(FormatError, match="File name too long"):
        read(source, format="bag")


def test_comments_of_any_length_do_not_hide_the_format(tmp_path, rng):
    comment = b"# " + b"x" * 90 + b"\n"
    write(gaussian(3, rng), tmp_path / "wide.txt", format="wide-tum")
    rows = (tmp_path / "wide.txt").read_bytes()
    for count in (40, 43, 44, 500):  # 4096 bytes end in a comment, in the first row, far before
        (tmp_path / "a.txt").write_bytes(comment * count + rows)
        assert recognise_format(tmp_path / "a.txt").name == "wide-tum"
        assert len(read(tmp_path / "a.txt")) == 3


def test_a_byte_order_mark_before_a_comment_is_no_row(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf# one two\n0 0 0 0 0 0 0 1\n")
    assert recognise_format(tmp_path / "a").name == "tum"


def test_only_a_number_sign_begins_a_comment_in_both_recognition_and_reading(tmp_path):
    (tmp_path / "a").write_bytes(b"% one two\n0 0 0 0 0 0 0 1\n")
    with pytest.raises(FormatError, match=r"not recognised \(first row: 3 columns; TUM has 8"):
        read(tmp_path / "a")
    with pytest.raises(FormatError, match="a:1: 3 columns; 8"):
        read(tmp_path / "a", format="tum")


def test_random_bytes_are_called_binary_whatever_their_name(tmp_path):
    rng = np.random.default_rng(5)
    for size in (60, 500, 10_000):
        for name in ("a.square", "a.tum"):
            (tmp_path / name).write_bytes(b"k~\n" + rng.integers(1, 256, size, np.uint8).tobytes())
            with pytest.raises(FormatError, match="binary data"):
                read(tmp_path / name)


def test_parquet_is_not_packed_twice(tmp_path, rng):
    for name, form in (("a.parquet.gz", None), ("a.gz", "parquet")):
        with pytest.raises(OptionError, match=r"Parquet is compressed already; leave out the \.gz"):
            write(gaussian(3, rng), tmp_path / name, format=form)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.square.GZ", "a.tum.Gz", "a.kitti.GZ"])
def test_a_gzipped_name_may_be_written_in_capitals(name, tmp_path, rng):
    write(gaussian(3, rng), tmp_path / name, lossy=True)
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
    assert len(read(tmp_path / name)) == 3


def test_the_table_says_which_files_are_made_and_who_can_choose_a_convention(tmp_path):
    assert files_to_write(tmp_path / "a.kitti") == [tmp_path / "a.kitti", tmp_path / "a.times.txt"]
    names = ("a.square", "a.cross", "a.cross.gz")
    assert files_to_write(tmp_path / "a.square") == [tmp_path / name for name in names]
    assert [f.name for f in FORMATS.values() if f.chooses_convention] == ["csv", "wide-tum"]
    assert [f.name for f in FORMATS.values() if f.keeps_header] == ["parquet", "npz", "square"]
    assert set().union(*(f.keeps for f in FORMATS.values())) == {
        "covariance",
        "particles",
        "cross-covariances",
    }


@pytest.mark.parametrize("name", ["a.square", "a.tum", "a.kitti", "wide.txt"])
def test_writing_tells_how_many_rows_are_done(name, tmp_path, rng, monkeypatch):
    monkeypatch.setattr(atomic, "ROWS_PER_PART", 4)
    heard = []
    form = "wide-tum" if name == "wide.txt" else None
    with listening(lambda done, total: heard.append((done, total))):
        write(gaussian(10, rng), tmp_path / name, lossy=True, format=form)
    assert heard[:3] == [(4, 10), (8, 10), (10, 10)]
    assert len(read(tmp_path / name)) == 10
