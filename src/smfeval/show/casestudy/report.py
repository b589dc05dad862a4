"""All sheets of a case study in order, and what the numbers say."""

from collections.abc import Iterator

from smfeval.lab.casestudy import CaseStudy
from smfeval.lab.casestudy.result import NotRun
from smfeval.lab.casestudy.says import sentences
from smfeval.show.casestudy.because import credit_sheet, degeneracy_sheet, displacement_sheet
from smfeval.show.casestudy.scored import scores_sheet
from smfeval.show.casestudy.sheet import Sheet, as_markdown, as_text
from smfeval.show.casestudy.turned import knobs_sheet, variants_sheet
from smfeval.show.study.markdown import escaped
from smfeval.show.words import count, number

SHEETS = (
    *(scores_sheet, knobs_sheet, credit_sheet, degeneracy_sheet, displacement_sheet),
    variants_sheet,
)
CLOSING = "7. What the numbers say"


def text(study: CaseStudy) -> str:
    """For a terminal."""
    parts = [
        extent(study),
        *(f"  {line}" for line in _left_out(study)),
        *(f"\n{as_text(sheet)}" for sheet in sheets(study)),
        f"\n{CLOSING}",
        *(f"  {sentence}" for sentence in sentences(study)),
    ]
    return "\n".join(parts) + "\n"


def markdown(study: CaseStudy) -> str:
    """For a page."""
    left = "\n".join(f"- {escaped(line)}" for line in _left_out(study))
    said = "\n".join(f"- {escaped(sentence)}" for sentence in sentences(study))
    parts = [
        "# Case study",
        f"{escaped(extent(study))}.",
        left,
        *map(as_markdown, sheets(study)),
        f"## {CLOSING}\n\n{said}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def last_line(study: CaseStudy, folder: str) -> str:
    """Where everything is."""
    return f"wrote {folder}: {extent(study)}"


def sheets(study: CaseStudy) -> Iterator[Sheet]:
    """Those that have rows."""
    for made in SHEETS:
        sheet = made(study)
        if sheet is not None:
            yield sheet


def extent(study: CaseStudy) -> str:
    """'case study: 7 tracks of 60 s, 3 filters, 4 knobs, 5 variants, 540 s of one core'."""
    plan = study.plan
    ran = {row.filter for row in study.scores}
    return (
        f"case study: {count(len(plan.worlds), 'track')} of {plan.walk_s:g} s, "
        f"{count(len(ran), 'filter')}, {count(len(plan.knobs), 'knob')}, "
        f"{count(len(plan.variants), 'variant')}, {number(study.cpu_s)} s of one core"
    )


def _left_out(study: CaseStudy) -> list[str]:
    every = len(study.plan.worlds)
    missing = [_not_run(each, every=len(each.tracks) == every) for each in study.not_run]
    return [*missing, *(f"note: {note}" for note in study.notes)]


def _not_run(each: NotRun, *, every: bool) -> str:
    where = "all tracks" if every else ", ".join(each.tracks)
    return f"not run: {each.filter} on {where}: {each.sentence}"
