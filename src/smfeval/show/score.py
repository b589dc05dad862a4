"""The report of `score`: the verdict, then what a newcomer reads in ten seconds; or a table.

Every line answers a question that comes before trust: how large are the errors beside what was
reported, is the covariance of the right size, what was compared with what, what looks wrong, what
to try next. `-v` shows all numbers instead (`show.numbers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import SpaceScores
from smfeval.judge.sentences import bound_text, open_text, reference_text, title
from smfeval.maths.arrays import median_of
from smfeval.options import ENDING_SIGMA
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
from smfeval.summarise.relative import KITTI, RelativeError
from smfeval.track import ParticleTrack

if TYPE_CHECKING:
    from smfeval.why.explanations import Reasons

WIDTH = 87  # letters of a text beside its label, in a line of 100
COVERAGE = f"coverage_{words.exact(100 * NOMINAL)}"
SHOWN_NUMBERS = (  # of the short report
    *("mae", "rmse", "energy", "log", "log_consistency", "log_sharpness"),
    *("best_scale", "factor_per_axis", "k", COVERAGE, "rotation", "k_rotation", "k_pose"),
    *("availability", "mi", "hmi", ENDING_SIGMA),
)
SHOWN_INTERVALS = ("k",)  # of the short report
SHOWN = ("rmse", "factor_per_axis", "k", COVERAGE, "energy", "log")  # of several estimates
UNDER_LIMITS = (*SHOWN[:4], "availability", "hmi", "log")  # with an alert limit
PAGE = "--save page.html"
HEADINGS = {"factor_per_axis": "error/sigma"}
LONGEST_NAME = 22  # letters of an estimate in a table that fits 100 columns
ASSOCIATION_WORDS = {
    "interpolated": "reference interpolated",
    "gp": "reference interpolated with its uncertainty",
    "nearest": "nearest reference poses",
}


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
    if verbose:
        from smfeval.show.numbers import all_sections  # noqa: PLC0415  only where asked for

        sections += [section for each in found for section in all_sections(each.evaluation)]
    elif not several:
        sections += [_section(each, chart=chart) for each in found]
    for each in found:
        if each.why is not None:
            from smfeval.show.causes import why_sections  # noqa: PLC0415  only where asked for

            name = each.name if several else ""
            sections += why_sections(each.why, name=name, verbose=verbose)
    return Report(tuple(sections))


def last_lines(found: Findings) -> str:
    """What `-q` prints of an estimate: verdict, integrity, causes and other explanations."""
    lines = [f"{found.name}: {found.evaluation.verdict.headline}"]
    if found.evaluation.integrity is not None:
        lines.append(found.evaluation.integrity.sentence)
    if found.why is not None:
        lines += [f"{each.cause}: {each.sentence}" for each in found.why.causes.found]
        lines.append(found.why.explanations.sentence)
    return "\n".join(lines)


def _section(found: Findings, *, chart: bool) -> ReportSection:
    """The report of one estimate in a few lines."""
    evaluation, verdict = found.evaluation, found.evaluation.verdict
    rows = brief_rows(evaluation, why=found.why is not None)
    if chart:
        from smfeval.show.terminal import error_over_sigma  # noqa: PLC0415  only on a terminal

        line = error_over_sigma(evaluation)
        rows[-1:-1] = [] if line is None else [Row("over time", line)]
    return ReportSection(title(verdict), rows=tuple(rows), label=verdict.label)


def brief_rows(evaluation: Evaluation, *, why: bool = False) -> list[Row]:
    """All lines but the verdict; `why`: causes stand below and need no mention."""
    verdict = evaluation.verdict  # its bound, and what would explain it
    texts = (bound_text(verdict), open_text(verdict) or reference_text(verdict))
    evidence = [text for text in texts if text]
    rows = [
        *labelled("evidence", ["; ".join(evidence)] if evidence else []),
        Row("error", error_text(evaluation)),
        Row("scores", _scores_text(evaluation)),
        *_rotation_rows(evaluation),
    ]
    if evaluation.relative:
        errors = ", ".join(map(_relative_text, evaluation.relative))
        rows.append(Row("relative", f"RMSE {errors}"))
    if evaluation.integrity is not None:
        from smfeval.show.integrity import integrity_rows  # noqa: PLC0415  only where asked for

        rows += integrity_rows(evaluation.integrity, WIDTH)
    rows += [Row("setup", _setup_text(evaluation)), *doubt_rows(evaluation)]
    return [*rows, Row("next", " | ".join(next_steps(evaluation, why=why)))]


def error_text(evaluation: Evaluation) -> str:
    """RMSE beside sigma, the root of the median tr S, and the coverage of one level."""
    error = f"{words.length(evaluation['rmse'].value)} RMSE"
    residuals, coverage = evaluation.position.residuals, evaluation.get(COVERAGE)
    if residuals.covariance is None:
        return f"{error}, {words.length(evaluation['mae'].value)} MAE; no covariance was read"
    variance = np.trace(residuals.predicted_covariance, axis1=1, axis2=2)
    sigma = words.length(float(np.sqrt(median_of(variance))))
    uncertain = evaluation.uses_reported_noise or evaluation.uses_assumed_noise
    noise = " (with reference)" if uncertain else ""
    region = ""
    if coverage is not None:
        share = words.quantity(coverage.value, "%")
        region = f"; {share} of scans inside the {words.level(NOMINAL)} region"
    return f"{error}, {sigma} reported{noise}{region}"


def energy_text(value: float, evaluation: Evaluation) -> str:
    """The energy score, with its exponent where that is not 1."""
    beta = evaluation.options.settings.beta
    if beta == 1:
        return words.length(value)
    return f"{words.number(value)} m^beta (beta {words.exact(beta)})"


def _scores_text(evaluation: Evaluation) -> str:
    """Energy and log score; what the same errors would score under the best multiple of S."""
    energy, log, scale = (evaluation.get(name) for name in ("energy", "log", "best_scale"))
    scores = [] if energy is None else [f"energy {energy_text(energy.value, evaluation)}"]
    scores += [] if log is None else [f"log {words.quantity(log.value, log.unit)}"]
    text = ", ".join(scores) or "none were asked for"
    particles = isinstance(evaluation.estimate, ParticleTrack)
    if scale is None or log is None or particles or not 0 < scale.value < float("inf"):
        return text
    residuals = evaluation.position.residuals
    assert residuals.covariance is not None
    best = words.number(
        scaled_log_score(residuals.error, residuals.covariance, scale.value, residuals.noise)
    )
    if best == words.number(log.value):
        return text
    times = f"{words.factor(scale.value)} {'larger' if scale.value > 1 else 'as large'}"
    return f"{text} ({best} if the covariance were {times})"


def _rotation_rows(evaluation: Evaluation) -> list[Row]:
    """The mean angle with the verdict on rotations; the pose where it is judged otherwise."""
    angle, rotation, pose = evaluation.get("rotation"), evaluation.rotation, evaluation.pose
    if angle is None:
        return []
    text, labels = words.angle(angle.value), [evaluation.verdict.label]
    if rotation is not None and rotation.verdict is not None:
        left = open_text(rotation.verdict)
        text = f"{rotation.verdict.label}: {text}{_k_text(rotation)}{f'; {left}' if left else ''}"
        labels.append(rotation.verdict.label)
    if pose is not None and pose.verdict is not None and pose.verdict.label not in labels:
        text += f"; pose {pose.verdict.label}{_k_text(pose)}"
    return [Row("rotation", text)]


def _relative_text(error: RelativeError) -> str:
    """'2.1 cm over 10 s' (RMSE); by KITTI's rule t_rel and r_rel."""
    if error.horizon != KITTI:
        return f"{words.length(error.translation_rmse_m)} over {error.horizon}"
    percent, per_m = error.get("percent"), error.get("deg_per_m")
    turn = "" if per_m is None else f", r_rel {words.number(100 * per_m)} deg/100 m"
    count = words.count(error.pairs, "segment")
    return f"{KITTI}: t_rel {words.number(percent or 0.0)} %{turn} ({count})"


def _k_text(scored: SpaceScores) -> str:
    k = scored.numbers.get(f"k_{scored.space.name}")
    return "" if k is None else f", k = {words.number(k.value)}"


def _setup_text(evaluation: Evaluation) -> str:
    """Scans, association, alignment, axes, and what was assumed."""
    pairs, options, alignment = evaluation.pairs, evaluation.options, evaluation.alignment
    scored = len(evaluation.position.residuals)
    parts = [f"all {words.count(pairs.scans, 'scan')}"]
    if len(pairs) < pairs.scans:
        parts = [words.count_of(len(pairs), pairs.scans, "scan")]
    parts += [f"{words.count(scored)} scored"] if scored != len(pairs) else []
    left_out = sum(
        left.count
        for track in (evaluation.estimate, evaluation.reference)
        for left in track.provenance.dropped
    )
    parts += [f"{words.count(left_out, 'row')} left out"] if left_out else []
    singular = evaluation.position.singular
    parts += [f"{words.count(singular)} of singular covariance left out"] if singular else []
    parts += [f"time offset {words.duration(pairs.offset_s, signed=True)}"] * bool(pairs.offset_s)
    if np.abs(pairs.gap_s).max() > 0 or options.association != "interpolated":
        parts.append(ASSOCIATION_WORDS[options.association])
    on = f" on the first {options.fit_on}" if options.fit_on else ""
    free = f" ({', '.join(alignment.free)} not determined)" if alignment.free else ""
    parts.append(f"{words.alignment(alignment.kind)}{on}{free}")
    parts += ["extrinsic applied"] if options.extrinsic is not None else []
    parts += [f"axes {options.axes}"] if options.axes != "xyz" else []
    spoken_of = evaluation.verdict.reference_sigma is not None  # by the evidence
    assumed = [a for a in evaluation.assumptions if not (spoken_of and a == "exact reference")]
    return f"{', '.join(parts)}{'; assumed: ' if assumed else ''}{', '.join(assumed)}"


def doubt_rows(evaluation: Evaluation) -> list[Row]:
    """What looks most wrong beyond what the verdict says, else the first note; and a count."""
    verdict = evaluation.verdict
    doubts = [
        remedy_text(doubt) if doubt.sentence in (verdict.doubt, verdict.lost) else doubt_text(doubt)
        for doubt in evaluation.doubts
    ]
    doubts = [text for text in doubts if text]
    texts = [*doubts, *evaluation.other_notes]
    if not texts:
        return []
    more = f" ({words.count(len(texts) - 1)} more: -v)" if len(texts) > 1 else ""
    if doubts:
        return [Row("doubt", f"{doubts[0]}{more}")]
    return [Row("note", f"{shorten(texts[0], WIDTH - len(more), placeholder=' ...')}{more}")]


def next_steps(evaluation: Evaluation, *, why: bool = False) -> list[str]:
    """What to do next, the most useful first."""
    verdict, pairs, risk = evaluation.verdict, evaluation.pairs, evaluation.gap_risk
    causes = [] if why else ["--why (causes)"]
    step = verdict.next_step
    if step is None and risk is not None and risk.p95 > RISK_LIMIT:
        step = "--association gp (bridges gaps)"
    elif step is None and len(pairs) < pairs.scans / 2:
        step = "--tolerance, --offset auto (match more scans)"
    if step is not None:
        learn = ["smfeval calibrate (learns one; from 2 tracks)"]
        return [step, *([] if evaluation.position.has_belief else learn), "-v (all numbers)"]
    if verdict.label == "overconfident":
        correct = [] if verdict.lost else ["smfeval calibrate (what to publish; from 2 tracks)"]
        return [*correct, *causes, PAGE]
    return ["-v (all numbers)", PAGE]


def _comparison(evaluations: list[Evaluation], *, verbose: bool) -> ReportSection:
    """Several estimates, best first; below them notes and doubts, where not all is said of each.

    With `verbose` the numbers have intervals.
    """
    evaluations, by = best_first(evaluations)
    files = [each.estimate.provenance.name for each in evaluations]
    half, names = (LONGEST_NAME - 2) // 2, words.without_common_folders(files)
    names = [n if len(n) <= LONGEST_NAME else f"{n[:half]}..{n[-half:]}" for n in names]
    table = comparison_table(evaluations, names, verbose=verbose)
    if verbose:
        return ReportSection(table=table, indent=0)
    doubts = [map(doubt_text, each.doubts) for each in evaluations]
    steps = ["-q (a reason for each)", "-v (all numbers)", PAGE]
    rows = [
        Row("order", f"best first, by {by}"),
        *labelled("assumed", _shown_once(names, ([", ".join(e.assumptions)] for e in evaluations))),
        *labelled("doubt", _shown_once(names, doubts)),
        Row("next", " | ".join(steps)),
    ]
    return ReportSection(table=table, rows=tuple(rows), indent=0)


def comparison_table(
    evaluations: Sequence[Evaluation], names: Sequence[str], *, verbose: bool = True
) -> Table:
    """A row for each estimate; with `verbose` the numbers have intervals."""
    limited = any(each.integrity for each in evaluations)
    columns = [NUMBERS[name] for name in (UNDER_LIMITS if limited else SHOWN)]
    cells = tuple(
        (
            Cell(name),
            Cell(evaluation.verdict.label, is_label=True),
            *(_cell(row, evaluation, verbose=verbose) for row in columns),
            Cell(f"{len(evaluation.position.residuals)}/{evaluation.pairs.scans}"),
        )
        for name, evaluation in zip(names, evaluations, strict=True)
    )
    headings = (HEADINGS.get(row.name, row.heading) for row in columns)
    return Table(("estimate", "verdict", *headings, "scored"), cells)


def best_first(evaluations: Sequence[Evaluation]) -> tuple[list[Evaluation], str]:
    """By the log score where all have one that may be compared, else by RMSE; and by which."""
    scored = all(each.get("log") is not None and each.comparable for each in evaluations)
    name = "log" if scored else "rmse"
    return sorted(evaluations, key=lambda each: each[name].value), NUMBERS[name].title


def _shown_once(names: list[str], texts: Iterable[Iterable[str]]) -> list[str]:
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
    """A number, with its interval for those who ask."""
    number = evaluation.get(row.name)
    if number is None:
        return DASH
    unit = "%" if row.is_share else "1" if number.unit == "nat" else number.unit
    if verbose:
        return number_cell(number, unit)
    return Cell(words.quantity(number.value, unit))
