"""`smfeval study --init FOLDER`: a plan from a folder, with what was found and what was not."""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.io.atomic import writing
from smfeval.show.plans import extent_of
from smfeval.study.find import find
from smfeval.study.layout import Draft, plan_of_folder
from smfeval.study.toml_plan import read_plan

DEFAULT = Path("study.toml")


def write_draft(chosen: argparse.Namespace) -> int:
    """Write a plan and say what is in it; returns the exit code."""
    path = chosen.output or DEFAULT
    if path.exists() and not chosen.force:
        raise OptionError(f"{path}: the file exists; --force overwrites it")
    if not path.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.parent}")
    draft = plan_of_folder(chosen.init, start=_called(chosen.init, path))
    with writing(path) as stream:
        stream.write(draft.text.encode())
    plan = read_plan(path)
    for line in _aside(draft, every=chosen.verbose):
        print(f"smfeval: left aside: {line}", file=sys.stderr)
    print(f"{path}: {extent_of(plan, find(plan))}; read it before you run it")
    return 0


def _called(folder: Path, plan: Path) -> str:
    """The folder as the plan will call it: absolute if the user did, or from the plan's folder."""
    if folder.is_absolute():
        return str(folder)
    return Path(os.path.relpath(folder, plan.parent)).as_posix()


def _aside(draft: Draft, *, every: bool) -> list[str]:
    """One line for each thing, or for each reason."""
    if every:
        return list(draft.aside)
    reasons = [line.partition(": ")[2] for line in draft.aside]
    first = dict(reversed(list(zip(reasons, draft.aside, strict=True))))
    return [
        first[reason] if count == 1 else f"{first[reason]} ({count - 1} more like it: -v)"
        for reason, count in Counter(reasons).items()
    ]
