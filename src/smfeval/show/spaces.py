"""Rotation and pose of an evaluation as text: a short line and a verdict each."""

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import SpaceScores
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NOMINAL, NumberRow, rows_of

UNUSUAL = ("constant rotation", "tilt")  # evidence that needs its sentence
SHORT = ("k", f"coverage_{words.exact(100 * NOMINAL)}", "correlation")  # with the scores


def space_rows(evaluation: Evaluation, *, verbose: bool = False) -> list[tuple[str, str]]:
    """The mean angle, then rotation and pose where they are scored; `-v` has every number."""
    rows = []
    angle = evaluation.get("rotation")
    if angle is not None and evaluation.rotation is None:
        rows.append(("rotation", str(angle)))
    for scored in (evaluation.rotation, evaluation.pose):
        if scored is not None and scored.verdict is not None:
            first = [str(angle)] if scored is evaluation.rotation else []
            texts = ", ".join([*first, *number_texts(scored, verbose=verbose)])
            told = verbose or scored.verdict.evidence in UNUSUAL
            end = "" if told else f": {scored.verdict.label}"
            rows.append((scored.space.name, f"{texts}{end}"))
            rows += [(scored.space.name, scored.verdict.sentence)] if told else []
    return rows


def number_texts(scored: SpaceScores, *, verbose: bool) -> list[str]:
    """Numbers with their names: all of them, or those that most people want."""
    found = ((row, scored.numbers.get(row.name)) for row in rows_of(scored.space.name))
    return [
        _text(row, number, scored)
        for row, number in found
        if number is not None
        and (verbose or row.group == "scores" or (row.quantity or row.name) in SHORT)
    ]


def _text(row: NumberRow, number: Number, scored: SpaceScores) -> str:
    if row.level is not None:
        return f"{words.level(row.level)}: {number.text('%')}"
    return f"{row.title.removeprefix(f'{scored.space.name} ')} {number}"
