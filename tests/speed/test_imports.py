"""What a command does not need, it does not import: modules are counted, not seconds."""

import subprocess
import sys

import pytest

from smfeval.cli.main import VERBS
from smfeval.lab.cli import VERBS as LAB_VERBS
from support.speed_tracks import files

HEAVY = {"polars", "scipy", "matplotlib", "rich", "pandas", "plotly", "rosbags", "shtab"}
UNUSED = {"numpy.ma", "numpy.random", "numpy.testing", "statistics", "decimal", "json", "shutil"}
COMPUTING = HEAVY | {"numpy"}
COMMANDS = [*((verb,) for verb in VERBS), *(("lab", verb) for verb in LAB_VERBS)]


def modules_after(*words: str, also: str = "", code: int = 0) -> set[str]:
    """Modules in memory after a command line has run in a process of its own."""
    script = (
        f"import sys, {also or 'os'}\n"
        "from smfeval.cli.main import main\n"
        "try:\n"
        f"    code = main({list(words)!r})\n"
        "except SystemExit as done:\n"
        "    code = done.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "raise SystemExit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == code
    return set(done.stderr.splitlines()[-1].split())


def test_help_needs_no_numbers():
    assert modules_after("--help") & COMPUTING == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_verb_needs_no_numbers(command):
    assert modules_after(*command, "--help") & COMPUTING == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_flag_is_refused_without_numbers(command):
    loaded = modules_after(*command, "--no-such-flag", code=2)
    assert loaded & COMPUTING == set()


def test_scoring_text_files_needs_numpy_and_nothing_heavy(tmp_path):
    square, tum = files(200, tmp_path)
    loaded = modules_after("score", square, "--ref", tum)
    assert "numpy" in loaded
    assert loaded & (HEAVY | UNUSED) == set()


def test_diagnosing_needs_nothing_heavy(tmp_path):
    square, tum = files(200, tmp_path)
    loaded = modules_after("score", square, "--ref", tum, "--diagnose")
    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_what_is_imported_is_noticed():
    assert "matplotlib" in modules_after("--help", also="matplotlib")
