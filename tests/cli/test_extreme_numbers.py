"""Numbers from 1e-320 to 1e308 through all verbs: an answer or a sentence, and never a bug.

Warnings are errors in the tests, so a warning would be exit code 3 here.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from smfeval.io import write
from support.beliefs import gaussian, particles, poses
from support.commands import run

SCANS = 12
EDGES = (5e-324, 1e-320, 2.2e-308, 1e-200, 1e-100, 1e-30, 1e-16, 1e12, 1e30, 1e100, 1e200, 1.7e308)
OPTIONS = (
    "--tolerance",
    "--offset",
    "--beta",
    "--level",
    "--horizon",
    "--fit-on",
    "--ref-sigma",
    "--ref-shared",
)
CASES = 120


@dataclass
class Draw:
    """One case after the other from one seed."""

    rng: np.random.Generator

    def number(self) -> float:
        """A magnitude from the smallest to the largest float, either sign."""
        size = (
            float(self.rng.choice(EDGES))
            if self.rng.random() < 0.5
            else 10 ** self.rng.uniform(-320, 308)
        )
        return size * float(self.rng.choice([1, 1, 1, -1]))

    def moderate_number(self) -> float:
        """A factor that leaves a covariance within what is taken in."""
        return float(10 ** self.rng.uniform(-60, 30))

    def choose(self, *things):
        return things[self.rng.integers(len(things))]

    def spoil(self, path: Path) -> None:
        """Put extreme numbers into a file of rows: an entry, columns, or a factor on columns."""
        lines = path.read_text().splitlines()
        first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
        rows = [line.split() for line in lines[first:]]
        start = int(self.rng.integers(len(rows[0])))
        columns = range(start, min(start + self.choose(1, 3, 40), len(rows[0])))
        chosen = self.choose(rows, rows, [rows[int(self.rng.integers(len(rows)))]])
        number, kind = self.number(), self.choose("set", "scale", "covariance", "gap")
        if kind == "covariance":
            columns, number = range(8, len(rows[0])), self.choose(number, self.moderate_number())
        if kind == "gap":
            gap = float(10 ** self.rng.uniform(-9, 9))
            for row in rows[int(self.rng.integers(len(rows))) :]:
                row[0] = f"{Decimal(row[0]) + Decimal(gap):.9f}"
        for row in chosen if kind != "gap" else ():
            for at in columns:
                old = 1.0 if kind == "set" else float(row[at])
                with np.errstate(over="ignore", under="ignore"):
                    row[at] = repr(float(np.float64(old) * number))
        path.write_text("\n".join([*lines[:first], *(" ".join(row) for row in rows)]) + "\n")


def written(folder: Path, rng: np.random.Generator) -> None:
    write(gaussian(SCANS, rng), folder / "a.square")
    write(gaussian(SCANS, rng), folder / "b.square")
    write(gaussian(SCANS, rng), folder / "wide.txt", format="wide-tum")
    write(particles(SCANS, rng), folder / "p.square")
    write(poses(SCANS, rng), folder / "r.tum")
    (folder / "study.toml").write_text(
        '[[tracks]]\nname = "t"\nreference = "r.tum"\n'
        '[[estimators]]\nname = "a"\npath = "a.square"\n'
        '[[estimators]]\nname = "b"\npath = "b.square"\n'
    )


def command(draw: Draw) -> list[str]:
    estimate = draw.choose("a.square", "a.square", "wide.txt", "p.square")
    option = draw.choose(*OPTIONS)
    extreme = [option, repr(draw.number())] if draw.rng.random() < 0.15 else []
    lever = ",".join(repr(draw.number()) for _ in range(3))
    extrinsic = ["--extrinsic", f"{lever},0,0,0,1"] if draw.rng.random() < 0.1 else []
    form = draw.choose([], ["--json"], ["--json"], ["-v"], ["-q"])
    score = ["score", estimate, "--ref", "r.tum", *extreme, *extrinsic, *form]
    return draw.choose(
        score,
        score,
        [*score, "--why"],
        [*score, "--association", "gp"],
        [*score, "--gauge", draw.choose("sim3", "se3", "none", "first")],
        [*score, "--common"],
        ["pair", estimate, "b.square", *form],
        ["pair", estimate, "b.square", "--ref", "r.tum", *form],
        ["check", estimate, *form],
        ["convert", estimate, "out.parquet", "--force", *form],
        ["convert", estimate, "out.tum", "--force", "--lossy", *form],
        ["study", "study.toml", "--workers", "1", *form],
    )


def not_strict(word):
    raise AssertionError(f"{word} is no JSON")


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_extreme_numbers_give_an_answer_or_a_sentence(seed, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = Draw(np.random.default_rng([7, seed]))
    wrong = []
    for case in range(CASES // 4):
        written(tmp_path, draw.rng)
        for _ in range(draw.choose(0, 1, 1, 2)):
            draw.spoil(tmp_path / draw.choose("a.square", "wide.txt", "p.square", "r.tum"))
        words = command(draw)
        outcome = run(capsys, *words)
        if outcome.code not in (0, 2):
            wrong.append((case, " ".join(words), outcome.err[-300:]))
        elif "--json" in words and outcome.code == 0:
            json.loads(outcome.out, parse_constant=not_strict)
        if "a bug of ours" in outcome.out + outcome.err:
            wrong.append((case, " ".join(words), outcome.err[-300:]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(("gap_s", "after"), [(1e3, 8), (1e6, 1), (1e8, 8)])
def test_a_gap_of_any_length_is_an_answer_or_a_sentence(
    gap_s, after, tmp_path, rng, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name, track in {"a.square": gaussian(40, rng), "r.tum": poses(40, rng)}.items():
        stamp = track.stamp.copy()
        stamp[-after:] += int(gap_s * 1e9)
        write(track.with_arrays({"stamp": stamp}), name)
    for more in (["--why"], ["--association", "gp"], ["--offset", "auto"]):
        outcome = run(capsys, "score", "a.square", "--ref", "r.tum", "--json", *more)
        assert outcome.code in (0, 2), outcome.err


@pytest.mark.parametrize("tiny", ["1e-310", "1e-90", "1e-40"])
def test_beliefs_that_are_very_sure(tiny, tmp_path, rng, capsys, monkeypatch):
    """Strict JSON even where a pair is convicted beyond all measure."""
    monkeypatch.chdir(tmp_path)
    write(poses(SCANS, rng), "r.tum")
    for name in ("a.square", "b.square"):
        write(gaussian(SCANS, rng), name)
        lines = Path(name).read_text().splitlines()
        rows = [line.split() for line in lines if not line.startswith("#")]
        sure = [[*row[:8], *(repr(float(n) * float(tiny)) for n in row[8:])] for row in rows]
        header = [line for line in lines if line.startswith("#")]
        Path(name).write_text("\n".join([*header, *map(" ".join, sure)]) + "\n")
    for words in (("pair", "a.square", "b.square"), ("score", "a.square", "--ref", "r.tum")):
        outcome = run(capsys, *words, "--json")
        assert outcome.code == (2 if tiny == "1e-310" else 0), outcome.err
        if outcome.code == 0:
            json.loads(outcome.out, parse_constant=not_strict)
