"""The page of `smfeval check`: what is in a file, what looks wrong, the track and its sigma."""

from smfeval.show.check import doubt_text, last_line, track_rows
from smfeval.show.page.document import document
from smfeval.show.page.parts import Card, Fact, PageSection, sentence
from smfeval.show.page.plots import drawn_path
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack
from smfeval.why.one_track import Examination


def check_page(examination: Examination, *, command: str) -> str:
    """The page of one track."""
    name = examination.track.provenance.name
    belief = _moments(examination.track)
    plots = [("scene", "The track, and what it reports")]
    if isinstance(belief, GaussianTrack):
        plots.append(("over-time", "Reported position sigma over time"))
    rows = track_rows(examination, verbose=True)
    return document(
        "report.html",
        title=name,
        command=command,
        data={"path": drawn_path(belief)},
        question="What is in this file, and can it be scored?",
        heading=name,
        verdict=_card(examination),
        sections=[
            PageSection("The track", plots=tuple(plots)),
            PageSection("What is in it", facts=tuple(Fact(label, text) for label, text in rows)),
        ],
    )


def _moments(track: AnyTrack) -> AnyTrack:
    return track.moments if isinstance(track, ParticleTrack) else track


def _card(examination: Examination) -> Card:
    """Whether the track can be scored, and every doubt."""
    doubts = tuple(sentence(doubt_text(each)) for each in examination.doubts)
    label = "doubtful" if doubts else "nothing looks wrong"
    look = "conservative" if doubts else "consistent"
    return Card(label, sentence(last_line(examination)), warnings=doubts, look=look)
