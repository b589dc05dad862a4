"""`smfeval study STUDY.toml`: many estimators on many tracks, with tables for a paper."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from smfeval.cli.conditions import (
    Condition,
    check_conditions,
    condition_places,
    diff_condition,
    exit_code,
    study_condition,
)
from smfeval.cli.outputs import check_outputs, check_saves, draw, write_integration, write_text
from smfeval.cli.progress import study_progress
from smfeval.cli.saves import outputs_of
from smfeval.errors import FormatError, OptionError
from smfeval.io.atomic import writing
from smfeval.io.source import is_url, read_start
from smfeval.show.render import json_text
from smfeval.show.study import paper, plans, terminal
from smfeval.show.study.formats import FORMATS
from smfeval.studies.draft import Draft, plan_of_folder
from smfeval.studies.find import StudyTasks, find_tasks
from smfeval.studies.plan import Plan, apply_recipe, recipe_named
from smfeval.studies.plan_file import read_plan
from smfeval.studies.result import Study
from smfeval.studies.run import StudyPart, StudyRun, run_part, run_study
from smfeval.studies.store import PAIRS, TASKS, evo_files, write_evo
from smfeval.studies.task import PairTask, Task, files_of
from smfeval.verbs import check_output_folder, write_tables

DEFAULT_PLAN = Path("study.toml")
TWO_FORMATS = "--json and --format name two formats for stdout; one is needed"
RUN_FLAGS = (
    *("plan", "part", "workers", "scheduler", "fresh", "sensitivity", "list", "fail_if", "format"),
    *("json", "plot", "save", "diff"),
)
# of a whole study
WHOLE_FLAGS = ("scheduler", "list", "fail_if", "format", "json", "plot", "save", "diff")
DIFF_FLAGS = ("diff", "fail_if", "format", "json")  # of a comparison of two studies


def run(chosen: argparse.Namespace) -> int:
    """Conduct a study, or draft its plan; returns the exit code."""
    _check_flags(chosen)
    if chosen.init is not None:
        drafted = _write_draft(chosen, chosen.init, chosen.output or DEFAULT_PLAN)
        print(f"{drafted}; read it before you run it")
        return 0
    if chosen.diff is not None:
        return _run_diff(chosen)
    conditions = [study_condition(text) for text in chosen.fail_if]
    drawn = ("study", "repeats", "ranks")
    check_saves(chosen, *drawn, inputs=[chosen.plan])

    plan = _read_plan(chosen)
    found = find_tasks(plan)
    _check_inputs(chosen, plan, found)
    if chosen.list:
        text = f"{plans.plan_extent(plan, found)}\n" if chosen.quiet else plans.listing(plan, found)
        print(text, end="")
        return 0

    check_output_folder(plan.output)
    for line in plans.missing_lines(plan, found):
        print(f"smfeval: {line}", file=sys.stderr)
    if chosen.part is not None:
        return _run_part(plan, found, chosen)
    study = _conduct(plan, found, chosen)
    if outputs_of(chosen, "junit", "badge"):
        _integrate(study, conditions, chosen)
    outcome = check_conditions(study, conditions)
    for sentence in outcome.skipped:
        print(f"smfeval: --fail-if: {sentence}", file=sys.stderr)
    if outcome.untestable and not outcome.violations:  # what holds counts more
        raise OptionError(f"--fail-if: {outcome.untestable[0]}")
    return exit_code(outcome.violations)


def _read_plan(chosen: argparse.Namespace) -> Plan:
    """The plan with what flags change of it; that of a folder of runs is drafted first."""
    if Path(chosen.plan).is_dir():
        drafted = _write_draft(chosen, Path(chosen.plan), DEFAULT_PLAN)
        print(f"smfeval: {drafted}", file=sys.stderr)
        chosen.plan = DEFAULT_PLAN
    plan = read_plan(chosen.plan)
    plan = replace(plan, sensitivity=plan.sensitivity or chosen.sensitivity)
    return plan if chosen.recipe is None else apply_recipe(plan, recipe_named(chosen.recipe))


def _check_flags(chosen: argparse.Namespace) -> None:
    """Complain about flags that would be ignored."""
    drafting = chosen.init is not None
    _refuse(chosen, RUN_FLAGS if drafting else (), "with --init")
    _refuse(chosen, () if drafting else ("output",), "without --init")
    if chosen.diff is not None:
        _check_diff_flags(chosen)
        return
    if chosen.force and not (drafting or chosen.save):
        raise OptionError("--force means nothing without --init or --save")
    if not drafting and chosen.plan is None:
        raise OptionError(
            "a plan is needed: smfeval study STUDY.toml, or smfeval study FOLDER, which drafts it"
        )
    if chosen.part is not None:
        instead = "leaves results in the cache; give it to the run that gathers"
        _refuse(chosen, WHOLE_FLAGS, f"with --part, which {instead}")
    if chosen.list and (chosen.json or chosen.format):
        raise OptionError("--list is plain text; it takes neither --json nor --format")
    if chosen.json and chosen.format:
        raise OptionError(TWO_FORMATS)


def _refuse(chosen: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Complain about the first of these flags that is given."""
    for name in names:
        if getattr(chosen, name):
            called = {"plan": chosen.plan, "output": "-o"}
            word = called.get(name, f"--{name.replace('_', '-')}")
            raise OptionError(f"{word} means nothing {why}")


def _check_inputs(chosen: argparse.Namespace, plan: Plan, found: StudyTasks) -> None:
    """Complain about outputs that are read: figures and page, tables in the output folder."""
    tasks: list[Task | PairTask] = [*found.tasks, *found.pair_tasks]
    local = [each for each in tasks if not any(is_url(given.source) for given in each.inputs)]
    inputs = {Path(chosen.plan), *(file for task in local for file in files_of(task))}
    evo = [
        file
        for path in outputs_of(chosen, "evo")
        for _, files in evo_files(path, ((t.estimator, t.track, t.repeat) for t in found.tasks))
        for file in files
    ]
    check_saves(chosen, inputs=inputs, more=evo)
    tables = [plan.output / f"tables{entry.suffix}" for entry in FORMATS.values()]
    there = [path for path in (*tables, plan.output / TASKS, plan.output / PAIRS) if path.exists()]
    check_outputs(there, inputs=inputs, force=True)


def _conduct(plan: Plan, found: StudyTasks, chosen: argparse.Namespace) -> Study:
    """Run every task; write, print and draw what came of it."""
    with study_progress(quiet=chosen.quiet) as progress:
        done = run_study(
            plan,
            found,
            workers=chosen.workers,
            scheduler=chosen.scheduler,
            fresh=chosen.fresh,
            progress=progress,
        )
    study = done.study
    write_tables(study)
    if chosen.recipe is not None:
        with writing(plan.output / f"{chosen.recipe}.tex") as stream:
            stream.write(paper.text(study).encode())
    if len(study.failed_runs) + len(study.missing) == len(study.results):
        first, failed = study.failed_runs[0], len(study.failed_runs)
        why = f"{failed} failed; the first, {first.estimator} on {first.track}: {first.failure}"
        where = f"all of them are in {study.plan.output / TASKS}"
        raise FormatError(f"no run could be scored: {why}; {where}")
    texts = {entry.suffix: entry.text for entry in FORMATS.values()}
    for path in outputs_of(chosen, "document", "table"):
        write_text(path, texts[path.suffix.lower()](study))
    for path in outputs_of(chosen, "evo"):
        made = write_evo(study.results, plan.output, path)
        print(f"smfeval: {len(made)} files for evo, such as {made[0]}", file=sys.stderr)
    _print(done, chosen)
    draw(chosen, "study", study)
    return study


def _run_part(plan: Plan, found: StudyTasks, chosen: argparse.Namespace) -> int:
    """Do a part of a study and say what came of it; returns the exit code."""
    numbers = chosen.part.split("/")
    if len(numbers) != len(("number", "count")) or not all(n.isdecimal() for n in numbers):
        raise OptionError(f"--part {chosen.part!r} is no part; write for example 2/8")
    try:
        part = StudyPart(*map(int, numbers))
    except OptionError as error:
        raise OptionError(f"--part: {error}") from error
    with study_progress(quiet=chosen.quiet) as progress:
        done = run_part(
            plan, found, part, workers=chosen.workers, fresh=chosen.fresh, progress=progress
        )
    for sentence in plans.part_failures(done):
        print(f"smfeval: failed: {sentence}", file=sys.stderr)
    print(plans.part_summary(done, plan))
    return 0


def _print(done: StudyRun, chosen: argparse.Namespace) -> None:
    """The tables, or with -q the summary alone; where both are shown it goes to stderr."""
    if chosen.quiet and not chosen.json:
        print(plans.summary(done))
        return
    study = done.study
    name = "json" if chosen.json else chosen.format or "terminal"
    if name != "terminal":
        print(FORMATS[name].text(study), end="")
    elif chosen.verbose or chosen.format:
        print(terminal.text(study), end="")
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415  only on a terminal

        from smfeval.show.terminal import render_study  # noqa: PLC0415

        Console().print(render_study(study))
    else:
        print(terminal.text(study, brief=True), end="")
    print(f"smfeval: {plans.summary(done)}", file=sys.stderr)


def _integrate(study: Study, conditions: list[Condition], chosen: argparse.Namespace) -> None:
    """What CI shows: a case for each run and for each condition on each contender."""
    from smfeval.show.ci import verdict_badge  # noqa: PLC0415  only where asked for
    from smfeval.show.study.plans import condition_cases, contender_labels, run_cases  # noqa: PLC0415

    held = [
        (str(condition), where, value, value is not None and condition.holds(value))
        for condition, where, value in condition_places(study, conditions)
    ]
    fails = next((name for name, _, _, holds in held if holds), None)
    write_integration(
        chosen,
        f"smfeval study {study.plan.name}",
        [*run_cases(study), *condition_cases(held)],
        lambda: verdict_badge(contender_labels(study), fails=fails),
    )


def _write_draft(chosen: argparse.Namespace, folder: Path, path: Path) -> str:
    """Write a plan for a folder of runs; returns what is in it."""
    if chosen.init is not None:
        check_outputs([path], force=chosen.force)
    recipe = None if chosen.recipe is None else recipe_named(chosen.recipe)
    start = folder  # as the plan will call it: absolute if the user did, or from the plan
    if not start.is_absolute():
        start = Path(os.path.relpath(start, path.parent))
    draft = plan_of_folder(folder, start=start.as_posix(), recipe=recipe)
    text = draft.text.encode()
    if chosen.init is None and path.exists() and read_start(path, len(text) + 1) != text:
        raise OptionError(
            f"{path} is there and is not what would be drafted for {folder}: run it "
            f"(smfeval study {path}), or draft another (smfeval study --init {folder} -o FILE)"
        )
    for name, content in (*((path.parent / name, c) for name, c in draft.copies), (path, text)):
        name.parent.mkdir(parents=True, exist_ok=True)
        with writing(name) as stream:
            stream.write(content)
    plan = read_plan(path)
    for line in _unused_file_lines(draft, every=chosen.verbose):
        print(f"smfeval: left aside: {line}", file=sys.stderr)
    return f"{path}: {plans.plan_extent(plan, find_tasks(plan))}"


def _unused_file_lines(draft: Draft, *, every: bool) -> list[str]:
    """One line for each thing, or for each reason."""
    if every:
        return [f"{what}: {why}" for what, why in draft.skipped]
    first = {why: what for what, why in reversed(draft.skipped)}
    return [
        f"{first[why]}: {why}" + (f" ({count - 1} more like it: -v)" if count > 1 else "")
        for why, count in Counter(why for _, why in draft.skipped).items()
    ]


def _check_diff_flags(chosen: argparse.Namespace) -> None:
    """Complain about flags that mean nothing between two studies."""
    others = (name for name in (*RUN_FLAGS, "recipe", "force") if name not in DIFF_FLAGS)
    _refuse(chosen, others, "with --diff, which reads two finished studies")
    if chosen.format not in (None, "terminal", "markdown"):
        raise OptionError(f"--diff is written as terminal, markdown or --json, not {chosen.format}")
    if chosen.json and chosen.format:
        raise OptionError(TWO_FORMATS)


def _run_diff(chosen: argparse.Namespace) -> int:
    """Say what moved from one study to others; returns the exit code."""
    from smfeval.show.study import diff as shown  # noqa: PLC0415  only where asked for
    from smfeval.studies.diff import diff_studies  # noqa: PLC0415

    conditions = [diff_condition(text) for text in chosen.fail_if]
    old, *others = chosen.diff
    if not others:
        raise OptionError(f"--diff needs two folders or more: from {old} to which?")
    found = [diff_studies(old, new) for new in others]
    if chosen.json:
        documents = [shown.document(each) for each in found]
        several = {"schema": shown.SCHEMA, "results": documents}
        print(json_text(documents[0] if len(found) == 1 else several), end="")
    elif chosen.quiet:
        print("\n".join(map(shown.summary, found)))
    else:
        write = shown.markdown if chosen.format == "markdown" else shown.text
        print("\n".join(write(each, verbose=chosen.verbose) for each in found), end="")
    return exit_code(
        condition.violation_by(each.count(condition.name), f"{each.old} -> {each.new}")
        for each in found
        for condition in conditions
    )
