"""Degeneracy: is the belief worse where the geometry says little?

The matched normals of a scan make M = sum n n^T. Its condition number says how much better the best
direction is seen than the worst. Regressing y = log10 NEES on x = log10 of such a measure,

    b = sum (x - mean x) y / sum (x - mean x)^2,   psi_t = b + (x_t - mean x) r_t / var x,

b is the mean of its influence series psi, so what is known about means of dependent series gives
its interval: neighbouring scans see the same walls and share their errors.
"""

from dataclasses import dataclass, fields

import numpy as np

from smfeval.errors import SeriesError
from smfeval.explain.credit import BLIND
from smfeval.maths.arrays import Bools, Floats
from smfeval.summarise.number import Intervals, Number

CONSTANT = 1e-9  # decades: less spread is rounding


@dataclass(frozen=True)
class Geometry:
    """What the normals of each scan say about the position. (n,) each; M is positive definite."""

    condition: Floats  # largest over smallest eigenvalue of M
    trace: Floats  # N for unit normals
    determinant: Floats
    smallest: Floats  # eigenvalue: points, as it were, that see the worst direction


@dataclass(frozen=True)
class Regression:
    """log10 NEES on log10 of a measure of the geometry."""

    measure: str
    slope: Number  # decades of NEES per decade of the measure
    r_squared: float  # share of the variance of log10 NEES
    scans: int


def geometry(normals: Floats) -> Geometry:
    """Measures of M. (n, 3, 3) -> (n,) each; raises where a scan does not see every direction."""
    blind = int(np.sum(~sees_all(normals)))
    if blind:
        raise SeriesError(
            f"{blind} of {len(normals)} scans do not see every direction, so their condition "
            "number is infinite; leave them out"
        )
    values = np.asarray(np.linalg.eigvalsh(normals), dtype=np.float64)
    return Geometry(
        condition=values[:, -1] / values[:, 0],
        trace=values.sum(axis=-1),
        determinant=values.prod(axis=-1),
        smallest=values[:, 0],
    )


def sees_all(normals: Floats) -> Bools:
    """Scans whose normals span all directions. (n, 3, 3) -> (n,)."""
    values = np.linalg.eigvalsh(normals)
    return values[:, 0] > BLIND * np.maximum(values[:, -1], np.finfo(np.float64).tiny)


def regressions(
    nees: Floats, found: Geometry, *, intervals: Intervals | None = None
) -> tuple[Regression, ...]:
    """log10 NEES on each measure of the geometry."""
    return tuple(
        regression(each.name, getattr(found, each.name), nees, intervals=intervals)
        for each in fields(Geometry)
    )


def regression(
    measure: str, values: Floats, nees: Floats, *, intervals: Intervals | None = None
) -> Regression:
    """Slope, its interval and R^2 of log10 NEES on log10 of a positive measure. (n,), (n,)."""
    if len(values) != len(nees):
        raise SeriesError(f"{len(values)} scans of {measure} and {len(nees)} of NEES")
    if not ((values > 0).all() and (nees > 0).all()):
        raise SeriesError(f"{measure} and NEES are to be positive in every scan")
    x, y = np.log10(values), np.log10(nees)
    away = x - x.mean()
    variance = float(away @ away) / len(x)
    if np.sqrt(variance) < CONSTANT:
        reason = f"{measure} never changes, so there is no slope"
        return Regression(measure, Number(0.0, "1", reason=reason), 0.0, len(x))
    slope = float(away @ y) / len(x) / variance
    left = y - y.mean() - slope * away
    influence = slope + away * left / variance
    total = float(y.var())
    return Regression(
        measure,
        (intervals or Intervals()).of(influence, "mean", "1"),
        1 - float(left.var()) / total if total > 0 else 0.0,
        len(x),
    )
