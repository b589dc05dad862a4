"""Run the blocks of a page in a folder, as a reader would, and say what each of them printed."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from tools.blocks import Block, blocks_of, commands_of
from tools.material import study_results

# smfeval with its words, perhaps its complaints thrown away, and what a shell does with the rest
OURS = re.compile(
    r"""(?P<words>smfeval (?:[^|><;&$*~`"']|'[^']*'|"[^"]*")+?)"""
    r"""(?P<quiet>2> /dev/null )?(?P<rest>[|>] .+)?"""
)
ASKS_FOR_CODE = "echo $?"
HOME = "~/walk"  # how the pages call the folder that they run in


class PageError(AssertionError):
    """A block of a page does not do what the page says."""


@dataclass(frozen=True)
class Output:
    """What is shown at a place of the page, and what was printed when it ran."""

    start: int
    end: int
    shown: str
    printed: str
    source: str


@dataclass
class Session:
    """A folder in which the blocks of one page are run, one after the other."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    code: int = 0

    def outputs(self, text: str) -> Iterator[Output]:
        """Run every block of a page; yields the outputs that it shows, shown or not."""
        printed: dict[int, str] = {}
        for number, block in enumerate(blocks_of(text)):
            if block.title is not None:
                self._write(block)
            if block.language == "console":
                yield from self._console(block)
            elif block.output_of is not None:
                source = f"the Python block above {block.body[:40]!r}"
                yield Output(block.start, block.end, block.body, printed[block.output_of], source)
            elif block.language in CHECKS:
                printed[number] = CHECKS[block.language](self, block) or ""

    def _write(self, block: Block) -> None:
        path = self.folder / str(block.title)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.body)

    def _console(self, block: Block) -> Iterator[Output]:
        at, commands = block.start, commands_of(block)
        for number, command in enumerate(commands):
            printed = self._line(command.line)
            expected = number + 1 < len(commands) and commands[number + 1].line == ASKS_FOR_CODE
            if self.code != 0 and not expected:
                raise PageError(f"$ {command.line}\nexit code {self.code}\n{printed}")
            at += len(f"$ {command.line}\n")
            printed = printed.replace(str(self.folder.resolve()), HOME)
            yield Output(at, at + len(command.shown), command.shown, printed, command.line)
            at += len(command.shown)

    def _line(self, line: str) -> str:
        """Run a command line: smfeval within this process, anything else by a shell."""
        if line == ASKS_FOR_CODE:
            printed, self.code = f"{self.code}\n", 0
            return printed
        match = OURS.fullmatch(line)
        return self._shell(line) if match is None else self._ours(match)

    def _ours(self, match: re.Match[str]) -> str:
        with self._inside() as (out, err):
            self.code = _smfeval(shlex.split(match["words"])[1:])
        complaints = "" if match["quiet"] else err.getvalue()
        if match["rest"] is None:
            return out.getvalue() + complaints
        return complaints + self._shell(f"cat {match['rest']}", out.getvalue())

    def _shell(self, line: str, given: str = "") -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            input=given,
            check=False,
        )
        self.code = self.code or done.returncode
        return done.stdout

    def python(self, block: Block) -> str:
        """Run a Python block; all blocks of a page share their names."""
        with self._inside() as (out, _):
            exec(compile(block.body, "page", "exec"), self.names)
        return out.getvalue()

    def sql(self, block: Block) -> None:
        """Run a query where the results of the study lie."""
        import duckdb  # noqa: PLC0415  of the test group

        if not list(self.folder.glob("*/scans")):
            study_results(self.folder)
        with contextlib.chdir(next(self.folder.glob("*/scans")).parent):
            if not duckdb.sql(block.body).fetchall():
                raise PageError(f"the query finds nothing:\n{block.body}")

    @contextlib.contextmanager
    def _inside(self) -> Iterator[tuple[StringIO, StringIO]]:
        """The folder of the page; gives what goes to stdout and to stderr."""
        out, err = StringIO(), StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            yield out, err


def _smfeval(words: list[str]) -> int:
    from smfeval.cli.main import main  # noqa: PLC0415  so that --help of this tool is quick

    try:
        return main(words)
    except SystemExit as done:
        return int(done.code or 0)


def _shell_syntax(session: Session, block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.body, text=True, check=True, cwd=session.folder)


def _plan(session: Session, block: Block) -> None:
    """Every TOML block is a plan of a study or a sweep, and is refused where the verb would."""
    from smfeval.studies.plan_file import read_plan  # noqa: PLC0415
    from smfeval.studies.sweep import read_sweep  # noqa: PLC0415

    path = session.folder / (block.title or "plan_of_the_page.toml")
    path.write_text(block.body)
    (read_sweep if "knobs" in tomllib.loads(block.body) else read_plan)(path)


def _yaml(session: Session, block: Block) -> None:
    from ruamel.yaml import YAML  # noqa: PLC0415

    del session
    YAML(typ="safe").load(block.body)


CHECKS: dict[str, Callable[[Session, Block], str | None]] = {
    "python": Session.python,
    "sql": Session.sql,
    "sh": _shell_syntax,
    "toml": _plan,
    "json": lambda session, block: json.loads(block.body) and None,
    "yaml": _yaml,
}
UNCHECKED = {"text", "console", "cpp"}  # text may be output, see `Block.output_of`
