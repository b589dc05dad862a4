"""The closing sentence: which alibis hold, and what remains."""

from collections.abc import Iterable

from smfeval.explain.alibis.judgement import Judgement
from smfeval.explain.alibis.reference_noise import RTK_M, SURVEY_GRADE_M
from smfeval.explain.alibis.result import Alibi
from smfeval.explain.alibis.sizes import metres, plain

TOGETHER = "all at once"
GENEROUS = "what is searched for is the kindest to the estimate"


def closing(scored: Judgement, rows: tuple[Alibi, ...]) -> str:
    """What the rows amount to."""
    if scored.label != "overconfident":
        found = f"the verdict is {scored.label!r} with k = {plain(scored.k.value)}"
        return f"there is nothing to explain: {found}"
    free = [row for row in rows if row.proviso is None]
    told = _single(scored, free) or _together(free) or _none(scored, free)
    return f"{told}{_unless(rows)}; {_sigma(rows)}"


def _single(scored: Judgement, rows: Iterable[Alibi]) -> str | None:
    """The alibis that hold alone, or at least are not excluded."""
    single = [row for row in rows if row.holds and row.name != TOGETHER]
    if not single:
        return None
    sure = [row for row in single if row.outcome(scored) == "holds"]
    named = {row.name for row in sure}
    unsure = [row for row in single if row.name not in named]
    told = [_told("an alibi holds", sure), _told("an alibi is not excluded", unsure)]
    generous = f" ({GENEROUS})" if any(row.searched for row in single) else ""
    return f"{'; '.join(filter(None, told))} instead of {plain(scored.k.value)}{generous}"


def _told(head: str, rows: Iterable[Alibi]) -> str:
    """Of each name the kindest; empty without rows."""
    told = ", ".join(
        f"{row.name} ({row.granted}) leaves k = {plain(_k(row))}" for row in _kindest(rows)
    )
    return f"{head}: {told}" if told else ""


def _together(rows: Iterable[Alibi]) -> str | None:
    """The case where no alibi holds alone, but all do together."""
    both = next((row for row in rows if row.name == TOGETHER and row.holds), None)
    if both is None:
        return None
    return f"no alibi holds alone, but {both.granted} leave k = {plain(_k(both))} ({GENEROUS})"


def _none(scored: Judgement, rows: Iterable[Alibi]) -> str:
    """What explains part, and what all of it leaves."""
    rows = list(rows)
    partial = [row for row in rows if row.outcome(scored) == "in part"]
    parts = [
        f"; {row.name} ({row.granted}) explains part, k falls to {plain(_k(row))}"
        for row in _kindest(row for row in partial if row.name not in (TOGETHER, "reference noise"))
    ]
    left = next(plain(_k(row)) for row in rows if row.name == TOGETHER)
    together = f"all at once leave k = {left} of {plain(scored.k.value)} though {GENEROUS}"
    return f"no alibi holds: {together}{''.join(parts)}"


def _unless(rows: Iterable[Alibi]) -> str:
    """What would hold under a proviso."""
    held = [row for row in rows if row.proviso is not None and row.holds]
    return "".join(
        f"; if {row.proviso}, its noise ({row.granted}) leaves k = {plain(_k(row))}" for row in held
    )


def _sigma(rows: Iterable[Alibi]) -> str:
    """The reference noise that would be needed, beside what references have."""
    need = next(row.need for row in rows if row.name == "reference noise" and row.need)
    size = need.size or 0.0
    survey = f"{_times(size / SURVEY_GRADE_M)} a survey-grade one ({metres(SURVEY_GRADE_M)})"
    rtk = f"{_times(size / RTK_M)} RTK's ({metres(RTK_M)})"
    return f"k = 1 needs a reference sigma of {metres(size)}, {survey}, {rtk}"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,g} times"


def _kindest(rows: Iterable[Alibi]) -> list[Alibi]:
    """Of each name the row with the least k."""
    best: dict[str, Alibi] = {}
    for row in rows:
        best[row.name] = min(best.get(row.name, row), row, key=_k)
    return list(best.values())


def _k(row: Alibi) -> float:
    assert row.judgement is not None
    return row.judgement.k.value
