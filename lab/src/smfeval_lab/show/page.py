"""The case study as one HTML file: what the numbers say, the tables and the figures."""

from base64 import b64encode
from io import BytesIO

from matplotlib.figure import Figure

from smfeval.show.figures.gallery import Gallery
from smfeval.show.figures.style import paper_style
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.report import Section, Table
from smfeval_lab.casestudy import CaseStudy
from smfeval_lab.casestudy.conclusions import sentences
from smfeval_lab.show.report import extent, left_out_lines, sheets

PICTURE_DPI = 130
FIGURE_TITLES = {
    "forest": "k of every run, with its interval",
    "error": "Error and reported sigma over time",
    "degeneracy": "NEES over the condition number of the update",
    "sweep_nees": "NEES over precision, one knob turned",
    "sweep_error": "Error over precision, one knob turned",
}


def case_study_page(study: CaseStudy, gallery: Gallery, *, command: str) -> str:
    """Conclusions first, then every table of the report, then every figure."""
    tables = [
        Section(
            sheet.title,
            table=Table.of_texts([sheet.headings, *sheet.rows]) if sheet.rows else None,
            notes=sheet.remarks,
        )
        for sheet in sheets(study)
    ]
    pictures = tuple((_title(name), _png(figure)) for name, figure in gallery.figures.items())
    conclusions = tuple(f"{each}." for each in sentences(study))
    left_out = tuple(sentence(line) for line in left_out_lines(study))
    return document(
        "report.html",
        title="Case study",
        command=command,
        data={},
        question="Why is a LiDAR-inertial filter overconfident?",
        heading=extent(study),
        verdict=Card("case study", "What the numbers say", conclusions, warnings=left_out),
        sections=[*tables, *([Section("Figures", pictures=pictures)] if pictures else [])],
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
