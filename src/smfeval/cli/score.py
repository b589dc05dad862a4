"""`smfeval score EST... --ref REF`: is the reported uncertainty honest?"""

import argparse
import sys
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval.associate.pairing import nearest_pairs
from smfeval.cli.drawing import (
    check_figure_flags,
    command_line,
    draw,
    write_page,
)
from smfeval.cli.flags import (
    given_files,
    given_values,
    progress,
    read_options,
)
from smfeval.cli.integration import (
    integration_files,
    write_integration,
)
from smfeval.cli.verb_flags import REFERENCE_OPTIONS, SCORE_OPTIONS
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Evaluation, Options, evaluate
from smfeval.evaluation.result import SCHEMA
from smfeval.io import files_to_read, read
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.options import ReadOptions
from smfeval.options import refuse_unused_tolerance
from smfeval.schema import options_at, with_values
from smfeval.show.render import json_text
from smfeval.show.report import Report, document, last_lines, text
from smfeval.track import AnyTrack, ParticleTrack
from smfeval.verbs import in_body_of, read_beside
from smfeval.words import number

if TYPE_CHECKING:
    from smfeval.cli.conditions import Condition


def run(chosen: argparse.Namespace) -> int:
    """Score one or several estimates; returns the exit code."""
    conditions = _conditions(chosen)
    options = _options(chosen)
    needs = ("evaluations", "evaluation")
    check_figure_flags(chosen, *needs, inputs=_inputs(chosen), more=_targets(chosen))

    with progress("scoring"):
        reference = read(chosen.ref, **_reference_options(chosen))
        estimates = [
            read_beside(source, reference, read_options(chosen)) for source in chosen.estimates
        ]
        _refuse_ignored(options, estimates)
        estimates = [_correct(estimate, chosen) for estimate in estimates]
        estimates = [
            in_body_of(reference, estimate, (source, chosen.ref), extrinsic=options.extrinsic)
            for estimate, source in zip(estimates, chosen.estimates, strict=True)
        ]
        evaluations = _evaluate_all(estimates, reference, options, common=chosen.common)
        reports = [_report(evaluation, chosen) for evaluation in evaluations]

    held = [
        (each, condition, condition.violation(each))
        for each in evaluations
        for condition in conditions
    ]
    failed = [sentence for _, _, sentence in held if sentence is not None]
    _save(evaluations, chosen)
    _print(reports, chosen)
    _draw(reports, chosen)
    if integration_files(chosen):
        _integrate(evaluations, held, chosen)
    for sentence in failed:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def _conditions(chosen: argparse.Namespace) -> "list[Condition]":
    """The conditions of --fail-if."""
    if not chosen.fail_if:
        return []
    from smfeval.cli.conditions import score_condition  # noqa: PLC0415  only where asked for

    return [score_condition(text) for text in chosen.fail_if]


def _refuse_ignored(options: Options, estimates: "list[AnyTrack]") -> None:
    """Raise on options about particles where no estimate has any."""
    if any(isinstance(estimate, ParticleTrack) for estimate in estimates):
        return
    for flag, chosen in (
        ("--unbiased", options.settings.unbiased),
        ("--kernel-density", options.settings.kernel_density),
    ):
        if chosen:
            raise OptionError(f"{flag} is about particles; no estimate here has any")


def _correct(estimate: AnyTrack, chosen: argparse.Namespace) -> AnyTrack:
    """The estimate with corrected covariances if the user gave a correction."""
    if chosen.calibration is None:
        if chosen.telemetry is not None:
            raise OptionError("--telemetry means nothing without --calibration")
        return estimate
    if chosen.telemetry is not None and len(chosen.estimates) > 1:
        raise OptionError("--telemetry is of one estimate; score them one at a time")
    from smfeval.io.corrections import correct_track  # noqa: PLC0415  only where asked for

    return correct_track(estimate, chosen.calibration, chosen.telemetry)


def _options(chosen: argparse.Namespace) -> Options:
    """How to pair, align and score."""
    extrinsic = None if chosen.extrinsic is None else read_extrinsic(chosen.extrinsic)
    given = given_values(chosen, SCORE_OPTIONS)
    refuse_unused_tolerance(given)
    options = with_values(Options(extrinsic=extrinsic, singular=chosen.bad_rows or "refuse"), given)
    if chosen.common and options.offset_s == "auto":
        raise OptionError("--common needs one clock for all: give --offset a time, not auto")
    if chosen.common and options.association == "gp":
        raise OptionError("--common needs nearest poses, not gp: common scans are common poses")
    return options


def _reference_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """How to read the reference: bad rows and duplicates as in the estimates."""
    shared = given_values(chosen, options_at(ReadOptions, "options"))
    return given_values(chosen, REFERENCE_OPTIONS, prefix="ref-") | shared


def _inputs(chosen: argparse.Namespace) -> list[Path]:
    """The files that are read."""
    sources = [(source, read_options(chosen)) for source in chosen.estimates]
    sources.append((chosen.ref, _reference_options(chosen)))
    tracks = [file for source, options in sources for file in files_to_read(source, **options)]
    return [*tracks, *given_files(chosen.extrinsic, chosen.calibration, chosen.telemetry)]


def _targets(chosen: argparse.Namespace) -> list[Path]:
    """The result files, beside figures and page."""
    if chosen.save_evo is not None and len(chosen.estimates) > 1:
        raise OptionError("--save-evo takes one estimate at a time")
    for flag, path, suffix in (
        ("--per-scan", chosen.per_scan, ".parquet"),
        ("--save-evo", chosen.save_evo, ".zip"),
    ):
        if path is not None and path.suffix != suffix:
            raise OptionError(f"{path}: {flag} writes {suffix} files; end the name so")
    targets = [chosen.per_scan] if chosen.per_scan else []
    if chosen.save_evo is not None:
        from smfeval.io.results import evo_files  # noqa: PLC0415  only where asked for

        targets += evo_files(chosen.save_evo)
    return [*targets, *_scene_files(chosen).values(), *integration_files(chosen)]


def _scene_files(chosen: argparse.Namespace) -> dict[str, Path]:
    """Files for viewers that the user asked for, by viewer; refused if they cannot be written."""
    given = {"rerun": chosen.rerun, "mcap": chosen.mcap}
    found = {name: path for name, path in given.items() if path is not None}
    for name, path in found.items():
        from smfeval.show.viewers import check_viewer  # noqa: PLC0415  only where asked for

        check_viewer(name, path)
    return found


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
    if scene_files := _scene_files(chosen):
        _save_scene(evaluations, scene_files)


def _save_scene(evaluations: list[Evaluation], files: dict[str, Path]) -> None:
    from smfeval.show.viewers import VIEWERS  # noqa: PLC0415  only where asked for
    from smfeval.show.viewers.scene import scene_of  # noqa: PLC0415

    scene = scene_of(evaluations)
    for note in scene.notes:
        print(f"smfeval: {note}", file=sys.stderr)
    for name, path in files.items():
        with progress("writing"):
            VIEWERS[name].write(scene, path)
        print(f"smfeval: scene in {path}", file=sys.stderr)


def _report(evaluation: Evaluation, chosen: argparse.Namespace) -> Report:
    """The evaluation, and the causes that were asked for."""
    found, excuses = None, None
    if chosen.diagnose:
        from smfeval.why.diagnoses import diagnose  # noqa: PLC0415  only where asked for

        found = diagnose(evaluation, rng=np.random.default_rng(evaluation.options.intervals.seed))
    if chosen.alibis:
        from smfeval.why.alibis import alibis  # noqa: PLC0415

        excuses = alibis(evaluation)
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


def _draw(reports: list[Report], chosen: argparse.Namespace) -> None:
    evaluations = [report.evaluation for report in reports]
    if chosen.html is not None:
        from smfeval.show import page  # noqa: PLC0415  only where asked for

        made = page.score_page(
            evaluations,
            alibis=[report.alibis for report in reports],
            diagnoses=[report.diagnoses for report in reports],
            command=command_line("score", chosen.arguments),
        )
        write_page(chosen.html, made)
    if chosen.plot or chosen.save_plot is not None:
        from smfeval.show.figures import gallery_of  # noqa: PLC0415  matplotlib is slow to import

        draw(chosen, gallery_of, evaluations)


def _integrate(
    evaluations: list[Evaluation],
    held: "list[tuple[Evaluation, Condition, str | None]]",
    chosen: argparse.Namespace,
) -> None:
    """What CI shows: a case for each verdict, which passes, and for each condition."""
    from smfeval.show.ci import Case, verdict_badge  # noqa: PLC0415  only where asked for

    cases = [
        Case(each.estimate.provenance.name, "verdict", "passed", each.verdict.headline)
        for each in evaluations
    ]
    cases += [
        Case(
            each.estimate.provenance.name,
            f"not {condition}",
            "passed" if sentence is None else "failure",
            f"{condition} does not hold" if sentence is None else sentence,
        )
        for each, condition, sentence in held
    ]
    fails = next((str(condition) for _, condition, sentence in held if sentence), None)
    k = evaluations[0].get("k")
    write_integration(
        chosen,
        "smfeval score",
        cases,
        lambda: verdict_badge(
            [each.verdict.label for each in evaluations],
            k=None if k is None else number(k.value),
            fails=fails,
        ),
    )
