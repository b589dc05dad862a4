"""Pages of reports: `check`, `calibrate`, `nis` and `watch` as the terminal tells them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from smfeval.calibration import Calibration
from smfeval.online.innovations import InnovationReport
from smfeval.show import calibration as of_calibration
from smfeval.show.check import last_line, track_rows
from smfeval.show.online import nis_report, watch_report
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.page.plots import drawn_path
from smfeval.show.report import Report, ReportSection, doubt_text
from smfeval.track import GaussianTrack, ParticleTrack
from smfeval.why.one_track import Examination


def check_page(examination: Examination, *, command: str) -> str:
    """The page of `smfeval check`: whether a track can be scored, every doubt, what is in it."""
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


def calibration_page(calibration: Calibration, *, command: str) -> str:
    """The page of `smfeval calibrate`: what to publish, and its proof on other tracks."""
    doubts = tuple(f"{name}: {text}" for name, text in calibration.doubts)
    helps = calibration.is_recommended
    return report_page(
        of_calibration.report(calibration, verbose=True),
        question="Which covariance should be published?",
        title=", ".join(calibration.correction.learnt.tracks),
        label="correct it" if helps else "as it is",
        look="consistent" if helps else "cannot tell",
        sections=("Learnt from what, and proved how?", "What does it do on each other track?"),
        warnings=doubts,
        command=command,
    )


def nis_page(judged: InnovationReport, *, command: str) -> str:
    """The page of `smfeval nis`: which sensors refute the filter."""
    return report_page(
        nis_report(judged, verbose=True),
        question="Do a filter's innovations match their covariance? No reference is used.",
        title=judged.name,
        label=judged.label,
        look="overconfident" if judged.label == "refuted" else judged.label,
        sections=("Which sensors, by how much, and where to look?",),
        command=command,
    )


def watch_page(event: dict[str, Any], *, command: str) -> str:
    """The page of where a watch stands: a JSON event of `show.online`."""
    is_alarm = event["event"] == "alarm"
    return report_page(
        watch_report(event["event"], event),
        question="Is a running estimator overconfident?",
        title=" and ".join(event["names"]),
        label="alarm" if is_alarm else "no alarm",
        look="overconfident" if is_alarm else "cannot tell",
        sections=("What was watched, and how much evidence is there?",),
        command=command,
    )


def report_page(
    report: Report,
    *,
    question: str,
    title: str,
    label: str,
    look: str,
    sections: Sequence[str],
    command: str,
    warnings: tuple[str, ...] = (),
) -> str:
    """A report as a page: its first title is the verdict; `sections` are the titles below it."""
    named = zip(report.sections, sections, strict=True)
    return document(
        "report.html",
        title=title,
        command=command,
        data={},
        question=question,
        heading=title,
        verdict=Card(label, sentence(report.sections[0].title), warnings=warnings, look=look),
        sections=[replace(each, title=name) for each, name in named],
    )
