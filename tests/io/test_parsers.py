"""Two parsers, one result: numpy for little text, polars for much."""

import subprocess
import sys
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smfeval.errors import FormatError
from smfeval.io import parsers
from smfeval.io.parsers import (
    LAST_STAMP,
    Layout,
    RowFormat,
    billionths,
    invalid_stamp_reason,
    nanoseconds,
)
from smfeval.io.text_reader import read_numbers

WIDE = Context(prec=500)
DIGITS = st.text("0123456789", min_size=1, max_size=19)


def form_of(width, separator=" ", **layout):
    return RowFormat(Layout({width: "columns"}, **layout), separator, width)


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
    """Text of rows of numbers, and the form in which they stand."""
    width = draw(st.integers(1, 5))
    separator = draw(st.sampled_from([" ", "\t", ","]))
    unit = draw(st.sampled_from(["seconds", "nanoseconds"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    row = st.tuples(stamps(), *[numbers()] * width)
    rows = draw(st.lists(row, min_size=1, max_size=6))
    text = "".join(separator.join(row) + end for row in rows)
    return text.encode(), form_of(width + 1, separator, unit=unit)


def assert_same(one, other):
    assert one is not None and other is not None  # noqa: PT018
    assert one[0].dtype == other[0].dtype == np.int64
    assert one[0].tolist() == other[0].tolist()
    assert len(one[1]) == len(other[1])
    for mine, theirs in zip(one[1], other[1], strict=True):
        nan = np.isnan(mine)
        np.testing.assert_array_equal(nan, np.isnan(theirs))  # the sign of a NaN says nothing
        assert mine[~nan].tobytes() == theirs[~nan].tobytes()


@given(tables())
@example((b"0.0000000005 1\n-0.0000000015 2\n", form_of(2)))
@example((b"1.403636580838555574e+09 1e400\n", form_of(2)))
def test_numpy_and_polars_read_the_same_to_the_last_bit(table):
    ours, theirs = parsers.parse_numpy(*table), parsers.parse_polars(*table)
    if ours is not None or theirs is not None:
        assert_same(ours, theirs)


@given(tables())
def test_both_read_what_plain_python_reads(table):
    text, form = table
    separator = "," if form.separator == "," else None
    rows = [line.split(separator) for line in text.decode().splitlines()]
    scale = 1 if form.layout.unit == "seconds" else 10**9
    expected = np.array([[float(word) for word in row[1:]] for row in rows])
    stamp = [exact(row[0]) // scale for row in rows]
    for parse in (parsers.parse_numpy, parsers.parse_polars):
        read = parse(text, form)
        assert (read is None) == (max(map(abs, stamp)) > LAST_STAMP)
        if read is not None:
            assert read[0].tolist() == stamp
            np.testing.assert_array_equal(np.transpose(read[1]), expected)


@pytest.mark.parametrize("text", ["1  2\t3\n 4 5   6 \n", "1 2 3\r\n4\t5 6\r\n"])
def test_numpy_takes_any_white_space(text):
    stamp, columns = parsers.parse_numpy(text.encode(), form_of(3))
    assert stamp.tolist() == [10**9, 4 * 10**9]
    np.testing.assert_array_equal(columns, [[2, 5], [3, 6]])


@pytest.mark.parametrize("text", ["1.5 , 2,3\n", " 1.5,2 ,\t3\r\n"])
def test_numpy_takes_blanks_beside_commas(text):
    stamp, columns = parsers.parse_numpy(text.encode(), form_of(3, ","))
    assert stamp.tolist() == [1_500_000_000]
    np.testing.assert_array_equal(columns, [[2], [3]])


JUNK = [
    "1 2\n", "1 2 3 4\n", "1 2 3\n4 5\n", "1 2 3\n4 5 6 7\n", "1 2-3\n", "1 2-3  4\n",
    "1 2.3.4 5\n", "1 2 x\n", "1 1_0 2\n", "1 0x10 2\n", "1 1d5 2\n", "1 2 3 # 4\n", "#1 2 3\n",
    "1 2 \0\n", "1 2 ٣\n", "1\xa02 3\n", "1 2 3\n\n4 5 6\n", "1,2,3\n", "1 2 1e\n", "1 2 -\n",
    "1 2 nan(1)\n", "1 2 infin\n", "1 '2' 3\n", '1 "2" 3\n', "1 2 3\r4 5 6\n\n", "1 2\r 3\n",
    "nan 2 3\n", "-inf 2 3\n", "1e19 2 3\n", "1e400 2 3\n", "9223372036.854775808 2 3\n",
    "-9223372036.854775808 2 3\n",
]  # fmt: skip


@pytest.mark.parametrize("text", JUNK)
@pytest.mark.parametrize("parse", [parsers.parse_numpy, parsers.parse_polars])
def test_neither_takes_what_is_no_table(text, parse):
    assert parse(text.encode(), form_of(3)) is None


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_bytes_among_the_rows_are_read_alike_or_not_at_all(before, after):
    text = b"1 2 3\n" + before + b" 2 3\n4 5 " + after + b"\n"
    rows = parsers.parse_numpy(text, form_of(3))
    if rows is not None and len(rows[0]) == text.count(b"\n"):
        tidy = b"".join(b" ".join(line.split()) + b"\n" for line in text.splitlines())
        assert_same(rows, parsers.parse_polars(tidy, form_of(3)))


def test_the_last_stamps_are_taken():
    last = f"{LAST_STAMP // 10**9}.{LAST_STAMP % 10**9}"
    for parse in (parsers.parse_numpy, parsers.parse_polars):
        stamp, _ = parse(f"-{last} 1\n{last} 1\n".encode(), form_of(2))
        assert stamp.tolist() == [-LAST_STAMP, LAST_STAMP]


def test_rows_without_stamps_are_counted():
    form = form_of(2, stamps=0)
    for parse in (parsers.parse_numpy, parsers.parse_polars):
        count, columns = parse(b"1 2\n3 4\n", form)
        assert count.tolist() == [0, 1]
        np.testing.assert_array_equal(columns, [[1, 3], [2, 4]])


@pytest.mark.parametrize("stamped", [True, False])
def test_no_text_has_no_rows_but_columns(stamped):
    form = form_of(4, stamps=int(stamped))
    for parse in (parsers.parse_numpy, parsers.parse_polars):
        stamp, columns = parse(b"", form)
        assert (len(stamp), len(columns)) == (0, 4 - stamped)


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
        for parse in (parsers.parse_numpy, parsers.parse_polars):
            monkeypatch.setattr(
                "smfeval.io.text_reader.choose_parser", lambda text, parse=parse: parse
            )
            try:
                found.append(read_numbers(path, COLUMNS))
            except FormatError as error:
                found.append(str(error))
        if isinstance(found[0], str):
            assert found[0] == found[1]
            continue
        for one, other in zip(found[0].blocks, found[1].blocks, strict=True):
            assert_same((one.stamp, one.columns), (other.stamp, other.columns))
        compared += 1
    if not compared:
        pytest.skip("no text of numbers in ../shared/data")


@pytest.fixture
def without_polars(monkeypatch):
    monkeypatch.delitem(sys.modules, "polars", raising=False)


@pytest.mark.usefixtures("without_polars")
def test_little_text_goes_to_numpy_and_much_to_polars(monkeypatch):
    monkeypatch.setattr(parsers, "NUMPY_BYTES", 10)
    assert parsers.choose_parser(b"x" * 10) is parsers.parse_numpy
    assert parsers.choose_parser(b"x" * 11) is parsers.parse_polars


@pytest.mark.usefixtures("without_polars")
def test_what_was_read_before_does_not_choose_the_parser(monkeypatch):
    monkeypatch.setattr(parsers, "NUMPY_BYTES", 10)
    assert [parsers.choose_parser(b"x" * 4) for _ in range(5)] == 5 * [parsers.parse_numpy]


def test_polars_is_taken_where_it_is_imported_already(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", sys)
    assert parsers.choose_parser(b"1 2\n") is parsers.parse_polars


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
    assert parsers.parse_numpy(f"{word} 2 3\n".encode(), form_of(3)) is None
    assert "5002 characters" in invalid_stamp_reason(word, "seconds")
