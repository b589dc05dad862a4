"""`smfeval pair A B [C ...]`: overconfidence without a reference."""

import argparse
from functools import partial
from pathlib import Path

from smfeval.cli.conditions import Condition, exit_code, parse_condition
from smfeval.cli.flags import given_files, keywords
from smfeval.cli.outputs import check_saves, draw, show_result
from smfeval.cli.progress import progress
from smfeval.compare import Pair
from smfeval.errors import OptionError
from smfeval.show import pairs
from smfeval.verbs import files_read, pair

CONDITION_NAMES = ("k_pair", "lower_bound", "nees_median", "matched")


def run(chosen: argparse.Namespace) -> int:
    """Compare two or more tracks; returns the exit code."""
    parse = partial(parse_condition, names=CONDITION_NAMES, example="k_pair>2")
    conditions = list(map(parse, chosen.fail_if))
    if len(chosen.tracks) < 2:
        raise OptionError("a pair needs two tracks; one was given")
    extrinsics = _extrinsics(chosen)
    given, references = keywords(chosen, "pair"), [] if chosen.ref is None else [chosen.ref]
    inputs = files_read(chosen.tracks, references, verb="pair", **given)
    inputs += given_files(*extrinsics.values())
    check_saves(chosen, "comparison", "pairs", inputs=inputs)

    with progress("comparing"):
        comparison = pair(
            *chosen.tracks,
            reference=chosen.ref,
            extrinsics=[extrinsics.get(track) for track in chosen.tracks],
            **given,
        )

    shown = partial(pairs.report, comparison, verbose=chosen.verbose)
    document = partial(pairs.document, comparison)
    show_result(chosen, document, lambda: "\n".join(pairs.last_lines(comparison)), shown)
    draw(chosen, "pair", comparison)
    return exit_code(
        condition.violation_by(_value(each, condition), f"{each.a} and {each.b}")
        for each in comparison.pairs
        for condition in conditions
    )


def _extrinsics(chosen: argparse.Namespace) -> dict[str, str]:
    """Track -> where its extrinsic stands, which is named for it or for all tracks."""
    found: dict[str, str] = {}
    for text in chosen.extrinsic:
        tracks, source = _parse_extrinsic(text, chosen.tracks)
        for track in tracks:
            if track in found:
                raise OptionError(f"--extrinsic: {track} has two")
            found[track] = source
    return found


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


def _value(each: Pair, condition: Condition) -> float:
    """The number of a pair that a condition names."""
    values = {
        "k_pair": each.k.value,
        "lower_bound": each.lower_bound,
        "nees_median": each.nees_median.value,
        "matched": float(len(each.pairs)),
    }
    value = values[condition.name]
    if value is None:
        raise OptionError(f"--fail-if {condition}: {each.a} and {each.b} have no lower bound")
    return value
