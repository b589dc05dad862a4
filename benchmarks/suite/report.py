"""What a run leaves behind: the goals in BENCHMARK.md, the plot, and all numbers as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from suite.rows import Answer
from suite.words import goals, table

BEGIN, END = "<!-- figures: written by `nox -s bench` -->", "<!-- end of the figures -->"


def between_marks(page: str, text: str) -> str:
    """The page with what stands between the marks replaced."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"no {BEGIN} ... {END} on the page")
    return f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}"


def figures(answers: Sequence[Answer], facts: Mapping[str, str]) -> str:
    """The machine and the goals, in Markdown; all else is printed by the run, and in the JSON."""
    machine = table(("", ""), facts.items())
    return (
        f"### Machine\n\n{machine}\n"
        f"### Goals\n\n{goals(answers)}\n"
        "![CPU and memory over scans](benchmarks/benchmark.svg)\n"
    )


def document(answers: Sequence[Answer], facts: Mapping[str, str]) -> str:
    """All numbers as JSON."""
    rows = [asdict(row) | {"ratio": row.ratio, "met": row.met} for a in answers for row in a.rows]
    costs = {
        answer.question.name: {
            name: {str(scans): asdict(cost) for scans, cost in by_scans.items()}
            for name, by_scans in answer.costs.items()
        }
        for answer in answers
    }
    return json.dumps({"machine": dict(facts), "rows": rows, "costs": costs}, indent=1) + "\n"


def write(answers: Sequence[Answer], facts: Mapping[str, str], folder: Path) -> None:
    """BENCHMARK.md (its figures), benchmarks/benchmark.svg and benchmarks/benchmark.json."""
    from suite.plot import draw  # noqa: PLC0415  large, and only now is nothing measured any more

    page, beside = folder / "BENCHMARK.md", folder / "benchmarks"
    beside.mkdir(exist_ok=True)
    draw(answers, beside / "benchmark.svg")
    (beside / "benchmark.json").write_text(document(answers, facts))
    old = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    page.write_text(between_marks(old, figures(answers, facts)))
