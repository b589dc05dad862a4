"""The page of `smfeval score`: verdict, numbers, plots, causes, and how it was all done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import SpaceScores
from smfeval.judge.sentences import sentence as verdict_sentence
from smfeval.show.numbers import k_by_axis_text, setup_rows
from smfeval.show.page.document import Card, SpaceCard, document, sentence
from smfeval.show.page.plots import drawn_orientations, drawn_tracks, thinning_note
from smfeval.show.page.terms import TERMS
from smfeval.show.report import (
    Cell,
    Cells,
    doubt_text,
    length_cell,
    number_cell,
    plain_cell,
)
from smfeval.show.score import COVERAGE, Findings
from smfeval.show.series import LEVELS, coverage_curve
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.numbers import NUMBERS, NumberRow, rows_of
from smfeval.summarise.quantities import K_AT_95, NOMINAL
from smfeval.track import ParticleTrack

if TYPE_CHECKING:  # causes are found only where they are asked for
    from smfeval.why.diagnoses import Diagnoses
    from smfeval.why.diagnoses.tables import Bias, Regime, RotationRegime
    from smfeval.why.diagnoses.tails import Tail
    from smfeval.why.explanations import Explanations

HEADLINES = {
    "overconfident": "The reported uncertainty is too small: do not rely on it.",
    "consistent": "The reported uncertainty matches the errors.",
    "conservative": "The reported uncertainty is larger than the errors.",
    "cannot tell": "The data cannot tell whether the reported uncertainty is honest.",
}
NOTHING_TO_JUDGE = "It reports no uncertainty: there is nothing to judge."
ONLY_ERRORS = "Poses without covariance have errors, which are below, and no claim to hold them to."
MANY = 0.1  # share of scans: more of them unmatched, or at risk, stand beside the verdict


def score_page(found: Sequence[Findings], *, command: str) -> str:
    """The page of one or several estimates."""
    if not found:
        raise SeriesError("there is no evaluation to make a page of")
    evaluations, names = [each.evaluation for each in found], [each.name for each in found]
    short = words.without_common_folders(names) if len(names) > 1 else [""]
    tracks = drawn_tracks(
        [(n, e.position, e.options.axes) for n, e in zip(names, evaluations, strict=True)]
    )
    horizons = [_horizon_curve(each) for each in evaluations]
    orientations = drawn_orientations(evaluations, tracks)
    references = dict.fromkeys(each.reference.provenance.name for each in evaluations)
    return document(
        "score.html",
        title=", ".join(names),
        command=command,
        data={
            "tracks": tracks,
            "curves": [_curve(e) for e in evaluations],
            "horizons": horizons,
            "orientations": orientations,
            "pairs": False,
        },
        heading=names[0] if len(names) == 1 else f"{len(names)} estimates",
        against=", ".join(references),
        level=words.level(evaluations[0].options.intervals.level),
        believes=any(each.position.has_belief for each in evaluations),
        has_horizons=any(horizons),
        has_orientations=any(orientations),
        thinning=thinning_note(tracks),
        overview=["estimate", "verdict", *(row.title for row in _overview_rows())],
        estimates=[_estimate(at, each, short[at]) for at, each in enumerate(found)],
    )


def _estimate(at: int, found: Findings, short: str) -> dict[str, Any]:
    """What the page says of one estimate, which is called by its short name if there are others."""
    evaluation, motion = found.evaluation, found.evaluation.relative_motion
    growth = None if motion is None else motion.growth
    return {
        "number": at,
        "name": short or found.name,
        "of": f": {short}" if short else "",
        "verdict": _verdict(found, who=short),
        "compared": (
            Cell(short),
            Cell(evaluation.verdict.label, is_label=True),
            *(number_cell(evaluation.get(row.name), _unit(row)) for row in _overview_rows()),
        ),
        "numbers": list(number_rows(evaluation)),
        "spaces": [_space_card(evaluation, each) for each in evaluation.spaces],
        "relative": _relative_rows(evaluation),
        "growth": "" if growth is None else sentence(growth.sentence),
        "explanations": None if found.why is None else _explanations(found.why.explanations),
        "causes": None if found.why is None else _causes(found.why.causes),
        "conditions": setup_rows(evaluation),
        "notes": evaluation.all_notes,
    }


def _verdict(found: Findings, *, who: str) -> Card:
    """The verdict, k with the interval that decides, other explanations, and what weakens it."""
    evaluation = found.evaluation
    verdict, k = evaluation.verdict, evaluation.position.numbers.get(K_AT_95)
    warnings = tuple(warning_sentences(evaluation))
    if not evaluation.position.has_belief:
        return Card(verdict.label, NOTHING_TO_JUDGE, (ONLY_ERRORS,), who=who, warnings=warnings)
    evidence = [sentence(verdict_sentence(verdict, labelled=False))]
    shown = evaluation.options.intervals.level == 0.95  # on the card of the position
    if not shown and k is not None and k.low is not None and verdict.by != "relative motion":
        evidence.append(f"k = {k} (95 %).")
    if found.why is not None:
        evidence.append(sentence(found.why.explanations.sentence))
    return Card(
        verdict.label, HEADLINES[verdict.label], tuple(evidence), who=who, warnings=warnings
    )


def warning_sentences(evaluation: Evaluation) -> Iterator[str]:
    """What looks wrong; scans not matched, or matched over gaps too long, where they are many."""
    pairs, risk = evaluation.pairs, evaluation.gap_risk
    for doubt in evaluation.doubts:
        yield sentence(f"doubt: {doubt_text(doubt)}")
    lost = pairs.scans - len(pairs)
    if lost > MANY * pairs.scans:
        share = words.share(lost / pairs.scans)
        yield f"{words.count_of(lost, pairs.scans, 'scan')} ({share}) have no reference in time."
    if risk is not None and risk.above_limit > MANY:
        share = words.share(risk.above_limit)
        limit = words.exact(RISK_LIMIT)
        yield f"In {share} of scans the gap to the reference leaves more than {limit} sigma open."


def _space_card(evaluation: Evaluation, scored: SpaceScores) -> SpaceCard:
    """The label of a space, its k, how often its 90 % region holds, and error beside sigma."""
    name = scored.space.name
    verdict = scored.verdict or evaluation.verdict
    tail = "" if name == "position" else f"_{name}"
    k, coverage = scored.numbers.get(f"k{tail}"), scored.numbers.get(f"{COVERAGE}{tail}")
    lines = []
    if verdict.at_least is not None:
        lines.append(f"too tight by at least {words.number(verdict.at_least)}")
    if coverage is not None:
        share = number_cell(coverage, "%").text
        lines.append(f"the {words.level(NOMINAL)} region holds {share}")
    if name != "pose":  # which has no one unit
        write, residuals = words.length if name == "position" else words.angle, scored.residuals
        unit = 1.0 if name == "position" else float(np.degrees(1.0))
        rms = write(unit * float(np.sqrt(np.mean(np.sum(residuals.error**2, axis=1)))))
        claimed = ""
        if residuals.covariance is not None:
            variance = np.trace(residuals.predicted_covariance, axis1=1, axis2=2)
            claimed = f", claimed {write(unit * float(np.sqrt(np.median(variance))))}"
        lines.append(f"RMS error {rms}{claimed}")
    lines += [k_by_axis_text(scored)] if name == "rotation" else []
    return SpaceCard(
        name=name,
        axes=", ".join(scored.space.axis_names),
        label=verdict.label,
        sentence=sentence(verdict.sentence),
        k=None if k is None else number_cell(k),
        lines=tuple(lines),
    )


def _overview_rows() -> list[NumberRow]:
    """The columns of the table of several estimates: calibration first."""
    return sorted((row for row in NUMBERS.values() if row.overview), key=lambda row: row.group)


def _unit(row: NumberRow) -> str | None:
    """Shares are shown in percent, all else in the number's own unit."""
    return None if row.level is None else "%"


@dataclass(frozen=True)
class ShownNumber:
    """A row of the table of numbers: its cell, and what it is to be compared with."""

    title: str
    cell: Cell
    honest: str  # what an honest belief has, or which way is better
    term: str  # of the glossary
    space: str


def number_rows(evaluation: Evaluation) -> Iterator[ShownNumber]:
    """Calibration first, for that is the question, and k before all; then the scores."""
    gaussian = not isinstance(evaluation.estimate, ParticleTrack)
    for scored in evaluation.spaces:
        space = scored.space.name
        first = sorted(
            rows_of(space), key=lambda row: (row.group, (row.quantity or row.name) != "k")
        )
        for row in first:
            number = scored.numbers.get(row.name)
            if number is not None and row.on_page:
                named = (row.title, row.plain_title)
                term = next((each for each in named if each in TERMS), row.label or "")
                yield ShownNumber(
                    row.title,
                    number_cell(number, _unit(row)),
                    row.comparison(scored.residuals.dimension, gaussian=gaussian),
                    term="coverage" if row.level is not None else term,
                    space=space,
                )


def _relative_rows(evaluation: Evaluation) -> list[Cells]:
    """k of relative motion by horizon, and whether a verdict may rest on it."""
    motion = evaluation.relative_motion
    if motion is None:
        return []
    return [
        (
            Cell(words.count(row.horizon, "scan"), row.horizon),
            Cell(words.duration(row.seconds), row.seconds),
            length_cell(row.metres),
            number_cell(row.number(evaluation.options.intervals)),
            Cell(words.count(row.windows), row.windows),
            Cell(motion.why_not(row) or "yes"),
        )
        for row in motion.rows
    ]


def _explanations(found: Explanations) -> dict[str, Any]:
    """The closing sentence, a row for each explanation, and why some could not be asked."""
    from smfeval.show import causes  # noqa: PLC0415  only where asked for

    return {
        "title": causes.EXPLANATIONS_TITLE.capitalize(),
        "lead": sentence(found.sentence),
        "headings": ["explanation", *causes.EXPLANATION_HEADINGS[1:]],
        "rows": [tuple(map(Cell, row)) for row in causes.explanation_cells(found.rows)],
        "notes": [sentence(each) for each in causes.explanation_notes(found)],
    }


def _causes(found: Diagnoses) -> dict[str, Any]:
    """Each cause with what to try; then the tables that are always shown."""
    from smfeval.show.causes import CAUSES_TITLE  # noqa: PLC0415  only where asked for

    windows, rotation = found.windows, found.rotation
    between = 0.0 if windows is None else windows.between
    return {
        "title": CAUSES_TITLE.capitalize(),
        "reason": sentence(found.reason or ""),
        "faults": [
            {
                "name": each.cause.capitalize(),
                "sentence": sentence(each.sentence),
                "advice": each.advice,
            }
            for each in found.found
        ],
        "biases": [_bias_cells(each) for each in found.bias],
        "tail": "" if found.tail is None else _tail_sentence(found.tail),
        "directions": [] if windows is None else list(windows.directions),
        "windows": [
            (
                plain_cell(each.start_s),
                plain_cell(each.end_s),
                *map(length_cell, each.mean_m),
                length_cell(each.rmse_m),
                plain_cell(each.k),
            )
            for each in (() if windows is None else windows.rows)
        ],
        "between": f"{words.share(between)} of the error's variance lies between windows",
        "regimes": [_regime_cells(each, length_cell(each.rmse_m)) for each in found.regimes],
        "rotation": [
            (
                Cell(each.axis),
                number_cell(each.mean),
                _angle_cell(each.scatter_deg),
                Cell(words.share(each.share), each.share),
            )
            for each in (() if rotation is None else rotation.bias)
        ],
        "rotation_regimes": [
            _regime_cells(each, _angle_cell(each.rms_deg))
            for each in (() if rotation is None else rotation.regimes)
        ],
        "untested": [f"{each.name}: {each.reason}" for each in found.untested],
    }


def _tail_sentence(tail: Tail) -> str:
    shares = (tail.top_1, tail.honest_1, tail.top_5, tail.honest_5)
    one, honest_one, five, honest_five = map(words.share, shares)
    return (
        f"1 % of scans carry {one} of the NEES ({honest_one} expected), "
        f"5 % carry {five} ({honest_five} expected)."
    )


def _regime_cells(regime: Regime | RotationRegime, size: Cell) -> Cells:
    return Cell(regime.name), _scans_cell(regime.scans), size, plain_cell(regime.k)


def _bias_cells(bias: Bias) -> Cells:
    """The mean with its interval, in the unit that suits the scatter."""
    mean = bias.mean
    unit = words.length_unit(max(abs(mean.value), bias.scatter_m))
    value, share = (0.0, 0.0) if bias.is_rounding else (mean.value, bias.share)
    ends = () if mean.low is None or mean.high is None else (mean.low, mean.high)
    text, *shown = (words.number(each / unit.size) for each in (value, *ends))
    return (
        Cell(bias.direction),
        Cell(f"{text} {unit.name}", mean.value, tuple(shown)),
        length_cell(bias.scatter_m),
        Cell(words.share(share), bias.share),
    )


def _scans_cell(scans: int) -> Cell:
    return Cell(words.count(scans, "scan"), scans)


def _angle_cell(degrees: float) -> Cell:
    return Cell(words.angle(degrees), degrees)


def _curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """Coverage at every level, with its interval where there is one."""
    if not evaluation.position.has_belief:
        return None
    curve = coverage_curve(evaluation)
    return {
        "level": LEVELS.tolist(),
        "share": curve.share.tolist(),
        "low": [None if np.isnan(end) else end for end in curve.low.tolist()],
        "high": [None if np.isnan(end) else end for end in curve.high.tolist()],
    }


def _horizon_curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """k over horizons with its interval; None where there are none, or nothing on a log axis."""
    motion = evaluation.relative_motion
    rows = [] if motion is None else [row for row in motion.rows if row.k > 0 and row.seconds > 0]
    if motion is None or not rows:
        return None
    numbers = [row.number(evaluation.options.intervals) for row in rows]
    return {
        "seconds": [row.seconds for row in rows],
        "scans": [row.horizon for row in rows],
        "windows": [row.windows for row in rows],
        "k": [row.k for row in rows],
        "low": [finite_or_none(each.low) for each in numbers],
        "high": [finite_or_none(each.high) for each in numbers],
        "usable": [motion.why_not(row) is None for row in rows],
    }
