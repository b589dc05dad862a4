"""Systematic errors in words: the numbers, what they mean, what to try."""

from collections.abc import Callable

import numpy as np

from smfeval.explain.diagnoses.case import Bodies
from smfeval.explain.diagnoses.words import lengths
from smfeval.maths.arrays import Floats

Told = tuple[dict[str, float], str, str]
Named = dict[str, float]  # coefficients by axis, those that the motion shows


def _lever_arm(value: Named, bodies: Bodies) -> Told:
    theirs = bodies.reference_words
    advice = _no_extrinsic(value, theirs)
    numbers = {f"body_{each}_m": metres for each, metres in value.items()}
    if bodies.turn is not None:
        off = of_extrinsic(value, bodies.turn)
        numbers |= {f"extrinsic_{each}_m": metres for each, metres in off.items()}
        advice = _wrong_extrinsic(off, bodies) + _unseen(value, theirs)
    size = f"{lengths(*value.values())} in {', '.join(value)}"
    return numbers, f"the error is constant in body axes: {size} of {theirs}", advice


def _no_extrinsic(value: Named, body: str) -> str:
    axis = _longest(value)
    return (
        f"check the extrinsic by {lengths(value[axis])} in {axis} of {body}: the estimate is about "
        "a point that lies off the reference's by this much"
    )


def _wrong_extrinsic(off: Named, bodies: Bodies) -> str:
    axis, ours = _longest(off), bodies.estimate_words
    return (
        f"check the extrinsic by {lengths(off[axis])} in {axis} of {ours}: subtract "
        f"{lengths(*off.values())} from its translation (x, y, z of {ours})"
    )


def of_extrinsic(value: Named, turn: Floats) -> Named:
    """R_E b: a bias in the reference's body, in the axes that the extrinsic's translation has.

    With the pose of the reference's body in the estimate's off by d in translation, the estimate
    is off by R d = (R R_E) b.
    """
    bias = np.array([value.get(axis, 0.0) for axis in "xyz"])
    return dict(zip("xyz", (turn @ bias).tolist(), strict=True))


def _unseen(value: Named, body: str) -> str:
    """What the motion does not show, and is taken as right."""
    missing = [axis for axis in "xyz" if axis not in value]
    return f"; {', '.join(missing)} of {body} is not shown by the motion" if missing else ""


def _longest(value: Named) -> str:
    return max(value, key=lambda each: abs(value[each]))


def _clock(value: Named, _: Bodies) -> Told:
    (tau_s,) = value.values()
    late = "early" if tau_s > 0 else "late"
    return (
        {"tau_ms": 1e3 * tau_s},
        f"the error is {1e3 * tau_s:.3g} ms times the velocity: the stamps of the estimate are "
        f"{late}",
        f"let the clock offset be estimated, or add {1e3 * tau_s:.3g} ms to the stamps of the "
        "estimate",
    )


def _scale(value: Named, _: Bodies) -> Told:
    (share,) = value.values()
    return (
        {"scale_percent": 100 * share},
        f"the error grows with the way covered: the estimate is {abs(100 * share):.3g} % too "
        f"{'long' if share > 0 else 'short'}",
        "check wheel radius, range scale or camera baseline; an alignment by sim3 would hide it",
    )


def _offset(value: Named, _: Bodies) -> Told:
    return (
        {f"world_{each}_m": metres for each, metres in value.items()},
        f"the error is constant in world axes: {lengths(*value.values())} in {', '.join(value)}",
        "check the origins of the two worlds (datum, map frame), or leave the translation open",
    )


TEXTS: dict[str, Callable[[Named, Bodies], Told]] = {
    "lever-arm bias": _lever_arm,
    "clock-like bias": _clock,
    "scale error": _scale,
    "constant offset": _offset,
}
