"""How far a reader has to walk: files and functions of smfeval that a command runs through.

    python benchmarks/walk.py [CHECKOUT]

Runs `score`, `pair`, a study of one task and `lab run` from the sources of a checkout (this one, if
none is given), once so that all is imported and cached, and once more while every call is counted.
Files of smfeval and of its lab are counted apart. Run an older checkout by an interpreter that has
its dependencies; `nox -s walk` does this one.
"""

import ast
import os
import statistics
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

PLAN = """\
name = "walk"
output = "out{run}"

[[tracks]]
names = ["one"]
reference = "truth.tum"

[[estimators]]
name = "honest"
path = "honest.square"
"""
COMMANDS = {
    "score": ("score", "honest.square", "--ref", "truth.tum"),
    "pair": ("pair", "honest.square", "second.square"),
    "study, one task": ("study", "study{run}.toml", "--workers", "1"),
    "lab run": ("lab", "run", "recording", "-o", "belief{run}.square", "--force"),
}
MADE_BEFORE = (
    ("demo", "--save", ".", "-q"),
    ("lab", "simulate", "courtyard", "--duration", "5", "-o", "recording", "-q"),
)
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass
class Walk:
    """Calls of functions of some packages: where each went, and where it came from."""

    packages: tuple[Path, ...]
    functions: set[tuple[str, str]] = field(default_factory=set)
    passages: Counter[tuple[str, str]] = field(default_factory=Counter)  # caller's file, own file

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call; what `sys.setprofile` wants."""
        file = frame.f_code.co_filename
        if event != "call" or not self.holds(file):
            return
        self.functions.add((file, frame.f_code.co_qualname))
        caller = frame.f_back
        while caller is not None and not self.holds(caller.f_code.co_filename):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != file:
            self.passages[caller.f_code.co_filename, file] += 1

    def holds(self, file: str) -> bool:
        """Is it a source file of a package? Templates run under their own names."""
        return file.endswith(".py") and any(map(Path(file).is_relative_to, self.packages))

    @property
    def files(self) -> set[str]:
        """Files that a function was run in."""
        return {file for file, _ in self.functions}

    def room(self, file: str) -> str:
        """The folder of a package that a file is in, or the file itself."""
        (package,) = filter(Path(file).is_relative_to, self.packages)
        return f"{package.name}.{Path(file).relative_to(package).parts[0]}"

    @property
    def between_rooms(self) -> int:
        """Passages from one folder of a package to another."""
        return sum(self.room(start) != self.room(end) for start, end in self.passages)


@contextmanager
def traced(walk: Walk) -> Iterator[None]:
    """Every call in this process goes through the walk."""
    threading.setprofile(walk)  # of threads to come
    sys.setprofile(walk)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def run(main: Any, words: tuple[str, ...]) -> None:
    """A command line in this process; its output is shown if it fails."""
    output = StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = main(list(words))
    if code:
        raise SystemExit(f"smfeval {' '.join(words)} ends with {code}:\n{output.getvalue()}")


def walks(packages: tuple[Path, ...]) -> dict[str, Walk]:
    """What each command runs through, on files made on the spot."""
    from smfeval.cli.main import main  # noqa: PLC0415  of the checkout that was asked for

    found = {}
    for words in MADE_BEFORE:
        run(main, words)
    for number in (1, 2):  # a folder each: the second run finds nothing cached
        Path(f"study{number}.toml").write_text(PLAN.format(run=number))
    for name, words in COMMANDS.items():
        walk = Walk(packages)
        run(main, tuple(word.format(run=1) for word in words))
        with traced(walk):
            run(main, tuple(word.format(run=2) for word in words))
        found[name] = walk
    return found


def code_lines(path: Path) -> int:
    """Lines with code: no blanks, comments, or docstrings."""
    with path.open("rb") as file:
        lines = {
            line
            for token in tokenize.tokenize(file.readline)
            if token.type not in NO_CODE
            for line in range(token.start[0], token.end[0] + 1)
        }
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                lines -= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def single_importers(package: Path) -> list[str]:
    """Modules that exactly one other module imports, at its top, inside a function or by name."""
    modules = {_module_name(package, path): path for path in sorted(package.rglob("*.py"))}
    importers: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        for imported in _imports(path):
            for candidate in (imported, imported.rpartition(".")[0]):
                if candidate in modules:
                    importers[candidate] |= {name} - {candidate}
                    break
    return [name for name, users in importers.items() if len(users) == 1]


def _module_name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # imported by name, on first use


def report(packages: tuple[Path, ...], found: dict[str, Walk]) -> str:
    """Two tables in Markdown."""
    trees = [_tree(package) for package in packages]
    lines = [f"| the tree | {' | '.join(package.name for package in packages)} |"]
    lines += ["|---|" + "---:|" * len(packages)]
    lines += [f"| {name} | {' | '.join(tree[name] for tree in trees)} |" for name in trees[0]]
    lines += ["", "| command | files | of them of the lab | functions | code lines of them "]
    lines[-1] += "| passages between files | of them between rooms |"
    lines += ["|---|---:|---:|---:|---:|---:|---:|"]
    for name, walk in found.items():
        length = sum(code_lines(Path(file)) for file in walk.files)
        core = sum(Path(file).is_relative_to(packages[0]) for file in walk.files)
        lines.append(
            f"| `{name}` | {len(walk.files)} | {len(walk.files) - core} | {len(walk.functions)} "
            f"| {length:,} | {len(walk.passages)} | {walk.between_rooms} |"
        )
    return "\n".join(lines)


def _tree(package: Path) -> dict[str, str]:
    files = sorted(package.rglob("*.py"))
    lengths = [len(path.read_text().splitlines()) for path in files]
    return {
        "source files": str(len(files)),
        "code lines": f"{sum(map(code_lines, files)):,}",
        "median lines of a file": f"{statistics.median(lengths):.0f}",
        "modules with one importer": str(len(single_importers(package))),
    }


def main(checkout: Path) -> None:
    """Print the tables for a checkout."""
    places = (checkout / "src" / "smfeval", checkout / "lab" / "src" / "smfeval_lab")
    packages = tuple(package.resolve() for package in places if package.is_dir())
    sys.path[:0] = [str(package.parent) for package in packages]
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            found = walks(packages)
        finally:
            os.chdir(here)
    print(report(packages, found))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
