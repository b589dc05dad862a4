"""Points of sweeps whose slopes are known."""

import numpy as np

from smfeval.compare.slopes import Point, ScanSeries
from smfeval.summarise.number import Number

UNEARNED = np.log10(np.e) / 3
SCANS = 201


def scans(precision, log_nees, log_mae, *, own=0.0):
    """Scans with this median NEES and mean error; runs share how they vary, up to `own`."""
    shape = np.random.default_rng(8).normal(size=(2, SCANS))
    size = np.exp(0.3 * shape[1])
    return ScanSeries(
        np.arange(SCANS),
        log_nees + 0.3 * (shape[0] - np.median(shape[0])) + own,
        10.0**log_mae * size / size.mean(),
        np.full(SCANS, precision),
    )


def point(value, precision, log_nees, log_mae=-2.0, *, track="one", estimator="ours", **others):
    """A run whose scans are those of all others, up to its own `noise` in NEES."""
    made = scans(precision, log_nees, log_mae, own=others.pop("noise", 0.0))
    log_nees = np.median(made.log_nees)
    settings = (("R", str(value)), *others.items())
    return Point(
        estimator,
        track,
        settings,
        Number(float(precision), "nat"),
        Number(10.0 ** float(log_nees), "1"),
        Number(10.0 ** float(log_mae), "m"),
        SCANS,
        "made",
        scans=made,
    )


def line(slope, *, noise=0.0, count=5, track="one", rng=None, reach=12.0, **others):
    """Runs along a knob: NEES with this slope, errors with the slope that goes with it."""
    precision = np.linspace(30.0, 30.0 + reach, count)
    shake = noise * rng.normal(size=(count, SCANS)) if noise else np.zeros((count, 1))
    error_slope = (slope - UNEARNED) / 2
    return [
        point(i, p, 1 + slope * p, -2 + error_slope * p, track=track, noise=s, **others)
        for i, (p, s) in enumerate(zip(precision, shake, strict=True))
    ]
