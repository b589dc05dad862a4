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
    numbers = _numbers(row.judgement)
    return (row.name, row.granted, *numbers, needed(row.need), holding(row, scored))


def holding(row: Alibi, scored: Judgement) -> str:
    """Whether it holds: 'yes, if the reference is no better than RTK', 'in part', 'no'."""
    outcome = row.outcome(scored)
    if outcome is None:
        return "cannot be asked"
    proviso = f", if {row.proviso}" if row.proviso and row.holds(scored) else ""
    return WORDS[outcome] + proviso


def _numbers(judgement: Judgement | None) -> tuple[str, str]:
    if judgement is None:
        return "-", "-"
    return shown(judgement.k), number(judgement.nees_median)


def needed(need: Need | None) -> str:
    """How much gives k = 1: '4.1 cm [3.5, 5.2]', 'none does: 9 cm leaves 63'."""
    if need is None:
        return ""
    if need.size is None:
        return _none_does(need)
    ends = ""
    if need.low is not None and need.high is not None:
        ends = f" [{_size(need.low, need.unit)}, {_size(need.high, need.unit)}]"
    return f"{_size(need.size, need.unit)}{ends}"


def _none_does(need: Need) -> str:
    if need.k_left is None:
        return "not known"
    best = "any amount" if need.kindest is None else _size(need.kindest, need.unit)
    return f"none does: {best} leaves {number(need.k_left)}"


def _size(size: float, unit: str) -> str:
    return length(size) if unit == "m" else f"{number(1e3 * size)} ms"


def _notes(alibis: Alibis) -> list[str]:
    tolerance, asked = alibis.tolerance, [alibis.scored, *(row.judgement for row in alibis.rows)]
    known = any(each is not None and each.k.low is not None for each in asked)
    granted = (
        f"the extrinsic may be wrong by {length(tolerance.translation_m)} and "
        f"{number(tolerance.rotation_deg)} deg (the angle turns its lever arm); "
        f"k has {'its 95 %' if known else 'no'} interval"
    )
    reasons = [f"{row.name}, {row.granted}: {row.reason}" for row in alibis.rows if row.reason]
    return [f"  note  {note}" for note in (granted, *reasons, *alibis.notes)]
