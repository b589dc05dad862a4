"""The page of `smfeval score`: verdict, numbers, plots, causes, and how it was all done."""

from collections.abc import Sequence
from typing import Any

from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain.alibis import Alibis
from smfeval.explain.diagnoses import Diagnoses
from smfeval.show import scores
from smfeval.show.figures.coverage import LEVELS, held
from smfeval.show.page.causes import alibi_block, diagnosis_block
from smfeval.show.page.document import document
from smfeval.show.page.drawn import drawn_tracks
from smfeval.show.page.markup import Markup, block, listed, tag, together
from smfeval.show.page.numbers import comparison_table, number_table
from smfeval.show.page.tables import pairs_of
from smfeval.show.page.terms import term
from smfeval.show.page.verdicts import verdict_card
from smfeval.show.page.views import chooser, panel, track_views

# Rows of the text that stand in tables of their own here, or are terms by another name.
ELSEWHERE = {"MAE", "RMSE", "energy", "CRPS", "interval", "rotation", "NEES", "k", "coverage"}
ELSEWHERE |= {"shape", "precision", "note"}
TERM_OF = {"relative": "relative error", "effective": "effective scans", "log score": "log score"}


def score(
    evaluations: Sequence[Evaluation],
    *,
    alibis: Sequence[Alibis | None] | None = None,
    diagnoses: Sequence[Diagnoses | None] | None = None,
    command: str,
) -> str:
    """The page of one or several evaluations; alibis and diagnoses are in their order."""
    if not evaluations:
        raise SeriesError("there is no evaluation to make a page of")
    found, names = list(evaluations), [each.estimate.provenance.name for each in evaluations]
    several = len(found) > 1
    excuses = alibis or [None] * len(found)
    faults = diagnoses or [None] * len(found)
    tracks = drawn_tracks(
        [(name, each.scored, each.options.axes) for name, each in zip(names, found, strict=True)]
    )
    believes = any(each.calibration is not None for each in found)
    body = together(
        _top(found, names),
        *(verdict_card(*each, named=several) for each in zip(found, excuses, strict=True)),
        block("All estimates", comparison_table(found)) if several else Markup(),
        chooser(names, "Look closer at"),
        *(panel(at, _numbers(each, several)) for at, each in enumerate(found)),
        track_views(
            tracks, believes=believes, curve=believes, what=_what(believes), truth="reference"
        ),
        *(panel(at, *_causes(*each)) for at, each in enumerate(zip(excuses, faults, strict=True))),
        *(panel(at, _how(each, several), _notes(each)) for at, each in enumerate(found)),
    )
    data = {"tracks": tracks, "curves": [_curve(each) for each in found], "pairs": False}
    return document(", ".join(names), body, command=command, data=data)


def _top(found: list[Evaluation], names: list[str]) -> Markup:
    against = list(dict.fromkeys(each.reference.provenance.name for each in found))
    title = names[0] if len(names) == 1 else f"{len(names)} estimates"
    return tag(
        "header",
        tag("p", "Can the reported uncertainty be trusted?", class_="question"),
        tag("h1", title, tag("span", f" against {', '.join(against)}", class_="against")),
    )


def _what(believes: bool) -> Markup:
    if not believes:
        return tag("span", "Error")
    return tag("span", "Error, reported ", term("sigma"), " and ", term("NEES"))


def _named(evaluation: Evaluation, title: str, several: bool) -> str:
    return f"{title}: {evaluation.estimate.provenance.name}" if several else title


def _numbers(evaluation: Evaluation, several: bool) -> Markup:
    return block(_named(evaluation, "Numbers", several), number_table(evaluation))


def _causes(alibis: Alibis | None, diagnoses: Diagnoses | None) -> list[Markup]:
    return [
        Markup() if alibis is None else alibi_block(alibis),
        Markup() if diagnoses is None else diagnosis_block(diagnoses),
    ]


def _how(evaluation: Evaluation, several: bool) -> Markup:
    """How the tracks were read, matched and aligned, and what the intervals rest on."""
    rows = [
        (term(TERM_OF.get(label, label)), text)
        for label, text in scores.rows(evaluation, verbose=True)
        if label not in ELSEWHERE
    ]
    return block(_named(evaluation, "How it was scored", several), pairs_of(rows))


def _notes(evaluation: Evaluation) -> Markup:
    return block("Conventions and assumptions", listed(evaluation.all_notes, class_="notes"))


def _curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """Coverage at every level, with its interval where there is one."""
    if evaluation.calibration is None:
        return None
    shares = [held(evaluation, float(level)) for level in LEVELS]
    return {
        "level": LEVELS.tolist(),
        "share": [each.value for each in shares],
        "low": [each.low for each in shares],
        "high": [each.high for each in shares],
    }
