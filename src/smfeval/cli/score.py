"""`smfeval score EST... --ref REF`: is the reported uncertainty honest?"""

import argparse
import sys
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.align.extent import extent
from smfeval.associate.nearest import TOLERANCE_S
from smfeval.cli.conditions import Condition, condition
from smfeval.cli.flags import (
    add_output_flags,
    add_read_flags,
    parser,
    progress,
    read_options,
    seconds,
)
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import ALIGNMENTS, Evaluation, Options, evaluate, nearest_pairs
from smfeval.evaluation.frames import GAUGE_ALIGNMENTS
from smfeval.evaluation.options import ASSOCIATIONS
from smfeval.evaluation.result import SCHEMA
from smfeval.io import format_of, read
from smfeval.io.evo_result import evo_files, write_evo_results
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.formats import FORMATS
from smfeval.io.per_scan import write_per_scan
from smfeval.score import RULES, Settings
from smfeval.show import scores
from smfeval.show.documents import json_text
from smfeval.summarise.interval import METHODS
from smfeval.summarise.number import Intervals
from smfeval.track import AnyTrack

# What --gauge may say: the alignments, and the words that files use for them.
GAUGE_WORDS = {kind: kind for kind in ALIGNMENTS} | {
    word: kind for word, kind in GAUGE_ALIGNMENTS.items() if word not in ALIGNMENTS
}


def run(arguments: list[str]) -> int:
    """Score one or several estimates; returns the exit code."""
    chosen = _flags().parse_args(arguments)
    conditions = [condition(text) for text in chosen.fail_if]
    options = _options(chosen)
    _refuse_targets(chosen)

    with progress("scoring"):
        reference = read(chosen.ref, **_reference_options(chosen))
        estimates = [
            read(source, **_estimate_options(chosen, source, reference))
            for source in chosen.estimates
        ]
        evaluations = _evaluated(estimates, reference, options, common=chosen.common)

    failed = _failed(evaluations, conditions)
    _save(evaluations, chosen)
    _print(evaluations, chosen)
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def _flags() -> argparse.ArgumentParser:
    flags = parser("score", "Is the uncertainty that an estimate reports honest?")
    add = flags.add_argument
    add("estimates", nargs="+", metavar="EST", help="one or more estimates, or bag.mcap:/topic")
    add("--ref", required=True, metavar="REF", help="the reference")
    _add_pairing_flags(flags)
    _add_rule_flags(flags)
    _add_reference_flags(flags)
    _add_result_flags(flags)
    add_read_flags(flags)
    add_output_flags(flags)
    return flags


def _add_pairing_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("pairing and alignment").add_argument
    add(
        "--extrinsic",
        metavar="FILE|x,y,z,qx,qy,qz,qw",
        help="pose of the reference's body in the estimate's",
    )
    add(
        "--gauge",
        choices=GAUGE_WORDS,
        help="how the worlds are aligned (default: by the gauge that the estimate declares)",
    )
    add(
        "--fit-on",
        type=extent,
        metavar="N|Ns|Nm",
        help="fit on the first scans, seconds or metres; score the rest",
    )
    add("--axes", default="xyz", help="some of x, y, z (default xyz)")
    add("--tolerance", type=seconds, default=TOLERANCE_S, metavar="S|Nms", help="default 5ms")
    add(
        "--offset",
        type=seconds,
        default=0.0,
        metavar="S|Nms",
        help="added to the estimate's stamps",
    )
    add(
        "--association",
        choices=ASSOCIATIONS,
        default="nearest",
        help="nearest reference pose, or the reference as a continuous motion",
    )
    add("--common", action="store_true", help="score several estimates on the scans common to all")


def _add_rule_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("rules").add_argument
    add("--rules", type=_names, default=tuple(RULES), metavar="A,B", help=f"of {', '.join(RULES)}")
    add("--beta", type=float, default=1.0, help="power of the energy score, between 0 and 2")
    add("--unbiased", action="store_true", help="particles: unbiased energy score")
    add("--kernel-density", action="store_true", help="particles: log score of a kernel density")
    add(
        "--horizon",
        type=extent,
        action="append",
        default=[],
        metavar="N|Ns|Nm",
        help="relative pose error over N scans, seconds or metres (may repeat)",
    )
    add("--interval", choices=[*METHODS, "none"], default="auto", help="method for the intervals")
    add("--level", type=float, default=0.95, help="level of the intervals (default 0.95)")
    add("--seed", type=int, default=0, help="chance for the bootstraps")


def _add_reference_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("reference").add_argument
    add("--ref-body", metavar="NAME", help="body frame of the reference")
    add("--ref-format", choices=FORMATS, help="format of the reference (default: recognised)")
    add("--ref-times", type=Path, metavar="FILE", help="KITTI: file with the stamps")
    add("--ref-origin", metavar="LAT,LON,H", help="RTKLIB: origin of the local frame")
    add("--ref-exact", action="store_true", help="do not use the reference's own covariance")


def _add_result_flags(flags: argparse.ArgumentParser) -> None:
    add = flags.add_argument_group("results").add_argument
    add("--per-scan", type=Path, metavar="FILE.parquet", help="scores of every scan")
    add("--save-evo", type=Path, metavar="FILE.zip", help="APE (and NEES) for evo_res")
    add("--fail-if", action="append", default=[], metavar="'k>2'", help="exit with 1 if this holds")
    add("--force", action="store_true", help="overwrite result files")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _options(chosen: argparse.Namespace) -> Options:
    if chosen.association == "gp" and chosen.tolerance != TOLERANCE_S:
        raise OptionError("--tolerance means nothing for a continuous reference (--association gp)")
    if chosen.common and chosen.association != "nearest":
        raise OptionError("--common needs the nearest association: common scans are common poses")
    if not 0 < chosen.level < 1:
        raise OptionError(f"--level {chosen.level:g} is not between 0 and 1")
    return Options(
        association=chosen.association,
        tolerance_s=chosen.tolerance,
        offset_s=chosen.offset,
        extrinsic=read_extrinsic(chosen.extrinsic) if chosen.extrinsic else None,
        alignment=GAUGE_WORDS[chosen.gauge] if chosen.gauge else None,
        fit_on=chosen.fit_on,
        axes=chosen.axes,
        rules=chosen.rules,
        settings=Settings(chosen.beta, chosen.unbiased, chosen.kernel_density),
        horizons=tuple(chosen.horizon),
        reference_covariance=not chosen.ref_exact,
        singular=chosen.bad_rows,
        intervals=Intervals(
            None if chosen.interval == "none" else chosen.interval, chosen.level, chosen.seed
        ),
    )


def _reference_options(chosen: argparse.Namespace) -> dict[str, Any]:
    given = {
        "body": chosen.ref_body,
        "format": chosen.ref_format,
        "times": chosen.ref_times,
        "origin": chosen.ref_origin,
        "bad_rows": chosen.bad_rows,
        "duplicates": chosen.duplicates,
    }
    return {name: value for name, value in given.items() if value is not None}


def _estimate_options(
    chosen: argparse.Namespace, source: str, reference: AnyTrack
) -> dict[str, Any]:
    """The user's options; a GNSS estimate is read about the reference's origin."""
    options = read_options(chosen)
    options.pop("gauge", None)  # `score --gauge` says how to align, not what the file declares
    shared = dict(reference.about.extra).get("ENU_ORIGIN")
    if shared and "origin" not in options and format_of(source, **options) == "rtklib":
        options["origin"] = shared
    return options


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
