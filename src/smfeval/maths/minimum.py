"""Where a function of one number is least."""

from collections.abc import Callable
from math import sqrt

GOLDEN = (sqrt(5) - 1) / 2


def golden_section(score: Callable[[float], float], low: float, high: float, tries: int) -> float:
    """Where a function with one minimum is least, by so many values of it."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = score(left), score(right)
    for _ in range(tries - 2):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = score(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = score(right)
    return left if at_left <= at_right else right
