"""`smfeval table RESULT.json...`: past results side by side."""

import argparse
from typing import Any

from smfeval.cli.outputs import check_saves, write_text
from smfeval.cli.saves import outputs_of
from smfeval.errors import OptionError
from smfeval.io.documents import document_in, kind_of, read_document
from smfeval.show import results_table
from smfeval.show.render import json_text
from smfeval.show.report import ReportSection
from smfeval.show.results_table import ResultTable, shown_table, table_of, table_text

ENDINGS = {"markdown": ".md", "latex": ".tex", "csv": ".csv"}


def run(chosen: argparse.Namespace) -> int:
    """Print saved results, a table for each kind of them; returns the exit code."""
    _check_flags(chosen)
    files = [document_in(path) for path in chosen.results]
    check_saves(chosen, inputs=files)
    kinds: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for path, document in ((path, read_document(path)) for path in files):
        kind = "all" if chosen.json or chosen.save or chosen.format == "csv" else kind_of(document)
        kinds.setdefault("score" if kind == "study" else kind, []).append((str(path), document))
    names = None if chosen.columns is None else [n.strip() for n in chosen.columns.split(",")]
    for number, documents in enumerate(kinds.values()):
        table = table_of(documents)
        if chosen.sort is not None:
            table = table.sorted_by(chosen.sort)
        for path in outputs_of(chosen, "document"):
            write_text(path, json_text(results_table.document(table)))
        for path in outputs_of(chosen, "table"):
            write_text(path, table_text(table, path.suffix.lower(), names))
        if number and not chosen.quiet:
            print()
        _print(table, names, chosen)
    return 0


def _check_flags(chosen: argparse.Namespace) -> None:
    """Complain about flags that would be ignored."""
    if chosen.columns is not None and (chosen.json or chosen.quiet or chosen.format == "csv"):
        raise OptionError("--columns chooses what text and markdown show; csv and JSON have all")
    if chosen.json and chosen.format != "text":
        raise OptionError("--json and --format name two formats for stdout; one is needed")


def _print(table: ResultTable, names: list[str] | None, chosen: argparse.Namespace) -> None:
    if chosen.json:
        print(json_text(results_table.document(table)), end="")
    elif chosen.quiet:
        print(results_table.verdicts(table), end="")
    elif chosen.format == "text":
        shown = shown_table(table, names, verbose=chosen.verbose)
        print(ReportSection(table=shown, indent=0), end="")
    else:
        print(table_text(table, ENDINGS[chosen.format], names, verbose=chosen.verbose), end="")
