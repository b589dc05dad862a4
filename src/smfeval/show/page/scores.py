"""The page of `smfeval score`: verdict and pictures; in folds every section of the report."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from smfeval import words
from smfeval.associate.nearest import RISK_LIMIT
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.judge.sentences import statement
from smfeval.show import score as of_score
from smfeval.show.numbers import all_sections
from smfeval.show.page.document import Card, document, sentence
from smfeval.show.page.plots import drawn_orientations, drawn_tracks, thinning_note
from smfeval.show.report import DASH, Cell, ReportSection, Table, doubt_text, number_cell
from smfeval.show.series import LEVELS, coverage_curve, sigma
from smfeval.summarise.number import finite_or_none

MANY = 0.1  # share of scans: more of them unmatched, or at risk, stand beside the verdict
DEGREES = float(np.degrees(1.0))  # of a radian
UNBROKEN = 10_000  # letters of a line: browsers break it
SPACE_HEADINGS = ("", "verdict", "k", "90 % coverage", "error (RMS)", "reported sigma")
MOTION = ("relative motion", "scores of relative motion", "relative pose error", "k over the path")
SETUP = ("setup", "notes")
INTEGRITY = ("integrity", "protection levels")  # sections of the report; all others are numbers
FOLDS = {"setup": SETUP, "motion": MOTION, "integrity": INTEGRITY}


def score_page(found: Sequence[of_score.Findings], *, command: str) -> str:
    """The page of one or several estimates, best first."""
    if not found:
        raise SeriesError("there is no evaluation to make a page of")
    evaluations, _ = of_score.best_first([each.evaluation for each in found])
    place = {id(each): at for at, each in enumerate(evaluations)}
    found = sorted(found, key=lambda each: place[id(each.evaluation)])
    names = [each.name for each in found]
    references = list(dict.fromkeys(each.reference.provenance.name for each in evaluations))
    several = len(names) > 1
    short = words.without_common_folders([*names, *references])
    data = _drawn(names, evaluations)
    return document(
        "score.html",
        title=", ".join(names),
        command=command,
        data=data,
        heading=short[0] if not several else f"{len(names)} estimates",
        against=", ".join(short[len(names) :]),
        level=words.level(evaluations[0].options.intervals.level),
        believes=any(each.position.has_belief for each in evaluations),
        has_horizons=any(data["horizons"]),
        has_orientations=any(data["orientations"]),
        thinning=thinning_note(data["tracks"]),
        overview=of_score.comparison_table(evaluations, short[: len(names)]),
        estimates=[
            {
                "name": name,
                "verdict": _verdict(each, who=name if several else ""),
                "spaces": None if several else _space_table(each.evaluation),
                **_sections(each),
            }
            for each, name in zip(found, short, strict=False)
        ],
    )


def _drawn(names: Sequence[str], evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """What the scripts draw; Stanford diagrams where an alert limit is given."""
    pairs = zip(names, evaluations, strict=True)
    named = [(name, each.position, each.options.axes) for name, each in pairs]
    tracks = drawn_tracks(named, rolling=len(names) > 1)
    data: dict[str, Any] = {
        "tracks": tracks,
        "curves": [_curve(each) for each in evaluations],
        "horizons": [_horizon_curve(each) for each in evaluations],
    }
    if any(each.integrity for each in evaluations):
        from smfeval.show.integrity import diagram_data  # noqa: PLC0415  only where asked for

        data["stanford"] = [diagram_data(each.integrity) for each in evaluations]
    return data | {"orientations": drawn_orientations(evaluations, tracks), "pairs": False}


def _verdict(found: of_score.Findings, *, who: str) -> Card:
    """The verdict, and as in the report: error beside sigma, and what to do next."""
    evaluation, verdict = found.evaluation, found.evaluation.verdict
    step, *_ = of_score.next_steps(evaluation, why=found.why is not None)
    evidence = (sentence(of_score.error_text(evaluation)), sentence(f"next: {step}"))
    headline, warnings = sentence(statement(verdict)), tuple(warning_sentences(evaluation))
    return Card(verdict.label, headline, evidence, who=who, warnings=warnings)


def _sections(found: of_score.Findings) -> dict[str, list[ReportSection]]:
    """The sections of the whole report by the fold that they stand in."""
    sections: dict[str, list[ReportSection]] = {name: [] for name in (*FOLDS, "numbers", "why")}
    for each in all_sections(found.evaluation)[1:]:  # the first is on the card
        fold = (name for name, titles in FOLDS.items() if each.title in titles)
        sections[next(fold, "numbers")].append(each)
    if found.why is not None:
        from smfeval.show.causes import why_sections  # noqa: PLC0415  only where asked for

        sections["why"] = why_sections(found.why, verbose=True, width=UNBROKEN)
    return sections


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


def _space_table(evaluation: Evaluation) -> Table | None:
    """Verdict, k, coverage, and error beside sigma of each space; None without uncertainty."""
    rows = []
    for scored in evaluation.spaces:
        name, residuals = scored.space.name, scored.residuals
        tail = "" if name == "position" else f"_{name}"
        error = reported = DASH
        if name != "pose":  # which has no one unit
            write, unit = (words.length, 1.0) if name == "position" else (words.angle, DEGREES)
            rms = float(np.sqrt(np.mean(np.sum(residuals.error**2, axis=1))))
            error = Cell(write(unit * rms))
            if residuals.covariance is not None:
                reported = Cell(write(unit * float(np.median(sigma(residuals)))))
        label = Cell((scored.verdict or evaluation.verdict).label, is_label=True)
        k = number_cell(scored.numbers.get(f"k{tail}"))
        covered = number_cell(scored.numbers.get(f"{of_score.COVERAGE}{tail}"), "%")
        rows.append((Cell(name), label, k, covered, error, reported))
    return Table(SPACE_HEADINGS, tuple(rows)) if evaluation.position.has_belief else None


def _curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """Coverage at every level, with its interval where there is one."""
    if not evaluation.position.has_belief:
        return None
    curve = coverage_curve(evaluation)
    low, high = ([finite_or_none(end) for end in ends] for ends in (curve.low, curve.high))
    return {"level": LEVELS.tolist(), "share": curve.share.tolist(), "low": low, "high": high}


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
