"""What a command does not need, it does not import: modules are counted, not seconds."""

import subprocess
import sys

import pytest

from smfeval.cli.main import VERBS
from support.speed_tracks import files

HEAVY = {"polars", "scipy", "matplotlib", "rich", "pandas", "plotly", "rosbags"}
LONG = {"study", "sweep"}  # what these do takes long enough; scipy may come along


def packages_after(*words: str, also: str = "") -> set[str]:
    """Packages in memory after a command line has run in a process of its own."""
    script = (
        f"import sys, {also or 'os'}\n"
        "from smfeval.cli.main import main\n"
        "try:\n"
        f"    code = main({list(words)!r})\n"
        "except SystemExit as done:\n"
        "    code = done.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
        "raise SystemExit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_help_needs_no_numbers():
    assert packages_after("--help").isdisjoint(HEAVY | {"numpy"})


@pytest.mark.parametrize("verb", sorted(set(VERBS) - LONG))
def test_help_of_a_verb_needs_nothing_heavy(verb):
    assert packages_after(verb, "--help") & HEAVY == set()


def test_scoring_text_files_needs_numpy_and_nothing_heavy(tmp_path):
    square, tum = files(200, tmp_path)
    loaded = packages_after("score", square, "--ref", tum)
    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_diagnosing_needs_nothing_heavy(tmp_path):
    square, tum = files(200, tmp_path)
    loaded = packages_after("score", square, "--ref", tum, "--diagnose")
    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_what_is_imported_is_noticed():
    assert "matplotlib" in packages_after("--help", also="matplotlib")
