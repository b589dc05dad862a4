import gzip

import numpy as np
import pytest

from smfeval.errors import FormatError
from smfeval.io import parsers, text_reader
from smfeval.io.parsers import Layout
from smfeval.io.source import reading_limit
from smfeval.io.text_reader import read_numbers

THREE = Layout({3: "stamp x y"})


@pytest.fixture(
    params=[parsers.parse_compiled, parsers.parse_in_python], ids=["C", "Python"], autouse=True
)
def parser(request, monkeypatch):
    monkeypatch.setattr(text_reader, "parse_rows", request.param)


@pytest.fixture(params=[False, True], ids=["", "threaded"], autouse=True)
def threaded(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(text_reader, "THREADED_BYTES", 0)


def rows_of(path, text, layout=THREE):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_numbers(path, layout)


def test_stamps_are_exact_to_the_nanosecond(tmp_path):
    read = rows_of(tmp_path / "a", "1710755138.355631351 1 2\n1710755138.4 3 4\n")
    assert read.stamp.tolist() == [1710755138355631351, 1710755138400000000]


def test_stamps_in_scientific_notation_are_exact(tmp_path):
    read = rows_of(tmp_path / "a", "1.403715580712140083e+09 1 2\n-5e-1 3 4\n")
    assert read.stamp.tolist() == [1403715580712140083, -500000000]


def test_nanosecond_stamps(tmp_path):
    layout = Layout({3: "stamp x y"}, unit="nanoseconds")
    assert rows_of(tmp_path / "a", "1403715580712140083 1 2\n", layout).stamp[0] == (
        1403715580712140083
    )


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n4 5 6\n",
        "1 2 3\n4 5 6",
        "1 2 3\r\n4 5 6\r\n",
        "\ufeff1 2 3\n4 5 6\n",
        "1  2\t3\n 4 5   6 \n",
        "1\t2\t3\n4\t5\t6\n",
        "1,2,3\n4, 5, 6\n",
        "# a\n\n# b\n1 2 3\n# c\n\n4 5 6\n\n",
        "+1. 2e0 .3e1\n4.0 5 6\n",
    ],
)
def test_the_same_numbers_however_they_are_laid_out(text, tmp_path):
    read = rows_of(tmp_path / "a", text)
    np.testing.assert_array_equal(read.columns(1, 3), [[2, 3], [5, 6]])
    assert read.stamp.tolist() == [10**9, 4 * 10**9]


def test_commas_leave_a_note(tmp_path):
    assert "commas" in rows_of(tmp_path / "a", "1,2,3\n").notes[0]


def test_lines_are_counted_through_comments_and_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_reader, "CHUNK_BYTES", 20)
    text = "# head\n1 1 1\n2 2 2\n# between\n\n3 3 3\n4 4 4\n5 5 5\n"
    read = rows_of(tmp_path / "a", text)
    lines = [read.where(row).rsplit(":", 1)[1] for row in range(len(read))]
    assert lines == ["2", "3", "6", "7", "8"]


def test_chunks_change_nothing(tmp_path, monkeypatch, rng):
    values = rng.normal(size=(500, 2))
    text = "".join(f"{i} {float(a)!r} {float(b)!r}\n" for i, (a, b) in enumerate(values))
    whole = rows_of(tmp_path / "a", text)
    monkeypatch.setattr(text_reader, "CHUNK_BYTES", 997)
    parse, sizes = text_reader.parse_rows, []
    monkeypatch.setattr(
        text_reader, "parse_rows", lambda text, *rest: sizes.append(len(text)) or parse(text, *rest)
    )
    parts = read_numbers(tmp_path / "a", THREE)
    assert len(sizes) > 10
    np.testing.assert_array_equal(parts.columns(1, 3), values)
    np.testing.assert_array_equal(parts.stamp, whole.stamp)


def test_the_first_of_two_errors_is_told_though_the_second_chunk_is_read_already(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(text_reader, "CHUNK_BYTES", 20)
    packed = gzip.compress(b"1 1 1\n2 2 2\n3 x 3\n4 4 4\n5 5 5\n6 6 6\n")
    (tmp_path / "a").write_bytes(packed[:-8] + bytes(8))  # a wrong sum at the end
    with pytest.raises(FormatError, match="a:3: column 2 is 'x'"):
        read_numbers(tmp_path / "a", THREE)


def test_an_error_in_reading_is_told_after_rows_that_are_right(tmp_path, monkeypatch):
    monkeypatch.setattr(text_reader, "CHUNK_BYTES", 20)
    packed = gzip.compress(b"1 1 1\n2 2 2\n3 3 3\n4 4 4\n5 5 5\n6 6 6\n")
    (tmp_path / "a").write_bytes(packed[:-8] + bytes(8))
    with pytest.raises(FormatError, match="damaged"):
        read_numbers(tmp_path / "a", THREE)


def test_the_limit_holds_for_what_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(text_reader, "CHUNK_BYTES", 20)
    (tmp_path / "a").write_bytes(gzip.compress(b"1 1 1\n" * 1000))
    with reading_limit(3000), pytest.raises(FormatError, match="more than 3 kB"):
        read_numbers(tmp_path / "a", THREE)


def test_gzip_is_recognised_by_content(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(b"1 2 3\n"))
    assert len(read_numbers(tmp_path / "a", THREE)) == 1


def test_a_row_that_was_commented_out_is_noted(tmp_path):
    read = rows_of(tmp_path / "a", "1 2 3\n#4 5 6\n7 8 9\n# words\n")
    assert [note.split(": ")[1] for note in read.notes] == [
        "a row is commented out; it was left out"
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 2 3\n4 5\n", "a:2: 2 columns; 3 (stamp x y) are needed, and line 1 has 3"),
        ("1 2 3\n4 5 6 7\n", "a:2: 4 columns; 3 (stamp x y) are needed, and line 1 has 3"),
        ("1 2\n", "a:1: 2 columns; 3 (stamp x y) are needed"),
        ("1 2 3\n4 x 6\n", "a:2: column 2 is 'x', which is not a number"),
        ("1 2 3\n4 1_0.5 6\n", "a:2: column 2 is '1_0.5', which is not a number"),
        ("1 2 3\n4 0x10 6\n", "a:2: column 2 is '0x10', which is not a number"),
        ("1 2 3\n4 ٣ 6\n", "a:2: column 2 is '٣', which is not a number"),
        ("1 2 3\nnan 5 6\n", "a:2: the stamp is not finite"),
        ("", "a: the file is empty"),
        ("\n\n", "a: the file is empty"),
        ("# only\n", "a: there is a header but no row of numbers"),
        ("\0\1\2", "a:1: this is binary data, not text"),
        (
            "1700000000000 2 3\n",
            "stamp 1700000000000.000000000 is no time in seconds; it looks like milliseconds",
        ),
        ("1700000000000000 2 3\n", "it looks like microseconds"),
        (
            "0 0 0\n1700000000000000000 2 3\n",
            "a:2: stamp 1700000000000000000.000000000 is no time in seconds; it looks like nano",
        ),
        ("0 0 0\n1 1 1\n1e400 2 3\n4 4 4\n", "a:3: stamp 1e400 is beyond the year 2262"),
        ("0 0 0\n1 1 1\n-1e29 2 3\n", "a:3: stamp -1e29 is beyond the year 2262"),
        ("0 0 0\n1e22 1 1\n", "a:2: stamp 10000000000000000000000.000000000 is beyond the year"),
        ("0 0 0\n# x\n1e30 1 1\n", "a:3: stamp 1e30 is beyond the year 2262"),
        ("k\x02 0 0\n", "a:1: this is binary data, not text"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, sentence, tmp_path):
    with pytest.raises(FormatError) as caught:
        rows_of(tmp_path / "a", text)
    assert sentence in str(caught.value)


def test_a_cut_gzip_is_named(tmp_path):
    packed = gzip.compress(b"1 2 3\n" * 5000)
    with pytest.raises(FormatError, match="gzip data is damaged or cut off"):
        rows_of(tmp_path / "a.gz", packed[: len(packed) // 2])


def test_a_cut_last_row_is_left_out_with_a_note_if_the_format_says_so(tmp_path):
    layout = Layout({3: "stamp x y"}, tail="drop")
    read = rows_of(tmp_path / "a", "1 2 3\n4 5 6\n7 8", layout)
    assert len(read) == 2
    assert read.cut
    assert "ends in the middle of a row" in read.notes[0]


def test_memory_of_a_symmetric_matrix_column_order(tmp_path):
    layout = Layout({4: "stamp a b c"})
    read = rows_of(tmp_path / "a", "0 1 2 3\n1 4 5 6\n", layout)
    index = np.array([[0, 1], [1, 2]])
    np.testing.assert_array_equal(read.symmetric_matrices(1, index)[1], [[4, 5], [5, 6]])


def test_nanoseconds_that_no_clock_shows_are_not_called_seconds(tmp_path):
    layout = Layout({3: "stamp x y"}, unit="nanoseconds")
    with pytest.raises(
        FormatError, match=r"a:1: stamp 1700000000000000000000\S* is beyond the year"
    ):
        rows_of(tmp_path / "a", "1700000000000000000000 1 2\n", layout)


def test_a_row_whose_stamp_became_the_mark_of_a_comment_is_noted(tmp_path):
    read = rows_of(tmp_path / "a", "1 2 3\n# 5 6\n# 6\n7 8 9\n")
    assert [note.rsplit("/", 1)[1] for note in read.notes] == [
        "a:2: a row is commented out; it was left out"
    ]


def test_an_only_row_that_may_be_cut_is_refused_with_its_line(tmp_path):
    layout = Layout({3: "stamp x y"}, tail="drop")
    with pytest.raises(FormatError, match=r"a:2: the only row has no line end, so it may be cut"):
        rows_of(tmp_path / "a", "# head\n1 2 3", layout)


def test_all_rows_but_the_last(tmp_path):
    shorter = rows_of(tmp_path / "a", "1 2 3\n4 5 6\n").without_last()
    np.testing.assert_array_equal(shorter.columns(1, 3), [[2, 3]])
    assert (shorter.stamp.tolist(), len(shorter)) == ([10**9], 1)
