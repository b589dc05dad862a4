"""Whole command lines with their expected output.

Words must be equal; numbers may differ in the last digit shown, since another processor may round
otherwise. After a change on purpose run `smfeval demo > tests/golden/demo.txt`, and read the
difference.
"""

import re
from pathlib import Path

import pytest

from support.commands import run

HERE = Path(__file__).parent
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


def split(text: str) -> tuple[str, list[float]]:
    """The words with a mark for each number, and the numbers."""
    return NUMBER.sub("#", text), [float(n.replace(",", "")) for n in NUMBER.findall(text)]


def test_the_demo(capsys):
    outcome = run(capsys, "demo")
    assert outcome.code == 0
    assert outcome.err == ""
    found, expected = split(outcome.out), split((HERE / "demo.txt").read_text())
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], rel=0.011)
