"""`smfeval study --diff OLD NEW`: what moved between two studies."""

import argparse
import sys
from collections.abc import Iterable

from smfeval.cli.conditions import diff_condition
from smfeval.errors import OptionError

OWN_FLAGS = ("diff", "fail_if", "format", "json")


def check_diff_flags(chosen: argparse.Namespace, run_flags: Iterable[str]) -> None:
    """Complain about flags that mean nothing between two studies."""
    for name in (*run_flags, "recipe", "force"):
        if name not in OWN_FLAGS and getattr(chosen, name):
            word = chosen.plan if name == "plan" else f"--{name.replace('_', '-')}"
            raise OptionError(f"{word} means nothing with --diff, which reads two finished studies")
    if chosen.format not in (None, "terminal", "markdown"):
        raise OptionError(f"--diff is written as terminal, markdown or --json, not {chosen.format}")
    if chosen.json and chosen.format:
        raise OptionError("--json and --format name two formats for stdout; one is needed")


def run_diff(chosen: argparse.Namespace) -> int:
    """Say what moved between two studies; returns the exit code."""
    from smfeval.show.render import json_text  # noqa: PLC0415  only where asked for
    from smfeval.show.study import diff as shown  # noqa: PLC0415
    from smfeval.studies.diff import diff_studies  # noqa: PLC0415

    conditions = [diff_condition(text) for text in chosen.fail_if]
    found = diff_studies(*chosen.diff)
    if chosen.json:
        print(json_text(shown.document(found)), end="")
    elif chosen.quiet:
        print(shown.summary(found))
    else:
        write = shown.markdown if chosen.format == "markdown" else shown.text
        print(write(found, verbose=chosen.verbose), end="")
    held = (each.violation_by(found.count(each.name), "the studies") for each in conditions)
    failed = [sentence for sentence in held if sentence is not None]
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0
