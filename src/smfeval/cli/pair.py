"""`smfeval pair A B [C ...]`: overconfidence without a reference."""

import argparse
import sys
from pathlib import Path
from typing import Any

from smfeval.cli.conditions import Condition, parse_condition
from smfeval.cli.drawing import check_figure_flags, command_line, draw, write_page
from smfeval.cli.flags import (
    given_files,
    given_values,
    progress,
    read_options,
)
from smfeval.cli.verb_flags import PAIR_OPTIONS, PAIR_REFERENCE_OPTIONS
from smfeval.compare import Comparison, Pair, compare_all
from smfeval.compare.frames import in_one_body
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.io import files_to_read, read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.progress import report
from smfeval.maths import se3
from smfeval.schema import with_values
from smfeval.show import pairs
from smfeval.show.pairs_json import document
from smfeval.show.render import json_text

CONDITION_NAMES = ("k_pair", "lower_bound", "nees_median", "matched")


def run(chosen: argparse.Namespace) -> int:
    """Compare two or more tracks; returns the exit code."""
    conditions = [_pair_condition(text) for text in chosen.fail_if]
    options, extrinsics = _options(chosen), _extrinsics(chosen)
    check_figure_flags(chosen, "comparison", "pairs", inputs=_inputs(chosen))

    with progress("comparing"):
        ref_options = _reference_options(chosen)
        reference = None if chosen.ref is None else read(chosen.ref, **ref_options)
        tracks = [read(source, **read_options(chosen)) for source in chosen.tracks]
        body = reference.about.body if reference is not None else None
        placed = in_one_body(tracks, extrinsics, body=body)
        comparison = compare_all(placed, options=options, reference=reference, told=report)

    _print(comparison, chosen)
    _draw(comparison, chosen)
    return _exit_code(comparison, conditions)


def _options(chosen: argparse.Namespace) -> Options:
    if len(chosen.tracks) < 2:
        raise OptionError("a pair needs two tracks; one was given")
    given = given_values(chosen, PAIR_OPTIONS)
    return with_values(Options(singular=chosen.bad_rows or "refuse"), given)


def _extrinsics(chosen: argparse.Namespace) -> list[se3.Pose | None]:
    """One for each track: named for it, or for all, or none."""
    found: dict[str, se3.Pose] = {}
    for text in chosen.extrinsic:
        names, source = _parse_extrinsic(text, chosen.tracks)
        for name in names:
            if name in found:
                raise OptionError(f"--extrinsic: {name} has two")
            found[name] = read_extrinsic(source)
    return [found.get(name) for name in chosen.tracks]


def _reference_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """How to read the reference; the limit is that of the tracks."""
    limit = {} if chosen.limit is None else {"limit": chosen.limit}
    return given_values(chosen, PAIR_REFERENCE_OPTIONS, prefix="ref-") | limit


def _inputs(chosen: argparse.Namespace) -> list[Path]:
    """The files that are read."""
    options = read_options(chosen)
    sources = [file for source in chosen.tracks for file in files_to_read(source, **options)]
    if chosen.ref is not None:
        sources += files_to_read(chosen.ref, **_reference_options(chosen))
    extrinsics = [_parse_extrinsic(text, chosen.tracks)[1] for text in chosen.extrinsic]
    return [*sources, *given_files(*extrinsics)]


def _parse_extrinsic(text: str, tracks: list[str]) -> tuple[list[str], str]:
    """Tracks that an extrinsic is for, and where it stands."""
    name, equals, source = text.partition("=")
    if not equals:
        return list(dict.fromkeys(tracks)), text
    meant = [track for track in tracks if name in (track, Path(track).name)]
    if len(set(meant)) != 1:
        problem = "is no track" if not meant else "names several tracks"
        raise OptionError(f"--extrinsic: {name!r} {problem}; tracks are {', '.join(tracks)}")
    return meant[:1], source


def _pair_condition(text: str) -> Condition:
    return parse_condition(text, CONDITION_NAMES, example="k_pair>2")


def _print(comparison: Comparison, chosen: argparse.Namespace) -> None:
    if chosen.json:
        print(json_text(document(comparison)), end="")
    elif chosen.quiet:
        print("\n".join(pairs.last_lines(comparison)))
    else:
        print(pairs.text(comparison, verbose=chosen.verbose), end="")


def _draw(comparison: Comparison, chosen: argparse.Namespace) -> None:
    if chosen.html is not None:
        from smfeval.show import page  # noqa: PLC0415  only where asked for

        write_page(
            chosen.html, page.pairs_page(comparison, command=command_line("pair", chosen.arguments))
        )
    if chosen.plot or chosen.save_plot is not None:
        from smfeval.show.figures import gallery_of_pairs  # noqa: PLC0415  slow to import

        draw(chosen, gallery_of_pairs, comparison)


def _exit_code(comparison: Comparison, conditions: list[Condition]) -> int:
    """Exit code 1 if any condition holds for any pair."""
    found = (_violation(each, pair) for pair in comparison.pairs for each in conditions)
    failed = [sentence for sentence in found if sentence is not None]
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def _violation(condition: Condition, pair: Pair) -> str | None:
    """A sentence with the value if the condition holds for a pair."""
    values = {
        "k_pair": pair.k.value,
        "lower_bound": pair.lower_bound,
        "nees_median": pair.nees_median.value,
        "matched": float(len(pair.pairs)),
    }
    value = values[condition.name]
    if value is None:
        raise OptionError(f"--fail-if {condition}: {pair.a} and {pair.b} have no lower bound")
    return condition.violation_by(value, f"{pair.a} and {pair.b}")
