"""What `convert` did, as text and as a JSON document."""

from dataclasses import dataclass
from typing import Any

from smfeval import words
from smfeval.explain.doubts import Examination
from smfeval.show.check import (
    REPRESENTATION_WORDS,
    cross_rows,
    detail_rows,
    frames,
    provenance_rows,
)
from smfeval.show.check import document as examination_document
from smfeval.track import AnyTrack

SCHEMA = "smfeval.convert/1"


@dataclass(frozen=True)
class Conversion:
    """A track that was read, the files that were written from it, and what was said on the way."""

    examination: Examination
    files: tuple[str, ...]
    written_format: str  # format, and the convention where it could be chosen
    lost: tuple[str, ...]
    assumed: tuple[str, ...]

    @property
    def track(self) -> AnyTrack:
        """The track that was written."""
        return self.examination.track


def text(done: Conversion, *, verbose: bool = False) -> str:
    """What was read, what was assumed, what was lost, what was written."""
    track = done.track
    rows = [
        ("read", f"{track.provenance.name} ({track.provenance.format})"),
        ("frames", frames(track)),
    ]
    if track.provenance.convention:
        rows.append(("convention", track.provenance.convention))
    rows += cross_rows(track)
    rows += detail_rows(done.examination) if verbose else []
    rows += provenance_rows(track)
    rows += [("doubt", doubt.sentence) for doubt in done.examination.doubts]
    rows += [("assumed", word) for word in done.assumed]
    rows += [("lost", word) for word in done.lost]
    return f"{words.columns(rows, indent=0)}\n{last_line(done)}\n"


def last_line(done: Conversion) -> str:
    """The files written, in which format, and how many scans."""
    scans = words.count(len(done.track), "scan")
    kind = REPRESENTATION_WORDS[done.track.representation]
    return f"wrote {' and '.join(done.files)} ({done.written_format}): {scans}, from {kind}"


def document(done: Conversion) -> dict[str, Any]:
    """The same as strict JSON data."""
    found = examination_document(done.examination)
    shared = ("format", "representation", "body", "world", "gauge", "convention", "cross")
    return {
        "schema": SCHEMA,
        "source": found["name"],
        "scans": len(done.track),
        **{key: found[key] for key in (*shared, "dropped", "notes", "doubts")},
        "assumed": list(done.assumed),
        "lost": list(done.lost),
        "written": done.written_format,
        "files": list(done.files),
    }
