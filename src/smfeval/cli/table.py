"""`smfeval table RESULT.json...`: past results side by side."""

import argparse
from pathlib import Path

from smfeval.cli.flags import add_output_flags, parser
from smfeval.errors import OptionError
from smfeval.io.documents import KINDS, read_document
from smfeval.show import results_table
from smfeval.show.render import json_text
from smfeval.show.results_table import ResultTable, cells, table_of

FORMATS = ("text", "markdown", "csv")


def run(arguments: list[str]) -> int:
    """Print one table of saved results; returns the exit code."""
    chosen = _flags().parse_args(arguments)
    _check_flags(chosen)
    table = table_of([(str(path), read_document(path)) for path in chosen.results])
    if chosen.sort is not None:
        table = table.sorted_by(chosen.sort)
    _print(table, chosen)
    return 0


def _flags() -> argparse.ArgumentParser:
    flags = parser(
        "table",
        "Past results in one table: what --json printed, or save wrote in Python.",
        "runs/*.json",
        "a.json b.json --columns k,rmse --sort k --format markdown",
    )
    add = flags.add_argument
    known = f"of {', '.join(KINDS)}"
    add("results", nargs="+", type=Path, metavar="RESULT.json", help=known)
    add("--columns", type=_names, metavar="A,B", help="numbers to show (default: those that fit)")
    add("--sort", metavar="COLUMN", help="by this column, the smallest first")
    add("--format", choices=FORMATS, default="text", help="csv has all columns (default text)")
    add_output_flags(flags)
    return flags


def _check_flags(chosen: argparse.Namespace) -> None:
    """Complain about flags that would be ignored."""
    if chosen.columns is not None and (chosen.json or chosen.quiet or chosen.format == "csv"):
        raise OptionError("--columns chooses what text and markdown show; csv and JSON have all")
    if chosen.json and chosen.format != "text":
        raise OptionError("--json and --format name two formats for stdout; one is needed")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _print(table: ResultTable, chosen: argparse.Namespace) -> None:
    if chosen.json:
        print(json_text(results_table.document(table)), end="")
    elif chosen.quiet:
        print(results_table.verdicts(table), end="")
    elif chosen.format == "csv":
        print(results_table.table_frame(table).write_csv(), end="")
    else:
        rows = cells(table, chosen.columns, verbose=chosen.verbose)
        write = results_table.markdown if chosen.format == "markdown" else results_table.text
        print(write(rows), end="")
