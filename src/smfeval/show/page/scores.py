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
from smfeval.show import scores
from smfeval.show.check import doubt_text
from smfeval.show.page.document import document
from smfeval.show.page.parts import (
    HEADLINES,
    Card,
    Cell,
    Fact,
    Row,
    SpaceCard,
    length_cell,
    number_cell,
    plain_cell,
    sentence,
)
from smfeval.show.page.plots import drawn_orientations, drawn_tracks, thinning_note
from smfeval.show.page.terms import TERMS
from smfeval.show.report import (
    ALIBI_HEADINGS,
    ALIBIS_TITLE,
    DIAGNOSES_TITLE,
    alibi_cells,
    alibi_notes,
)
from smfeval.show.series import LEVELS, coverage_curve
from smfeval.summarise.number import finite_or_none
from smfeval.summarise.numbers import NUMBERS, NumberRow, rows_of
from smfeval.summarise.quantities import K_AT_95, NOMINAL
from smfeval.track import ParticleTrack

if TYPE_CHECKING:  # causes are found only where they are asked for
    from smfeval.why.alibis import Alibis
    from smfeval.why.diagnoses import Diagnoses
    from smfeval.why.diagnoses.tables import (
        Bias,
        ErrorWindow,
        Regime,
        RotationRegime,
        RotationTables,
    )
    from smfeval.why.diagnoses.tails import Tail

NOTHING_TO_JUDGE = "It reports no uncertainty: there is nothing to judge."
ONLY_ERRORS = "Poses without covariance have errors, which are below, and no claim to hold them to."
LEVEL = words.level(NOMINAL)
COVERAGE = f"coverage_{words.exact(100 * NOMINAL)}"
MANY = 0.1  # share of scans: more of them unmatched, or at risk, stand beside the verdict

# Rows of the text that stand in tables of their own here, or are terms by another name.
ELSEWHERE = {"MAE", "RMSE", "energy", "CRPS", "interval", "rotation", "NEES", "k", "coverage"}
ELSEWHERE |= {"shape", "precision", "relative scores", "all windows", "note", "doubt", "pose"}
ALIBI_ORDER = (0, 6, 2, 3, 4, 1, 5)  # columns of the text; the outcome comes first here
TERM_OF = {"relative": "relative error", "effective": "effective scans"}


def score_page(
    evaluations: Sequence[Evaluation],
    *,
    alibis: Sequence[Alibis | None] | None = None,
    diagnoses: Sequence[Diagnoses | None] | None = None,
    command: str,
) -> str:
    """The page of one or several evaluations; alibis and diagnoses are in their order."""
    if not evaluations:
        raise SeriesError("there is no evaluation to make a page of")
    names = [each.estimate.provenance.name for each in evaluations]
    none = [None] * len(names)
    short = words.without_common_folders(names) if len(names) > 1 else [""]
    found = zip(evaluations, alibis or none, diagnoses or none, short, strict=True)
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
        overview=["estimate", "verdict", *(row.title for row in overview_rows())],
        estimates=[_estimate(at, *each) for at, each in enumerate(found)],
    )


def _estimate(
    at: int,
    evaluation: Evaluation,
    alibis: Alibis | None,
    diagnoses: Diagnoses | None,
    short: str,
) -> dict[str, Any]:
    """What the page says of one estimate, which is called by its short name if there are others."""
    return {
        "number": at,
        "name": short or evaluation.estimate.provenance.name,
        "of": f": {short}" if short else "",
        "verdict": _verdict(evaluation, alibis, who=short),
        "compared": _comparison_row(evaluation, short),
        "numbers": list(number_rows(evaluation)),
        "spaces": [_space_card(evaluation, each) for each in evaluation.spaces],
        "relative": _relative_rows(evaluation),
        "growth": _growth_sentence(evaluation),
        "alibis": None if alibis is None else _alibis(alibis),
        "diagnoses": None if diagnoses is None else _diagnoses(diagnoses),
        "conditions": _conditions(evaluation),
        "notes": evaluation.all_notes,
    }


def _verdict(evaluation: Evaluation, alibis: Alibis | None, *, who: str) -> Card:
    """The verdict of an evaluation, what its alibis come to, and what weakens both."""
    label, believes = evaluation.verdict.label, evaluation.position.has_belief
    evidence = (
        sentence(evaluation.verdict.sentence.removeprefix(f"{label}: "))
        if believes
        else ONLY_ERRORS,
        _decisive_interval(evaluation),
        "" if alibis is None else sentence(alibis.sentence),
    )
    return Card(
        label,
        HEADLINES[label] if believes else NOTHING_TO_JUDGE,
        tuple(filter(None, evidence)),
        who=who,
        warnings=tuple(warnings(evaluation)),
    )


def _decisive_interval(evaluation: Evaluation) -> str:
    """k with the interval that decides, whatever level the numbers below are shown at."""
    k = evaluation.position.numbers.get(K_AT_95)
    shown = evaluation.options.intervals.level == 0.95  # on the card of the position
    if shown or k is None or k.low is None or evaluation.verdict.by == "relative motion":
        return ""
    return f"k = {k} (95 %)."


def warnings(evaluation: Evaluation) -> Iterator[str]:
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
    k, held = scored.numbers.get(f"k{tail}"), scored.numbers.get(f"{COVERAGE}{tail}")
    least = verdict.at_least
    lines = [] if least is None else [f"too tight by at least {words.number(least)}"]
    lines += [] if held is None else [f"the {LEVEL} region holds {number_cell(held, '%').text}"]
    return SpaceCard(
        name=name,
        axes=", ".join(scored.space.axis_names),
        label=verdict.label,
        sentence=sentence(verdict.sentence),
        k=None if k is None else number_cell(k),
        lines=(*lines, *_error_lines(scored), *_axis_lines(scored)),
    )


def _axis_lines(scored: SpaceScores) -> list[str]:
    return [scores.k_by_axis_text(scored)] if scored.space.name == "rotation" else []


def _error_lines(scored: SpaceScores) -> list[str]:
    """RMS of the error and sigma that is claimed, in metres or degrees; a pose has no one unit."""
    if scored.space.name == "pose":
        return []
    write = words.length if scored.space.name == "position" else words.angle
    scale = 1.0 if scored.space.name == "position" else float(np.degrees(1.0))
    residuals = scored.residuals
    rms = write(scale * float(np.sqrt(np.mean(np.sum(residuals.error**2, axis=1)))))
    if residuals.covariance is None:
        return [f"RMS error {rms}"]
    variance = np.trace(residuals.predicted_covariance, axis1=1, axis2=2)
    sigma = write(scale * float(np.sqrt(np.median(variance))))
    return [f"RMS error {rms}, claimed {sigma}"]


def _comparison_row(evaluation: Evaluation, name: str) -> Row:
    """An estimate beside others: verdict, k, coverage and scores."""
    numbers = ((evaluation.get(row.name), _unit(row)) for row in overview_rows())
    return (
        Cell(name),
        Cell(evaluation.verdict.label, is_label=True),
        *(number_cell(number, unit) for number, unit in numbers),
    )


def overview_rows() -> list[NumberRow]:
    """The columns of the table of several estimates: calibration first."""
    return sorted((row for row in NUMBERS.values() if row.overview), key=lambda row: row.group)


def _unit(row: NumberRow) -> str | None:
    """Shares are shown in percent, all else in the number's own unit."""
    return None if row.level is None else "%"


@dataclass(frozen=True)
class ShownNumber:
    """A row of the table of numbers: its texts, and what it is to be compared with."""

    title: str
    value: str
    ends: tuple[str, ...]  # of its interval, if it has one
    honest: str  # what an honest belief has, or which way is better
    term: str = ""  # of the glossary, where it is not the title
    space: str = "position"


def number_rows(evaluation: Evaluation) -> Iterator[ShownNumber]:
    """Calibration first, for that is the question, and k before all; then the scores."""
    gaussian = not isinstance(evaluation.estimate, ParticleTrack)
    for scored in evaluation.spaces:
        dimension = scored.residuals.dimension
        rows = rows_of(scored.space.name)
        for row in sorted(rows, key=lambda row: (row.group, (row.quantity or row.name) != "k")):
            number = scored.numbers.get(row.name)
            if number is not None and row.on_page:
                cell = number_cell(number, _unit(row))
                compare = row.comparison(dimension, gaussian=gaussian)
                yield ShownNumber(
                    row.title, cell.text, cell.ends, compare, _term(row), scored.space.name
                )


def _term(row: NumberRow) -> str:
    """The term that explains a number: its title or its label; coverages share one."""
    if row.level is not None:
        return "coverage"
    plain = row.title.removeprefix(f"{row.space} ")
    return next((each for each in (row.title, plain) if each in TERMS), row.label or "")


def _relative_rows(evaluation: Evaluation) -> list[Row]:
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


def _growth_sentence(evaluation: Evaluation) -> str:
    """Whether k belongs to short stretches or to the length of the path; '' if not seen."""
    motion = evaluation.relative_motion
    return "" if motion is None or motion.growth is None else sentence(motion.growth.sentence)


def _alibis(found: Alibis) -> dict[str, Any]:
    """The closing sentence, a row for each alibi, and why some could not be granted."""
    return {
        "title": ALIBIS_TITLE.capitalize(),
        "lead": sentence(found.sentence),
        "headings": [ALIBI_HEADINGS[at] for at in ALIBI_ORDER],
        "rows": [tuple(Cell(row[at]) for at in ALIBI_ORDER) for row in alibi_cells(found)],
        "notes": [sentence(each) for each in alibi_notes(found)],
    }


def _diagnoses(found: Diagnoses) -> dict[str, Any]:
    """Each fault with what to try; then the tables that are always shown."""
    windows = found.windows
    between = 0.0 if windows is None else windows.between
    return {
        "title": DIAGNOSES_TITLE.capitalize(),
        "reason": sentence(found.reason or ""),
        "faults": [
            {
                "name": each.cause.capitalize(),
                "sentence": sentence(each.sentence),
                "advice": each.advice,
            }
            for each in found.found
        ],
        "biases": [_bias_row(each) for each in found.bias],
        "tail": "" if found.tail is None else _tail(found.tail),
        "directions": [] if windows is None else list(windows.directions),
        "windows": [] if windows is None else [_window_row(each) for each in windows.rows],
        "between": f"{words.share(between)} of the error's variance lies between windows",
        "regimes": [_regime_row(each) for each in found.regimes],
        "rotation": [] if found.rotation is None else _rotation_bias_rows(found.rotation),
        "rotation_regimes": []
        if found.rotation is None
        else [_rotation_regime_row(each) for each in found.rotation.regimes],
        "untested": [f"{each.name}: {each.reason}" for each in found.untested],
    }


def _bias_row(bias: Bias) -> Row:
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


def _rotation_bias_rows(found: RotationTables) -> list[Row]:
    return [
        (
            Cell(each.axis),
            number_cell(each.mean),
            Cell(words.angle(each.scatter_deg), each.scatter_deg),
            Cell(words.share(each.share), each.share),
        )
        for each in found.bias
    ]


def _rotation_regime_row(regime: RotationRegime) -> Row:
    return (
        Cell(regime.name),
        Cell(words.count(regime.scans, "scan"), regime.scans),
        Cell(words.angle(regime.rms_deg), regime.rms_deg),
        plain_cell(regime.k),
    )


def _tail(tail: Tail) -> str:
    return (
        f"1 % of scans carry {words.share(tail.top_1)} of the NEES "
        f"({words.share(tail.honest_1)} if honest), "
        f"5 % carry {words.share(tail.top_5)} ({words.share(tail.honest_5)} if honest)."
    )


def _window_row(window: ErrorWindow) -> Row:
    return (
        plain_cell(window.start_s),
        plain_cell(window.end_s),
        *map(length_cell, window.mean_m),
        length_cell(window.rmse_m),
        plain_cell(window.k),
    )


def _regime_row(regime: Regime) -> Row:
    scans = Cell(words.count(regime.scans, "scan"), regime.scans)
    return Cell(regime.name), scans, length_cell(regime.rmse_m), plain_cell(regime.k)


def _conditions(evaluation: Evaluation) -> list[Fact]:
    """How the tracks were read, matched and aligned, and what the intervals rest on."""
    return [
        Fact(TERM_OF.get(label, label), text)
        for label, text in scores.rows(evaluation)
        if label not in ELSEWHERE
    ]


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
        "low": [None if each.low is None else finite_or_none(each.low) for each in numbers],
        "high": [None if each.high is None else finite_or_none(each.high) for each in numbers],
        "usable": [motion.why_not(row) is None for row in rows],
    }
