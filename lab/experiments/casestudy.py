"""Why a LiDAR-inertial filter is overconfident, measured: docs/research/case-study.md.

python lab/experiments/casestudy.py -o study --save study.html
python lab/experiments/casestudy.py -o study --to-docs
"""

import argparse
import re
import sys
from pathlib import Path

from case_study import FULL, QUICK, CaseStudy, adapt_plan, case_study, report
from smfeval.cli.outputs import command_line, write_page
from smfeval.cli.progress import study_progress
from smfeval.errors import SmfevalError
from smfeval.io.atomic import writing
from smfeval.show.render import json_text
from smfeval_lab.kept_runs import RUNS, open_folder

DOCUMENT, REPORT = "casestudy.json", "casestudy.md"
PAGE = Path(__file__).parents[2] / "docs" / "research" / "case-study.md"
MADE = re.compile(r"(?<=<!-- report of the case study -->\n).*(?=<!-- end of the report -->)", re.S)


def flags() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Why a LiDAR-inertial filter is overconfident.")
    made.add_argument("-o", "--output", type=Path, default=Path("casestudy"), metavar="FOLDER")
    made.add_argument("--save", type=Path, metavar="FILE.html", help="conclusions and figures")
    made.add_argument("--quick", action="store_true", help="two short walks, fewer settings")
    made.add_argument("--worlds", type=_names, metavar="NAME,NAME", help="default: nine")
    made.add_argument("--filters", type=_names, metavar="NAME,NAME")
    made.add_argument("--duration", type=float, metavar="S", help="of each walk (default: 70)")
    made.add_argument("--seed", type=int, default=1, help="of scenes, walks, noise and faults")
    made.add_argument("--to-docs", action="store_true", help=f"put the report into {PAGE.name}")
    made.add_argument("-v", "--verbose", action="store_true", help="print the tables, too")
    return made


def _names(words: str) -> list[str]:
    return [name for name in words.split(",") if name]


def main(arguments: list[str]) -> None:
    """Run, or resume, the study; write its report, its numbers and its figures to the folder."""
    chosen = flags().parse_args(arguments)
    names = {"worlds": chosen.worlds, "filters": chosen.filters}
    plan = QUICK if chosen.quick else FULL
    plan = adapt_plan(plan, **names, walk_s=chosen.duration, seed=chosen.seed)
    open_folder(chosen.output, RUNS, "a case study")
    with study_progress() as progress:
        study = case_study(chosen.output, plan, progress=progress)

    text = report.markdown(study)
    for name, content in ((DOCUMENT, json_text(report.document(study))), (REPORT, text)):
        with writing(chosen.output / name) as stream:
            stream.write(content.encode())
    draw(study, chosen.output, chosen.save, command_line("lab/experiments/casestudy.py", arguments))
    if chosen.to_docs:
        body = text.removeprefix("# Case study\n")
        PAGE.write_text(MADE.sub(lambda _: f"{body}\n", PAGE.read_text()))
    print(report.text(study, verbose=chosen.verbose))
    print(f"wrote {chosen.output}: the tables are in {REPORT}")


def draw(study: CaseStudy, folder: Path, page: Path | None, command: str) -> None:
    """Each figure as a PNG, and all on one page; why some cannot be goes to stderr."""
    from case_study.page import case_study_page, gallery_of_case_study  # noqa: PLC0415
    from smfeval.show.figures import save  # noqa: PLC0415

    gallery = gallery_of_case_study(study)
    for name, reason in gallery.refusals.items():
        print(f"no figure {name}: {reason}", file=sys.stderr)
    (folder / "figures").mkdir(exist_ok=True)
    for name, figure in gallery.figures.items():
        save({name: figure}, folder / "figures" / f"{name}.png")
    if page is not None:
        write_page(page, case_study_page(study, gallery, command=command))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SmfevalError as error:
        sys.exit(f"casestudy: {error}")
