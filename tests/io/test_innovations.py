"""Tables of innovations: what is written is read, and every mistake is named."""

import json

import numpy as np
import pytest

from smfeval import FormatError, Innovations, OptionError, read_innovations, write_innovations
from support.kalman import random_walk_filter


@pytest.fixture
def innovations(rng):
    sensors = (
        random_walk_filter(rng, scans=40, axes=1, sensor="baro"),
        random_walk_filter(rng, scans=60, axes=3, gate=6.0, sensor="gps"),
    )
    return Innovations(sensors)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_what_is_written_is_read(innovations, ending, tmp_path):
    path = tmp_path / f"innovations{ending}"
    write_innovations(innovations, path)
    found = read_innovations(path)
    assert [each.sensor for each in found.sensors] == ["baro", "gps"]
    for one, other in zip(found.sensors, innovations.sensors, strict=True):
        for name in ("stamp", "innovation", "covariance", "accepted"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_table_by_hand_with_defaults_and_a_diagonal(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "stamp,innovation_1,innovation_2,covariance_11,covariance_22,speed\n"
        "0.1,1,2,4,9,7\n1700000000.123456789,3,4,4,9,7\n"
    )
    found = read_innovations(path)
    (sensor,) = found.sensors
    assert sensor.stamp.tolist() == [100_000_000, 1_700_000_000_123_456_789]
    assert sensor.accepted.all()
    np.testing.assert_array_equal(sensor.covariance[0], np.diag([4.0, 9.0]))
    np.testing.assert_allclose(sensor.nis, [0.25 + 4 / 9, 9 / 4 + 16 / 9])
    assert "diagonal" in found.notes[0]


def test_a_sensor_of_two_sizes_is_two_tables(tmp_path):
    rows = [{"stamp": 0.1 * d, "innovation": [1.0] * d, "covariance": np.eye(d).tolist()}
            for d in (1, 2, 2)]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert [each.sensor for each in read_innovations(path).sensors] == ["sensor (1)", "sensor (2)"]


MISTAKES = {
    "a.csv:1: there is no column 'stamp'": ("time,innovation_1,covariance_11\n", "0,1,1\n"),
    "a.csv:1: there is no column 'covariance_11'": ("stamp,innovation_1\n", "0,1\n"),
    "a.csv:3: 2 columns; there are 3 names": (
        "stamp,innovation_1,covariance_11\n", "0,1,1\n1,1\n"),
    "a.csv:2: column 'innovation_1' is 'x'": ("stamp,innovation_1,covariance_11\n", "0,x,1\n"),
    "a.csv:2: column 'accepted' is 'maybe'": (
        "stamp,accepted,innovation_1,covariance_11\n", "0,maybe,1,1\n"),
    "a.csv: sensor, row 1: the covariance is not positive definite": (
        "stamp,innovation_1,covariance_11\n", "0,1,-1\n"),
    "a.csv: there is no row": ("stamp,innovation_1,covariance_11\n", ""),
    "a.csv:2: there is no 'innovation'": (
        '{"stamp": 0, "innovation": [1], "covariance": [1]}\n', '{"stamp": 1}\n'),
    "a.csv:2: no JSON object": ('{"stamp": 0, "innovation": [1], "covariance": [1]}\n', "{\n"),
    "has 2 numbers of a covariance for 2": (
        '{"stamp": 0, "innovation": [1, 2], "covariance": [1, 2]}\n', ""),
}  # fmt: skip


@pytest.mark.parametrize("sentence", MISTAKES)
def test_every_mistake_is_named(sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("".join(MISTAKES[sentence]))
    with pytest.raises(FormatError) as refused:
        read_innovations("a.csv")
    assert sentence in str(refused.value)


def test_other_endings_are_not_written(innovations, tmp_path):
    with pytest.raises(OptionError, match="written to"):
        write_innovations(innovations, tmp_path / "a.txt")


def test_a_refusal_counts_blank_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("stamp,innovation_1,covariance_11\n0,1,1\n\n\n1,many,1\n")
    with pytest.raises(FormatError, match=r"a\.csv:5: column 'innovation_1' is 'many'"):
        read_innovations(path)
    path.write_text("stamp,innovation_1,covariance_11\n\n0,1\n")
    with pytest.raises(FormatError, match=r"a\.csv:3: 2 columns; there are 3 names"):
        read_innovations(path)
