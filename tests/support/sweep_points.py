"""Points of sweeps whose slopes are known."""

import numpy as np

from smfeval.compare.sweep_points import Point
from smfeval.summarise.number import Number

UNEARNED = np.log10(np.e) / 3


def point(value, precision, log_nees, log_mae=-2.0, *, track="one", estimator="ours", **others):
    settings = (("R", str(value)), *others.items())
    return Point(
        estimator,
        track,
        settings,
        Number(float(precision), "nat"),
        Number(10.0 ** float(log_nees), "1"),
        Number(10.0 ** float(log_mae), "m"),
        100,
        "made",
    )


def line(slope, *, noise=0.0, count=5, track="one", rng=None, reach=12.0, **others):
    """Runs along a knob: NEES with this slope, errors with the slope that goes with it."""
    precision = np.linspace(30.0, 30.0 + reach, count)
    shake = noise * rng.normal(size=count) if noise else np.zeros(count)
    error_slope = (slope - UNEARNED) / 2
    return [
        point(i, p, 1 + slope * p + s, -2 + error_slope * p, track=track, **others)
        for i, (p, s) in enumerate(zip(precision, shake, strict=True))
    ]
