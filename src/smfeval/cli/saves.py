"""`--save FILE.ext`: what the ending of a name makes a verb write. Older flags are not listed."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from smfeval.cli.flags import Rows, flag, switch


class OutputKind(NamedTuple):
    """Endings of the files of one kind, what is in them, and a flag that names the kind too."""

    endings: tuple[str, ...]
    words: str
    flag: str | None = None


FOLDER = "folder"  # what a name without a known ending is to a verb that fills one
KINDS = {
    "page": OutputKind((".html", ".htm"), "a page", "--html"),
    "figures": OutputKind((".pdf", ".png", ".svg"), "figures", "--save-plot"),
    "correction": OutputKind((".json", ".yaml"), "the correction"),
    "document": OutputKind((".json",), "as --json"),
    "table": OutputKind((".csv", ".tex", ".md"), "a table"),
    "scans": OutputKind((".parquet",), "scores of every scan", "--per-scan"),
    "rerun": OutputKind((".rrd",), "a scene for Rerun", "--rerun"),
    "mcap": OutputKind((".mcap",), "a scene for Foxglove", "--mcap"),
    "evo": OutputKind((".zip",), "for evo_res", "--save-evo"),
    "junit": OutputKind((".xml",), "JUnit", "--junit"),
    "badge": OutputKind(("badge.svg",), "the verdict", "--badge"),
    FOLDER: OutputKind((), "without ending: a folder for the tracks"),
}


class Output(NamedTuple):
    """A file to write, and what is to be in it: a name of `KINDS`."""

    kind: str
    path: Path


def outputs_of(chosen: argparse.Namespace, *kinds: str) -> list[Path]:
    """The files of these kinds that were asked for."""
    return [output.path for output in getattr(chosen, "save", ()) if output.kind in kinds]


def output_parser(kind_of: Mapping[str, str], otherwise: str = "") -> Callable[[str], Output]:
    """From a name to the output that its ending asks for; `otherwise`: the kind of other names."""

    def parse(name: str) -> Output:
        fitting = [ending for ending in kind_of if name.lower().endswith(ending)]
        if not fitting and not otherwise:
            raise argparse.ArgumentTypeError(f"{name}: the name is to end in {', '.join(kind_of)}")
        return Output(kind_of[max(fitting, key=len)] if fitting else otherwise, Path(name))

    return parse


def save_flags(*kinds: str) -> Rows:
    """`--save` of what a verb can write, the older flags for it, `--plot` and `--force`."""
    kind_of = {ending: kind for kind in kinds for ending in KINDS[kind].endings}
    parse = output_parser(kind_of, FOLDER if FOLDER in kinds else "")
    written = (" ".join([*KINDS[kind].endings, f"({KINDS[kind].words})"]) for kind in kinds)
    shared = {"action": "append", "dest": "save", "default": []}
    rows = [
        flag("--save", "FILE.ext", f"{', '.join(written)}; may repeat", type=parse, **shared),
        switch("--force", "overwrite result files"),
    ]
    for kind in kinds:
        if (name := KINDS[kind].flag) is not None:
            endings = [".svg"] if kind == "badge" else KINDS[kind].endings
            parse = output_parser(dict.fromkeys(endings, kind))
            rows.append(flag(name, "FILE", argparse.SUPPRESS, type=parse, **shared))
    if "figures" in kinds:
        rows.append(switch("--plot", "show the figures in windows"))
    return ("results", *rows)
