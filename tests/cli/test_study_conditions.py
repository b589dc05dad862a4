"""`smfeval study --fail-if`: what is held to a condition, and what the exit code says."""

from pathlib import Path

import pytest

from support.commands import run
from support.study_folders import FAST, HERE, entered, estimate, planned, put


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    return entered(tmp_path, monkeypatch)


def test_a_condition_makes_the_exit_code_one(capsys, folder):
    words = ("study", "study.toml", *HERE, "-q")
    failed = run(capsys, *words, "--fail-if", "k>5", "--fail-if", "failed>0")
    assert failed.code == 1
    assert failed.err.startswith("smfeval: --fail-if: all, bold: k > 5 (1")
    assert failed.err.count("\n") == 1
    assert run(capsys, *words, "--fail-if", "k>500", "--fail-if", "diverged>0").code == 0
    planned(folder, f"diverged_m = 0.2\n{FAST}")
    lost = run(capsys, *words, "--fail-if", "diverged>1")
    assert lost.code == 1
    assert lost.err == "smfeval: --fail-if: all, bold: diverged > 1 (2)\n"
    (folder / "good" / "two.square").unlink()
    assert run(capsys, *words, "--fail-if", "failed>0").code == 0
    gone = run(capsys, *words, "--fail-if", "missing>0")
    assert gone.code == 1
    assert gone.err.endswith("smfeval: --fail-if: runs: missing > 0 (1)\n")
    (folder / "bold" / "two.square").write_text("#% nonsense\n1 2 3\n")
    broken = run(capsys, *words, "--fail-if", "failed>0")
    assert broken.code == 1
    assert broken.err.endswith("smfeval: --fail-if: runs: failed > 0 (1)\n")


def test_a_baseline_is_not_held_to_a_condition(capsys, folder):
    planned(folder, FAST.replace('"bold"\n', '"bold"\nrole = "baseline"\n'))
    words = ("study", "study.toml", *HERE, "-q")
    assert run(capsys, *words, "--fail-if", "k>5").code == 0


def test_who_has_no_such_number_is_not_held_to_a_condition_and_it_is_said(capsys, folder):
    for name in ("one", "two"):
        put(estimate(1), folder / "plain" / f"{name}.tum")
    planned(folder, FAST + '[[estimators]]\nname = "plain"\npath = "plain/{track}.tum"\n')
    words = ("study", "study.toml", *HERE, "-q", "--fail-if")
    skipped = "smfeval: --fail-if: all, plain: there is no k; not held to k > {}\n"
    fine = run(capsys, *words, "k>500")
    assert (fine.code, fine.err) == (0, skipped.format(500))
    broken = run(capsys, *words, "k>5")
    assert broken.code == 1
    assert broken.err.startswith(skipped.format(5) + "smfeval: --fail-if: all, bold: k > 5 (1")


def test_a_condition_on_a_number_that_nobody_has_is_refused_unless_another_holds(capsys, folder):
    for name in ("one", "two"):
        put(estimate(1), folder / "plain" / f"{name}.tum")
    entry = '[[estimators]]\nname = "plain"\npath = "plain/{track}.tum"\n'
    planned(folder, FAST.partition("[[estimators]]")[0] + entry)
    words = ("study", "study.toml", *HERE, "-q", "--fail-if", "k>500")
    outcome = run(capsys, *words)
    assert outcome.code == 2
    told = "smfeval: --fail-if: k > 500: no contender has k in any table\n"
    assert outcome.err.endswith(told)
    assert run(capsys, *words, "--fail-if", "mae>0").code == 1
