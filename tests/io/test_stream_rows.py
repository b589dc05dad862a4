"""Rows of growing files: read many at a time, they are what they are one by one."""

import json

import numpy as np
import pytest

from smfeval import FormatError
from smfeval.io import stream_rows
from smfeval.io.innovations import FRAME, frame_of_json, json_columns
from smfeval.maths.symmetric import pack_lower
from support.beliefs import gaussian

LINE = np.arange(1, 9)


@pytest.fixture
def track(rng):
    return gaussian(8, rng)


def json_rows(track, covariance=None, **more):
    columns = {"stamp_ns": track.stamp, "position": track.position, "orientation": track.rotation}
    columns |= {} if covariance is None else {"covariance": covariance}
    rows = ({name: values[at].tolist() for name, values in columns.items()} for at in range(8))
    return [json.dumps(row | more).encode() for row in rows]


def check_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(
                one, pack_lower(other) if other.ndim > one.ndim else other
            )


@pytest.mark.parametrize("shape", ["none", "36", "21", "6 x 6", "seconds"])
def test_json_lines_at_once_are_those_one_by_one(track, shape):
    matrices = track.covariance
    covariance = {
        "none": None, "36": matrices.reshape(8, 36), "21": pack_lower(matrices), "6 x 6": matrices,
        "seconds": matrices.reshape(8, 36),
    }[shape]  # fmt: skip
    rows = json_rows(track, covariance, frame="odom")
    if shape == "seconds":
        rows = [row.replace(b"stamp_ns", b"x") for row in rows]
        rows = [row[:-1] + f', "stamp": {1.7e9 + at / 7}}}'.encode() for at, row in enumerate(rows)]
    plain = stream_rows._plain_json(rows)
    slow = stream_rows._json_by_row("a", rows, LINE)
    assert (plain is None) == (shape == "6 x 6")
    check_same(slow if plain is None else plain, slow)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (b'{"stamp_ns": 1, "position": [1, 2, 3]}', "a:3: there is no 'orientation'"),
        (b'{"stamp_ns": 1.5, "position": [1, 2, 3]}', "a:3: no JSON object of a belief"),
        (b'{"stamp_ns": 1, "position": [1, null, 3], "orientation": [0, 0, 0, 1]}', "a:3: no JSON"),
        (b'{"stamp_ns": 1, "position": [1, 2], "orientation": [0, 0, 0, 1]}', "a:3: no JSON"),
        (b"{", "a:3: no JSON"),
    ],
)
def test_a_bad_row_among_good_ones_is_named(track, row, sentence):
    rows = json_rows(track)
    rows[2] = row
    with pytest.raises(FormatError, match=sentence):
        stream_rows.PARSERS["json"]("a", rows, LINE)


def test_rows_of_ros_at_once_are_those_one_by_one(track):
    rows = []
    for stamp, *parts in zip(
        track.stamp.tolist(), track.position, track.rotation, track.covariance, strict=True
    ):
        numbers = [repr(float(value)) for part in parts for value in np.ravel(part)]
        cells = [stamp // 10**9, stamp % 10**9, "odom", "", *numbers, *["0.0"] * 42]
        rows.append(",".join(map(str, cells)).encode())
    plain = stream_rows._plain_ros(rows)
    check_same(plain, stream_rows._ros_by_row("a", rows, LINE))
    rows[4] = rows[4].replace(b",odom,", b",odom,,")
    with pytest.raises(FormatError, match="a:5: 90 cells"):
        stream_rows.PARSERS["ros"]("a", rows, LINE)


def test_innovations_at_once_are_those_one_by_one():
    rows = [
        b'{"stamp": 1700000000.123, "innovation": [1.5], "covariance": [2]}',
        b'{"stamp_ns": 7, "sensor": "gps", "accepted": false, "innovation": [1, 2], '
        b'"covariance": [1, 0, 1]}',
    ]
    nested = [row.replace(b"[2]", b"[[2]]") for row in rows]
    plain, slow = (json_columns(each, FRAME, needed=()) for each in (rows, nested))
    assert plain is not None
    assert slow is None
    assert frame_of_json("a", rows, first=1).equals(frame_of_json("a", nested, first=1))
