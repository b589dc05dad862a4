"""Every kind of bad input: one sentence, exit code 2, nothing written."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smfeval.io import write
from support.beliefs import gaussian
from support.commands import files_in, refused, run

ROW = "{stamp} {x} 0 0 0 0 0 1"


def tum(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


GOOD = [ROW.format(stamp=i, x=i) for i in range(5)]
LOWER = [1.0 if i == j else 0.0 for i in range(6) for j in range(i + 1)]


def wide(change: dict[int, float] | None = None) -> bytes:
    lower = LOWER.copy()
    for index, value in (change or {}).items():
        lower[index] = value
    good = " ".join(map(str, LOWER))
    bad = " ".join(map(str, lower))
    return tum(f"{GOOD[0]} {good}", f"{GOOD[1]} {bad}", f"{GOOD[2]} {good}")


CASES = {
    "empty": (b"", "the file is empty"),
    "binary junk": (bytes(range(256)) * 20, "binary data"),
    "wrong column count": (tum(*GOOD[:2], "2 0 0", GOOD[3]), "track.txt:3: 3 columns; 8"),
    "text in a number": (tum(GOOD[0], "1 a 0 0 0 0 0 1"), "track.txt:2: column 2 is 'a'"),
    "underscore in a number": (tum(GOOD[0], "1 1_0.5 0 0 0 0 0 1"), "'1_0.5', which is not a"),
    "nan": (tum(GOOD[0], "1 nan 0 0 0 0 0 1"), "track.txt:2: the pose has a NaN"),
    "inf": (tum(GOOD[0], "1 0 0 inf 0 0 0 1"), "track.txt:2: the pose has a NaN or an infinity"),
    "overflow": (tum(GOOD[0], "1 0 0 1e999 0 0 0 1"), "track.txt:2: the pose has a NaN"),
    "stamps in ms": (tum("1700000000000 0 0 0 0 0 0 1"), "track.txt:1: stamp"),
    "stamps in us": (tum("1700000000000000 0 0 0 0 0 0 1"), "microseconds"),
    "zero quaternion": (tum(GOOD[0], "1 0 0 0 0 0 0 0"), "track.txt:2: the quaternion is zero"),
    "long quaternion": (tum("0 0 0 0 0 0 1 1"), "the quaternion has length 1.41421"),
    "equal stamps": (
        tum(GOOD[0], GOOD[1], GOOD[1].replace(" 0 ", " 5 ", 1)),
        "track.txt:3: stamp 1.000000000 stands already",
    ),
    "negative variance": (wide({5: -1.0}), "track.txt:2: the covariance is not positive semi-def"),
    "indefinite": (wide({1: 2.0}), "track.txt:2: the covariance is not positive semi-definite: an"),
    "nan covariance": (wide({1: np.nan}), "track.txt:2: the covariance has a NaN"),
    "header only": (b"# stamp x y z\n", "not recognised"),
    "cut gzip": (gzip.compress(tum(*GOOD) * 500)[:100], "gzip data is damaged or cut off"),
    "five columns": (b"1 2 3 4 5\n", "first row: 5 columns"),
    "junk bag": (b"#ROSBAG V2.0\n" + b"\0" * 100, "track.txt"),
    "junk mcap": (b"\x89MCAP0\r\n" + b"\7" * 100, "track.txt"),
    "junk sqlite": (b"SQLite format 3\0" + b"\7" * 100, "track.txt"),
    "junk parquet": (b"PAR1" + b"\7" * 100, "damaged or no Parquet file"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files(case, tmp_path, capsys):
    content, sentence = CASES[case]
    source = tmp_path / "track.txt"
    source.write_bytes(content)
    assert sentence in refused(capsys, "check", source)
    assert sentence in refused(capsys, "convert", source, tmp_path / "out.square")
    assert files_in(tmp_path) == {"track.txt"}


def test_missing_file_and_folder(tmp_path, capsys):
    assert "there is no such file" in refused(capsys, "check", tmp_path / "a.square")
    assert "this is a folder" in refused(capsys, "check", tmp_path)


@pytest.mark.parametrize(
    "words",
    [("check", "."), ("check", "/"), ("score", ".", "--ref", "."), ("convert", ".", "a.csv"),
     ("pair", ".", ".."), ("calibrate", ".", "--ref", "a"), ("explain", ".", "--telemetry", "a")],
)  # fmt: skip
def test_folders_without_a_name(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "smfeval: " in refused(capsys, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("calibrate", "a", "--reff", "b"), "required: --ref; --reff is unknown; '--ref' may be "),
        (("score", "a", "--reff", "b"), "unrecognized arguments: --reff b; '--ref' may be meant"),
        (("pyproject.toml", "b"), "no verb but a file: smfeval check pyproject.toml says what is"),
        (("score", "a", "--ref", "b", "--rules", "enery"), "'energy' may be meant"),
        (("score", "a", "--ref", "b", "--body-size", "1e308"), "from 0 to 1e+06, not 1e+308"),
        (("convert", "a", "b.xyz"), "b.xyz: the ending names no format to write; name it: bag, "),
    ],
)
def test_what_may_be_meant_is_said(words, sentence, capsys):
    assert sentence in refused(capsys, *words)


@pytest.mark.parametrize(
    ("encoding", "first"),
    [
        ("ascii", r"caf\u00e9 \ud83d\ude00.txt"),
        ("latin-1", "caf\u00e9 " + r"\ud83d\ude00.txt"),
        ("utf-8", "caf\u00e9 \U0001f600.txt"),
    ],
)
def test_names_that_the_terminal_cannot_write_are_escaped(encoding, first, tmp_path):
    source = tmp_path / "caf\u00e9 \U0001f600.txt"
    source.write_bytes(tum(*GOOD))
    surroundings = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    smfeval = Path(sys.executable).with_name("smfeval")

    def checked(*words):
        done = subprocess.run(
            [smfeval, "check", source.name, *words],
            check=False,
            capture_output=True,
            cwd=tmp_path,
            env=surroundings,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode(encoding)

    assert json.loads(checked("--json"))["name"] == source.name
    assert checked().splitlines()[0] == first


def test_hints_name_the_flag_that_helps(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(wide({5: -1.0}))
    assert "(--bad-rows drop leaves such rows out)" in refused(capsys, "check", tmp_path / "a.txt")
    (tmp_path / "b.txt").write_bytes(tum(*GOOD[:3], GOOD[0].replace(" 0 ", " 5 ", 1)))
    assert "--duplicates first or last" in refused(capsys, "check", tmp_path / "b.txt")


def test_bad_rows_are_left_out_and_counted(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(wide({5: -1.0}))
    outcome = run(capsys, "check", tmp_path / "a.txt", "--bad-rows", "drop")
    assert outcome.code == 0
    assert "left out" in outcome.out
    assert "1 row: covariance not positive semi-definite (first: " in outcome.out
    assert "a.txt:2)" in outcome.out


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (tum(*GOOD).replace(b" ", b","), "separated by commas"),
        (tum(*GOOD[::-1]), "stamps step back 4 times; the rows were sorted by time"),
        (tum(*GOOD[:2], "#" + GOOD[2], GOOD[3]), "a row is commented out"),
    ],
)
def test_odd_but_readable_files_leave_a_note(content, note, tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(content)
    outcome = run(capsys, "check", tmp_path / "a.txt")
    assert outcome.code == 0
    assert note in outcome.out
    assert run(capsys, "check", tmp_path / "a.txt", "--strict").code == 2


@pytest.mark.parametrize(
    "content", [tum(*GOOD).replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + tum(*GOOD)]
)
def test_line_ends_and_byte_order_marks_are_accepted(content, tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(content)
    outcome = run(capsys, "check", tmp_path / "a.txt", "--strict")
    assert outcome.code == 0
    assert "5 in 4 s" in outcome.out


def test_convert_does_not_overwrite(tmp_path, capsys, rng):
    write(gaussian(4, rng), tmp_path / "a.square")
    (tmp_path / "b.square").write_text("precious")
    sentence = refused(capsys, "convert", tmp_path / "a.square", tmp_path / "b.square")
    assert "--force overwrites it" in sentence
    assert (tmp_path / "b.square").read_text() == "precious"
    assert run(capsys, "convert", tmp_path / "a.square", tmp_path / "b.square", "--force").code == 0


def test_convert_loses_nothing_silently(tmp_path, capsys, rng):
    write(gaussian(4, rng), tmp_path / "a.square")
    sentence = refused(capsys, "convert", tmp_path / "a.square", tmp_path / "a.tum")
    assert "would lose the covariance" in sentence
    assert "--lossy" in sentence
    assert run(capsys, "convert", tmp_path / "a.square", tmp_path / "a.tum", "--lossy").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fly"], "'fly' is no verb; it is one of score, pair"),
        (["scroe"], "'scroe' is no verb; 'score' may be meant"),
        (["check", "a", "--convenion=left"], "--convenion=left; '--convention' may be meant"),
        (["check", "a", "--from", "fastlio2"], "'fastlio2'; 'fast-lio2' may be meant"),
        (["check"], "the following arguments are required: FILE"),
        (["check", "a", "--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["check", "a", "--from", "orb-slam"], "invalid choice: 'orb-slam'"),
        (["check", "a", "--origin", "1,2"], "latitude and longitude in degrees"),
        (["convert", "a", "b.square"], "there is no such file"),
    ],
)
def test_bad_command_lines(words, sentence, capsys):
    assert sentence in refused(capsys, *words)


def test_options_that_would_be_ignored_are_refused(tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(tum(*GOOD))
    for words in (["--origin", "1,2,3"], ["--topic", "/odom"], ["--times", "t.txt"]):
        assert "means nothing for TUM files" in refused(capsys, "check", tmp_path / "a.txt", *words)
    outcome = run(capsys, "check", tmp_path / "a.txt", "--convention", "left")
    assert "option convention has no effect: there are no covariances" in outcome.out


def test_options_about_particles_are_refused_where_there_are_none(tmp_path, rng, capsys):
    write(gaussian(12, rng), tmp_path / "a.square")
    words = ("score", tmp_path / "a.square", "--ref", tmp_path / "a.square")
    for flag in ("--unbiased", "--kernel-density"):
        assert f"{flag} is about particles" in refused(capsys, *words, flag)


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("b.csv", "what it declares: body imu, gauge fixed, world map"),
        ("b.mcap", "what it declares: body imu, gauge fixed"),
        ("b.parquet", None),
    ],
)
def test_what_a_format_cannot_declare_is_told(target, lost, tmp_path, rng, capsys):
    """Read again, a track without a gauge would be aligned by another rule."""
    track = gaussian(5, rng).with_about(body="imu", world="map", gauge="fixed")
    write(track, tmp_path / "a.square")
    told = run(capsys, "convert", tmp_path / "a.square", tmp_path / target, "--json").out
    assert json.loads(told)["lost"] == ([lost] if lost else [])


def test_a_bag_is_called_what_it_is(tmp_path, rng, capsys):
    write(gaussian(5, rng), tmp_path / "a.square")
    for name, title in (("b.mcap", "MCAP"), ("b.bag", "ROS 1 bag"), ("b.db3", "ROS 2 bag")):
        said = run(capsys, "convert", tmp_path / "a.square", tmp_path / name, "-q").out
        assert f" ({title}): 5 scans" in said
