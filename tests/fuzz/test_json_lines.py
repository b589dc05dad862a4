"""Lines of JSON with one value exchanged for what no track has: read, or one sentence."""

import json
from contextlib import suppress

import pytest

from smfeval.errors import SmfevalError
from smfeval.io import stream_rows
from smfeval.io.innovations import frame_of_json

NESTED = "[" * 100_000 + "]" * 100_000
VALUES = [
    *("1" + "0" * 400, "-" + "9" * 5000, "1e999", "NaN", "-Infinity", "9223372036854775808"),
    *("null", "true", '""', '"x"', "[]", "[[]]", "{}", "[{}]", "[null]", "[[1], 2]", NESTED),
    *('{"0": 1}', "[1, [2]]", "[1e308, 1e308, 1e308]", '"\\ud800"'),
]
BELIEF = {
    "stamp": 1.5,
    "stamp_ns": 15,
    "position": [1, 2, 3],
    "orientation": [0, 0, 0, 1],
    "covariance": [1.0] * 21,
}
CLOUD = {"stamp": 1.5, "particles": [[1, 2, 3, 0, 0, 0, 1]] * 3, "weights": [1, 1, 1]}
INNOVATION = {
    "stamp": 1.5,
    "sensor": "gnss",
    "accepted": True,
    "innovation": [1.0],
    "covariance": [1.0],
}
READERS = {
    "belief": (
        BELIEF,
        lambda rows: stream_rows.PARSERS["json"]("a", rows, range(1, len(rows) + 1)),
    ),
    "particles": (
        CLOUD,
        lambda rows: stream_rows.PARSERS["json particles"]("a", rows, range(1, len(rows) + 1)),
    ),
    "innovation": (INNOVATION, lambda rows: frame_of_json("a", rows, first=1)),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: value[:12])
def test_a_line_of_json_is_read_or_refused(kind, value):
    good, read = READERS[kind]
    whole = json.dumps(good).encode()
    lines = [value.encode()]
    for key in good:
        cells = (f'"{name}": {value if name == key else json.dumps(good[name])}' for name in good)
        lines.append(f"{{{', '.join(cells)}}}".encode())
    for line in lines:
        with suppress(SmfevalError):
            read([whole, line])
