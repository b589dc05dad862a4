"""Systematic errors in words: the numbers, what they mean, what to try."""

from collections.abc import Callable

from smfeval.explain.diagnoses.words import lengths

Told = tuple[dict[str, float], str, str]
Named = dict[str, float]  # coefficients by axis, those that the motion shows


def _lever_arm(value: Named) -> Told:
    axis = max(value, key=lambda each: abs(value[each]))
    return (
        {f"body_{each}_m": metres for each, metres in value.items()},
        f"the error is constant in body axes: {lengths(*value.values())} in {', '.join(value)}",
        f"check the extrinsic by {lengths(value[axis])} in body {axis}: the estimate is about a "
        "point that lies off the reference's by this much",
    )


def _clock(value: Named) -> Told:
    (tau_s,) = value.values()
    late = "early" if tau_s > 0 else "late"
    return (
        {"tau_ms": 1e3 * tau_s},
        f"the error is {1e3 * tau_s:.3g} ms times the velocity: the stamps of the estimate are "
        f"{late}",
        f"let the clock offset be estimated, or add {1e3 * tau_s:.3g} ms to the stamps of the "
        "estimate",
    )


def _scale(value: Named) -> Told:
    (share,) = value.values()
    return (
        {"scale_percent": 100 * share},
        f"the error grows with the way covered: the estimate is {abs(100 * share):.3g} % too "
        f"{'long' if share > 0 else 'short'}",
        "check wheel radius, range scale or camera baseline; an alignment by sim3 would hide it",
    )


def _offset(value: Named) -> Told:
    return (
        {f"world_{each}_m": metres for each, metres in value.items()},
        f"the error is constant in world axes: {lengths(*value.values())} in {', '.join(value)}",
        "check the origins of the two worlds (datum, map frame), or leave the translation open",
    )


TEXTS: dict[str, Callable[[Named], Told]] = {
    "lever-arm bias": _lever_arm,
    "clock-like bias": _clock,
    "scale error": _scale,
    "constant offset": _offset,
}
