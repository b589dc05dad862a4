"""`smfeval score EST... --ref REF`: is the reported uncertainty honest?"""

import argparse
import sys
from dataclasses import replace
from functools import reduce

import numpy as np

from smfeval.cli.conditions import Condition, condition
from smfeval.cli.flags import progress
from smfeval.cli.score_flags import (
    estimate_options,
    reference_options,
    score_flags,
    score_options,
)
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Evaluation, Options, evaluate, nearest_pairs
from smfeval.evaluation.result import SCHEMA
from smfeval.io import read
from smfeval.io.evo_result import evo_files, write_evo_results
from smfeval.io.per_scan import write_per_scan
from smfeval.show import scores
from smfeval.show.documents import json_text
from smfeval.track import AnyTrack


def run(arguments: list[str]) -> int:
    """Score one or several estimates; returns the exit code."""
    chosen = score_flags().parse_args(arguments)
    conditions = [condition(text) for text in chosen.fail_if]
    options = score_options(chosen)
    _refuse_targets(chosen)

    with progress("scoring"):
        reference = read(chosen.ref, **reference_options(chosen))
        estimates = [
            read(source, **estimate_options(chosen, source, reference))
            for source in chosen.estimates
        ]
        evaluations = _evaluated(estimates, reference, options, common=chosen.common)

    failed = _failed(evaluations, conditions)
    _save(evaluations, chosen)
    _print(evaluations, chosen)
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def _refuse_targets(chosen: argparse.Namespace) -> None:
    """Complain about result files before any work is done."""
    if chosen.save_evo is not None and len(chosen.estimates) > 1:
        raise OptionError("--save-evo takes one estimate at a time")
    if chosen.per_scan is not None and chosen.per_scan.suffix != ".parquet":
        raise OptionError(f"{chosen.per_scan}: --per-scan writes Parquet; end the name in .parquet")
    targets = [chosen.per_scan] if chosen.per_scan else []
    targets += evo_files(chosen.save_evo) if chosen.save_evo else []
    for path in targets:
        if not path.parent.is_dir():
            raise OptionError(f"{path}: there is no folder {path.parent}")
        if path.exists() and not chosen.force:
            raise OptionError(f"{path}: the file exists; --force overwrites it")


def _evaluated(
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
        write_per_scan(evaluations, chosen.per_scan)
    if chosen.save_evo is not None:
        write_evo_results(evaluations[0], chosen.save_evo)


def _print(evaluations: list[Evaluation], chosen: argparse.Namespace) -> None:
    single = len(evaluations) == 1
    if chosen.json:
        documents = [evaluation.to_dict() for evaluation in evaluations]
        print(
            json_text(documents[0] if single else {"schema": SCHEMA, "results": documents}), end=""
        )
    elif chosen.quiet:
        for evaluation in evaluations:
            print(f"{evaluation.estimate.provenance.name}: {evaluation.verdict.sentence}")
    elif single:
        print(scores.text(evaluations[0], verbose=chosen.verbose), end="")
    else:
        print(scores.table(evaluations), end="")


def _failed(evaluations: list[Evaluation], conditions: list[Condition]) -> list[str]:
    """The conditions that hold, for each estimate."""
    return [
        f"{evaluation.estimate.provenance.name}: {each}"
        for evaluation in evaluations
        for each in conditions
        if each.holds(evaluation)
    ]
