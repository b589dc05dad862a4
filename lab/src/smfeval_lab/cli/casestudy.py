"""`smfeval lab casestudy`: why a LiDAR-inertial filter is overconfident, measured."""

import argparse
import sys

from smfeval.cli.outputs import check_outputs, command_line, write_page
from smfeval.cli.progress import study_progress
from smfeval.errors import OptionError
from smfeval.io.atomic import writing
from smfeval.show.render import json_text
from smfeval_lab.casestudy import FULL, QUICK, CaseStudy, adapt_plan, case_study, report
from smfeval_lab.kept_runs import RUNS, open_folder

DOCUMENT, REPORT, FIGURES = "casestudy.json", "casestudy.md", "casestudy.pdf"


def run(chosen: argparse.Namespace) -> int:
    """Run, or resume, the case study; returns the exit code."""
    plan = adapt_plan(
        QUICK if chosen.quick else FULL,
        worlds=_names(chosen.worlds, "--worlds", "park,tunnel"),
        filters=_names(chosen.filters, "--filters", "ieskf,kiss-icp"),
        walk_s=chosen.duration,
        seed=chosen.seed,
    )
    if chosen.save is not None and chosen.save.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{chosen.save}: a page is written as .html")
    check_outputs([chosen.save] if chosen.save else [], force=chosen.force)
    open_folder(chosen.output, RUNS, "a case study")
    with study_progress(quiet=chosen.quiet) as progress:
        study = case_study(chosen.output, plan, progress=progress)

    written = {DOCUMENT: json_text(report.document(study)), REPORT: report.markdown(study)}
    for name, text in written.items():
        with writing(chosen.output / name) as stream:
            stream.write(text.encode())
    _draw(study, chosen)
    if chosen.json:
        print(written[DOCUMENT], end="")
        return 0
    if not chosen.quiet:
        print(report.text(study, verbose=chosen.verbose))
    print(f"wrote {chosen.output}: {report.extent(study)}; the tables are in {REPORT}")
    return 0


def _names(words: str | None, flag: str, example: str) -> list[str] | None:
    names = None if words is None else words.split(",")
    if names is not None and not all(names):
        raise OptionError(f"{flag} has an empty name in it: write {flag} {example}")
    return names


def _draw(study: CaseStudy, chosen: argparse.Namespace) -> None:
    """All figures as pages of a PDF and each as a PNG; why some cannot be goes to stderr."""
    from smfeval.show.figures import save  # noqa: PLC0415
    from smfeval_lab.casestudy.page import case_study_page, gallery_of_case_study  # noqa: PLC0415

    gallery = gallery_of_case_study(study)
    for name, reason in gallery.refusals.items():
        print(f"smfeval: no figure {name}: {reason}", file=sys.stderr)
    if gallery.figures:
        save(gallery.figures, chosen.output / FIGURES)
        pictures = chosen.output / "figures"
        pictures.mkdir(exist_ok=True)
        for name, figure in gallery.figures.items():
            save({name: figure}, pictures / f"{name}.png")
    if chosen.save is not None:
        command = command_line("lab casestudy", chosen.arguments)
        write_page(chosen.save, case_study_page(study, gallery, command=command))
