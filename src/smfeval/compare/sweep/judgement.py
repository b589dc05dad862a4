"""What the interval of a slope leaves possible, in one word and one sentence."""

from typing import Literal

from smfeval.compare.sweep.predictions import EARNED, MOVES_NATS, unearned_slope
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


def judged(slope: Number | None, dimension: int) -> Label:
    """Which of the two predictions the interval of the slope of log10 NEES holds, if any."""
    if slope is None:
        return "unmoved"
    if slope.low is None or slope.high is None:
        return "undecided"
    low, high, unearned = slope.low - SAME, slope.high + SAME, unearned_slope(dimension)
    if high < EARNED:
        return "better"
    if low > unearned:
        return "worse"
    if low > EARNED:
        return "unearned" if high >= unearned else "between"
    return "undecided" if high >= unearned else "earned"
