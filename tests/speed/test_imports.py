"""What a command does not need, it does not import: modules are counted, not seconds."""

import pytest

from smfeval.cli.main import VERBS
from support.imports import COMPUTING, HEAVY, modules_after
from support.speed_tracks import files

UNUSED = {"numpy.ma", "numpy.random", "numpy.testing", "statistics", "decimal", "json", "shutil"}


def test_help_needs_no_numbers():
    assert modules_after("--help") & COMPUTING == set()


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_needs_no_numbers(verb):
    assert modules_after(verb, "--help") & COMPUTING == set()


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_flag_is_refused_without_numbers(verb):
    assert modules_after(verb, "--no-such-flag", code=2) & COMPUTING == set()


def test_scoring_text_files_needs_numpy_and_nothing_heavy(tmp_path):
    square, tum = files(200, tmp_path)
    loaded = modules_after("score", square, "--ref", tum)
    assert "numpy" in loaded
    assert loaded & (HEAVY | UNUSED) == set()
    assert "importlib.metadata" not in loaded  # nobody looks for verbs of other distributions


def test_diagnosing_needs_nothing_heavy(tmp_path):
    square, tum = files(200, tmp_path)
    loaded = modules_after("score", square, "--ref", tum, "--why")
    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_what_is_imported_is_noticed():
    assert "matplotlib" in modules_after("--help", also="matplotlib")
