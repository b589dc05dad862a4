"""`smfeval score EST... --ref REF`: do the errors match the reported covariance?"""

import argparse
import sys
from pathlib import Path
from typing import Any

from smfeval.cli.conditions import Condition, exit_code, score_condition
from smfeval.cli.flags import given_files, keywords
from smfeval.cli.main import error_sentence, run_verb
from smfeval.cli.outputs import check_saves, draw, save_document, write_integration
from smfeval.cli.progress import progress
from smfeval.cli.saves import outputs_of
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Evaluation, Options
from smfeval.evaluation.result import SCHEMA
from smfeval.options import ENDING_SIGMA
from smfeval.show.render import json_text
from smfeval.show.score import SHOWN_INTERVALS, SHOWN_NUMBERS, Findings, last_lines, report
from smfeval.summarise.numbers import space_name
from smfeval.track import ParticleTrack
from smfeval.verbs import evaluate_all, files_read
from smfeval.words import number

VIEWERS = ("rerun", "mcap")
ORIENTED_SCANS = 10_000  # a median of rotation and pose is shown, and no mean


def run(chosen: argparse.Namespace) -> int:
    """Score one or several estimates; returns the exit code."""
    if chosen.ref is None:
        return _run_without_reference(chosen)
    conditions = [score_condition(text) for text in chosen.fail_if]
    _refuse_contradictions(chosen)
    inputs = files_read(chosen.estimates, [chosen.ref], **keywords(chosen))
    inputs += given_files(chosen.extrinsic, chosen.calibration, chosen.telemetry)
    check_saves(chosen, "evaluations", "evaluation", inputs=inputs, more=_second_files(chosen))

    with progress("scoring"):
        evaluations = evaluate_all(
            chosen.estimates,
            chosen.ref,
            common=chosen.common,
            calibration=chosen.calibration,
            telemetry=chosen.telemetry,
            extrinsic=chosen.extrinsic,
            options=_shown_only(chosen, conditions),
            **keywords(chosen),
        )
        _refuse_ignored(chosen, evaluations)
        findings = [Findings(each, each.why() if chosen.why else None) for each in evaluations]

    documents = [each.to_dict() for each in findings] if chosen.json or chosen.save else []
    document = documents[0] if len(documents) == 1 else {"schema": SCHEMA, "results": documents}
    held = [(each, one, one.violation(each)) for each in evaluations for one in conditions]
    _save(evaluations, chosen)
    save_document(chosen, lambda: document)
    _print(findings, document, chosen)
    draw(chosen, "score", findings, drawn=evaluations)
    if outputs_of(chosen, "junit", "badge"):
        _integrate(evaluations, held, chosen)
    return exit_code(sentence for _, _, sentence in held)


def _run_without_reference(chosen: argparse.Namespace) -> int:
    """Compare several estimates with each other; of one, say what is in it."""
    verb = "check" if len(chosen.estimates) == 1 else "pair"
    without = f"without a reference (--ref) this is smfeval {verb}"
    try:
        code = run_verb(verb, chosen.arguments)
    except SmfevalError as error:
        raise OptionError(f"{without}: {error_sentence(error)}") from error
    print(f"smfeval: {without}", file=sys.stderr)
    return code


def _refuse_contradictions(chosen: argparse.Namespace) -> None:
    """Raise on flags that do not go together."""
    if chosen.common and chosen.offset == "auto":
        raise OptionError("--common needs one time offset for all: give --offset a time, not auto")
    if chosen.common and chosen.association == "gp":
        raise OptionError("--common needs nearest poses, not gp: common scans are common poses")
    if chosen.telemetry is not None and chosen.calibration is None:
        raise OptionError("--telemetry means nothing without --calibration")
    if chosen.telemetry is not None and len(chosen.estimates) > 1:
        raise OptionError("--telemetry is of one estimate; score them one at a time")


def _shown_only(chosen: argparse.Namespace, conditions: list[Condition]) -> Options:
    """Options that compute what the short report shows, where nothing more is asked for."""
    more = chosen.verbose or chosen.json or chosen.plot or chosen.save
    known = {each.name for each in conditions} <= {*SHOWN_NUMBERS}
    why = (space_name(ENDING_SIGMA, "rotation"),) if chosen.why else ()
    if more or not known:
        return Options()
    few = None if chosen.alert_limit else ORIENTED_SCANS
    numbers = (*SHOWN_NUMBERS, *why)
    return Options(numbers=numbers, with_interval=SHOWN_INTERVALS, oriented_scans=few)


def _refuse_ignored(chosen: argparse.Namespace, evaluations: list[Evaluation]) -> None:
    """Raise on options about particles where no estimate has any."""
    if any(isinstance(each.estimate, ParticleTrack) for each in evaluations):
        return
    for flag, given in (
        ("--unbiased", chosen.unbiased),
        ("--kernel-density", chosen.kernel_density),
    ):
        if given:
            raise OptionError(f"{flag} is about particles; no estimate here has any")


def _second_files(chosen: argparse.Namespace) -> list[Path]:
    """Files beside those of `--save`; raises where the package for a scene is not there."""
    for name in VIEWERS:
        if outputs_of(chosen, name):
            from smfeval.show.viewers import check_viewer  # noqa: PLC0415  only where asked for

            check_viewer(name)
    evo = outputs_of(chosen, "evo")
    if not evo:
        return []
    from smfeval.io.results import evo_files  # noqa: PLC0415  only where asked for

    every = [file for path in evo for file in evo_files(path, chosen.estimates)]
    return [file for file in every if file not in evo]


def _save(evaluations: list[Evaluation], chosen: argparse.Namespace) -> None:
    """The numbers of scans, the file for evo, and the scenes for viewers."""
    for path in outputs_of(chosen, "scans"):
        from smfeval.io.results import write_per_scan  # noqa: PLC0415  polars is slow to import

        write_per_scan(evaluations, path)
    for path in outputs_of(chosen, "evo"):
        from smfeval.io.results import write_evo_results  # noqa: PLC0415

        write_evo_results(evaluations, path)
    if not outputs_of(chosen, *VIEWERS):
        return
    from smfeval.show import viewers  # noqa: PLC0415  only where asked for
    from smfeval.show.viewers.scene import scene_of  # noqa: PLC0415

    scene = scene_of(evaluations)
    for note in scene.notes:
        print(f"smfeval: {note}", file=sys.stderr)
    for name in VIEWERS:
        for path in outputs_of(chosen, name):
            with progress("writing"):
                viewers.VIEWERS[name].write(scene, path)
            print(f"smfeval: scene in {path}", file=sys.stderr)


def _print(findings: list[Findings], document: dict[str, Any], chosen: argparse.Namespace) -> None:
    if chosen.json:
        print(json_text(document), end="")
    elif chosen.quiet:
        for each in findings:
            print(last_lines(each))
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415  only on a terminal

        from smfeval.show.terminal import render  # noqa: PLC0415

        Console().print(render(report(findings, verbose=chosen.verbose, chart=True)))
    else:
        print(report(findings, verbose=chosen.verbose), end="")


def _integrate(
    evaluations: list[Evaluation],
    held: list[tuple[Evaluation, Condition, str | None]],
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
    labels = [each.verdict.label for each in evaluations]
    k = evaluations[0].get("k")
    shown = None if k is None else number(k.value)
    fails = next((str(condition) for _, condition, sentence in held if sentence), None)
    write_integration(
        chosen, "smfeval score", cases, lambda: verdict_badge(labels, k=shown, fails=fails)
    )
