"""`smfeval sweep SWEEP.toml`: one knob turned; does sharper mean better, or only more confident?"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smfeval.cli.brought import SWEEPS, load_brought
from smfeval.cli.drawing import (
    check_figure_flags,
    command_line,
    draw,
    write_page,
)
from smfeval.compare.sweep import SENTENCES, Sweep, sweep_of
from smfeval.errors import OptionError
from smfeval.show import sweep as show
from smfeval.show.render import json_text
from smfeval.studies.find import find_tasks
from smfeval.studies.sweep_plan import FileRuns, SweepPlan, read_sweep
from smfeval.studies.sweep_points import PointsAndFailures, Progress, points_of_files
from smfeval.studies.task import files_of


def run(chosen: argparse.Namespace) -> int:
    """Measure a grid of settings and judge each knob; returns the exit code."""
    for label in chosen.fail_if:
        _check_label(label)
    check_figure_flags(chosen, "sweep", inputs=[chosen.plan])
    plan = read_sweep(chosen.plan)
    check_figure_flags(chosen, inputs=[chosen.plan, *_input_files(plan)])
    with _progress_bar() as progress:
        points, failures = _measure_points(plan, progress)
    sweep = sweep_of(
        points,
        name=plan.name,
        failures=failures,
        dimension=plan.options.space.dimension,
        level=plan.options.intervals.level,
    )
    _print(sweep, chosen)
    _draw(sweep, chosen)
    return _exit_code(sweep, chosen.fail_if)


def _input_files(plan: SweepPlan) -> list[Path]:
    """The files of runs that are done."""
    if not isinstance(plan.source, FileRuns):
        return []
    return [file for task in find_tasks(plan.source.plan).tasks for file in files_of(task)]


def _check_label(label: str) -> None:
    if label not in SENTENCES:
        raise OptionError(f"--fail-if {label!r} is no verdict; it is one of {', '.join(SENTENCES)}")


def _measure_points(plan: SweepPlan, progress: Progress) -> PointsAndFailures:
    if isinstance(plan.source, FileRuns):
        return points_of_files(plan.source, progress=progress)
    points_of_lab = load_brought(SWEEPS, "lab")
    measured: PointsAndFailures = points_of_lab(plan.source, plan.options, progress=progress)
    return measured


@contextmanager
def _progress_bar() -> Iterator[Progress]:
    """A bar with the number of runs on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console  # noqa: PLC0415  only on a terminal
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(sweep: Sweep, chosen: argparse.Namespace) -> None:
    if chosen.json:
        print(json_text(sweep.to_dict()), end="")
    elif chosen.quiet:
        print(show.verdicts(sweep))
    else:
        print(show.text(sweep, verbose=chosen.verbose), end="")


def _draw(sweep: Sweep, chosen: argparse.Namespace) -> None:
    if chosen.html is not None:
        from smfeval.show.page import sweep_page  # noqa: PLC0415  only where asked for

        write_page(chosen.html, sweep_page(sweep, command=command_line("sweep", chosen.arguments)))
    if chosen.save_plot is None and not chosen.plot:
        return
    from smfeval.show.figures.gallery import gallery_of_sweep  # noqa: PLC0415  slow to import

    draw(chosen, gallery_of_sweep, sweep)


def _exit_code(sweep: Sweep, labels: list[str]) -> int:
    failed = [effect for effect in sweep.effects if effect.label in labels]
    for effect in failed:
        print(
            f"smfeval: --fail-if: {effect.estimator}, {effect.knob}: {effect.sentence}",
            file=sys.stderr,
        )
    return 1 if failed else 0
