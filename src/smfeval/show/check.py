"""What `check` found in a file and what `convert` made of it, as text and as JSON documents."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.align.joint import INCREMENTS
from smfeval.dataclass import dataclass
from smfeval.maths.stamps import seconds_text
from smfeval.show.report import Report, ReportSection, Row, doubt_text, labelled
from smfeval.track import AnyTrack, DroppedRows, GaussianTrack, ParticleTrack

if TYPE_CHECKING:
    from smfeval.io.ros.topics import Candidate
    from smfeval.why.one_track import Examination, Health, Revisits

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


def report(found: "Found", commands: Sequence[str] = (), *, verbose: bool = False) -> Report:
    """What is in a track, and whether it can be scored, or the topics of a bag; what to do next."""
    following = tuple(f"next: {words.visible(command)}" for command in commands)
    if isinstance(found, list):
        return Report((replace(_topics(found), notes=following),))
    rows, notes = tuple(track_rows(found, verbose=verbose)), (last_line(found), *following)
    return Report((ReportSection(found.track.provenance.name, rows=rows, notes=notes),))


def next_commands(found: "Found", source: str, reference: str = "REF") -> list[str]:
    """What to type next, with the topics of a bag or the reference that was found beside."""
    source, reference = map(quote, (source, reference))
    if not isinstance(found, list):
        axes = found.scorable.axes
        partly = " --bad-rows drop" if found.scorable.unusable else ""
        return [f"smfeval score {source} --ref {reference}{partly}"] if axes else []
    tracks = [each for each in found if each.covariance != "tf"]
    references = [f"{source}:{each.topic}" for each in tracks if each.is_reference]
    estimates = [each for each in tracks if not each.is_reference]
    beliefs = [f"{source}:{each.topic}" for each in estimates if each.is_belief]
    scored = [*beliefs, *(f"{source}:{each.topic}" for each in estimates)][:1]
    commands = [f"smfeval score {each} --ref {[*references, reference][0]}" for each in scored]
    return commands + ([f"smfeval pair {' '.join(beliefs[:2])}"] if len(beliefs) > 1 else [])


def several_report(
    sources: Sequence[str], found: "Sequence[Found | str]", *, quiet: bool = False
) -> Report:
    """A block for each of several files, or a line; a text stands for a file that is refused."""
    sections = []
    for source, each in zip(sources, found, strict=True):
        if isinstance(each, str):
            section = ReportSection(each)
        elif isinstance(each, list):
            section = _topics(each)
        else:
            rows = [] if quiet else [*_what_rows(each), *_dropped_rows(each.track)]
            rows += [] if quiet else labelled("doubt", map(doubt_text, each.doubts))
            rows += [] if quiet else labelled("look at", (why.sentence for why in each.findings))
            section = ReportSection(last_line(each), rows=tuple(rows))
        named = isinstance(each, str) and each.startswith(source)
        title = section.title if named else f"{source}: {section.title}"
        sections.append(replace(section, title=title))
    return Report(tuple(sections), apart=False)


def _topics(found: "list[Candidate]") -> ReportSection:
    """A line for each topic of a bag that holds poses."""
    if not found:
        return ReportSection("no topic holds poses")
    lines = tuple(f"  {words.visible(str(each))}" for each in found)
    return ReportSection("topics with poses; name one as BAG:/topic", lines)


def track_rows(examination: "Examination", *, verbose: bool = False) -> list[Row]:
    """What is in the track."""
    track, motion = examination.track, examination.motion
    path = "a single position"
    if motion.median_speed is not None:
        speed = words.number(motion.median_speed)
        path = f"{words.length(motion.path_m)}, median speed {speed} m/s"
    rows = [*_what_rows(examination), Row("path", path), Row("frames", frames(track))]
    if isinstance(track, ParticleTrack):
        count = words.count_range(int(track.count.min()), int(track.count.max()))
        scale = "logarithmic weights" if track.log_weight else "linear weights"
        weights = scale if track.weighted else "unweighted"
        rows.append(Row("particles", f"{count} in each scan, {weights}"))
    if track.provenance.convention:
        rows.append(Row("convention", track.provenance.convention))
    if examination.health:
        rows.append(Row("covariance", _health_text(examination.health)))
    if examination.revisits is not None:
        rows.append(Row("loops", _revisits_text(examination.revisits)))
    rows += _further_rows(examination, verbose=verbose)
    return rows + labelled("look at", (finding.sentence for finding in examination.findings))


def reading_rows(label: str, track: AnyTrack) -> list[Row]:
    """Format, frames and convention of a track."""
    origin = track.provenance
    kind = f"{origin.format}: {REPRESENTATION_WORDS[track.representation]}"
    return labelled(label, filter(None, (kind, frames(track), origin.convention)))


def _what_rows(examination: "Examination") -> list[Row]:
    """Format, and how many scans in what time."""
    track, motion = examination.track, examination.motion
    scans = "1"
    if motion.rate_hz is not None:
        longest = words.duration(motion.longest_gap_s or 0)
        several = f"{words.count(motion.gaps, 'gap')}, the longest {longest}"
        gaps = several if motion.gaps else "no gaps"
        duration, rate = words.duration(motion.duration_s), words.number(motion.rate_hz)
        scans = f"{words.count(motion.scans)} in {duration}, {rate} Hz, {gaps}"
    kind = f"{track.provenance.format}: {REPRESENTATION_WORDS[track.representation]}"
    return [Row("format", kind), Row("scans", scans)]


def _further_rows(examination: "Examination", *, verbose: bool) -> list[Row]:
    """Cross-covariances, details for those who ask, what was left out or noted, and doubts."""
    track, motion, about = examination.track, examination.motion, examination.track.about
    rows = []
    if isinstance(track, GaussianTrack) and track.cross is not None:
        pairs = words.count(len(track.cross), "pair")
        lags = " to ".join(map(words.count, track.cross.lags))
        rows.append(Row("joint", f"cross-covariances for {pairs}, lags {lags}"))
    if verbose:
        first, last = (seconds_text(int(track.stamp[i])) for i in (0, -1))
        rows.append(Row("stamps", f"{first} to {last} s"))
        if motion.fastest_speed is not None:
            rows.append(Row("fastest", f"{words.number(motion.fastest_speed)} m/s"))
        if examination.health is not None:
            sigma = words.length(examination.health.position_sigma_m.median)
            rows.append(Row("sigma", f"median {sigma} (position, per axis)"))
        rows.append(Row("algorithm", f"{about.algorithm or '?'} {about.version or ''}".strip()))
        rows += labelled("header", (f"{key} {value}" for key, value in about.extra))
    rows += _dropped_rows(track)
    rows += labelled("note", (*track.provenance.notes, *track.provenance.remarks))
    return rows + labelled("doubt", map(doubt_text, examination.doubts))


def _dropped_rows(track: AnyTrack) -> list[Row]:
    return labelled("left out", map(_dropped_text, track.provenance.dropped))


def _dropped_text(left: DroppedRows) -> str:
    return f"{words.count(left.count, 'row')}: {left.reason} (first: {left.first})"


def last_line(examination: "Examination") -> str:
    """'can be scored on axes xyz', or why not."""
    found = examination.scorable
    if found.axes is None:
        return f"cannot be scored: {found.reason}"
    why = [found.reason] if found.axes != "xyz" else []
    if found.unusable:
        scans = f"{found.unusable} of {len(examination.track)} scans"
        why.append(f"{scans} have a singular or placeholder position covariance")
    return f"can be scored on axes {found.axes}" + (f" ({'; '.join(why)})" if why else "")


def reasons_for_doubt(examination: "Examination") -> list[str]:
    """What a strict check refuses: doubts, notes, rows left out, assumptions, useless beliefs."""
    track = examination.track
    reasons = list(map(doubt_text, examination.doubts))
    reasons += map(_dropped_text, track.provenance.dropped)
    reasons += track.provenance.notes
    if track.provenance.convention_assumed:
        reasons.append(f"the covariance convention is assumed: {track.provenance.convention}")
    if examination.health is not None and examination.scorable.axes is None:
        reasons.append(last_line(examination))
    return reasons


def frames(track: AnyTrack) -> str:
    """Body, world and gauge, or that they are not declared."""
    names = ("body", "world", "gauge")
    declared = (f"{name} {getattr(track.about, name) or 'not declared'}" for name in names)
    unknown = "" if track.about.oriented else ", orientation unknown (positions only)"
    return f"{', '.join(declared)}{unknown}"


def _health_text(health: "Health") -> str:
    rank = words.count_range(*health.rank)
    position, rotation = health.position_sigma_m, "rotation unknown"
    if health.rotation_sigma_rad is not None:
        median_deg = float(np.degrees(health.rotation_sigma_rad.median))
        rotation = f"rotation sigma {words.angle(median_deg)}"
    sigma = words.length_range(position.smallest, position.largest)
    parts = [f"rank {rank} of {health.full_rank}", f"position sigma {sigma}", rotation]
    if health.constant:
        parts.append("the same in every scan")
    elif health.growth is not None:
        trend, factor = "steady", words.factor(health.growth)
        if not 1 / GROWTH_LIMIT <= health.growth <= GROWTH_LIMIT:
            trend = "grows" if health.growth > 1 else "shrinks"
        span = "from start to end"
        same = factor == words.factor(1.0)
        parts.append(f"{trend} {span}" if same else f"{trend} ({factor} {span})")
    return ", ".join(parts)


def _revisits_text(revisits: "Revisits") -> str:
    places, way = words.count(revisits.places), words.length(revisits.way_m)
    allowed, share = revisits.allowed_m, 100 * revisits.allowed_m / revisits.way_m
    drift = f"{words.length(allowed)} between the visits ({words.number(share)} % of the way)"
    return f"{places} places again, {way} later; the covariances allow a drift of {drift}"


def document(found: "Found") -> dict[str, Any]:
    """Strict JSON data of a track or of the topics of a bag."""
    if isinstance(found, list):
        return {"schema": CANDIDATES_SCHEMA, "topics": [asdict(entry) for entry in found]}
    track, cross = found.track, None
    if isinstance(track, GaussianTrack) and track.cross is not None:
        cross = {"pairs": len(track.cross), "lags": list(track.cross.lags)}
    return {
        "schema": SCHEMA,
        "name": track.provenance.name,
        "format": track.provenance.format,
        "representation": track.representation,
        **{name: getattr(track.about, name) for name in ("body", "world", "gauge", "oriented")},
        "convention": track.provenance.convention,
        "motion": asdict(found.motion),
        "covariance": asdict(found.health) if found.health else None,
        "cross": cross,
        "dropped": [asdict(left) for left in track.provenance.dropped],
        "notes": [*track.provenance.notes, *track.provenance.remarks],
        "doubts": [doubt.to_dict() for doubt in found.doubts],
        "findings": [finding.finding_dict() for finding in found.findings],
        "revisits": asdict(found.revisits) if found.revisits else None,
        "scorable": asdict(found.scorable),
    }


def several_document(sources: Sequence[str], found: "Sequence[Found | str]") -> dict[str, Any]:
    """Strict JSON data of several files: a list, under `results`."""
    results = []
    for source, each in zip(sources, found, strict=True):
        refused = {"schema": SCHEMA, "name": source, "error": each}
        results.append(refused if isinstance(each, str) else document(each))
    return {"schema": SCHEMA, "results": results}


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


def conversion_report(done: Conversion, *, verbose: bool = False) -> Report:
    """What was read, what was assumed, what was lost, what was written."""
    track = done.track
    rows = [
        Row("read", f"{track.provenance.name} ({track.provenance.format})"),
        Row("frames", frames(track)),
        *labelled("convention", filter(None, [track.provenance.convention])),
        *_further_rows(done.examination, verbose=verbose),
        *labelled("assumed", done.assumed),
        *labelled("lost", done.lost),
    ]
    return Report((ReportSection(rows=tuple(rows), notes=(conversion_line(done),), indent=0),))


def conversion_line(done: Conversion) -> str:
    """The files written, in which format, and how many scans."""
    scans = words.count(len(done.track), "scan")
    kind = REPRESENTATION_WORDS[done.track.representation]
    if INCREMENTS in dict(done.track.about.extra):
        kind = "poses, with a covariance by a growth law"
    files = words.visible(" and ".join(done.files))
    return f"wrote {files} ({done.written_format}): {scans}, from {kind}"


def conversion_document(done: Conversion) -> dict[str, Any]:
    """Strict JSON data."""
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
