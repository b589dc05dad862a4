"""`smfeval lab casestudy`: why a LiDAR-inertial filter is overconfident, measured."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from smfeval import words
from smfeval.cli.outputs import check_outputs, command_line, write_page
from smfeval.cli.progress import KEPT_RUNS
from smfeval.errors import OptionError
from smfeval.io.atomic import writing
from smfeval.show.render import json_text
from smfeval_lab.casestudy import FULL, QUICK, CaseStudy, adapt_plan, case_study
from smfeval_lab.casestudy.run import Progress
from smfeval_lab.kept_runs import RUNS
from smfeval_lab.show import report

DOCUMENT, REPORT, FIGURES = "casestudy.json", "casestudy.md", "casestudy.pdf"


def run(chosen: argparse.Namespace) -> int:
    """Run, or resume, the case study; returns the exit code."""
    names = None if chosen.filters is None else chosen.filters.split(",")
    if names is not None and not all(names):
        raise OptionError("--filters has an empty name in it: write --filters ieskf,kiss-icp")
    plan = adapt_plan(QUICK if chosen.quick else FULL, filters=names, seed=chosen.seed)
    if chosen.html is not None and chosen.html.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{chosen.html}: a page is written as .html")
    check_outputs([chosen.html] if chosen.html else [], force=chosen.force)
    folder: Path = chosen.output  # new, or one in which a case study was begun
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: this is a file; a case study is written to a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RUNS).is_dir():
        raise OptionError(f"{folder}: already there and no case study; name a new folder")
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{folder}: cannot be made ({error.strerror or error})") from error
    with _progress_shown(quiet=chosen.quiet) as show:

        def note_and_show(done: int, total: int, words: str) -> None:
            KEPT_RUNS[:] = [done, total]
            show(done, total, words)

        study = case_study(chosen.output, plan, progress=note_and_show)
    written = {DOCUMENT: json_text(report.document(study)), REPORT: report.markdown(study)}
    for name, text in written.items():
        with writing(chosen.output / name) as stream:
            stream.write(text.encode())
    _draw(study, chosen)
    if chosen.json:
        print(written[DOCUMENT], end="")
    else:
        shown = "" if chosen.quiet else report.text(study)
        print(f"{shown}wrote {chosen.output}: {report.extent(study)}")
    return 0


def _draw(study: CaseStudy, chosen: argparse.Namespace) -> None:
    """All figures as pages of a PDF and each as a PNG; why some cannot be goes to stderr."""
    from smfeval.show.figures import save  # noqa: PLC0415
    from smfeval_lab.show.page import case_study_page, gallery_of_case_study  # noqa: PLC0415

    gallery = gallery_of_case_study(study)
    for name, reason in gallery.refusals.items():
        print(f"smfeval: no figure {name}: {reason}", file=sys.stderr)
    if gallery.figures:
        save(gallery.figures, chosen.output / FIGURES)
        pictures = chosen.output / "figures"
        pictures.mkdir(exist_ok=True)
        for name, figure in gallery.figures.items():
            save({name: figure}, pictures / f"{name}.png")
    if chosen.html is not None:
        command = command_line("lab casestudy", chosen.arguments)
        write_page(chosen.html, case_study_page(study, gallery, command=command))


@contextmanager
def _progress_shown(*, quiet: bool) -> Iterator[Progress]:
    """A bar with the runs on a terminal, a line for each run elsewhere, nothing if quiet."""
    if quiet:
        yield lambda done, total, run: None
        return
    if not sys.stderr.isatty():
        begin = perf_counter()

        def print_run(done: int, total: int, run: str) -> None:
            passed = words.duration(perf_counter() - begin)
            line = f"smfeval: run {done + 1} of {total} after {passed}: {run}"
            print(line, file=sys.stderr, flush=True)

        yield print_run
        return
    from rich.console import Console  # noqa: PLC0415  only on a terminal
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs")

        yield lambda done, total, run: bar.update(
            task, completed=done, total=total, description=run
        )
