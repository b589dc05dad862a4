"""The fenced blocks of a page, in order.

::

    ```console         $ lines are run; what stands below a command is its output
    ```python          is run; a ```text block right below it is its output
    ```toml title="study.toml"
                       any block with a title is a file: it is written, and then used
    ```sql             is run by DuckDB in the folder of the page
    <!-- files: bag -->  files of `tools.material` that the page needs beside those of the demo
"""

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S)
TITLE = re.compile(r'title="(?P<name>[^"]+)"')
FILES = re.compile(r"<!-- files: (?P<names>[\w ]+) -->")
PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """A fenced block: language, title, text, and where the text stands in the page."""

    language: str
    title: str | None
    body: str
    start: int
    end: int
    output_of: int | None = None  # number of the Python block that prints this one


@dataclass(frozen=True)
class Command:
    """A command line of a console block and the output that is shown below it, if any."""

    line: str
    shown: str


def blocks_of(text: str) -> list[Block]:
    """All fenced blocks of a page."""
    found: list[Block] = []
    for match in FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = TITLE.search(rest)
        follows = bool(found) and found[-1].language == "python" and _adjacent(text, found, match)
        found.append(
            Block(
                language,
                title["name"] if title else None,
                match["body"],
                match.start("body"),
                match.end("body"),
                len(found) - 1 if follows and language == "text" else None,
            )
        )
    return found


def _adjacent(text: str, found: list[Block], match: re.Match[str]) -> bool:
    return text[found[-1].end + len("```") : match.start()].strip() == ""


def commands_of(block: Block) -> list[Command]:
    """The command lines of a console block."""
    commands: list[Command] = []
    for line in block.body.splitlines(keepends=True):
        if line.startswith(PROMPT):
            commands.append(Command(line.removeprefix(PROMPT).rstrip("\n"), ""))
        elif commands:
            last = commands.pop()
            commands.append(Command(last.line, last.shown + line))
        else:
            raise ValueError(f"a console block starts with a command, not with {line!r}")
    return commands


def files_of(text: str) -> list[str]:
    """Names of further files that a page needs."""
    return [name for match in FILES.finditer(text) for name in match["names"].split()]


def pages(docs: Path) -> list[Path]:
    """All pages, in order of their names."""
    return sorted(docs.rglob("*.md"))
