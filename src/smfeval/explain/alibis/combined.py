"""All at once: the kindest gauge, clock offset and lever arm, and the noise of a total station.

Clock offset and lever arm are searched in turns, each beside the other's best, beginning with
either, under the gauge used and under the kindest; the least k of these four counts, so that it is
no less kind than any of the searches alone.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from smfeval import words
from smfeval.choices import AlignmentKind
from smfeval.errors import SmfevalError
from smfeval.explain.alibis.case import (
    Alibi,
    AlibiCase,
    AlibiJudgement,
    ExtrinsicTolerance,
    Need,
    relative_nees,
    try_judge,
)
from smfeval.explain.alibis.clock import kindest_offset
from smfeval.explain.alibis.gauge import other_alignments
from smfeval.explain.alibis.lever_arm import kindest_arm, reach_m
from smfeval.explain.alibis.reference_noise import (
    RTK_M,
    SURVEYED_MAP_M,
    TOTAL_STATION_M,
    with_isotropic_noise,
)
from smfeval.maths.arrays import Floats

SEARCHES = ("clock", "arm")
Adjustment = tuple[AlignmentKind | None, float, Floats]  # gauge (None: as used), offset, lever arm


def all_at_once(case: AlibiCase, search: AlibiCase, tolerance: ExtrinsicTolerance) -> Alibi:
    """The verdict with the kindest of every search granted together."""
    kind, offset, arm = kindest_together(search, reach_m(case, tolerance))
    moved = _apply_adjustment(case, (kind, offset, arm))
    arm_words = f", lever arm {words.length(float(np.linalg.norm(arm)))}" if arm.any() else ""
    clock = f"clock {words.duration(offset, signed=True)}"
    granted = f"{moved.kind}, {clock}{arm_words}, noise {words.length(TOTAL_STATION_M)}"
    judgement, reason = try_judge(with_isotropic_noise(moved, TOTAL_STATION_M))
    return Alibi("all at once", granted, judgement, searched=True, reason=reason)


def kindest_together(case: AlibiCase, reach: float) -> Adjustment:
    """Gauge, clock offset and lever arm with the least k that was found."""
    kinds = dict.fromkeys((None, kindest_gauge(case)))
    ways = [_search_in_turns(case, kind, reach, first) for kind, first in product(kinds, SEARCHES)]
    return min(ways, key=lambda found: _k(_apply_adjustment(case, found)))


def kindest_gauge(case: AlibiCase) -> AlignmentKind | None:
    """The alignment of all scans with the least k; None where the one used has it."""
    k = {None: _k(case)} | {kind: _k(case.under_alignment(kind)) for kind in other_alignments(case)}
    return min(k, key=lambda kind: k[kind])


def _k(case: AlibiCase) -> float:
    """The k of the case; infinite where there is no alignment or no inverse of a covariance."""
    try:
        return float(np.median(relative_nees(case)))
    except SmfevalError:
        return np.inf


def _search_in_turns(
    case: AlibiCase, kind: AlignmentKind | None, reach: float, first: str
) -> Adjustment:
    """Clock offset and lever arm in turns, the first of them twice."""
    offset, arm = 0.0, np.zeros(3)
    for what in (first, *(other for other in SEARCHES if other != first), first):
        if what == "clock" and case.velocity is not None:
            late = kindest_offset(_apply_adjustment(case, (kind, 0.0, arm)))
            offset = late if _is_regular(case, (kind, late, arm)) else offset
        if what == "arm" and case.estimate.about.oriented:
            found = kindest_arm(_apply_adjustment(case, (kind, offset, np.zeros(3))), reach)
            arm = found if _is_regular(case, (kind, offset, found)) else arm
    return kind, offset, arm


def _is_regular(case: AlibiCase, found: Adjustment) -> bool:
    """Whether covariances keep their inverse."""
    return bool(np.isfinite(_k(_apply_adjustment(case, found))))


def _apply_adjustment(case: AlibiCase, found: Adjustment) -> AlibiCase:
    kind, offset, arm = found
    moved = case if kind is None else case.under_alignment(kind)
    moved = moved.at_offset(offset) if offset else moved
    return moved.with_lever_arm(arm) if arm.any() else moved


COMBINED = "all at once"
GENEROUS_NOTE = "what is searched for is the kindest to the estimate"
REFERENCE_SIGMAS = (
    f"a total station has {words.length(TOTAL_STATION_M)}, LiDAR on a surveyed map "
    f"{words.length(SURVEYED_MAP_M)}, RTK {words.length(RTK_M)}"
)


def closing_sentence(
    scored: AlibiJudgement, rows: tuple[Alibi, ...], of_rotation: tuple[Alibi, ...] = ()
) -> str:
    """What the rows amount to, for the position and then for the rotation."""
    rotation = [f"; rotation: {_rotation_sentence(row)}" for row in of_rotation]
    if scored.label != "overconfident":
        found = f"the verdict is {scored.label!r} with k = {words.number(scored.k.value)}"
        return "".join([f"there is nothing to explain: {found}", *rotation])
    return "".join([f"{_outcome_sentence(scored, rows)}; {needs_sentence(rows)}", *rotation])


def _rotation_sentence(row: Alibi) -> str:
    """Whether a constant rotation explains what the rotation is convicted of."""
    assert row.scored is not None
    head = {
        "holds": "an alibi holds",
        "not excluded": "an alibi is not excluded",
        "in part": "an alibi explains part",
    }.get(row.outcome(row.scored) or "", "no alibi holds")
    left = f"{words.number(_k_value(row))} of {words.number(row.scored.k.value)}"
    return f"{head}: {row.name} ({row.granted}) leaves k_rotation = {left}"


def _outcome_sentence(scored: AlibiJudgement, rows: Sequence[Alibi]) -> str:
    """What holds: without a proviso, else what depends on the reference and what remains."""
    free = [row for row in rows if row.proviso is None]
    single, depends = _single_sentence(scored, free), _reference_sentence(scored, rows)
    if single is not None:
        return f"{single}; {depends}" if depends else single
    rest = _combined_sentence(scored, free) or _failure_sentence(scored, free)
    return f"{depends}; without it, {rest}" if depends else rest


def _single_sentence(scored: AlibiJudgement, rows: Iterable[Alibi]) -> str | None:
    """The alibis that hold alone, or at least are not excluded."""
    single = [row for row in rows if row.holds(scored) and row.name != COMBINED]
    if not single:
        return None
    sure = [row for row in single if row.outcome(scored) == "holds"]
    named = {row.name for row in sure}
    unsure = [row for row in single if row.name not in named]
    told = [_list_alibis("an alibi holds", sure), _list_alibis("an alibi is not excluded", unsure)]
    generous = f" ({GENEROUS_NOTE})" if any(row.searched for row in single) else ""
    return f"{'; '.join(filter(None, told))} instead of {words.number(scored.k.value)}{generous}"


def _list_alibis(head: str, rows: Iterable[Alibi]) -> str:
    """Of each name the kindest; empty without rows."""
    told = ", ".join(
        f"{row.name} ({row.granted}) leaves k = {words.number(_k_value(row))}"
        for row in _kindest_rows(rows)
    )
    return f"{head}: {told}" if told else ""


def _reference_sentence(scored: AlibiJudgement, rows: Iterable[Alibi]) -> str | None:
    """The best reference whose noise would explain the verdict, if it is of that kind."""
    held = next((row for row in rows if row.proviso is not None and row.holds(scored)), None)
    if held is None:
        return None
    left = f"{words.number(_k_value(held))} of {words.number(scored.k.value)}"
    return f"it depends on the reference: one of {held.granted}, leaves k = {left}"


def _combined_sentence(scored: AlibiJudgement, rows: Iterable[Alibi]) -> str | None:
    """The case where no alibi holds alone, but all do together."""
    both = next((row for row in rows if row.name == COMBINED and row.holds(scored)), None)
    if both is None:
        return None
    return (
        f"no alibi holds alone, but {both.granted} leave k = {words.number(_k_value(both))} "
        f"({GENEROUS_NOTE})"
    )


def _failure_sentence(scored: AlibiJudgement, rows: Sequence[Alibi]) -> str:
    """What explains part, and what all of it leaves."""
    partial = [row for row in rows if row.outcome(scored) == "in part"]
    parts = [
        f"{row.name} ({row.granted}) explains part, k falls to {words.number(_k_value(row))}"
        for row in _kindest_rows(
            row for row in partial if row.name not in (COMBINED, "reference noise")
        )
    ]
    asked = [row for row in rows if row.name == COMBINED and row.outcome(scored) is not None]
    left = [
        f"all at once leave k = {words.number(_k_value(row))} of {words.number(scored.k.value)} "
        f"though {GENEROUS_NOTE}"
        for row in asked
    ]
    return ": ".join(filter(None, ["no alibi holds", "; ".join([*left, *parts])]))


def needs_sentence(rows: Iterable[Alibi]) -> str:
    """How much of one alone gives k = 1; the reference's beside what references have."""
    needs = [_need_text(row.name, row.need) for row in rows if row.need is not None]
    known = [need for need in needs if need is not None]
    return f"k = 1 needs {', or '.join(known)}" if known else "what k = 1 needs is not known"


def _need_text(name: str, need: Need) -> str | None:
    """A size in words; None where no size is enough or known."""
    if need.size is None:
        return None
    if name == "reference noise":
        return f"a reference sigma of {words.length(need.size)} ({REFERENCE_SIGMAS})"
    size = words.length(need.size) if need.unit == "m" else words.duration(need.size)
    return f"a {name} of {size}"


def _kindest_rows(rows: Iterable[Alibi]) -> list[Alibi]:
    """Of each name the row with the least k."""
    best: dict[str, Alibi] = {}
    for row in rows:
        best[row.name] = min(best.get(row.name, row), row, key=_k_value)
    return list(best.values())


def _k_value(row: Alibi) -> float:
    assert row.judgement is not None
    return row.judgement.k.value
