"""Whether messages fill their covariance, and which scan a covariance belongs to."""

import numpy as np

from smfeval.examination.health import UNKNOWN_VARIANCE
from smfeval.maths.arrays import Bools, Floats

UNKNOWN = -1.0  # ROS drivers write this where they have no covariance


def filling(covariance: Floats) -> str:
    """In words: filled, constant, all zero, or marked unknown. (n, 6, 6), n > 0."""
    zero, unknown = _zero(covariance), _unknown(covariance)
    if zero.all():
        return "all zero"
    if (zero | unknown).all():
        return "marked unknown (-1)"
    if len(covariance) > 1 and (covariance == covariance[0]).all():
        return "constant"
    if zero.any():
        return f"filled, but all zero in {zero.sum()} of {len(covariance)} messages"
    return "filled"


def is_filled(covariance: Floats) -> bool:
    """Whether any message has a covariance that is neither zero nor marked unknown."""
    return not (_zero(covariance) | _unknown(covariance)).all()


def health_notes(covariance: Floats) -> tuple[str, ...]:
    """What the numbers in the messages look like, where that is a reason for doubt."""
    words, notes = filling(covariance), []
    if words != "filled":
        notes.append(f"the covariance is {words}")
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    largest = np.fmax.reduce(variance, axis=None, initial=0.0)
    if UNKNOWN_VARIANCE <= largest < np.inf:
        notes.append(f"a variance of {largest:.3g} stands for an axis that is not known")
    return tuple(notes)


def _zero(covariance: Floats) -> Bools:
    return (covariance == 0).all(axis=(-2, -1))


def _unknown(covariance: Floats) -> Bools:
    return (np.diagonal(covariance, axis1=-2, axis2=-1) == UNKNOWN).any(axis=-1)


def lag_notes(lag: int, decided_by: str, covariance: Floats) -> tuple[str, ...]:
    """What is said when covariances are moved back by a lag.

    A node that publishes before it fills sends zeros first; a recording that starts with other
    numbers began later, or comes from a node that was mended.
    """
    scans = "the scan before" if lag == 1 else f"{lag} scans before"
    moved = f"{decided_by}: the covariance of a message belongs to {scans}; moved back"
    if _zero(covariance[:1]).all():
        return (moved,)
    doubt = "the first covariance is not zero, as that of a stock node would be"
    return (moved, f"{decided_by}: {doubt}; if the node was mended, the lag is wrong (option lag)")
