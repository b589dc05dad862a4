"""What Python and notebooks show of results and tracks: JSON data, figures, a short HTML."""

import base64
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval.calibration import Calibration
from smfeval.compare import Comparison
from smfeval.compare.sweep import Sweep
from smfeval.errors import OptionError, SmfevalError
from smfeval.evaluation import Evaluation
from smfeval.io.documents import SavedResult
from smfeval.results import Drawable, Result
from smfeval.show import calibration, check, pairs, results_table, sweep
from smfeval.show.render import html_environment
from smfeval.show.report import ReportSection, labelled
from smfeval.show.score import Findings, brief_rows, report
from smfeval.show.study import document as study_document
from smfeval.show.study.remarks import study_title
from smfeval.studies.result import Study
from smfeval.track import ParticleTrack, Track
from smfeval.why.one_track import examine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATE = Path(__file__).with_name("notebook.html")
SMALL_DPI = 80  # of the figure in a notebook
MOST_ROWS = 12  # of a table in a notebook
HEADLINES: dict[type, Callable[[Any], tuple[str, tuple[str, ...]]]] = {  # shown as a table
    Comparison: lambda found: ("pairs", tuple(pairs.last_lines(found))),
    Sweep: lambda found: ("sweep", (sweep.extent(found), *sweep.knob_sentences(found))),
    Study: lambda found: ("study", (study_title(found),)),
    Calibration: lambda found: ("calibrate", (found.sentence,)),
    SavedResult: lambda found: (found.name, (f"a saved result of {found.kind}",)),
}


def document(result: Result) -> dict[str, Any]:
    """JSON data of a result whose document is made by `show`."""
    if isinstance(result, Comparison):
        return pairs.document(result)
    if isinstance(result, Study):
        return study_document.document(result)
    raise OptionError(f"{type(result).__name__} has no JSON document")


def text(result: Result) -> str:
    """The report that the command line prints; of plans and saved results, what they are."""
    if isinstance(result, Evaluation):
        return str(report([Findings(result)])).rstrip("\n")
    if isinstance(result, Comparison):
        return str(pairs.report(result)).rstrip("\n")
    if isinstance(result, Calibration):
        return str(calibration.report(result)).rstrip("\n")
    return repr(result)


def plot(subject: Drawable, name: str | None = None) -> "Figure":
    """A figure by its name; by default the first one."""
    if isinstance(subject, SavedResult):
        why = "a saved result has no scans to draw; evaluate its files again"
        raise OptionError(f"{subject.name}: {why}")
    from smfeval.show.figures.gallery import figure_of  # noqa: PLC0415  matplotlib is slow

    return figure_of(subject, name)


def html(subject: Drawable) -> str:
    """What there is to say about a result or a track, with a small figure; all text is escaped."""
    title, section = section_of(subject)
    rows = () if section.table is None else section.table.rows
    template = html_environment().from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        title=title,
        section=section,
        rows=rows[:MOST_ROWS],
        more=max(len(rows) - MOST_ROWS, 0),
        figure=_small_figure(subject),
    )


def section_of(subject: Drawable) -> tuple[str, ReportSection]:
    """Title, and sentences with rows or a table."""
    if isinstance(subject, Evaluation):
        # The lines of the report without those that name flags; all notes and doubts instead.
        rows = [row for row in brief_rows(subject) if row.label not in ("next", "note", "doubt")]
        rows += labelled("note", (n for n in subject.all_notes if n != subject.intervals_note))
        rows += labelled("doubt", (doubt.sentence for doubt in subject.doubts))
        section = ReportSection(lead=(subject.verdict.headline,), rows=tuple(rows))
        return subject.estimate.provenance.name, section
    if isinstance(subject, Track | ParticleTrack):
        section = ReportSection(rows=tuple(check.track_rows(examine(subject))))
        return subject.provenance.name, section
    if isinstance(subject, Result) and type(subject) in HEADLINES:
        title, sentences = HEADLINES[type(subject)](subject)
        table = results_table.table_of([(title, subject.to_dict())])
        return title, ReportSection(lead=sentences, table=results_table.shown_table(table))
    raise OptionError(f"{type(subject).__name__} has nothing to show")


def _small_figure(subject: Drawable) -> str | None:
    """The first figure as the address of an image within the page; None where there is none."""
    try:
        figure = plot(subject)
    except SmfevalError:
        return None
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=SMALL_DPI, metadata={"Software": None})
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
