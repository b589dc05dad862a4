"""One parser, in C and in Python: the same bits."""

import subprocess
import sys
from decimal import ROUND_HALF_EVEN, Context, Decimal
from shutil import which

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smfeval.errors import FormatError
from smfeval.io import parsers
from smfeval.io.parsers import (
    LAST_STAMP,
    Layout,
    billionths,
    invalid_stamp_reason,
    nanoseconds,
)
from smfeval.io.text_reader import read_numbers

WIDE = Context(prec=500)
DIGITS = st.text("0123456789", min_size=1, max_size=19)


BOTH = [parsers.parse_compiled, parsers.parse_in_python]


def layout_of(width, **layout):
    return Layout({width: "columns"}, **layout), width


def exact(word: str) -> int:
    """Billionths of a number, by the standard library's decimals."""
    return int(Decimal(word).scaleb(9, WIDE).to_integral_value(ROUND_HALF_EVEN))


@st.composite
def stamps(draw):
    """1 to 19 digits before the point, 0 to 12 after it, a sign, now and then an exponent."""
    sign, fraction = draw(st.sampled_from(["", "", "-", "+"])), draw(st.text("0123456789"))
    point = draw(st.sampled_from(["", "."])) if not fraction else "."
    exponent = draw(st.sampled_from(["", "", "", "e0", "E-3", "e+02", "e-11"]))
    return sign + draw(DIGITS) + point + fraction[:12] + exponent


def numbers():
    """Numbers as programs write them, shortest or with digits to spare, nan and infinity too."""
    shortest = st.floats().map(repr)
    spare = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.25e}")
    fixed = st.floats(-1e6, 1e6).map(lambda x: f"{x:+.12f}")
    odd = st.sampled_from(["1.", ".5", "-.5e3", "+7", "1E5", "NaN", "-inf", "Infinity", "5e-324"])
    return shortest | spare | fixed | odd


@st.composite
def tables(draw):
    """Text of rows of numbers, what they must look like, and how many columns they have."""
    width = draw(st.integers(1, 5))
    separator = draw(st.sampled_from([" ", "\t", ","]))
    unit = draw(st.sampled_from(["seconds", "nanoseconds"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    row = st.tuples(stamps(), *[numbers()] * width)
    rows = draw(st.lists(row, min_size=1, max_size=6))
    text = "".join(separator.join(row) + end for row in rows)
    return text.encode(), *layout_of(width + 1, unit=unit)


def assert_same(one, other):
    assert one.stamp.dtype == other.stamp.dtype == np.int64
    for name in ("stamp", "line"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.values.shape == other.values.shape
    assert (one.lines, one.comments, one.fault) == (other.lines, other.comments, other.fault)
    nan = np.isnan(one.values)
    np.testing.assert_array_equal(nan, np.isnan(other.values))  # the sign of a NaN says nothing
    assert one.values[~nan].tobytes() == other.values[~nan].tobytes()


def test_the_parser_was_compiled_where_there_is_a_compiler():
    if which("cc") is None:
        pytest.skip("no C compiler")
    assert parsers.compiled() is not None


@given(tables())
@example((b"0.0000000005 1\n-0.0000000015 2\n", *layout_of(2)))
@example((b"1.403636580838555574e+09 1e400\n", *layout_of(2)))
@example((b"1 9007199254740993\n2 9007199254740992.99999999999\n", *layout_of(2)))
@example((b"1 1.00000000000000011102230246251565404e0\n", *layout_of(2)))
@example((b"1 4.9406564584124654e-324\n2 1.7976931348623159e308\n", *layout_of(2)))
def test_both_read_what_plain_python_reads(table):
    text, layout, width = table
    rows = [parsers.split_words(line) for line in text.splitlines()]
    scale = 1 if layout.unit == "seconds" else 10**9
    expected = np.array([[float(word) for word in row[1:]] for row in rows])
    stamp = [exact(row[0].decode()) // scale for row in rows]
    good = [abs(each) <= LAST_STAMP for each in stamp]
    upto = good.index(False) if False in good else len(good)
    for parse in BOTH:
        read = parse(text, layout, width)
        assert (read.fault is None) == all(good)
        assert read.stamp.tolist() == stamp[:upto]
        np.testing.assert_array_equal(read.values, expected[:upto])
    assert_same(*(parse(*table) for parse in BOTH))


def test_decimals_of_all_sizes_and_ties_are_rounded_as_python_does(rng):
    shapes = [f"{x:.{digits}e}" for x in rng.normal(size=300) for digits in (3, 15, 17, 19, 24)]
    moved = [word.partition("e")[0] + f"e{rng.integers(-70, 70)}" for word in shapes]
    halves = [str(2 * int(x) + 1) for x in rng.integers(2**52, 2**53, size=2000)]  # 54 bits: ties
    halves += [f"{half}.{'0' * zeros}1" for half in halves[:200] for zeros in (0, 5, 20)]
    words = shapes + moved + halves
    layout, width = layout_of(1, stamps=0)
    read = parsers.parse_compiled("\n".join(words).encode(), layout, width)
    assert read.values[:, 0].tolist() == [float(word) for word in words]


@pytest.mark.parametrize("parse", BOTH)
@pytest.mark.parametrize(
    "text",
    ["1  2\t3\n 4 5   6 \n", "1 2 3\r\n4\t5 6\r\n", "1 2 3\r4,5 , 6", "\n1 2 3\n# x\n\n4 5 6\n"],
)
def test_white_space_commas_comments_and_line_ends(text, parse):
    read = parse(text.encode(), *layout_of(3))
    assert read.fault is None
    assert read.stamp.tolist() == [10**9, 4 * 10**9]
    np.testing.assert_array_equal(read.values, [[2, 3], [5, 6]])


@pytest.mark.parametrize("parse", BOTH)
def test_lines_are_counted_and_comments_found(parse):
    text = b"1 2\n\n # a\n3 4\n#b\n5 6\n7\n8 9\n"
    read = parse(text, *layout_of(2))
    assert read.line.tolist() == [0, 3, 5]
    assert [(line, text[at : at + 4]) for line, at in read.comments] == [
        (2, b" # a"),
        (4, b"#b\n5"),
    ]
    assert (read.lines, text[read.fault :]) == (6, b"7\n8 9\n")


JUNK = [
    "1 2\n", "1 2 3 4\n", "1 2 3\n4 5\n", "1 2 3\n4 5 6 7\n", "1 2-3\n", "1 2-3  4\n",
    "1 2.3.4 5\n", "1 2 x\n", "1 1_0 2\n", "1 0x10 2\n", "1 1d5 2\n", "1 2 3 # 4\n",
    "1 2 \0\n", "1 2 ٣\n", "1\xa02 3\n", "1,2 3\n", "1, 2 3\n", "1 2, 3\n", ",1,2,3\n", "1,2,3,\n",
    "1,,2\n", "1 2 1e\n", "1 2 -\n", "1 2 1e+\n", "1 2 .\n", "1 2 +-3\n",
    "1 2 nan(1)\n", "1 2 infin\n", "1 '2' 3\n", '1 "2" 3\n', "1 2\r 3\n",
    "nan 2 3\n", "-inf 2 3\n", "1e19 2 3\n", "1e400 2 3\n", "9223372036.854775808 2 3\n",
    "-9223372036.854775808 2 3\n", "1x 2 3\n",
]  # fmt: skip


@pytest.mark.parametrize("text", JUNK)
@pytest.mark.parametrize("parse", BOTH)
def test_neither_takes_what_is_no_table(text, parse):
    assert parse(text.encode(), *layout_of(3)).fault is not None


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_bytes_among_the_rows_are_read_alike(before, after):
    text = b"1 2 3\n" + before + b" 2 3\n4 5 " + after + b"\n"
    assert_same(*(parse(text, *layout_of(3)) for parse in BOTH))


def test_the_last_stamps_are_taken():
    last = f"{LAST_STAMP // 10**9}.{LAST_STAMP % 10**9}"
    for parse in BOTH:
        read = parse(f"-{last} 1\n{last} 1\n".encode(), *layout_of(2))
        assert read.stamp.tolist() == [-LAST_STAMP, LAST_STAMP]


def test_rows_without_stamps_are_counted():
    for parse in BOTH:
        read = parse(b"1 2\n3 4\n", *layout_of(2, stamps=0))
        assert read.stamp.tolist() == [0, 1]
        np.testing.assert_array_equal(read.values, [[1, 2], [3, 4]])


@pytest.mark.parametrize("stamped", [True, False])
def test_no_text_has_no_rows_but_columns(stamped):
    for parse in BOTH:
        read = parse(b"", *layout_of(4, stamps=int(stamped)))
        assert (len(read.stamp), read.values.shape, read.lines) == (0, (0, 4 - stamped), 0)


@given(stamps())
@example("-.5")
@example("00000000000000000000.00000000000000000000000000005e20")
def test_a_stamp_keeps_every_digit(word):
    expected = exact(word)
    assert billionths(word) == expected
    assert nanoseconds(word, "nanoseconds") == expected // 10**9
    assert (invalid_stamp_reason(word, "seconds") is None) == (abs(expected) <= LAST_STAMP)


@pytest.mark.parametrize("word", ["1e-999999999", "0e999999999", "-0.0e-99999999999999"])
def test_an_absurd_exponent_takes_no_time(word):
    assert billionths(word) == 0


REAL = ("*.tum", "*.tum.gz", "*.txt", "*.txt.gz", "*.square", "*.square.gz")
COLUMNS = Layout(dict.fromkeys((7, 8, 9, 10, 12, 17, 20, 22, 29), "columns"))


def test_both_read_real_files_alike(shared_data, monkeypatch):
    paths = sorted(path for pattern in REAL for path in shared_data.rglob(pattern))
    compared = 0
    for path in paths:
        found = []
        for parse in BOTH:
            monkeypatch.setattr("smfeval.io.text_reader.parse_rows", parse)
            try:
                found.append(read_numbers(path, COLUMNS))
            except FormatError as error:
                found.append(str(error))
        if isinstance(found[0], str):
            assert found[0] == found[1]
            continue
        for name in ("stamp", "values", "line"):
            np.testing.assert_array_equal(*(getattr(each, name) for each in found))
        compared += 1
    if not compared:
        pytest.skip("no text of numbers in ../shared/data")


READ_SMALL = """
import sys
from smfeval.io import read
for path in sys.argv[1:]:
    read(path)
print(*sorted(set(sys.modules) & {"polars", "scipy", "rosbags", "json", "decimal", "secrets"}))
"""


def test_reading_little_text_imports_nothing_heavy(tmp_path):
    pose = "0.5 -1.25 3 0 0 0 1"
    (tmp_path / "a.tum").write_text(f"1 {pose}\n# a comment\n2  {pose}\n")
    (tmp_path / "a.csv").write_text(f"1403636579758555392,{pose.replace(' ', ',')}\n")
    (tmp_path / "a.kitti").write_text("1 0 0 0 0 1 0 0 0 0 1 0\n")
    (tmp_path / "a.times.txt").write_text("1.5\n")
    head = "FORMAT SQUARE/0.3,REPRESENTATION deterministic,POSE_FRAME w,BODY_FRAME b,GAUGE se3,"
    head += "TIMESTAMP_UNIT seconds,ALGORITHM a,ALGORITHM_VERSION 1"
    lines = [f"#%{line}\n" for line in head.split(",")]
    (tmp_path / "a.square").write_text("".join(lines) + f"1 {pose}\n")
    paths = [str(tmp_path / f"a.{end}") for end in ("tum", "csv", "kitti", "square")]
    run = subprocess.run(
        [sys.executable, "-c", READ_SMALL, *paths], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_a_stamp_of_thousands_of_digits_is_refused_in_words():
    word = "0." + "1" * 5000  # more than Python turns into an integer
    for parse in BOTH:
        assert parse(f"{word} 2 3\n".encode(), *layout_of(3)).fault == 0
    assert "5002 characters" in invalid_stamp_reason(word, "seconds")
