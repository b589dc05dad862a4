"""`smfeval check FILE...`: what is in this file, and can it be scored?"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from smfeval.cli.flags import read_keywords
from smfeval.cli.main import error_sentence
from smfeval.cli.outputs import check_saves, draw, save_document, show_result
from smfeval.cli.progress import progress
from smfeval.cli.saves import outputs_of
from smfeval.errors import OptionError, SmfevalError
from smfeval.io import bag_contents, files_to_read, format_of, read, split_source
from smfeval.show import check
from smfeval.show.render import json_text
from smfeval.verbs import examine
from smfeval.why.one_track import Examination


def run(chosen: argparse.Namespace) -> int:
    """Check one file or several; returns the exit code, of several files the worst."""
    options = read_keywords(chosen, gauge=True)
    inputs = [file for source in chosen.files for file in files_to_read(source, **options)]
    check_saves(chosen, "track", inputs=inputs)
    if len(chosen.files) > 1:
        return _check_several(chosen, options)

    (source,) = chosen.files
    found = _look_into(source, options, chosen.telemetry)
    commands = check.next_commands(found, source, _truth_in_log(source))
    text = str(check.report(found, commands, verbose=chosen.verbose))
    conclusion = check.last_line(found) if isinstance(found, Examination) else text.rstrip("\n")
    show_result(chosen, lambda: check.document(found), lambda: conclusion, lambda: text)
    if isinstance(found, Examination):
        draw(chosen, "check", found, drawn=found.track)
    elif outputs_of(chosen, "page"):
        raise OptionError(f"{chosen.save[0].path}: a page shows one track; name a topic of the bag")
    return _strict_exit_code([found]) if chosen.strict else 0


def _look_into(source: str, options: dict[str, Any], telemetry: str | None = None) -> "check.Found":
    """The topics of a bag that was named without one, or what a track is."""
    topics = bag_contents(source, **options)
    if topics is not None:
        return topics
    with progress("reading"):
        return examine(source, telemetry=telemetry, **options)


def _truth_in_log(source: str) -> str:
    """The truth that the log of a simulated flight holds, or the word for a reference to come."""
    if format_of(source) in ("px4", "ardupilot"):
        truth = f"{split_source(source)[0]}:truth"
        with suppress(SmfevalError):
            read(truth)
            return truth
    return "REF"


def _check_several(chosen: argparse.Namespace, options: dict[str, Any]) -> int:
    """A short block for each file; one that cannot be read has the sentence that says why."""
    if chosen.plot or outputs_of(chosen, "page", "figures"):
        raise OptionError("figures and pages are made of one file at a time; name one")
    if chosen.telemetry is not None:
        raise OptionError("--telemetry is of one track; check them one at a time")
    found: list[check.Found | str] = []
    for source in chosen.files:
        try:
            found.append(_look_into(source, options))
        except SmfevalError as error:
            found.append(error_sentence(error))
    save_document(chosen, lambda: check.several_document(chosen.files, found))
    if chosen.json:
        print(json_text(check.several_document(chosen.files, found)), end="")
    else:
        print(check.several_report(chosen.files, found, quiet=chosen.quiet), end="")
    strict = _strict_exit_code(found) if chosen.strict else 0
    unread = sum(isinstance(each, str) for each in found)
    if unread:
        print(f"smfeval: {unread} of {len(found)} files cannot be read", file=sys.stderr)
    return 2 if unread else strict


def _strict_exit_code(found: "Sequence[check.Found | str]") -> int:
    """Exit code 2 if anything at all is in doubt."""
    code = 0
    for each in (each for each in found if isinstance(each, Examination)):
        name = f"{each.track.provenance.name}: " if len(found) > 1 else ""
        for doubt in check.reasons_for_doubt(each):
            print(f"smfeval: strict: {name}{doubt}", file=sys.stderr)
            code = 2
    return code
