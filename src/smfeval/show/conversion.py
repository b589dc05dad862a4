"""What `convert` did, as text and as a JSON document."""

from dataclasses import asdict, dataclass
from typing import Any

from smfeval.show.examination import KINDS, frames, history
from smfeval.show.words import aligned, count
from smfeval.track import AnyTrack

SCHEMA = "smfeval.convert/1"


@dataclass(frozen=True)
class Conversion:
    """A track that was read, and the files that were written from it."""

    track: AnyTrack
    files: tuple[str, ...]


def text(done: Conversion) -> str:
    """What was read, what was assumed, what was written."""
    track = done.track
    rows = [
        ("read", f"{track.provenance.name} ({track.provenance.format})"),
        ("frames", frames(track)),
    ]
    if track.provenance.convention:
        rows.append(("convention", track.provenance.convention))
    rows += history(track)
    return f"{aligned(rows, indent=0)}\n{last_line(done)}\n"


def last_line(done: Conversion) -> str:
    """The files written, and how many scans."""
    scans = count(len(done.track), "scan")
    return f"wrote {' and '.join(done.files)}: {scans}, from {KINDS[done.track.representation]}"


def document(done: Conversion) -> dict[str, Any]:
    """The same as strict JSON data."""
    track = done.track
    return {
        "schema": SCHEMA,
        "source": track.provenance.name,
        "format": track.provenance.format,
        "representation": track.representation,
        "scans": len(track),
        "body": track.about.body,
        "world": track.about.world,
        "gauge": track.about.gauge,
        "convention": track.provenance.convention,
        "dropped": [asdict(left) for left in track.provenance.dropped],
        "notes": list(track.provenance.notes),
        "files": list(done.files),
    }
