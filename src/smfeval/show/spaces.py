"""Rotation and pose of an evaluation as text: every number and a verdict each."""

from smfeval import words
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import SpaceScores
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NumberRow, rows_of


def space_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    """The mean angle, then rotation and pose where they are scored."""
    rows = []
    angle = evaluation.get("rotation")
    if angle is not None and evaluation.rotation is None:
        rows.append(("rotation", str(angle)))
    for scored in (evaluation.rotation, evaluation.pose):
        if scored is not None and scored.verdict is not None:
            first = [str(angle)] if scored is evaluation.rotation else []
            texts = ", ".join([*first, *number_texts(scored)])
            rows += [(scored.space.name, texts), (scored.space.name, scored.verdict.sentence)]
    return rows


def number_texts(scored: SpaceScores) -> list[str]:
    """Numbers with their names."""
    found = ((row, scored.numbers.get(row.name)) for row in rows_of(scored.space.name))
    return [_text(row, number, scored) for row, number in found if number is not None]


def _text(row: NumberRow, number: Number, scored: SpaceScores) -> str:
    if row.level is not None:
        return f"{words.level(row.level)}: {number.text('%')}"
    return f"{row.title.removeprefix(f'{scored.space.name} ')} {number}"
