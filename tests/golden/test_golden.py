"""Whole command lines with their expected output.

Words must be equal; numbers may differ in the last digit shown, since another processor may round
otherwise. After a change on purpose run `smfeval demo > tests/golden/demo.txt`, and read the
difference.
"""

from pathlib import Path

from support.commands import run
from support.printed import assert_alike

HERE = Path(__file__).parent


def test_the_demo(capsys):
    outcome = run(capsys, "demo")
    assert outcome.code == 0
    assert outcome.err == ""
    assert_alike(outcome.out, (HERE / "demo.txt").read_text())
