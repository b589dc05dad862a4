"""The closing sentence: which alibis hold, what remains, and what k = 1 would need."""

from collections.abc import Iterable, Sequence

from smfeval.explain.alibis.judgement import Judgement
from smfeval.explain.alibis.reference_noise import RTK_M, SURVEYED_MAP_M, TOTAL_STATION_M
from smfeval.explain.alibis.result import Alibi, Need
from smfeval.explain.alibis.sizes import metres, milliseconds, plain

TOGETHER = "all at once"
GENEROUS = "what is searched for is the kindest to the estimate"
REFERENCES = (
    f"a total station has {metres(TOTAL_STATION_M)}, LiDAR on a surveyed map "
    f"{metres(SURVEYED_MAP_M)}, RTK {metres(RTK_M)}"
)


def closing(scored: Judgement, rows: tuple[Alibi, ...]) -> str:
    """What the rows amount to."""
    if scored.label != "overconfident":
        found = f"the verdict is {scored.label!r} with k = {plain(scored.k.value)}"
        return f"there is nothing to explain: {found}"
    return f"{_held(scored, rows)}; {needed(rows)}"


def _held(scored: Judgement, rows: Sequence[Alibi]) -> str:
    """What holds: without a proviso, else what depends on the reference and what remains."""
    free = [row for row in rows if row.proviso is None]
    single, depends = _single(scored, free), _depends(scored, rows)
    if single is not None:
        return f"{single}; {depends}" if depends else single
    rest = _together(scored, free) or _none(scored, free)
    return f"{depends}; without it, {rest}" if depends else rest


def _single(scored: Judgement, rows: Iterable[Alibi]) -> str | None:
    """The alibis that hold alone, or at least are not excluded."""
    single = [row for row in rows if row.holds(scored) and row.name != TOGETHER]
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


def _depends(scored: Judgement, rows: Iterable[Alibi]) -> str | None:
    """The best reference whose noise would explain the verdict, if it is of that kind."""
    held = next((row for row in rows if row.proviso is not None and row.holds(scored)), None)
    if held is None:
        return None
    left = f"{plain(_k(held))} of {plain(scored.k.value)}"
    return f"it depends on the reference: one of {held.granted}, leaves k = {left}"


def _together(scored: Judgement, rows: Iterable[Alibi]) -> str | None:
    """The case where no alibi holds alone, but all do together."""
    both = next((row for row in rows if row.name == TOGETHER and row.holds(scored)), None)
    if both is None:
        return None
    return f"no alibi holds alone, but {both.granted} leave k = {plain(_k(both))} ({GENEROUS})"


def _none(scored: Judgement, rows: Sequence[Alibi]) -> str:
    """What explains part, and what all of it leaves."""
    partial = [row for row in rows if row.outcome(scored) == "in part"]
    parts = [
        f"{row.name} ({row.granted}) explains part, k falls to {plain(_k(row))}"
        for row in _kindest(row for row in partial if row.name not in (TOGETHER, "reference noise"))
    ]
    asked = [row for row in rows if row.name == TOGETHER and row.outcome(scored) is not None]
    left = [
        f"all at once leave k = {plain(_k(row))} of {plain(scored.k.value)} though {GENEROUS}"
        for row in asked
    ]
    return ": ".join(filter(None, ["no alibi holds", "; ".join([*left, *parts])]))


def needed(rows: Iterable[Alibi]) -> str:
    """How much of one alone gives k = 1; the reference's beside what references have."""
    needs = [_needed(row.name, row.need) for row in rows if row.need is not None]
    known = [words for words in needs if words is not None]
    return f"k = 1 needs {', or '.join(known)}" if known else "what k = 1 needs is not known"


def _needed(name: str, need: Need) -> str | None:
    """A size in words; None where no size is enough or known."""
    if need.size is None:
        return None
    if name == "reference noise":
        return f"a reference sigma of {metres(need.size)} ({REFERENCES})"
    size = metres(need.size) if need.unit == "m" else milliseconds(need.size)
    return f"a {name} of {size}"


def _kindest(rows: Iterable[Alibi]) -> list[Alibi]:
    """Of each name the row with the least k."""
    best: dict[str, Alibi] = {}
    for row in rows:
        best[row.name] = min(best.get(row.name, row), row, key=_k)
    return list(best.values())


def _k(row: Alibi) -> float:
    assert row.judgement is not None
    return row.judgement.k.value
