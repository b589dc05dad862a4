"""`smfeval lab ...`: worlds whose answer is known; one file for each of its verbs."""

import argparse
import textwrap
from importlib import import_module

from smfeval.cli.flags import Parser
from smfeval.errors import OptionError
from smfeval.schema import suggest_word

VERBS = {
    "simulate": "walk through a world with a LiDAR and an IMU; writes a recording",
    "run": "run a filter over a recording; writes its belief",
    "tune": "search settings of a filter by the log score, and prove the best on other tracks",
    "casestudy": "why a LiDAR-inertial filter is overconfident; tables and figures in a folder",
}

MODULES = {"run": "run_filter"}  # a module `run` would hide the function below


def run(arguments: list[str]) -> int:
    """Pick the verb of the lab; returns the exit code."""
    if not arguments:
        raise OptionError(f"the verbs of the lab are {', '.join(VERBS)}")
    verb, *rest = arguments
    if verb.startswith("-"):
        _flags().parse_args([verb])
    if verb not in VERBS:
        raise OptionError(f"{verb!r} is no verb of the lab; {suggest_word(verb, VERBS)}")
    chosen = import_module("smfeval.lab.cli.flags").FLAGS[verb]().parse_args(rest)
    code: int = import_module(f"smfeval.lab.cli.{MODULES.get(verb, verb)}").run(chosen)
    return code


def _flags() -> argparse.ArgumentParser:
    verbs = "\n".join(f"{verb:10} {words}" for verb, words in VERBS.items())
    made = Parser(
        prog="smfeval lab",
        usage="smfeval lab VERB ...",
        description="Worlds whose answer is known: simulate them, run filters on them.",
        epilog=f"verbs:\n{textwrap.indent(verbs, '  ')}\n\nsmfeval lab VERB --help explains one",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.examples = ("smfeval lab simulate courtyard -o walk", "smfeval lab run walk -o est.square")
    return made
