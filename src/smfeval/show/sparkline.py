"""A series on one line: the median of each stretch of time, on a scale that all tracks share."""

from itertools import pairwise

import numpy as np

from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats, Ints
from smfeval.show.words import number

BLOCKS = "▁▂▃▄▅▆▇█"
STEP = 2.0  # every block is so many times the one before
HONEST = 3  # this block stands for 1 to STEP
WIDTH = 48


def error_over_sigma(evaluation: Evaluation, *, width: int = WIDTH) -> str | None:
    """Error over the reported sigma, sqrt(tr S), along a track; None without a belief.

    An honest belief stays about the middle block; an overconfident one is at the top.
    """
    residuals = evaluation.scored.residuals
    if residuals.covariance is None:
        return None
    size = np.linalg.norm(residuals.error, axis=1)
    ratio = size / np.sqrt(np.trace(residuals.predicted, axis1=1, axis2=2))
    middle = medians(evaluation.scored.estimate.stamp, ratio, width=width)
    low, high = (number(float(end)) for end in (np.nanmin(middle), np.nanmax(middle)))
    honest = BLOCKS[HONEST - 1 : HONEST + 1]
    return f"{drawn(middle)}  {low} to {high} ({honest} about 1: honest)"


def medians(stamp: Ints, value: Floats, *, width: int) -> Floats:
    """Median of each of `width` equal stretches of time; NaN where there is no scan. (width,)."""
    span = max(int(stamp[-1] - stamp[0]), 1)
    place = np.minimum((stamp - stamp[0]) * width // span, width - 1)
    edge = np.searchsorted(place, np.arange(width + 1))
    parts = (value[first:last] for first, last in pairwise(edge))
    return np.array([np.median(part) if len(part) else np.nan for part in parts])


def drawn(ratio: Floats) -> str:
    """A block for each number, on a logarithmic scale anchored at 1; a blank for NaN."""
    with np.errstate(divide="ignore"):
        level = np.floor(np.log(ratio) / np.log(STEP)) + HONEST
    level = np.clip(level, 0, len(BLOCKS) - 1)
    return "".join(" " if np.isnan(at) else BLOCKS[int(at)] for at in level)
