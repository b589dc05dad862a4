"""What the interval of a slope leaves possible, in one word and one sentence."""

from typing import Literal

from smfeval.compare.sweep.predictions import (
    EARNED,
    MOVES_NATS,
    earned_error_slope,
    unearned_slope,
)
from smfeval.summarise.number import Number

Label = Literal["unmoved", "better", "earned", "between", "unearned", "worse", "undecided"]

SAME = 5e-4  # 1/nat: slopes closer than this are shown alike

SENTENCES: dict[Label, str] = {
    "unmoved": f"the precision moves by less than {MOVES_NATS:g} nat, so there is no slope",
    "better": "errors shrink faster than the belief",
    "earned": "errors shrink with the belief; errors that stay are excluded",
    "between": "errors shrink, and less than the belief; both predictions are excluded",
    "unearned": "errors stay while the belief sharpens; errors that shrink along are excluded",
    "worse": "errors grow while the belief sharpens",
    "undecided": "too few runs, or too far from a line, to tell earned from unearned",
}


def judged(nees: Number | None, error: Number | None, dimension: int) -> Label:
    """Which prediction the interval of the slope of log10 NEES holds, if any.

    For `earned` a slope that may be 0 is not enough, since it may be far from 0 as well: the slope
    of log10 |e| has to agree.
    """
    if nees is None:
        return "unmoved"
    if nees.low is None or nees.high is None:
        return "undecided"
    low, high, unearned = nees.low - SAME, nees.high + SAME, unearned_slope(dimension)
    if high < EARNED:
        return "better"
    if low > unearned:
        return "worse"
    if low > EARNED:
        return "unearned" if high >= unearned else "between"
    return "undecided" if high >= unearned else _by_errors(error, dimension)


def _by_errors(error: Number | None, dimension: int) -> Label:
    """Earned if errors shrink, and as much as the belief; between if they shrink by less."""
    if error is None or error.low is None or error.high is None or error.high + SAME >= 0:
        return "undecided"
    low, high, earned = error.low - SAME, error.high + SAME, earned_error_slope(dimension)
    if low <= earned <= high:
        return "earned"
    return "between" if low > earned else "undecided"
