"""How a command ends: 3 is a bug of ours, and nothing else; nothing is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from smfeval.cli import main as main_module
from smfeval.io import read, write
from smfeval.words import visible
from support.beliefs import gaussian, poses
from support.commands import refused, run

COMMAND = [sys.executable, "-c", "from smfeval.cli.main import run; run()"]
FULL = Path("/dev/full")
NOTHING_KEPT = "smfeval: stopped; no file was written; the same command starts again\n"
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    write(gaussian(30, rng), tmp_path / "a.square")
    write(poses(30, rng), tmp_path / "r.tum")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failing(monkeypatch, error):
    def fail(verb, arguments):
        raise error

    monkeypatch.setattr(main_module, "_run_verb", fail)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "there is not enough memory for this"),
        (OSError(28, "No space left on device"), "the system refuses: No space left on device"),
        (OSError(28, "No space left", "a.txt"), "a.txt: the system refuses: No space left"),
    ],
)
def test_a_system_that_refuses_is_no_bug(error, sentence, capsys, monkeypatch):
    failing(monkeypatch, error)
    assert refused(capsys, "check", "a") == f"smfeval: {sentence}\n"


def test_a_bug_is_a_bug(capsys, monkeypatch):
    failing(monkeypatch, IndexError("5"))
    outcome = run(capsys, "check", "a")
    assert (outcome.code, outcome.out) == (3, "")
    assert "this is a bug, please report it: IndexError: 5" in outcome.err


@needs_full
@pytest.mark.parametrize(
    "words", [("--help",), ("score", "--help"), ("check", "a.square"), ("--version",)]
)
def test_a_full_stream_is_told(words, folder):
    with FULL.open("w") as full:
        done = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "smfeval: the system refuses: No space left on device\n"


@needs_full
@pytest.mark.parametrize(("streams", "code"), [(">&-", 2), ("2>&-", 2), (">&- 2>&-", 2)])
def test_closed_streams(streams, code, folder):
    line = " ".join(f"'{word}'" for word in (*COMMAND, "check", "gone"))
    assert subprocess.run(f"{line} {streams}", shell=True, check=False).returncode == code


STOPPED = """
import os, sys, time
from pathlib import Path
from smfeval.cli import main as main_module
from smfeval.io.atomic import writing
def write_for_long(verb, arguments):
    with writing(Path("big.txt")) as stream:
        stream.write(b"1")
        print("begun", flush=True)
        time.sleep(60)
main_module._run_verb = write_for_long
sys.argv = ["smfeval", "check", "a"]
main_module.run()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_command_that_is_stopped_leaves_no_temporary_file(number, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (128 + number, NOTHING_KEPT)
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_makes_another_error_of_a_stop_is_no_bug(capsys, monkeypatch):
    def swallow(verb, arguments):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ImportError("numpy") from error

    monkeypatch.setattr(main_module, "_run_verb", swallow)
    outcome = run(capsys, "check", "a")
    assert (outcome.code, outcome.err) == (130, NOTHING_KEPT)


def test_a_library_that_fails_while_it_cleans_up_after_a_stop_is_no_bug(capsys, monkeypatch):
    def fail(verb, arguments):
        try:
            raise KeyboardInterrupt  # as workers of a study take SIGTERM
        finally:
            raise AttributeError("a pool that is gone")

    monkeypatch.setattr(main_module, "_run_verb", fail)
    outcome = run(capsys, "check", "a")
    assert (outcome.code, outcome.err) == (130, NOTHING_KEPT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_within_code_that_python_compiles_has_its_exit_code(number):
    """As in a dataclass that is being made: Python would end itself by SIGINT afterwards."""
    within = (
        "import sys; from smfeval.cli import main as m; "
        f"m._run_verb = lambda *_: exec('import signal; signal.raise_signal({int(number)})'); "
        "sys.argv = ['smfeval', 'check', 'a']; m.run()"
    )
    done = subprocess.run([sys.executable, "-c", within], capture_output=True, check=False)
    assert done.returncode == 128 + number


def test_a_command_that_is_stopped_names_what_it_has_written(folder, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("smfeval.cli.score.draw", stop)
    words = ("score", "a.square", "--ref", "r.tum", "--save", "a.html")
    saving = ("--save", "scans.parquet", "--save", "all.json")
    assert run(capsys, *words).err == NOTHING_KEPT
    said = run(capsys, *words, *saving)
    assert said.code == 130
    assert said.err.endswith(
        "smfeval: stopped; whole and kept: scans.parquet and all.json; "
        "the same command with --force writes them again\n"
    )


HUNG_UP = """
import signal, sys
from smfeval.cli import main as main_module
def hang_up(verb, arguments):
    signal.raise_signal(signal.SIGHUP)
    return 0
signal.signal(signal.SIGHUP, signal.SIG_IGN)
main_module._run_verb = hang_up
sys.exit(main_module.main(["check", "a"]))
"""


def test_what_nohup_has_us_ignore_stays_ignored():
    assert subprocess.run([sys.executable, "-c", HUNG_UP], check=False).returncode == 0


WORKER = """
import time
from pathlib import Path
from smfeval.io.atomic import writing
from smfeval.studies.workers import allow_interrupt
allow_interrupt()
with writing(Path("big.txt")) as stream:
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_stopped_leaves_no_temporary_file(number, tmp_path):
    command = [sys.executable, "-c", WORKER]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
    assert process.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []


NOT_UTF8 = os.fsdecode(b"h\xff.square")


def test_names_that_are_not_utf8(folder, capsys):
    Path("a.square").rename(NOT_UTF8)
    page = ("--html", "x.html", "--per-scan", "x.parquet")
    scored = run(capsys, "score", NOT_UTF8, "--ref", "r.tum", *page)
    assert scored.code == 0, scored.err
    verbose = run(capsys, "score", NOT_UTF8, "--ref", "r.tum", "-v").out
    assert "h\\udcff.square against r.tum\n" in verbose
    assert run(capsys, "check", NOT_UTF8, "--save-plot", "x.pdf").code == 0
    for target in ("o\udcff.parquet", "o\udcff.tum"):
        assert run(capsys, "convert", NOT_UTF8, target, "--lossy").code == 0
        assert len(read(target)) == 30
    assert "h\\udcff.square" in run(capsys, "check", NOT_UTF8, "--json").out.replace("\\\\", "\\")


def test_control_characters_do_not_reach_the_terminal(folder, capsys):
    name = "a\x1b[31m\u202e\x9b.square"
    text = Path("a.square").read_text().replace("#%ALGORITHM test", "#%ALGORITHM \x1b]0;x\x07")
    Path(name).write_text(text)
    for words in (
        ("score", name, "--ref", "r.tum", "-v"),
        ("check", name, "-v"),
        ("convert", name, "b\x1b.tum", "--lossy"),
        ("check", "gone\x1b[2J"),
        ("score", "r.tum", "--ref", name),
    ):
        outcome = run(capsys, *words)
        shown = (outcome.out + outcome.err).replace("\n", "")
        assert shown == visible(shown), words
        assert "\\x1b" in shown


def test_visible_leaves_what_can_be_shown():
    assert visible("Zürich, 東京, µ\u00a0m") == "Zürich, 東京, µ\u00a0m"
    assert visible("a\tb\udcff\x00") == "a\\tb\\udcff\\x00"


def test_a_damaged_table_leaves_no_backtrace(folder, capfd):
    """Polars panics on some, and prints where."""
    run(capfd, "convert", "a.square", "a.parquet")
    whole = bytearray(Path("a.parquet").read_bytes())
    for at in np.linspace(4, len(whole) - 12, 12).astype(int):
        damaged = bytearray(whole)
        damaged[at : at + 3] = b"\xff\xff\xff"
        Path("b.parquet").write_bytes(damaged)
        outcome = run(capfd, "check", "b.parquet", "-q")
        assert outcome.code in (0, 2), outcome
        assert outcome.err.count("\n") <= 1, outcome.err
        assert "panicked" not in outcome.err
