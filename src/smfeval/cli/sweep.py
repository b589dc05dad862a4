"""`smfeval sweep SWEEP.toml`: one knob turned; does sharper mean better, or only more confident?"""

import argparse

from smfeval.cli.conditions import exit_code
from smfeval.cli.outputs import check_saves, draw, show_result
from smfeval.cli.plugins import SWEEPS, load_plugin
from smfeval.cli.progress import progress_bar
from smfeval.compare.sweep import SENTENCES
from smfeval.errors import OptionError
from smfeval.show import sweep as show
from smfeval.studies.find import find_tasks
from smfeval.studies.sweep import read_sweep
from smfeval.studies.task import files_of
from smfeval.verbs import measure_sweep


def run(chosen: argparse.Namespace) -> int:
    """Measure a grid of settings and judge each knob; returns the exit code."""
    failing = [label.replace("-", " ") for label in chosen.fail_if]
    for label in failing:
        if label not in SENTENCES:
            known = ", ".join(SENTENCES)
            raise OptionError(f"--fail-if {label!r} is no verdict; it is one of {known}")
    check_saves(chosen, "sweep", inputs=[chosen.plan])
    plan = read_sweep(chosen.plan)
    inputs = [chosen.plan]
    if plan.lab is None:
        tasks = find_tasks(plan).tasks
        inputs += [file for task in tasks for file in files_of(task)]
    check_saves(chosen, inputs=inputs)

    of_lab = None if plan.lab is None else load_plugin(SWEEPS, "lab")
    with progress_bar("runs") as progress:
        sweep = measure_sweep(plan, points_of_lab=of_lab, progress=progress)

    show_result(
        chosen,
        sweep.to_dict,
        lambda: show.verdicts(sweep),
        lambda: show.text(sweep, verbose=chosen.verbose),
    )
    draw(chosen, "sweep", sweep)
    return exit_code(
        f"{effect.estimator}, {effect.knob}: {effect.sentence}"
        for effect in sweep.effects
        if effect.label in failing
    )
