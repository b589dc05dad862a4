"""Would a test notice? Changes one operator or constant at a time, and runs the fast tests.

    python benchmarks/mutants.py [--count 30] [--seed 1] [--rooms score,judge] [--list]

A mutant is a random change of a comparison, an operator of arithmetic, a truth value or a number
in a room of `src/smfeval`. It is killed if a test of that room, a law, an oracle or a test of
the whole way fails. Works on a copy of the sources; exit 1 if one survives.
"""

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROOMS = ("score", "summarise", "align", "judge", "compare")
WHOLE_WAY = ("laws", "oracle", "evaluation", "golden", "judge", "compare")  # asked after the room
TIMEOUT_S = 900  # a mutant that never ends is killed, too
SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.And: "or", ast.Or: "and",
}  # fmt: skip
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.And: "and", ast.Or: "or",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of one place in one file."""

    path: Path  # within the checkout
    line: int
    start: int  # offset in the source
    old: str
    new: str

    def applied(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.new + source[self.start + len(self.old) :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old} -> {self.new}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change that is tried in a file."""
    source = path.read_text()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    within = path.relative_to(HERE)

    def change(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[Mutant]:
        begin = starts[(left.end_lineno or 1) - 1] + (left.end_col_offset or 0)
        end = starts[right.lineno - 1] + right.col_offset
        old = SIGNS.get(type(operator))
        at = -1 if old is None else source.find(old, begin, end)
        if old is not None and at >= 0:
            yield Mutant(within, left.end_lineno or 1, at, old, SWAPS[type(operator)])

    skipped = set(_untested(ast.parse(source)))
    skipped |= {n for n, line in enumerate(source.splitlines(), 1) if not line.isascii()}  # offsets
    for node in ast.walk(ast.parse(source)):
        if getattr(node, "lineno", None) in skipped:
            continue
        if isinstance(node, ast.Compare):
            yield from change(node.left, node.comparators[0], node.ops[0])
        elif isinstance(node, ast.BinOp):
            yield from change(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            yield from change(node.values[0], node.values[1], node.op)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            begin = starts[node.lineno - 1] + node.col_offset
            old = source[begin : starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)]
            new = str(not node.value) if isinstance(node.value, bool) else f"({old} + 1)"
            yield Mutant(within, node.lineno, begin, old, new)


def _untested(tree: ast.Module) -> Iterator[int]:
    """Lines whose change no test can see: annotations, imports, docstrings, sizes of chunks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation:
            yield from range(node.annotation.lineno, (node.annotation.end_lineno or 0) + 1)
        if isinstance(node, ast.FunctionDef) and node.returns:
            yield from range(node.returns.lineno, (node.returns.end_lineno or 0) + 1)
        if isinstance(node, ast.Assign) and "CHUNK" in ast.unparse(node.targets[0]):
            yield node.lineno


def is_killed(mutant: Mutant, copy: Path) -> bool:
    """Whether a fast test fails with the change."""
    path = copy / mutant.path
    source = path.read_text()
    path.write_text(mutant.applied(source))
    try:
        return any(_fails(copy, folder) for folder in _folders(mutant))
    finally:
        path.write_text(source)


def _folders(mutant: Mutant) -> list[str]:
    """Folders of tests to ask: its own first."""
    room = mutant.path.parts[2]
    own = HERE / "tests" / room / f"test_{mutant.path.stem}.py"
    first = [f"tests/{room}/{own.name}"] if own.exists() else []
    return [*first, f"tests/{room}", *(f"tests/{name}" for name in WHOLE_WAY if name != room)]


def _fails(copy: Path, tests: str) -> bool:
    paths = ("-o", "pythonpath=src lab/src tests")  # no PYTHONPATH, which peers would take, too
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths, tests]
    try:
        ran = subprocess.run(command, cwd=copy, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode not in (0, 5)  # 5: no test there


def main() -> int:
    """Print what survives; 1 if something does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default=",".join(ROOMS))
    parser.add_argument("--list", action="store_true", help="show the changes, and run nothing")
    chosen = parser.parse_args()
    files = [
        path
        for room in chosen.rooms.split(",")
        for path in sorted((HERE / "src" / "smfeval" / room).rglob("*.py"))
    ]
    every = [mutant for path in files for mutant in mutants_of(path)]
    picked = random.Random(chosen.seed).sample(every, min(chosen.count, len(every)))
    if chosen.list:
        print("\n".join(map(str, picked)))
        return 0

    survived = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        ignore = shutil.ignore_patterns(".*", "build", "site", "__pycache__")
        shutil.copytree(HERE, copy, ignore=ignore)
        if (beside := HERE.parent / "shared").is_dir():
            (copy.parent / "shared").symlink_to(beside)
        asked = dict.fromkeys(tests for mutant in picked for tests in _folders(mutant))
        if failing := [tests for tests in asked if _fails(copy, tests)]:
            raise SystemExit(f"these fail without any change: {', '.join(failing)}")
        for number, mutant in enumerate(picked, 1):
            killed = is_killed(mutant, copy)
            survived += [] if killed else [mutant]
            print(f"{number:3} {'killed  ' if killed else 'SURVIVED'} {mutant}", flush=True)
    print(f"{len(picked) - len(survived)} of {len(picked)} killed (seed {chosen.seed})")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
