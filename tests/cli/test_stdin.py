"""`-`: one source from standard input."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smfeval.io import write
from support.beliefs import gaussian
from support.commands import refused


@pytest.fixture
def here(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    track = gaussian(60, rng)
    write(track, "a.square")
    write(track, "truth.tum", lossy=True)
    return tmp_path


def piped(content: bytes, *words: str) -> subprocess.CompletedProcess:
    command = "import sys\nfrom smfeval.cli.main import run\nrun()"
    environment = os.environ | {"TMPDIR": str(Path.cwd() / "tmp")}
    Path("tmp").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", command, *words],
        input=content,
        capture_output=True,
        check=False,
        env=environment,
    )
    assert list(Path("tmp").iterdir()) == []
    return done


def test_an_estimate_comes_through_a_pipe(here):
    done = piped(Path("a.square").read_bytes(), "check", "-")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "-"
    assert lines[-2:] == ["can be scored on axes xyz", "next: smfeval score - --ref REF"]
    assert piped(Path("truth.tum").read_bytes(), "check", "-", "-q").returncode == 0


def test_a_reference_comes_through_a_pipe(here):
    through = piped(Path("truth.tum").read_bytes(), "score", "a.square", "--ref", "-", "-q")
    direct = piped(b"", "score", "a.square", "--ref", "truth.tum", "-q")
    assert through.returncode == 0
    assert through.stdout == direct.stdout


def test_what_is_wrong_with_it_is_said_of_standard_input(here):
    for content, sentence in (
        (b"", "smfeval: -: the file is empty"),
        (b"0 1 2 3 0 0 0 1\n1 2\n", "smfeval: -:2: 2 columns"),
        (b"junk\n", "smfeval: -: the format is not recognised"),
    ):
        done = piped(content, "check", "-")
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode().startswith(sentence)
        assert done.stderr.count(b"\n") == 1


def test_more_than_the_limit_is_refused(here):
    done = piped(Path("a.square").read_bytes(), "check", "-", "--limit", "5kB")
    assert done.returncode == 2
    assert b"-: there are more than 5 kB in it" in done.stderr


def test_standard_input_can_be_read_once(here, capsys):
    assert "can be read once" in refused(capsys, "score", "-", "--ref", "-")
