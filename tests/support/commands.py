"""Running command lines inside the test process."""

import os
from dataclasses import dataclass
from pathlib import Path

from smfeval.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run(capsys, *words: object) -> Outcome:
    capsys.readouterr()
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return Outcome(code, captured.out, captured.err)


def refused(capsys, *words: object) -> str:
    """Run a command that must fail: exit 2, one sentence, nothing on stdout."""
    outcome = run(capsys, *words)
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("smfeval: ")
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    return outcome.err


def files_in(folder: Path) -> set[str]:
    return {os.fspath(path.relative_to(folder)) for path in folder.rglob("*")}
