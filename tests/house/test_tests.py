"""What the tests themselves keep to."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
LAB_TESTS = TESTS.parent / "lab" / "tests"
PYTHON = sorted([*TESTS.rglob("*.py"), *LAB_TESTS.rglob("*.py")])
ROOMS = {path.stem for path in (TESTS.parent / "src" / "smfeval").iterdir()}
HELPERS = ("support", "lab_support")
BESIDE_THE_ROOMS = {
    "benchmarks",  # the suite of benchmarks/
    "browser",  # the page in a real browser
    "fuzz",  # files, servers, disks and signals that mean harm
    "golden",  # whole command lines with their output
    "house",  # what no linter knows
    "laws",  # invariance and propriety, over every rule
    "oracle",  # against independent implementations
    "power",  # false alarms, power, coverage by simulation
    "speed",  # counts of lines, bytes and imports
}
CLOCKS = re.compile(r"\b(perf_counter|process_time|thread_time|monotonic|timeit|time\.time)\b")
MAY_READ_A_CLOCK = {
    "house/test_tests.py": "names the clocks",
    "studies/test_workers.py": "gives up waiting for a process that does not start",
    "studies/test_run.py": "gives up waiting for a process that does not write",
    "support/attacks.py": "attacks for as long as it is told",
    "support/costs.py": "ratios of processor time in one process, measured until they settle",
}


def below(path: Path) -> Path:
    """The path below tests/ or lab/tests/."""
    return path.relative_to(LAB_TESTS if path.is_relative_to(LAB_TESTS) else TESTS)


def rooms_of_tests(tests: Path) -> set[str]:
    """Folders of tests, and `words` for tests/test_words.py."""
    paths = [path.relative_to(tests) for path in tests.rglob("test_*.py")]
    return {path.parts[0].removeprefix("test_").removesuffix(".py") for path in paths}


def imported_by(path: Path) -> list[str]:
    """Modules that a file imports, `from package import module` included."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def test_no_test_imports_from_another():
    """Helpers are in HELPERS; other folders hold tests and a conftest."""
    ours = {".".join(below(path).with_suffix("").parts) for path in PYTHON}
    guilty = [
        f"{below(path)} imports {name}"
        for path in PYTHON
        for name in imported_by(path)
        if not name.startswith(HELPERS) and {name, name.rpartition(".")[0]} & ours
    ]
    assert guilty == []


def test_helpers_are_in_support():
    beside = [
        str(below(path))
        for path in PYTHON
        if not path.name.startswith("test_")
        and path.name != "conftest.py"
        and below(path).parts[0] not in HELPERS
    ]
    assert beside == []


def test_tests_follow_the_rooms():
    assert rooms_of_tests(TESTS) - ROOMS == BESIDE_THE_ROOMS
    lab = {path.stem for path in (LAB_TESTS.parent / "src" / "smfeval_lab").iterdir()}
    assert rooms_of_tests(LAB_TESTS) - lab == {"house", "loop", "experiments"}


def test_no_test_reads_a_clock():
    """A busy machine is slow: lines, bytes and files are counted instead."""
    found = {below(path).as_posix() for path in PYTHON if CLOCKS.search(path.read_text())}
    assert found == set(MAY_READ_A_CLOCK)
