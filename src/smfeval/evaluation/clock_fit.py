"""The clock offset that the errors ask for: sum g y = 0, by Newton's steps, and its interval.

What neighbouring scans say is dependent; how far the mean of it may be from the truth comes from
the low-frequency posterior, and the slope turns that into seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smfeval.errors import PairingError
from smfeval.evaluation.clock_errors import Left, Meeting, Score
from smfeval.maths.arrays import Ints
from smfeval.maths.mean_posterior import mean_posterior

FEWEST = 30  # poses that follow on another
STRIDE_S = 0.05  # no step is longer
SETTLED_S = 1e-7
MOST_STEPS = 60
LEVEL = 0.95
SAME_S = 0.02  # fits that end nearer to each other are one
RIVAL = 1.1  # times the least error: a fit that leaves less than this is as good
CURVED = 4.0  # standard errors that the slope must be above nothing


@dataclass(frozen=True)
class Fitted:
    """The offset, its interval, the error that is left, and the poses that told."""

    offset_s: float
    low_s: float
    high_s: float
    left: Left
    poses: int


def best_fit(met: Meeting, starts_s: Sequence[float]) -> Fitted:
    """The fit from the guess that leaves the least error; raises where another one is as good."""
    if len(starts_s) == 1:
        return fitted_offset(met, starts_s[0])
    fits = sorted(_fits(met, starts_s), key=lambda fit: fit.left.rmse_m)
    best = fits[0]
    others = [fit for fit in fits if abs(fit.offset_s - best.offset_s) > SAME_S]
    if others and others[0].left.rmse_m <= RIVAL * best.left.rmse_m:
        raise PairingError(
            f"two clock offsets explain the motion about equally: {best.offset_s:.3g} s and "
            f"{others[0].offset_s:.3g} s"
        )
    return best


def _fits(met: Meeting, starts_s: Sequence[float]) -> list[Fitted]:
    """Fits from all guesses that lead somewhere."""
    fits, errors = [], []
    for start in starts_s:
        try:
            fits.append(fitted_offset(met, start))
        except PairingError as error:
            errors.append(error)
    if not fits:
        raise errors[0]
    return fits


def fitted_offset(met: Meeting, start_s: float) -> Fitted:
    """The offset near a first guess, with its interval; raises where the errors do not tell."""
    offset = start_s
    for _ in range(2):  # the second time on the poses that are usable where the first one ended
        chosen = np.flatnonzero(met.usable(offset))
        _refuse_few(met, chosen)
        offset, score = _settled(met, chosen, offset)
    low, high = _ends(score)
    return Fitted(offset, offset + low, offset + high, met.left(chosen, offset), len(chosen))


def _refuse_few(met: Meeting, chosen: Ints) -> None:
    count = int(met.follows(chosen).sum()) if len(chosen) else 0
    if count < FEWEST:
        raise PairingError(
            f"{count} neighbouring poses meet the other track between its gaps; a clock offset "
            f"needs {FEWEST}"
        )


def _settled(met: Meeting, chosen: Ints, offset: float) -> tuple[float, Score]:
    """Newton's steps until they are nothing."""
    for _ in range(MOST_STEPS):
        score = met.score(chosen, offset)
        _refuse_flat(score)
        step = float(score.pull.sum() / score.slope.sum())
        offset += min(max(step, -STRIDE_S), STRIDE_S)
        if abs(step) < SETTLED_S:
            return offset, score
    raise PairingError(
        f"the errors lead to no clock offset: after {MOST_STEPS} steps it still moves by "
        f"{1e3 * step:.3g} ms"
    )


def _refuse_flat(score: Score) -> None:
    if score.slope.sum() <= CURVED * np.sqrt(np.sum(score.slope**2)):
        raise PairingError(
            "the motion says nothing about the clock: a shift in time does nothing to the errors "
            "that an alignment would not do as well"
        )


def _ends(score: Score) -> tuple[float, float]:
    """How far the truth may be from the offset found, to either side."""
    posterior, slope = mean_posterior(score.pull), float(score.slope.mean())
    low, high = (float(posterior.quantile(tail)) / slope for tail in _TAILS)
    return min(low, 0.0), max(high, 0.0)


_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
