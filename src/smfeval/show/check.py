"""What `check` found in a file and what `convert` made of it, as text and as JSON documents."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.maths.stamps import seconds_text
from smfeval.track import AnyTrack, DroppedRows, GaussianTrack, ParticleTrack

if TYPE_CHECKING:
    from smfeval.io.ros.topics import Candidate
    from smfeval.why.causes import Why
    from smfeval.why.one_track import Examination, Health, TrackMotion

    Found = Examination | list[Candidate]  # what is in a track, or in a bag without a topic

SCHEMA = "smfeval.check/1"
CANDIDATES_SCHEMA = "smfeval.topics/1"
CONVERSION_SCHEMA = "smfeval.convert/1"

GROWTH_LIMIT = 2.0  # sigma of the last tenth of the track over that of the first

REPRESENTATION_WORDS = {
    "gaussian_se3": "poses with covariance",
    "ensemble_se3": "weighted particles",
    "deterministic": "poses without uncertainty",
}


def text_of(found: "Found", *, verbose: bool = False) -> str:
    """The whole report on a track, or the topics of a bag."""
    return candidates_text(found) if isinstance(found, list) else text(found, verbose=verbose)


def document_of(found: "Found") -> dict[str, Any]:
    """The same as strict JSON data."""
    return candidates_document(found) if isinstance(found, list) else document(found)


def several_text(
    sources: Sequence[str], found: "Sequence[Found | str]", *, quiet: bool = False
) -> str:
    """A block for each of several files, or a line; a text stands for a file that is refused."""
    blocks = []
    for source, each in zip(sources, found, strict=True):
        if isinstance(each, str):
            blocks.append(f"{each}\n" if each.startswith(source) else f"{source}: {each}\n")
        elif isinstance(each, list):
            blocks.append(f"{source}: {candidates_text(each)}")
        else:
            rows = [] if quiet else _short_rows(each)
            lines = f"{words.columns(rows)}\n" if rows else ""
            blocks.append(f"{source}: {last_line(each)}\n{lines}")
    return "".join(blocks)


def _short_rows(examination: "Examination") -> list[tuple[str, str]]:
    track = examination.track
    rows = [
        ("format", f"{track.provenance.format}: {REPRESENTATION_WORDS[track.representation]}"),
        ("scans", _scans(examination.motion)),
    ]
    rows += [("left out", _format_dropped(left)) for left in track.provenance.dropped]
    return rows + [("doubt", str(doubt)) for doubt in examination.doubts]


def several_document(sources: Sequence[str], found: "Sequence[Found | str]") -> dict[str, Any]:
    """The same as strict JSON data: a list, under `results`."""
    results = [
        {"schema": SCHEMA, "name": source, "error": each}
        if isinstance(each, str)
        else document_of(each)
        for source, each in zip(sources, found, strict=True)
    ]
    return {"schema": SCHEMA, "results": results}


def text(examination: "Examination", *, verbose: bool = False) -> str:
    """The whole report; the last line says whether the track can be scored."""
    name, rows = examination.track.provenance.name, track_rows(examination, verbose=verbose)
    return f"{name}\n{words.columns(rows)}\n{last_line(examination)}\n"


def track_rows(examination: "Examination", *, verbose: bool = False) -> list[tuple[str, str]]:
    """What is in the track, as labels and texts."""
    track = examination.track
    rows = [
        ("format", f"{track.provenance.format}: {REPRESENTATION_WORDS[track.representation]}"),
        ("scans", _scans(examination.motion)),
        ("path", _path(examination.motion)),
        ("frames", frames(track)),
    ]
    if isinstance(track, ParticleTrack):
        rows.append(("particles", _particles(track)))
    if track.provenance.convention:
        rows.append(("convention", track.provenance.convention))
    if examination.health:
        rows.append(("covariance", _health(examination.health)))
    rows += cross_rows(track)
    rows += detail_rows(examination) if verbose else []
    rows += provenance_rows(track)
    return rows + [("doubt", str(doubt)) for doubt in examination.doubts]


def last_line(examination: "Examination") -> str:
    """'can be scored on axes xyz', or why not."""
    found = examination.scorable
    if found.axes == "xyz":
        return "can be scored on axes xyz"
    if found.axes:
        return f"can be scored on axes {found.axes} ({found.reason})"
    return f"cannot be scored: {found.reason}"


def doubt_text(doubt: "Why") -> str:
    """A doubt, and the flags to try."""
    return "; ".join(filter(None, (doubt.sentence, remedy_text(doubt))))


def remedy_text(doubt: "Why") -> str:
    """The flags that a doubt says to try; empty where it names none."""
    flags = ", ".join(f"--{option} {value}" for option, value in doubt.remedy)
    return flags and f"try {flags}"


def reasons_for_doubt(examination: "Examination") -> list[str]:
    """What a strict check refuses: doubts, notes, rows left out, assumptions, useless beliefs."""
    track = examination.track
    reasons = [doubt_text(doubt) for doubt in examination.doubts]
    reasons += [_format_dropped(left) for left in track.provenance.dropped]
    reasons += track.provenance.notes
    if "(assumed)" in (track.provenance.convention or ""):
        reasons.append(f"the covariance convention is assumed: {track.provenance.convention}")
    if examination.health is not None and examination.scorable.axes is None:
        reasons.append(last_line(examination))
    return reasons


def frames(track: AnyTrack) -> str:
    """Body, world and gauge, or that they are not declared."""
    about = track.about
    body = f"body {about.body}" if about.body else "body not declared"
    world = f"world {about.world}" if about.world else "world not declared"
    gauge = f"gauge {about.gauge}" if about.gauge else "gauge not declared"
    unknown = "" if about.oriented else ", orientation unknown (positions only)"
    return f"{body}, {world}, {gauge}{unknown}"


def cross_rows(track: AnyTrack) -> list[tuple[str, str]]:
    """Between how many pairs of scans a track tells the covariance, and how far apart they are."""
    if not isinstance(track, GaussianTrack) or track.cross is None:
        return []
    fewest, most = track.cross.lags
    pairs = words.count(len(track.cross), "pair")
    return [
        (
            "joint",
            f"cross-covariances for {pairs}, lags {words.count(fewest)} to {words.count(most)}",
        )
    ]


def _cross_document(track: AnyTrack) -> dict[str, Any] | None:
    if not isinstance(track, GaussianTrack) or track.cross is None:
        return None
    return {"pairs": len(track.cross), "lags": list(track.cross.lags)}


def provenance_rows(track: AnyTrack) -> list[tuple[str, str]]:
    """What was left out and noted on the way in."""
    told = track.provenance
    rows = [("left out", _format_dropped(left)) for left in told.dropped]
    return rows + [("note", note) for note in (*told.notes, *told.remarks)]


def _format_dropped(left: DroppedRows) -> str:
    return f"{words.count(left.count, 'row')}: {left.reason} (first: {left.first})"


def detail_rows(examination: "Examination") -> list[tuple[str, str]]:
    """What `-v` adds: the ends in time, the fastest step, the sigmas, the header's other words."""
    track, motion, about = examination.track, examination.motion, examination.track.about
    first, last = (seconds_text(int(track.stamp[i])) for i in (0, -1))
    rows = [("stamps", f"{first} to {last} s")]
    if motion.fastest_speed is not None:
        rows.append(("fastest", f"{words.number(motion.fastest_speed)} m/s"))
    if examination.health is not None:
        sigma = examination.health.position_sigma_m
        rows.append(("sigma", f"median {words.length(sigma.median)} (position, per axis)"))
    rows += [("algorithm", f"{about.algorithm or '?'} {about.version or ''}".strip())]
    return rows + [("header", f"{key} {value}") for key, value in about.extra]


def _scans(motion: "TrackMotion") -> str:
    if motion.rate_hz is None:
        return "1"
    gaps = "no gaps"
    if motion.gaps:
        longest = words.duration(motion.longest_gap_s or 0)
        gaps = f"{words.count(motion.gaps, 'gap')}, the longest {longest}"
    duration, rate = words.duration(motion.duration_s), words.number(motion.rate_hz)
    return f"{words.count(motion.scans)} in {duration}, {rate} Hz, {gaps}"


def _path(motion: "TrackMotion") -> str:
    if motion.median_speed is None:
        return "a single position"
    return f"{words.length(motion.path_m)}, median speed {words.number(motion.median_speed)} m/s"


def _particles(track: ParticleTrack) -> str:
    few, many = int(track.count.min()), int(track.count.max())
    each = words.count_range(few, many)
    scale = "logarithmic weights" if track.log_weight else "linear weights"
    return f"{each} in each scan, {scale if track.weighted else 'unweighted'}"


def _health(health: "Health") -> str:
    rank = words.count_range(*health.rank)
    position, rotation = health.position_sigma_m, "rotation unknown"
    if health.rotation_sigma_rad is not None:
        median_deg = float(np.degrees(health.rotation_sigma_rad.median))
        rotation = f"rotation sigma {words.angle(median_deg)}"
    parts = [
        f"rank {rank} of {health.full_rank}",
        f"position sigma {words.length_range(position.smallest, position.largest)}",
        rotation,
    ]
    if health.constant:
        parts.append("the same in every scan")
    elif health.growth is not None:
        parts.append(_trend(health.growth))
    return ", ".join(parts)


def _trend(growth: float) -> str:
    """What the covariance does over the track, and by which factor where that is not 1."""
    trend = "steady"
    if growth > GROWTH_LIMIT:
        trend = "grows"
    elif growth < 1 / GROWTH_LIMIT:
        trend = "shrinks"
    factor = words.factor(growth)
    same = factor == words.factor(1.0)
    return f"{trend} from start to end" if same else f"{trend} ({factor} from start to end)"


def document(examination: "Examination") -> dict[str, Any]:
    """The same as strict JSON data."""
    track = examination.track
    return {
        "schema": SCHEMA,
        "name": track.provenance.name,
        "format": track.provenance.format,
        "representation": track.representation,
        "body": track.about.body,
        "world": track.about.world,
        "gauge": track.about.gauge,
        "oriented": track.about.oriented,
        "convention": track.provenance.convention,
        "motion": asdict(examination.motion),
        "covariance": asdict(examination.health) if examination.health else None,
        "cross": _cross_document(track),
        "dropped": [asdict(left) for left in track.provenance.dropped],
        "notes": [*track.provenance.notes, *track.provenance.remarks],
        "doubts": [doubt.to_dict() for doubt in examination.doubts],
        "scorable": asdict(examination.scorable),
    }


def candidates_text(found: "list[Candidate]") -> str:
    """One line per topic."""
    if not found:
        return "no topic holds poses\n"
    lines = (f"  {words.visible(str(each))}" for each in found)
    return "\n".join(["topics with poses; name one as BAG:/topic", *lines]) + "\n"


def candidates_document(found: "list[Candidate]") -> dict[str, Any]:
    """The same as strict JSON data."""
    return {"schema": CANDIDATES_SCHEMA, "topics": [asdict(entry) for entry in found]}


@dataclass(frozen=True)
class Conversion:
    """A track that was read, the files that were written from it, and what was said on the way."""

    examination: "Examination"
    files: tuple[str, ...]
    written_format: str  # format, and the convention where it could be chosen
    lost: tuple[str, ...]
    assumed: tuple[str, ...]

    @property
    def track(self) -> AnyTrack:
        """The track that was written."""
        return self.examination.track


def conversion_text(done: Conversion, *, verbose: bool = False) -> str:
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
    rows += [("doubt", str(doubt)) for doubt in done.examination.doubts]
    rows += [("assumed", word) for word in done.assumed]
    rows += [("lost", word) for word in done.lost]
    return f"{words.columns(rows, indent=0)}\n{conversion_line(done)}\n"


def conversion_line(done: Conversion) -> str:
    """The files written, in which format, and how many scans."""
    scans = words.count(len(done.track), "scan")
    kind = REPRESENTATION_WORDS[done.track.representation]
    files = words.visible(" and ".join(done.files))
    return f"wrote {files} ({done.written_format}): {scans}, from {kind}"


def conversion_document(done: Conversion) -> dict[str, Any]:
    """The same as strict JSON data."""
    found = document(done.examination)
    shared = ("format", "representation", "body", "world", "gauge", "convention", "cross")
    return {
        "schema": CONVERSION_SCHEMA,
        "source": found["name"],
        "scans": len(done.track),
        **{key: found[key] for key in (*shared, "dropped", "notes", "doubts")},
        "assumed": list(done.assumed),
        "lost": list(done.lost),
        "written": done.written_format,
        "files": list(done.files),
    }
