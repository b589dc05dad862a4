"""`smfeval completion bash|zsh|fish`: a script that completes verbs, flags and files in a shell."""

import argparse
import re

import shtab

from smfeval.cli.main import VERBS
from smfeval.cli.plugins import VERBS as PLUGIN_VERBS
from smfeval.cli.plugins import load_plugin, plugins
from smfeval.cli.verb_flags import FLAGS

NAMES_A_FILE = re.compile(r"FILE|FOLDER|EST|REF|TRACK|SRC|DST|\.toml|\.json|RECORDING")


def run(chosen: argparse.Namespace) -> int:
    """Print the script; returns the exit code."""
    print(shtab.complete(whole_parser(), chosen.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """One parser with all verbs, as the script needs it; nothing is parsed with it."""
    whole = argparse.ArgumentParser(prog="smfeval")
    whole.add_argument("--version", action="store_true", help="print the version")
    verbs = whole.add_subparsers()
    for verb, words in VERBS.items():
        _add(verbs, verb, words, FLAGS[verb]().parser(verb))
    for name in plugins(PLUGIN_VERBS):
        other = load_plugin(PLUGIN_VERBS, name)
        below = verbs.add_parser(name, help=other.SUMMARY).add_subparsers()
        for verb, words in other.VERBS.items():
            _add(below, verb, words, other.parser(verb))
    return whole


def _add(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]",
    verb: str,
    words: str,
    flags: argparse.ArgumentParser,
) -> None:
    """A verb with all of its flags; values that are files are completed as such."""
    made = verbs.add_parser(verb, help=words, parents=[flags], add_help=False)
    for action in made._actions:  # noqa: SLF001  argparse has no other list
        if NAMES_A_FILE.search(str(action.metavar)) and not action.choices:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
