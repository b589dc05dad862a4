"""`smfeval lab benchmark -o FOLDER`: who reports what its errors are, on tracks that are frozen."""

import argparse
import sys
from pathlib import Path

from smfeval.cli.outputs import command_line, write_page
from smfeval.cli.progress import study_progress
from smfeval.errors import OptionError
from smfeval.show.page.study import study_page
from smfeval.show.study import document, terminal
from smfeval.show.study.remarks import answer_text
from smfeval.verbs import write_tables
from smfeval_lab.benchmark.contenders import choose_contenders
from smfeval_lab.benchmark.frozen import RECORDINGS, SEEDS, frozen_tracks
from smfeval_lab.benchmark.run import LEADERBOARD, run_benchmark, score_benchmark
from smfeval_lab.kept_runs import open_folder

PAGE = f"{LEADERBOARD}.html"


def run(chosen: argparse.Namespace) -> int:
    """Run, or resume, the benchmark; returns the exit code."""
    if not 1 <= chosen.seeds <= SEEDS:
        raise OptionError(f"--seeds {chosen.seeds}: each world has 1 to {SEEDS}")
    contenders = choose_contenders(chosen.filters, chosen.contender)
    folder: Path = chosen.output.absolute()
    open_folder(folder, RECORDINGS, "a benchmark")

    tracks = frozen_tracks(chosen.seeds)
    with study_progress(quiet=chosen.quiet) as show:
        runs = run_benchmark(folder, tracks, contenders, strict=chosen.strict, progress=show)
    for note in runs.notes:
        print(f"smfeval: {note}", file=sys.stderr)
    with study_progress(quiet=chosen.quiet) as show:
        study = score_benchmark(runs, workers=chosen.workers, progress=show)
    write_tables(study)
    write_page(
        folder / PAGE, study_page(study, command=command_line("lab benchmark", chosen.arguments))
    )
    if chosen.json:
        print(document.text(study), end="")
    elif chosen.quiet:
        print(answer_text(study))
    else:
        print(terminal.text(study, brief=not chosen.verbose), end="")
    return 0
