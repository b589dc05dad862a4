"""Changes of the files that may change no number: later, relabelled, in parts, with far rows."""

import json

import numpy as np
import pytest

from smfeval import evaluate
from smfeval.evaluation import Options
from smfeval.io import read, write
from smfeval.track import GaussianTrack, Track
from support.commands import run
from support.study_folders import estimate, truth

SECOND = 1_000_000_000
NUMBERS = ("k", "mae", "energy", "log")
QUICK = Options(numbers=NUMBERS)


def sparse_reference(offset_ns=13_000_000):
    """Every second pose, out of step with the scans: interpolated to them."""
    whole = truth()
    rows = slice(None, None, 2)
    stamp = whole.stamp[rows] + offset_ns
    return Track(stamp, whole.position[rows], whole.rotation[rows], about=whole.about)


def with_far_rows(track, seconds=1000):
    """The track with a pose long before and one long after it."""
    first, last = track.stamp[0] - seconds * SECOND, track.stamp[-1] + seconds * SECOND
    stamp = np.concatenate([[first], track.stamp, [last]])
    position = np.concatenate([track.position[:1] + 5, track.position, track.position[-1:] - 7])
    rotation = np.concatenate([track.rotation[-1:], track.rotation, track.rotation[:1]])
    return Track(stamp, position, rotation, about=track.about)


def numbers(track, reference):
    made = evaluate(track, reference, options=QUICK)
    return {name: made.get(name).to_dict() for name in NUMBERS}


@pytest.mark.parametrize("make", [truth, sparse_reference])
def test_far_rows_of_the_reference_change_nothing(make):
    track, reference = estimate(3), make()
    assert numbers(track, with_far_rows(reference)) == numbers(track, reference)


def test_later_stamps_change_nothing():
    track, reference = estimate(3), sparse_reference()
    later = (
        GaussianTrack(
            *(track.stamp + 777 * SECOND, track.position, track.rotation, track.covariance),
            about=track.about,
        ),
        Track(reference.stamp + 777 * SECOND, reference.position, reference.rotation),
    )
    assert numbers(later[0], later[1].with_about(body="imu")) == numbers(track, reference)


def test_rows_in_another_order_and_in_parts_change_nothing(tmp_path, rng):
    write(estimate(3), tmp_path / "a.square")
    lines = (tmp_path / "a.square").read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    rows = lines[len(head) :]
    (tmp_path / "b.square").write_text("".join([*head, *rng.permutation(rows)]))
    (tmp_path / "c.square").write_text("".join([*head, *rows[30:], *rows[:30]]))
    expected = numbers(read(tmp_path / "a.square"), truth())
    assert numbers(read(tmp_path / "b.square"), truth()) == expected
    assert numbers(read(tmp_path / "c.square"), truth()) == expected


@pytest.mark.parametrize("ending", [".square.gz", ".parquet", ".npz", ".csv", ".mcap", ".bag"])
def test_through_another_format_the_numbers_are_the_same(ending, tmp_path):
    track = estimate(3)
    write(track, tmp_path / f"a{ending}", lossy=True)
    again = read(tmp_path / f"a{ending}", body=track.about.body)
    mine, theirs = numbers(track, truth()), numbers(again, truth())
    for name, number in mine.items():
        assert theirs[name]["value"] == pytest.approx(number["value"], rel=1e-9)


def test_names_of_files_and_columns_change_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(estimate(3), "a.csv", lossy=True)
    write(truth(), "r.tum", lossy=True)
    head, _, rows = (tmp_path / "a.csv").read_text().partition("\n")
    x = head.split(",")[1]
    (tmp_path / "other.csv").write_text(f"{head.replace(x, 'zz', 1)}\n{rows}")
    first = run(capsys, "score", "a.csv", "--ref", "r.tum", "--json").out
    other = run(capsys, "score", "other.csv", "--ref", "r.tum", "--json", "--columns", "x=zz").out
    assert json.loads(first)["scores"] == json.loads(other)["scores"]
