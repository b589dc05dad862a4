"""`--junit` and `--badge`: what continuous integration shows of a result."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from smfeval.errors import OptionError
from smfeval.io.atomic import writing

if TYPE_CHECKING:
    from smfeval.show.ci import Case


def add_integration_flags(flags: argparse.ArgumentParser) -> None:
    """The flags; --force belongs to the verb."""
    add = flags.add_argument_group("continuous integration").add_argument
    add("--junit", type=Path, metavar="FILE.xml", help="verdicts and conditions as JUnit XML")
    add("--badge", type=Path, metavar="FILE.svg", help="the verdict as a badge")


def integration_files(chosen: argparse.Namespace) -> list[Path]:
    """The files that were asked for; refused where their names end otherwise."""
    given = (("--junit", chosen.junit, ".xml"), ("--badge", chosen.badge, ".svg"))
    for flag, path, suffix in given:
        if path is not None and path.suffix.lower() != suffix:
            raise OptionError(f"{path}: {flag} writes {suffix} files; end the name so")
    return [path for _, path, _ in given if path is not None]


def write_integration(
    chosen: argparse.Namespace, suite: str, cases: "Sequence[Case]", badge: Callable[[], str]
) -> None:
    """Write the files that were asked for."""
    from smfeval.show.ci import junit  # noqa: PLC0415  only where asked for

    if chosen.junit is not None:
        _write(chosen.junit, junit(suite, cases))
    if chosen.badge is not None:
        _write(chosen.badge, badge())


def _write(path: Path, text: str) -> None:
    with writing(path) as stream:
        stream.write(text.encode())
    print(f"smfeval: {path} written", file=sys.stderr)
