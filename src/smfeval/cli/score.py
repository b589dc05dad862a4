"""`smfeval score EST... --ref REF`: is the reported uncertainty honest?"""

import argparse
import sys
from dataclasses import replace
from functools import reduce

import numpy as np

from smfeval.associate.pairing import nearest_pairs
from smfeval.cli.conditions import Condition, score_condition
from smfeval.cli.drawing import check_figure_flags, check_target, command_line, draw, write_page
from smfeval.cli.flags import progress
from smfeval.cli.score_flags import estimate_options, reference_options, score_flags, score_options
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.evaluation.result import SCHEMA
from smfeval.io import read
from smfeval.show.documents import json_text
from smfeval.show.report import Report, document, last_lines, text
from smfeval.track import AnyTrack


def run(arguments: list[str]) -> int:
    """Score one or several estimates; returns the exit code."""
    chosen = score_flags().parse_args(arguments)
    conditions = [score_condition(text) for text in chosen.fail_if]
    options = score_options(chosen)
    _check_targets(chosen)
    check_figure_flags(chosen)

    with progress("scoring"):
        reference = read(chosen.ref, **reference_options(chosen))
        estimates = [
            read(source, **estimate_options(chosen, source, reference))
            for source in chosen.estimates
        ]
        evaluations = _evaluate_all(estimates, reference, options, common=chosen.common)
        reports = [_report(evaluation, chosen) for evaluation in evaluations]

    failed = _failed_conditions(evaluations, conditions)
    _save(evaluations, chosen)
    _print(reports, chosen)
    _draw(reports, chosen, arguments)
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def _check_targets(chosen: argparse.Namespace) -> None:
    """Complain about result files before any work is done."""
    if chosen.save_evo is not None and len(chosen.estimates) > 1:
        raise OptionError("--save-evo takes one estimate at a time")
    if chosen.per_scan is not None and chosen.per_scan.suffix != ".parquet":
        raise OptionError(f"{chosen.per_scan}: --per-scan writes Parquet; end the name in .parquet")
    targets = [chosen.per_scan] if chosen.per_scan else []
    if chosen.save_evo is not None:
        from smfeval.io.results import evo_files  # noqa: PLC0415  only where asked for

        targets += evo_files(chosen.save_evo)
    for path in targets:
        check_target(path, force=chosen.force)


def _evaluate_all(
    estimates: list[AnyTrack], reference: AnyTrack, options: Options, *, common: bool
) -> list[Evaluation]:
    if not common:
        return [evaluate(estimate, reference, options=options) for estimate in estimates]
    pairs = [nearest_pairs(estimate, reference, options) for estimate in estimates]
    shared = reduce(np.intersect1d, [each.reference for each in pairs])
    if len(shared) == 0:
        raise PairingError("no reference pose is matched by all estimates")
    evaluations = []
    for estimate, each in zip(estimates, pairs, strict=True):
        kept = np.isin(each.reference, shared)
        note = f"{len(each) - int(kept.sum())} matched scans left out: not common to all estimates"
        fewer = replace(
            each,
            estimate=each.estimate[kept],
            reference=each.reference[kept],
            gap_s=each.gap_s[kept],
        )
        evaluations.append(
            evaluate(estimate, reference, options=options, pairs=fewer, notes=(note,))
        )
    return evaluations


def _save(evaluations: list[Evaluation], chosen: argparse.Namespace) -> None:
    if chosen.per_scan is not None:
        from smfeval.io.results import write_per_scan  # noqa: PLC0415  polars is slow to import

        write_per_scan(evaluations, chosen.per_scan)
    if chosen.save_evo is not None:
        from smfeval.io.results import write_evo_results  # noqa: PLC0415

        write_evo_results(evaluations[0], chosen.save_evo)


def _report(evaluation: Evaluation, chosen: argparse.Namespace) -> Report:
    """The evaluation, and the causes that were asked for."""
    found, excuses = None, None
    if chosen.diagnose:
        from smfeval.explain.diagnoses import diagnose  # noqa: PLC0415  only where asked for

        found = diagnose(evaluation, rng=np.random.default_rng(chosen.seed))
    if chosen.alibis:
        from smfeval.explain.alibis import alibis  # noqa: PLC0415

        excuses = alibis(evaluation, tolerance=chosen.extrinsic_tolerance)
    return Report(evaluation, excuses, found)


def _print(reports: list[Report], chosen: argparse.Namespace) -> None:
    if chosen.json:
        documents = [document(report) for report in reports]
        several = {"schema": SCHEMA, "results": documents}
        print(json_text(documents[0] if len(documents) == 1 else several), end="")
    elif chosen.quiet:
        for report in reports:
            print(last_lines(report))
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415  only on a terminal

        from smfeval.show.terminal import render_scores  # noqa: PLC0415

        Console().print(render_scores(reports, verbose=chosen.verbose))
    else:
        print(text(reports, verbose=chosen.verbose), end="")


def _draw(reports: list[Report], chosen: argparse.Namespace, arguments: list[str]) -> None:
    evaluations = [report.evaluation for report in reports]
    if chosen.html is not None:
        from smfeval.show import page  # noqa: PLC0415  only where asked for

        made = page.score(
            evaluations,
            alibis=[report.alibis for report in reports],
            diagnoses=[report.diagnoses for report in reports],
            command=command_line("score", arguments),
        )
        write_page(chosen.html, made)
    if chosen.plot or chosen.save_plot is not None:
        from smfeval.show.figures import gallery_of  # noqa: PLC0415  matplotlib is slow to import

        draw(chosen, gallery_of, evaluations)


def _failed_conditions(evaluations: list[Evaluation], conditions: list[Condition]) -> list[str]:
    """The conditions that hold, for each estimate."""
    return [
        f"{evaluation.estimate.provenance.name}: {each}"
        for evaluation in evaluations
        for each in conditions
        if each.holds(evaluation)
    ]
