"""`smfeval sweep SWEEP.toml`: one knob turned; does sharper mean better, or only more confident?"""

import argparse
from functools import partial

from smfeval.cli.conditions import exit_code
from smfeval.cli.outputs import check_saves, draw, show_result
from smfeval.cli.plugins import SWEEPS, load_plugin
from smfeval.cli.progress import study_progress
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
    plan, of_lab, inputs = read_sweep(chosen.plan), None, [chosen.plan]
    if plan.lab is None:
        inputs += [file for task in find_tasks(plan).tasks for file in files_of(task)]
    else:
        of_lab = load_plugin(SWEEPS, "lab")
    check_saves(chosen, inputs=inputs)
    with study_progress(quiet=chosen.quiet) as progress:
        sweep = measure_sweep(
            plan,
            points_of_lab=of_lab,
            workers=chosen.workers,
            fresh=chosen.fresh,
            progress=progress,
        )

    shown = partial(show.text, sweep, verbose=chosen.verbose)
    show_result(chosen, sweep.to_dict, lambda: "\n".join(show.knob_sentences(sweep)), shown)
    draw(chosen, "sweep", sweep)
    return exit_code(
        f"{effect.estimator}, {effect.knob}: {effect.sentence}"
        for effect in sweep.effects
        if effect.label in failing
    )
