"""An evaluation with every number, as `-v` and the page have it: one table for each section."""

from collections.abc import Sequence

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment
from smfeval.associate import Pairs
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.evaluation import Evaluation
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.result import SpaceScores
from smfeval.judge.decide import Verdict
from smfeval.judge.sentences import evidence_rows, support, title
from smfeval.maths.arrays import median_of, quantile_of
from smfeval.show.check import reading_rows
from smfeval.show.report import (
    Cell,
    Cells,
    ReportSection,
    Row,
    Table,
    doubt_text,
    labelled,
    length_cell,
    number_cell,
    plain_cell,
)
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import NumberRow, rows_of
from smfeval.summarise.windows import WindowRow
from smfeval.track import ParticleTrack

RPE_TITLES = {
    "translation_rmse_m": "RMSE",
    "translation_mean_m": "mean",
    "translation_median_m": "median",
    "translation_std_m": "std",
    "translation_min_m": "least",
    "translation_max_m": "largest",
    "translation_sse_m2": "SSE",
    "percent": "% of path",
    "rotation_mean_deg": "mean angle",
    "deg_per_m": "deg/m",
}
NO_TABLE = Table((), ())


def all_sections(evaluation: Evaluation) -> list[ReportSection]:
    """The verdict, then every number by section; sections without any are left out."""
    verdict = evaluation.verdict
    tracks = (evaluation.estimate, evaluation.reference)
    names = " against ".join(track.provenance.name for track in tracks)
    first = ReportSection(title(verdict), (names, *support(verdict)), label=verdict.label)
    notes = labelled("note", evaluation.all_notes)
    notes += labelled("no CI", evaluation.refusals())
    notes += labelled("doubt", map(doubt_text, evaluation.doubts))
    return [
        first,
        *_integrity(evaluation),
        *number_sections(evaluation),
        ReportSection("setup", rows=tuple(setup_rows(evaluation))),
        *([ReportSection("notes", rows=tuple(notes))] if notes else []),
    ]


def _integrity(evaluation: Evaluation) -> list[ReportSection]:
    if evaluation.integrity is None:
        return []
    from smfeval.show.integrity import integrity_sections  # noqa: PLC0415  only where asked for

    return integrity_sections(evaluation.integrity, evaluation.alignment.kind)


def number_sections(evaluation: Evaluation) -> list[ReportSection]:
    """Every number in tables."""
    motion, path = evaluation.relative_motion, evaluation.k_over_path
    verdicts = {name: each.verdict for name, each in _judged(evaluation).items() if each.verdict}
    tables = {
        "verdicts": Table(("", *verdicts), tuple(verdict_rows(list(verdicts.values())))),
        "numbers": _numbers(evaluation),
        "axes": _axes(evaluation),
        "relative motion": (
            NO_TABLE
            if motion is None
            else relative_motion_table(motion, evaluation.options.intervals)
        ),
        "scores of relative motion": _relative_scores(evaluation),
        "relative pose error": _relative_errors(evaluation),
        "k over the path": Table(
            ("first", "k"), tuple((length_cell(row.metres), number_cell(row.k)) for row in path)
        ),
    }
    return [ReportSection(title, table=table) for title, table in tables.items() if table.rows]


def _judged(evaluation: Evaluation) -> dict[str, SpaceScores]:
    """The spaces with a verdict, by name."""
    return {each.space.name: each for each in evaluation.spaces if each.verdict is not None}


def verdict_rows(verdicts: Sequence[Verdict]) -> list[Cells]:
    """Labels, then a row for each quantity of their evidence; a column for each verdict."""
    evidence = [dict(evidence_rows(each)) for each in verdicts]
    return [
        (Cell("verdict"), *(Cell(each.label, is_label=True) for each in verdicts)),
        *(
            (Cell(quantity), *(Cell(found.get(quantity, "-")) for found in evidence))
            for quantity in dict.fromkeys(name for found in evidence for name in found)
        ),
    ]


def _numbers(evaluation: Evaluation) -> Table:
    """Numbers by space, what a consistent belief has, and effective scans of the position."""
    spaces = _judged(evaluation)
    lines: dict[str, dict[str, NumberRow]] = {}
    for name, scored in spaces.items():
        for row in rows_of(scored.space.name):
            there = row.space == name and row.group != "integrity"
            if there and evaluation.get(row.name) is not None:
                title, space = row.plain_title, name
                if row.name == "rotation":
                    title, space = "mean angle", "rotation" if "rotation" in spaces else name
                lines.setdefault(title, {})[space] = row
    effective = {name: n for name, n in evaluation.effective_scans().items() if n is not None}
    body = []
    for title, rows in lines.items():
        cells = (_cell(rows.get(name), evaluation) for name in spaces)
        honest = dict.fromkeys(
            _value(row, row.honest(spaces[name].residuals.dimension))
            for name, row in rows.items()
            if row.honest is not None
        )
        count = effective.get(rows["position"].heading) if "position" in rows else None
        last = [] if not effective else [plain_cell(count)]
        body.append((Cell(title), *cells, Cell(" / ".join(honest)), *last))
    headings = ("", *spaces, "consistent", *(["eff. scans"] if effective else []))
    return Table(headings, tuple(body))


def _value(row: NumberRow, value: float) -> str:
    return words.level(value) if row.level is not None else words.number(value)


def _cell(row: NumberRow | None, evaluation: Evaluation) -> Cell:
    """A number with its interval."""
    number = None if row is None else evaluation.get(row.name)
    return number_cell(number, "%" if row is not None and row.is_share else None)


def _axes(evaluation: Evaluation) -> Table:
    """CRPS and k of every axis alone."""
    crps = evaluation.position.crps_by_axis
    spaces = (evaluation.position, evaluation.rotation)
    believed = (each.k_by_axis for each in spaces if each is not None and each.has_belief)
    k = {axis: value for by_axis in believed for axis, value in by_axis.items()}
    names = dict.fromkeys((*crps, *k))
    cells = ((Cell(name), number_cell(crps.get(name)), plain_cell(k.get(name))) for name in names)
    return Table(("axis", "CRPS", "k"), tuple(cells))


def relative_motion_table(motion: RelativeMotion, intervals: Intervals) -> Table:
    """k of relative motion by horizon, of a track or a pair, and why some are not used."""

    def cells(row: WindowRow) -> Cells:
        half = " (first half)" if row.first_half else ""
        still = f" ({row.still} standing still left out)" if row.still else ""
        return (
            Cell(f"{words.count(row.horizon, 'scan')}{half}", row.horizon),
            Cell(words.duration(row.seconds), row.seconds),
            length_cell(row.metres),
            number_cell(row.number(intervals)),
            Cell(f"{words.count(row.windows)}{still}", row.windows),
            Cell(motion.why_not(row) or "yes"),
        )

    headings = ("horizon", "time", "path", "k", "windows", "used")
    return Table(headings, tuple(map(cells, motion.all_rows)))


def _relative_scores(evaluation: Evaluation) -> Table:
    """Scores over the horizon that was asked for: windows apart, and all that overlap."""
    lines: dict[str, list[Cell]] = {}
    for row in rows_of("position"):
        if row.space == "relative" and evaluation.get(row.name) is not None:
            lines.setdefault(row.plain_title, []).append(_cell(row, evaluation))
    motion = evaluation.relative_motion
    counts = []
    if motion is not None and motion.scored is not None:
        counts.append(f"{words.count(motion.scored.windows, 'window')} apart")
    if motion is not None and motion.overlapping is not None:
        counts.append(f"{words.count(len(motion.overlapping.first), 'window')} that overlap")
    rows = ((Cell(title), *cells) for title, cells in lines.items())
    return Table(("", *counts), tuple(rows))


def _relative_errors(evaluation: Evaluation) -> Table:
    """Relative pose error, a column for each horizon."""
    every = evaluation.relative
    names = [name for name in RPE_TITLES if any(name in each.numbers for each in every)]
    rows = [
        (Cell(RPE_TITLES[name]), *(number_cell(each.numbers.get(name)) for each in every))
        for name in names
    ]
    if every:
        counts = (("pairs", "pairs"), ("too long", "dropped"))
        rows += [
            (Cell(title), *(Cell(words.count(getattr(each, name))) for each in every))
            for title, name in counts
        ]
    return Table(("over", *(each.horizon for each in every)), tuple(rows))


def setup_rows(evaluation: Evaluation) -> list[Row]:
    """What was compared with what: files, association, alignment, covariance, reference noise."""
    alignment, options, claim = evaluation.alignment, evaluation.options, evaluation.claim
    rows = [
        *reading_rows("estimate", evaluation.estimate),
        *reading_rows("reference", evaluation.reference),
        *_pairing_rows(evaluation),
    ]
    on = f", fitted on the first {options.fit_on}" if options.fit_on else ""
    rows += [Row("alignment", f"{alignment_text(alignment)}{on}"), Row("axes", options.axes)]
    if claim is not None and (claim.how != "reported" or claim.joint.kind != "unknown"):
        rows.append(Row("covariance", claim.sentence))
    if not evaluation.comparable:
        rows.append(Row("scores", "not proper after this alignment: not to be ranked"))
    if isinstance(evaluation.estimate, ParticleTrack):
        density = "; log score by their kernel density" if evaluation.get("log") else ""
        ranks = f"k and coverage by the {evaluation.coverage_from()}"
        rows.append(Row("particles", f"{ranks}; NEES by their sample covariance{density}"))

    curve = () if evaluation.clock is None else evaluation.clock.curve
    if curve:
        sizes = (words.length(r.rmse_m) if r.k is None else words.number(r.k) for r in curve)
        cells = (
            f"{words.duration(round(row.offset_s, 6))} {size}"
            for row, size in zip(curve, sizes, strict=True)
        )
        name = "RMSE" if curve[0].k is None else "k"
        rows.append(Row("time offset", f"{name} by offset: {', '.join(cells)}"))

    noise = evaluation.position.residuals.noise
    used = {"own": evaluation.uses_reported_noise, "assumed": evaluation.uses_assumed_noise}
    if noise is not None and any(used.values()):
        which = words.join(name for name, is_used in used.items() if is_used)
        variance = median_of(np.trace(noise, axis1=1, axis2=2)) / noise.shape[-1]
        sigma = words.length(float(np.sqrt(variance)))
        rows.append(Row("ref. noise", f"its {which} covariance is used: sigma {sigma} (median)"))
    motion = evaluation.relative_motion
    if motion is not None and motion.reason is not None and not motion.rows:
        rows.append(Row("relative", f"motion is not judged: {motion.reason}"))
    if motion is not None and motion.growth is not None:
        rows.append(Row("k growth", motion.growth.sentence))
    return rows


def alignment_text(alignment: Alignment) -> str:
    """The kind, what was fitted over which path, and what is left."""
    if alignment.kind == "none":
        return "none"
    fitted = f"{alignment.freedoms} degrees of freedom over {words.length(alignment.fitted_path_m)}"
    residual = f"residual {words.length(alignment.residual_m or 0)}"
    scale = f", scale {words.exact(alignment.scale)}" if alignment.kind == "sim3" else ""
    free = f"; not determined: {', '.join(alignment.free)}" if alignment.free else ""
    return f"{alignment.kind}, {fitted}, {residual}{scale}{free}"


def matched_text(pairs: Pairs, scored: int, noun: str = "", between: str = "") -> str:
    """How many scans meet how many poses, and over which gaps."""
    median, largest = quantile_of(np.abs(pairs.gap_s), [0.5, 1.0]) * 1e3
    used = "" if scored == len(pairs) else f", {words.count(scored)} scored"
    offset = f", time offset {words.duration(pairs.offset_s)}" if pairs.offset_s else ""
    met = f"{words.count_of(len(pairs), pairs.scans, 'scan')} to {words.count(pairs.poses)}{noun}"
    gap = f"gap median {words.number(median)}, {between}largest {words.number(largest)} ms"
    return f"{met}{used}; {gap}{offset}"


def _pairing_rows(evaluation: Evaluation) -> list[Row]:
    """How many scans have a pose of the reference, over which gaps, and what these may cost."""
    pairs, scored, risk = evaluation.pairs, len(evaluation.position.residuals), evaluation.gap_risk
    gap = f"95 % {words.number(1e3 * float(quantile_of(np.abs(pairs.gap_s), 0.95)))}, "
    rows = [Row("matched", matched_text(pairs, scored, " reference poses", gap))]
    rows += [] if pairs.moves is None else [Row("interpolated", pairs.moves.sentence)]
    if risk is not None:
        share = f"{words.share(risk.above_limit)} of scans above {words.exact(RISK_LIMIT)}"
        size = f"median {words.number(risk.median)}, 95 % {words.number(risk.p95)} sigma"
        rows.append(Row("gap risk", f"{size}; {share}"))
    return rows
