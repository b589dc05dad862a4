"""What Python and notebooks show of results and tracks: JSON data, figures, a short HTML."""

import base64
from dataclasses import dataclass
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
from smfeval.show import brief, check, pairs, pairs_json, results_table, sweep
from smfeval.show.render import html_environment
from smfeval.show.study import document as study_document
from smfeval.show.study.remarks import study_title
from smfeval.studies.result import Study
from smfeval.track import Beliefs, ParticleTrack, Track
from smfeval.why.one_track import examine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATE = Path(__file__).with_name("notebook.html")
SMALL_DPI = 80  # of the figure in a notebook
MOST_ROWS = 12  # of a table in a notebook


def document(result: Result) -> dict[str, Any]:
    """JSON data of a result whose document is made by `show`."""
    if isinstance(result, Comparison):
        return pairs_json.document(result)
    if isinstance(result, Study):
        return study_document.document(result)
    raise OptionError(f"{type(result).__name__} has no JSON document")


def plot(subject: Drawable, name: str | None = None) -> "Figure":
    """A figure by its name; by default the first one."""
    if isinstance(subject, SavedResult):
        raise OptionError(
            f"{subject.name}: a saved result has no scans to draw; evaluate its files again"
        )
    from smfeval.show.figures.notebook import figure_of  # noqa: PLC0415  matplotlib is slow

    return figure_of(subject, name)


@dataclass(frozen=True)
class NotebookCard:
    """What a notebook shows: sentences, lines with labels or a table, and what is left out."""

    title: str
    sentences: tuple[str, ...]
    lines: tuple[tuple[str, str], ...] = ()
    table: tuple[tuple[str, ...], ...] = ()  # headings first
    more: int = 0  # rows that are not shown


def html(subject: Drawable) -> str:
    """The card of a result or a track with a small figure; all text is escaped."""
    template = html_environment().from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(card=card(subject), figure=_small_figure(subject))


def card(subject: Drawable) -> NotebookCard:
    """What there is to say about a result or a track."""
    if isinstance(subject, Evaluation):
        return _evaluation_card(subject)
    if isinstance(subject, Beliefs):
        return _track_card(subject)
    if isinstance(subject, Result):
        title, sentences = _headlines(subject)
        return _table_card(title, sentences, subject)
    raise OptionError(f"{type(subject).__name__} has nothing to show")


def _headlines(result: Result) -> tuple[str, tuple[str, ...]]:
    """Title and sentences of a result that is shown as a table."""
    if isinstance(result, Comparison):
        return "pairs", tuple(pairs.last_lines(result))
    if isinstance(result, Sweep):
        return "sweep", (sweep.extent(result), sweep.verdicts(result))
    if isinstance(result, Study):
        return "study", (study_title(result),)
    if isinstance(result, Calibration):
        return "calibrate", (result.sentence,)
    if isinstance(result, SavedResult):
        return result.name, (f"a saved result of {result.kind}",)
    raise OptionError(f"{type(result).__name__} has nothing to show")


def _evaluation_card(found: Evaluation) -> NotebookCard:
    """The lines of the report without those that name flags; all notes and doubts instead."""
    lines = [row for row in brief.rows(found) if row[0] not in ("next", "note", "doubt")]
    notes = [("note", note) for note in found.all_notes if note != found.intervals_note]
    doubts = [("doubt", doubt.sentence) for doubt in found.doubts]
    name = found.estimate.provenance.name
    return NotebookCard(name, (found.verdict.headline,), (*lines, *notes, *doubts))


def _track_card(track: Beliefs) -> NotebookCard:
    if not isinstance(track, Track | ParticleTrack):
        raise OptionError(f"{type(track).__name__} has nothing to show")
    lines = check.track_rows(examine(track))
    return NotebookCard(track.provenance.name, (), tuple(lines))


def _table_card(title: str, sentences: tuple[str, ...], result: Result) -> NotebookCard:
    table = results_table.table_of([(title, result.to_dict())])
    rows = tuple(map(tuple, results_table.cells(table)))
    shown = rows[: MOST_ROWS + 1]
    return NotebookCard(title, sentences, table=shown, more=len(rows) - len(shown))


def _small_figure(subject: Drawable) -> str | None:
    """The first figure as the address of an image within the page; None where there is none."""
    try:
        figure = plot(subject)
    except SmfevalError:
        return None
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=SMALL_DPI, metadata={"Software": None})
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
