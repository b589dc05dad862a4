"""A series on one line: the largest value of each stretch of time, on a logarithmic scale."""

import numpy as np

from smfeval.evaluation import Evaluation
from smfeval.maths.arrays import Floats, Ints
from smfeval.show.words import number

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 48


def error_over_sigma(evaluation: Evaluation, *, width: int = WIDTH) -> str | None:
    """Error over the reported sigma (RMS over the axes) of a track; None without a belief."""
    residuals = evaluation.scored.residuals
    if residuals.covariance is None:
        return None
    size = np.linalg.norm(residuals.error, axis=1)
    sigma = np.sqrt(np.trace(residuals.predicted, axis1=1, axis2=2))
    ratio = size / sigma
    low, high = number(float(ratio.min())), number(float(ratio.max()))
    line = sparkline(evaluation.scored.estimate.stamp, ratio, width=width)
    return f"{line}  {low} to {high} (honest: about 1)"


def sparkline(stamp: Ints, value: Floats, *, width: int = WIDTH) -> str:
    """Blocks from the least to the largest positive value; a stretch without scans is blank."""
    span = max(int(stamp[-1] - stamp[0]), 1)
    place = np.minimum((stamp - stamp[0]) * width // span, width - 1)
    highest = np.zeros(width)
    np.maximum.at(highest, place, value)
    seen = np.bincount(place, minlength=width) > 0
    positive = highest[highest > 0]
    if len(positive) == 0:
        return "".join(BLOCKS[0] if there else " " for there in seen)
    least, most = np.log(positive.min()), np.log(positive.max())
    height = np.log(np.maximum(highest, positive.min())) - least
    level = np.rint(height / max(most - least, 1e-12) * (len(BLOCKS) - 1)).astype(int)
    return "".join(BLOCKS[at] if there else " " for at, there in zip(level, seen, strict=True))
