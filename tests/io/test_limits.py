"""Nothing is read without a bound, and what may never end is not read at all."""

import gzip
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from smfeval.errors import FormatError, OptionError
from smfeval.io import read, text_reader, write
from smfeval.io.documents import read_telemetry_columns
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.innovations import read_innovations
from smfeval.io.options import ReadOptions
from smfeval.io.source import (
    HEADER_BYTES,
    LIMIT_BYTES,
    LINE_BYTES,
    YAML_BYTES,
    read_head,
    reading_limit,
)
from smfeval.io.telemetry import read_telemetry_table
from smfeval.studies.plan_file import DEPTH, PLAN_BYTES, read_plan, read_toml
from support.beliefs import gaussian, poses
from support.commands import refused, run

ENDLESS = Path("/dev/zero")
needs_devices = pytest.mark.skipif(not ENDLESS.exists(), reason="no devices on this system")


@needs_devices
@pytest.mark.parametrize("kind", ["fifo", "device"])
@pytest.mark.parametrize(
    "words",
    [
        ("score", "{}", "--ref", "a.tum"),
        ("score", "a.tum", "--ref", "{}"),
        ("score", "a.tum", "--ref", "a.tum", "--extrinsic", "{}"),
        ("score", "a.tum", "--ref", "a.tum", "--covariance", "{}"),
        ("score", "a.tum", "--ref", "a.tum", "--format", "bag", "--topic", "/a"),
        ("pair", "{}", "a.tum"),
        ("check", "{}"),
        ("convert", "{}", "b.tum"),
        ("study", "{}"),
        ("sweep", "{}"),
        ("nis", "{}"),
        ("table", "{}"),
        ("watch", "{}", "--ref", "a.tum"),
        ("watch", "--nis", "{}"),
        ("explain", "a.tum", "--telemetry", "{}"),
        ("score", "a.tum", "--ref", "a.tum", "--calibration", "{}"),
        ("score", "a.tum", "--ref", "a.tum", "--calibration", "a", "--telemetry", "{}"),
        ("calibrate", "a.tum", "--ref", "a.tum", "--telemetry", "{}", "--follow", "n"),
    ],
)
def test_a_pipe_or_a_device_is_refused_and_not_waited_for(
    kind, words, tmp_path, rng, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write(poses(5, rng), "a.tum")
    name = str(ENDLESS)
    if kind == "fifo":
        os.mkfifo("fifo")
        name = "fifo"
    said = refused(capsys, *(word.format(name) for word in words))
    assert "a pipe or a device" in said or "bag" in words


@needs_devices
def test_a_plan_that_names_a_pipe_fails_that_run_and_does_not_wait(tmp_path, rng, capsys):
    write(poses(5, rng), tmp_path / "ref.tum")
    os.mkfifo(tmp_path / "est.square")
    (tmp_path / "plan.toml").write_text(
        '[[tracks]]\nname = "a"\nreference = "ref.tum"\n'
        '[[estimators]]\nname = "e"\npath = "est.square"\n'
    )
    outcome = run(capsys, "study", tmp_path / "plan.toml", "--workers", "1")
    assert outcome.code == 2


def bomb(path, line, *, times):
    """A gzipped file that repeats a line very often."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(times):
            stream.write(line)
    return path


def test_gzip_is_unpacked_up_to_the_limit_only(tmp_path, rng):
    write(poses(2000, rng), tmp_path / "a.tum.gz")
    size = len(gzip.decompress((tmp_path / "a.tum.gz").read_bytes()))
    assert len(read(tmp_path / "a.tum.gz", limit=size)) == 2000
    with pytest.raises(FormatError, match=r"more than .* in it, which is the limit") as caught:
        read(tmp_path / "a.tum.gz", limit=size - 1)
    assert caught.value.remedy == "limit"


@pytest.mark.parametrize(
    "reading", [read_innovations, read_telemetry_table, read_telemetry_columns]
)
def test_tables_of_text_are_unpacked_up_to_an_eighth_of_the_limit(reading, tmp_path):
    path = bomb(tmp_path / "a.csv", b"\n" * 1000, times=200)
    with (
        reading_limit(8 * 150_000),
        pytest.raises(FormatError, match="more than 150 kB in it, which is the limit"),
    ):
        reading(path)


def test_the_name_of_a_table_of_telemetry_is_no_pattern(tmp_path):
    for name, matched in (("t1", 1), ("t[1]", 2)):
        table = pl.DataFrame({"stamp": [1, 2], "matched": [matched] * 2})
        table.write_parquet(tmp_path / f"{name}.parquet")
    assert read_telemetry_columns(tmp_path / "t[1].parquet").values[0] == [2]


def test_a_plain_file_and_a_table_have_the_same_limit(tmp_path, rng):
    track = gaussian(2000, rng)
    for name in ("a.square", "a.parquet"):
        write(track, tmp_path / name)
        with pytest.raises(FormatError, match="which is the limit"):
            read(tmp_path / name, limit="100kB")
        assert len(read(tmp_path / name, limit="2MB")) == 2000


def test_the_limit_is_named_by_the_command_line(tmp_path, rng, capsys):
    write(gaussian(2000, rng), tmp_path / "a.square")
    said = refused(capsys, "check", tmp_path / "a.square", "--limit", "100kB")
    assert said.endswith("(--limit 20GB lets it pass, given the memory)\n")
    assert run(capsys, "check", tmp_path / "a.square", "--limit", "20GB").code == 0


@pytest.mark.parametrize(
    ("said", "size"), [("20GB", 20e9), ("1.5 MB", 1.5e6), ("7", 7), (7, 7), ("7B", 7)]
)
def test_sizes(said, size):
    assert ReadOptions(limit=said).limit == size


@pytest.mark.parametrize("said", ["", "0", "-1", "nan", "1e9", "20 gigabytes", "9" * 30])
def test_what_is_no_size(said):
    with pytest.raises(OptionError, match="is no size"):
        ReadOptions(limit=said)


def test_a_table_of_a_hundred_million_rows_is_refused_by_its_metadata(tmp_path, rng):
    """Runs of equal numbers: 1e8 rows of them are a small file, and 6.4 GB in memory."""
    write(poses(1, rng), tmp_path / "a.parquet")
    header = {"square": pl.read_parquet_metadata(tmp_path / "a.parquet")["square"]}
    one = pl.LazyFrame(pl.read_parquet(tmp_path / "a.parquet"))
    rows = 1_000_000
    one.select(pl.all().repeat_by(rows).explode()).collect().write_parquet(
        tmp_path / "b.parquet", metadata=header
    )
    with pytest.raises(FormatError, match="which is the limit"):
        read(tmp_path / "b.parquet", limit=LIMIT_BYTES // 100)
    assert (tmp_path / "b.parquet").stat().st_size < LIMIT_BYTES // 100
    assert 100 * rows * 8 * 8 > LIMIT_BYTES  # a hundred times as many rows are beyond the default


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("head", [b"", b"# a comment\n", b"1 0 0 0 0 0 0 1\n"])
def test_a_line_without_an_end_is_refused(packed, head, tmp_path):
    text = head + b"#" * (2 * LINE_BYTES + text_reader.CHUNK_BYTES)
    path = tmp_path / "a.tum"
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    with pytest.raises(FormatError, match=r"a line is longer than|no row of numbers"):
        read(path, format="tum")


def test_comments_without_an_end_are_refused(tmp_path):
    path = bomb(tmp_path / "a.tum.gz", b"# comment\n" * 10_000, times=1 + HEADER_BYTES // 100_000)
    for reading in (read_head, read, text_reader.read_header):
        with pytest.raises(FormatError, match="no row of numbers in the first 4 MB"):
            reading(path)


def test_a_plan_or_an_extrinsic_that_is_large_is_refused(tmp_path):
    plan = bomb(tmp_path / "plan.toml", b"#" * 1000, times=PLAN_BYTES // 1000 + 1)
    with pytest.raises(FormatError, match="more than 16 MB in it"):
        read_plan(plan)
    (tmp_path / "e.yaml").write_text("#" * (YAML_BYTES + 1))
    with pytest.raises(FormatError, match="more than 64 kB in it"):
        read_extrinsic(tmp_path / "e.yaml")


ALIASES = "a: &a [0, 0, 0]\nt: *a\nR: [1, 0, 0, 0, 1, 0, 0, 0, 1]\n"


def test_yaml_with_an_alias_is_refused(tmp_path):
    (tmp_path / "e.yaml").write_text(ALIASES)
    with pytest.raises(FormatError, match=r"the YAML has an alias \(\*\)"):
        read_extrinsic(tmp_path / "e.yaml")
    (tmp_path / "e.yaml").write_text(ALIASES.replace("*a", '[1, 2, 3]\nnote: "R & D, *a"'))
    np.testing.assert_array_equal(read_extrinsic(tmp_path / "e.yaml")[0], [1, 2, 3])


def test_a_bag_whose_metadata_have_an_alias_is_refused(tmp_path):
    (tmp_path / "metadata.yaml").write_text(ALIASES)
    with pytest.raises(FormatError, match="the YAML has an alias"):
        read(f"{tmp_path}:/odom")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * (DEPTH + 1) + "]" * (DEPTH + 1),
        "a = " + "[" * 100_000,
        ".".join("a" * 100) + " = 1",
        "[" + ".".join("a" * 100) + "]",
        "[" + " . ".join(["a"] * 1_000_000) + "]",
        "a = {" + ".".join("b" * 1000) + " = 1}",
    ],
    ids=["lists", "open lists", "key", "table", "long table", "inline"],
)
def test_a_plan_that_is_deep_is_refused(text, tmp_path):
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(FormatError, match=r"more than 16 deep|not TOML"):
        read_toml(tmp_path / "plan.toml")


@pytest.mark.parametrize("value", ["1" * 5000, "0x" + "f" * 5000, "-" + "1" * 4000, "1" * 400])
@pytest.mark.parametrize("key", ["diverged_m = {}", "[options]\nseed = {}", "name = {}"])
def test_a_number_of_thousands_of_digits_in_a_plan_is_refused(key, value, tmp_path, capsys):
    (tmp_path / "plan.toml").write_text(
        f'{key.format(value)}\n[[tracks]]\nname = "a"\nreference = "r"\n'
        '[[estimators]]\nname = "e"\npath = "p"\n'
    )
    refused(capsys, "study", tmp_path / "plan.toml")


@pytest.mark.parametrize("text", ["1" * 5000, "1" * 100_000, "1." + "1" * 100_000, "1e99999"])
def test_a_stamp_of_thousands_of_digits_is_refused_or_read(text, tmp_path, capsys):
    (tmp_path / "a.tum").write_text(f"{text} 0 0 0 0 0 0 1\n")
    assert run(capsys, "check", tmp_path / "a.tum").code in (0, 2)
