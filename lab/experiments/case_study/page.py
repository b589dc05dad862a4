"""The figures of a case study, and all of it as one HTML file."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO

from matplotlib.figure import Figure

from case_study.conclusions import sentences
from case_study.plan import OWN_FILTER
from case_study.report import extent, left_out_lines, sections
from case_study.result import CaseStudy, Outcome
from smfeval.errors import SmfevalError
from smfeval.explain.degeneracy import geometry
from smfeval.explain.updates import scored_rows
from smfeval.show.figures.gallery import Gallery, gallery_of_sweep
from smfeval.show.figures.study import ForestRow
from smfeval.show.figures.style import paper_style
from smfeval.show.figures.table import draw
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.report import ReportSection

PICTURE_DPI = 130
FIGURE_TITLES = {
    "forest": "k of every run, with its interval",
    "error": "Error and reported sigma over time",
    "degeneracy": "NEES over the condition number of the update",
    "sweep": "NEES and error over precision, one setting changed",
}


def gallery_of_case_study(study: CaseStudy) -> Gallery:
    """Every figure that can be drawn, and why the others cannot."""
    swept = Gallery({}, {}) if study.sweep is None else gallery_of_sweep(study.sweep)
    figures, refused = dict(swept.figures), dict(swept.refusals)
    for name, drawing in _drawings(study):
        try:
            figures[name] = drawing()
        except SmfevalError as error:
            refused[name] = str(error)
    return Gallery(figures, refused)


def _drawings(study: CaseStudy) -> Iterator[tuple[str, Callable[[], Figure]]]:
    rows: dict[str, list[ForestRow]] = {}  # filter -> (track, k, low, high)
    for row in study.scores:
        if row.k is not None:
            found = (row.track, row.k.value, row.k.low, row.k.high)
            rows.setdefault(row.filter, []).append(found)
    yield "forest", partial(draw, "forest", rows)
    by_track: dict[str, list[Outcome]] = {}
    for outcome in study.outcomes:
        by_track.setdefault(outcome.job.track.name, []).append(outcome)
    for track, outcomes in by_track.items():
        believing = [each.evaluation for each in outcomes if each.evaluation.get("k")]
        yield f"error_{track}", partial(draw, "error", believing)
        for each in outcomes:
            if each.job.filter == OWN_FILTER:
                yield f"degeneracy_{track}", partial(_draw_degeneracy, each)


def _draw_degeneracy(outcome: Outcome) -> Figure:
    """NEES of every update over the condition number of the matched normals."""
    log, scored = outcome.run.updates, outcome.evaluation.position
    found = scored_rows(log, scored.estimate.stamp)
    condition = geometry(log.normals[found.rows]).condition
    return draw("degeneracy", condition, scored.series["nees"][found.scans])


def case_study_page(study: CaseStudy, gallery: Gallery, *, command: str) -> str:
    """Conclusions first, then every table of the report, then every figure."""
    pictures = tuple((_title(name), _png(figure)) for name, figure in gallery.figures.items())
    conclusions = tuple(f"{each}." for each in sentences(study))  # most begin with a name
    left_out = tuple(sentence(line) for line in left_out_lines(study))
    return document(
        "report.html",
        title="Case study",
        command=command,
        data={},
        question="Why is a LiDAR-inertial filter overconfident?",
        heading=extent(study),
        verdict=Card("case study", "What the numbers say", conclusions, warnings=left_out),
        sections=[
            *sections(study),
            *([ReportSection("Figures", pictures=pictures)] if pictures else []),
        ],
    )


def _title(name: str) -> str:
    """The name of a figure in words: its kind, and the track or the knob that it is about."""
    kind = next((each for each in FIGURE_TITLES if name.startswith(each)), None)
    if kind is None:
        return name
    return ": ".join(filter(None, (FIGURE_TITLES[kind], name.removeprefix(kind).lstrip("_"))))


def _png(figure: Figure) -> str:
    """The picture in base64; the same figure gives the same text."""
    made = BytesIO()
    with paper_style():
        figure.savefig(made, format="png", dpi=PICTURE_DPI, metadata={"Software": None})
    return b64encode(made.getvalue()).decode("ascii")
