"""The report of `score`: the verdict, then what a newcomer reads in ten seconds; or a table.

Every line answers a question that comes before trust: how large are the errors beside what was
reported, is the covariance of the right size, what was compared with what, what looks wrong, what
to try next. `-v` shows all numbers instead (`show.numbers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.evaluation import Evaluation
from smfeval.judge.sentences import support
from smfeval.maths.arrays import median_of
from smfeval.options import ENDING_SIGMA
from smfeval.show.numbers import all_rows, energy_text, relative_rows
from smfeval.show.report import (
    DASH,
    Cell,
    Report,
    ReportSection,
    Row,
    Table,
    doubt_text,
    labelled,
    number_cell,
    remedy_text,
)
from smfeval.summarise.inflation import scaled_log_score
from smfeval.summarise.numbers import NUMBERS, NumberRow
from smfeval.summarise.quantities import NOMINAL
from smfeval.track import ParticleTrack

if TYPE_CHECKING:
    from smfeval.why.reasons import Reasons

MOST_LINES = 14  # of the report of one estimate, with its verdict
MOST_SUPPORT = 2  # of these, what a verdict holds for
WIDTH = 88  # letters of a text beside its label
COVERAGE = f"coverage_{words.exact(100 * NOMINAL)}"
SHOWN_NUMBERS = (  # of the short report
    *("mae", "rmse", "energy", "log", "log_consistency", "log_sharpness"),
    *("best_scale", "k", COVERAGE, "rotation", "k_rotation", "k_pose"),
    ENDING_SIGMA,
)
SHOWN = ("rmse", "energy", "log", "k", COVERAGE)  # columns of several that fit on a screen
MORE = ("-v (all numbers)", "--html FILE (figures)")


@dataclass(frozen=True)
class Findings:
    """One estimate; `why` is None where it was not asked for."""

    evaluation: Evaluation
    why: Reasons | None = None

    @property
    def name(self) -> str:
        """What the estimate is called."""
        return self.evaluation.estimate.provenance.name

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data (schema `smfeval.score/1`)."""
        document = self.evaluation.to_dict()
        if self.why is not None:
            document["why"] = self.why.to_dict()
        return document


def report(found: Sequence[Findings], *, verbose: bool = False, chart: bool = False) -> Report:
    """One estimate or several, their causes below; `chart` adds a line that needs a terminal."""
    several = len(found) > 1
    sections = (
        [_comparison([each.evaluation for each in found], verbose=verbose)] if several else []
    )
    if verbose or not several:
        sections += [_section(each, verbose=verbose, chart=chart) for each in found]
    for each in found:
        if each.why is not None:
            from smfeval.show.causes import why_sections  # noqa: PLC0415  only where asked for

            name = each.name if several else ""
            sections += why_sections(each.why, name=name, verbose=verbose)
    return Report(tuple(sections))


def last_lines(found: Findings) -> str:
    """What `-q` prints of an estimate: the verdict, its causes and other explanations."""
    lines = [f"{found.name}: {found.evaluation.verdict.headline}"]
    if found.why is not None:
        lines += [f"{each.cause}: {each.sentence}" for each in found.why.causes.found]
        lines.append(found.why.explanations.sentence)
    return "\n".join(lines)


def _section(found: Findings, *, verbose: bool, chart: bool) -> ReportSection:
    """The report of one estimate: a few lines, or every number."""
    evaluation, verdict = found.evaluation, found.evaluation.verdict
    rows = all_rows(evaluation) if verbose else brief_rows(evaluation, why=found.why is None)
    rows = _with_chart(rows, evaluation) if chart else rows
    tracks = (evaluation.estimate, evaluation.reference)
    names = " against ".join(track.provenance.name for track in tracks)
    title, lead = (verdict.sentence, (names,)) if verbose else (verdict.headline, ())
    return ReportSection(title, lead, rows=tuple(rows), label=verdict.label)


def _with_chart(rows: list[Row], evaluation: Evaluation) -> list[Row]:
    from smfeval.show.terminal import error_over_sigma  # noqa: PLC0415  only on a terminal

    line = error_over_sigma(evaluation)
    return rows if line is None else [*rows[:-1], Row("sigmas", line), rows[-1]]


def brief_rows(evaluation: Evaluation, *, why: bool = True) -> list[Row]:
    """All lines but the verdict; `why`: whether `--why` is still to be named."""
    tracks = (evaluation.estimate, evaluation.reference)
    names = words.without_common_folders([track.provenance.name for track in tracks])
    motion = evaluation.relative_motion
    horizons = [
        f"{words.length(error.numbers['translation_rmse_m'].value)} over {error.horizon}"
        for error in evaluation.relative
    ]
    rows = [
        Row("scored", " against ".join(names)),
        *_size_rows(evaluation),
        Row("scores", _scores_text(evaluation)),
        *_rotation_rows(evaluation),
    ]
    if motion is not None and motion.rows:
        relative = relative_rows(motion, evaluation.options.intervals)
        rows += [Row(label, _cut(text)) for label, text in relative]
    rows += [Row("relative", f"RMSE {', '.join(horizons)}")] if horizons else []
    rows += [Row("matched", _matched_text(evaluation)), *note_rows(evaluation)]
    room = MOST_LINES - len(rows) - 2  # the verdict, and what to try
    rows += doubt_rows(evaluation, most=room)
    return [*rows, Row("next", next_text(evaluation, why=why))]


def _size_rows(evaluation: Evaluation) -> list[Row]:
    """Error beside sigma, k, the coverage of one level, and what the verdict holds for.

    Sigma is the root of the median tr S, which the RMSE of an honest belief is about.
    """
    error, mae = f"RMSE {evaluation['rmse']}", f"MAE {words.length(evaluation['mae'].value)}"
    residuals = evaluation.position.residuals
    if residuals.covariance is None:
        return [Row("error", f"{error}, {mae}; no uncertainty is reported")]
    variance = np.trace(residuals.predicted_covariance, axis1=1, axis2=2)
    sigma = words.length(float(np.sqrt(median_of(variance))))
    after = " after the fit" if residuals.reported is not None else ""
    uncertain = evaluation.uses_reported_noise or evaluation.uses_assumed_noise
    noise = " (reference included)" if uncertain else ""
    rows = [Row("error", f"{error} where {sigma} is reported{after}{noise}; {mae}")]

    k, coverage = evaluation.get("k"), evaluation.get(COVERAGE)
    if k is not None and coverage is not None:
        level = words.level(evaluation.options.intervals.level)
        sure = "" if k.low is None else f" ({level})"
        after = " after the fit" if evaluation.alignment.kind != "none" else ""
        region = f"the {words.level(NOMINAL)} region holds the reference"
        rows += [
            Row("k", f"{k}{sure}{after}; 1 if honest, above 1 too tight"),
            Row("coverage", f"{region} in {coverage.text('%')} of scans"),
        ]

    lines: list[str] = []
    for text in support(evaluation.verdict):
        fits = lines and len(lines[-1]) + len(text) + 2 <= WIDTH
        lines[-1:] = [f"{lines[-1]}; {text}"] if fits else [*lines[-1:], text]
    return rows + labelled("evidence", map(_cut, lines[:MOST_SUPPORT]))


def _scores_text(evaluation: Evaluation) -> str:
    """Energy and log score; what the same errors would score under the best multiple of S."""
    energy, log, scale = (evaluation.get(name) for name in ("energy", "log", "best_scale"))
    scores = [] if energy is None else [f"energy {energy_text(energy, evaluation)}"]
    scores += [] if log is None else [f"log score {words.quantity(log.value, log.unit)}"]
    particles = isinstance(evaluation.estimate, ParticleTrack)
    if scale is None or log is None or particles or not 0 < scale.value < float("inf"):
        return ", ".join(scores) or "none were asked for"
    residuals = evaluation.position.residuals
    assert residuals.covariance is not None
    best = scaled_log_score(residuals.error, residuals.covariance, scale.value, residuals.noise)
    times = f"covariance times {words.number(scale.value)}"
    return f"{', '.join(scores)} (at best {words.number(best)}, {times})"


def _rotation_rows(evaluation: Evaluation) -> list[Row]:
    """The mean angle, and in a word whether rotation and pose are honest."""
    angle = evaluation.get("rotation")
    if angle is None:
        return []
    texts = [str(angle)]
    for scored in (evaluation.rotation, evaluation.pose):
        if scored is not None and scored.verdict is not None:
            space = scored.space.name
            name = "" if space == "rotation" else f"{space} "
            k = scored.numbers.get(f"k_{space}")
            size = "" if k is None else f" (k {words.number(k.value)})"
            texts.append(f"{name}{scored.verdict.label}{size}")
    return [Row("rotation", "; ".join(texts))]


def _matched_text(evaluation: Evaluation) -> str:
    """How many scans, how far away in time, how aligned, on which axes."""
    pairs, scored = evaluation.pairs, len(evaluation.position.residuals)
    gap = float(np.abs(pairs.gap_s).max())
    parts = [words.count_of(len(pairs), pairs.scans, "scan")]
    parts += [f"{words.count(scored)} scored"] if scored != len(pairs) else []
    parts += [f"offset {words.duration(pairs.offset_s)}"] if pairs.offset_s else []
    how = "gaps" if pairs.moves is None else "moved over gaps"
    parts += [f"{how} up to {words.duration(gap)}"] if gap else []

    alignment, start = evaluation.alignment, evaluation.options.fit_on
    aligned = "not aligned"
    if alignment.kind != "none":
        on = f" on the first {start}" if start else ""
        free = f", {', '.join(alignment.free)} left open" if alignment.free else ""
        aligned = f"aligned by {alignment.kind}{on}{free}"
    return f"{', '.join(parts)}; {aligned}; axes {evaluation.options.axes}"


def _other_notes(evaluation: Evaluation) -> list[str]:
    """Notes without the one that explains brackets."""
    return [note for note in evaluation.all_notes if note != evaluation.intervals_note]


def note_rows(evaluation: Evaluation) -> list[Row]:
    """What was left out or assumed, on one line; what does not fit is counted."""
    tracks = (("estimate", evaluation.estimate), ("reference", evaluation.reference))
    remarks = [f"{who}: {text}" for who, track in tracks for text in track.provenance.remarks]
    notes = _other_notes(evaluation)
    notes.sort(key=lambda note: (note not in evaluation.omissions, note in remarks))
    if not notes:
        return []
    shown = notes[:1]
    for note in notes[1:]:
        shown += [note] if len("; ".join([*shown, note])) <= WIDTH else []
    more = f"; {words.count(len(notes) - len(shown))} more: -v" if len(shown) < len(notes) else ""
    return [Row("note", f"{_cut('; '.join(shown), WIDTH - len(more))}{more}")]


def _cut(text: str, width: int = WIDTH) -> str:
    """A sentence that is too long for its line, cut between words."""
    return shorten(text, width, placeholder=" ...")


def doubt_rows(evaluation: Evaluation, *, most: int) -> list[Row]:
    """What looks wrong; the doubt that the verdict names has what to try."""
    named = (evaluation.verdict.doubt, evaluation.verdict.lost)
    every = [
        remedy_text(doubt) if doubt.sentence in named else doubt_text(doubt)
        for doubt in evaluation.doubts
    ]
    texts = [text for text in every if text]
    if len(texts) > most:
        texts = [*texts[: most - 1], f"{words.count(len(texts) - most + 1, 'more doubt')}: -v"]
    return labelled("doubt", texts)


def next_text(evaluation: Evaluation, *, why: bool = True) -> str:
    """What to try, by what stands in the way of a verdict or by the verdict itself."""
    verdict, pairs, risk = evaluation.verdict, evaluation.pairs, evaluation.gap_risk
    gaps = verdict.reason == "gaps" or (risk is not None and risk.p95 > RISK_LIMIT)
    doubtful = verdict.doubt is not None or verdict.lost is not None
    fitted = evaluation.alignment.kind != "none"
    causes = ["--why (causes and other explanations)"] if why else []
    situations = (  # the first that holds counts
        (not evaluation.position.has_belief, ["smfeval check FILE (has it covariances?)"]),
        (gaps, ["--association gp (bridges gaps)"]),
        (doubtful, ["smfeval check FILE (is it what it claims?)"]),
        (len(pairs) < pairs.scans / 2, ["--tolerance, --offset auto (match more scans)"]),
        (verdict.label == "overconfident", causes),
        (verdict.label == "cannot tell" and fitted, ["--gauge none (if both worlds are one)"]),
    )
    return ", ".join([*next((hints for holds, hints in situations if holds), []), *MORE])


def _comparison(evaluations: list[Evaluation], *, verbose: bool) -> ReportSection:
    """Several estimates, one row each; below them notes and doubts, where not all is said of each.

    With `verbose` all numbers that give an overview, otherwise the few that fit on a screen.
    """
    columns = [row for row in NUMBERS.values() if row.overview and (verbose or row.name in SHOWN)]
    names = short_names(evaluations)
    cells = tuple(
        (
            Cell(name),
            Cell(evaluation.verdict.label, is_label=True),
            *(_cell(row, evaluation, verbose=verbose) for row in columns),
            Cell(f"{len(evaluation.position.residuals)}/{evaluation.pairs.scans}"),
        )
        for name, evaluation in zip(names, evaluations, strict=True)
    )
    table = Table(("estimate", "verdict", *(row.heading for row in columns), "scored"), cells)
    if verbose:
        return ReportSection(table=table, indent=0)
    rows = [
        *labelled("note", _said_once(names, map(_other_notes, evaluations))),
        *labelled("doubt", _said_once(names, (map(doubt_text, e.doubts) for e in evaluations))),
        Row("next", ", ".join(["-q (a reason for each)", *MORE])),
    ]
    return ReportSection(table=table, rows=tuple(rows), indent=0)


def short_names(evaluations: list[Evaluation]) -> list[str]:
    """Names of the estimates without the folders that all of them share."""
    return words.without_common_folders([each.estimate.provenance.name for each in evaluations])


def _said_once(names: list[str], texts: Iterable[Iterable[str]]) -> list[str]:
    """Sentences in the order of their first estimate, led by names unless they hold for all."""
    of: dict[str, list[str]] = {}
    for name, sentences in zip(names, texts, strict=True):
        for sentence in sentences:
            of.setdefault(sentence, []).append(name)
    return [
        sentence if len(those) == len(names) else f"{', '.join(those)}: {sentence}"
        for sentence, those in of.items()
    ]


def _cell(row: NumberRow, evaluation: Evaluation, *, verbose: bool) -> Cell:
    """A number without its interval; with it for those who ask, but for shares and nats."""
    number = evaluation.get(row.name)
    if number is None:
        return DASH
    if verbose and row.name == "energy":
        return Cell(energy_text(number, evaluation))
    if verbose and row.level is None and row.unit != "nat":
        return number_cell(number)
    unit = "%" if row.level is not None else number.unit
    return Cell(words.quantity(number.value, "1" if unit == "nat" else unit))
