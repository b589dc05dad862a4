"""The page of `smfeval check`: what is in a file, what looks wrong, the track and its sigma."""

from smfeval.show.check import last_line, track_rows
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.page.plots import drawn_path
from smfeval.show.report import ReportSection, doubt_text
from smfeval.track import GaussianTrack, ParticleTrack
from smfeval.why.one_track import Examination


def check_page(examination: Examination, *, command: str) -> str:
    """The page of one track: whether it can be scored, every doubt, and what is in it."""
    track = examination.track
    belief = track.moments if isinstance(track, ParticleTrack) else track
    plots = [("top-view", "Path from above, coloured by reported position sigma")]
    if isinstance(belief, GaussianTrack):
        plots.append(("over-time", "Reported position sigma over time"))
    doubts = tuple(sentence(doubt_text(each)) for each in examination.doubts)
    rows = tuple(track_rows(examination, verbose=True))
    return document(
        "report.html",
        title=track.provenance.name,
        command=command,
        data={"path": drawn_path(belief)},
        question="What is in this file, and can it be scored?",
        heading=track.provenance.name,
        verdict=Card(
            "doubtful" if doubts else "nothing looks wrong",
            sentence(last_line(examination)),
            warnings=doubts,
            look="conservative" if doubts else "consistent",
        ),
        sections=[
            ReportSection("Where is it, and how sure is it?", plots=tuple(plots)),
            ReportSection("What is in it?", rows=rows),
        ],
    )
