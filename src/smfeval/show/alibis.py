"""What else could explain an overconfident verdict, as a small table."""

from smfeval.explain.alibis import Alibi, Alibis, Judgement, Need
from smfeval.show.scores import shown
from smfeval.show.words import length, number

TITLE = "what else could explain it"
HEADINGS = ("alibi", "granted", "k", "median NEES", "k = 1 needs", "holds")
WORDS = {"holds": "yes", "not excluded": "not excluded", "in part": "in part", "no": "no"}


def text(alibis: Alibis) -> str:
    """Title, table, notes and the closing sentence."""
    lines = [] if not alibis.rows else [TITLE, *table(alibis), *_notes(alibis)]
    return "\n".join([*lines, alibis.sentence]) + "\n"


def table(alibis: Alibis) -> list[str]:
    """One line for each alibi, after the verdict as it was scored."""
    scored = alibis.scored
    first = ("as scored", "", *_numbers(scored), "", "")
    rows = [HEADINGS, first, *(_row(row, scored) for row in alibis.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines, last = [], None
    for row in rows:
        name = "" if row[0] == last else row[0]
        cells = (f"{cell:{width}}" for cell, width in zip((name, *row[1:]), widths, strict=True))
        lines.append(f"  {'  '.join(cells)}".rstrip())
        last = row[0]
    return lines


def _row(row: Alibi, scored: Judgement) -> tuple[str, ...]:
    outcome = row.outcome(scored)
    word = "cannot be asked" if outcome is None else WORDS[outcome]
    word += f", if {row.proviso}" if row.proviso and row.holds else ""
    return (row.name, row.granted, *_numbers(row.judgement), needed(row.need), word)


def _numbers(judgement: Judgement | None) -> tuple[str, str]:
    if judgement is None:
        return "-", "-"
    return shown(judgement.k), number(judgement.nees_median)


def needed(need: Need | None) -> str:
    """How much gives k = 1: '4.1 cm [3.5, 5.2]', 'none does: 9 cm leaves 63'."""
    if need is None:
        return ""
    if need.size is None:
        best = "any amount" if need.kindest is None else _size(need.kindest, need.unit)
        return f"none does: {best} leaves {number(need.k_left or 0)}"
    ends = ""
    if need.low is not None and need.high is not None:
        ends = f" [{_size(need.low, need.unit)}, {_size(need.high, need.unit)}]"
    return f"{_size(need.size, need.unit)}{ends}"


def _size(size: float, unit: str) -> str:
    return length(size) if unit == "m" else f"{number(1e3 * size)} ms"


def _notes(alibis: Alibis) -> list[str]:
    tolerance = alibis.tolerance
    granted = (
        f"the extrinsic may be wrong by {length(tolerance.translation_m)} and "
        f"{number(tolerance.rotation_deg)} deg (the angle turns its lever arm); "
        "k has its 95 % interval"
    )
    reasons = [f"{row.name}, {row.granted}: {row.reason}" for row in alibis.rows if row.reason]
    return [f"  note  {note}" for note in (granted, *reasons, *alibis.notes)]
