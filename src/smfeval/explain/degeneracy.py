"""Degeneracy: is the belief worse where the geometry says little?

The matched normals of a scan make M = sum n n^T. Its condition number says how much better the best
direction is seen than the worst. Regressing y = log10 NEES on x = log10 of such a measure,

    b = sum (x - mean x) y / sum (x - mean x)^2,   psi_t = b + (x_t - mean x) r_t / var x,

b is the mean of its influence series psi, so what is known about means of dependent series gives
its interval: neighbouring scans see the same walls and share their errors.

Without a filter, the normals are those that one with point-to-plane residuals would have matched: a
scan is thinned to one point per voxel (the mean of its points), and through the five nearest of
these goes a plane, by the eigenvector n of their smallest moment; it counts where all five are
flat. The condition number of M is the same in every frame; only how many voxels a surface fills
depends on how it lies to their grid.
"""

from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from smfeval.associate.nearest import closest
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain.credit import BLIND
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.summarise.number import Intervals, Number

CONSTANT = 1e-9  # decades: less spread is rounding
NEIGHBOURS = 5
FLAT_M = 0.1  # a neighbour farther from the plane refuses it
VOXEL_M = 0.5
SCAN_GAP_NS = 60_000_000  # between a cloud and a scan: start or end of a scan of 10 Hz


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
    share = 1 - float(left.var()) / total if total > 0 else 0.0
    mean = (intervals or Intervals()).of(influence, "mean", "1")
    return Regression(measure, mean, share, len(x))


# From scans alone


@dataclass(frozen=True)
class ScanNormals:
    """Clouds in the order of time. (n,), (n,), (n, 3, 3)."""

    stamp: Ints  # ns
    planes: Ints  # points with a plane
    normals: Floats  # sum of n n^T


@dataclass(frozen=True)
class ScanGeometry:
    """Condition numbers of the clouds, and the NEES over them where there is a reference."""

    clouds: int
    singular: int  # clouds that do not see every direction
    condition: Floats  # (n,) of the others
    matched: int  # scored scans with such a cloud
    degeneracy: tuple[Regression, ...]


def scan_normals(clouds: Iterable[tuple[int, Floats]], *, voxel_m: float = VOXEL_M) -> ScanNormals:
    """Planes of every cloud: stamps in ns and points (n, 3)."""
    if not voxel_m > 0:
        raise OptionError("a voxel is to be larger than 0 m")
    rows = [(stamp, *plane_moments(point, voxel_m)) for stamp, point in clouds]
    if not rows:
        raise SeriesError("there is no cloud")
    stamp, planes, normals = (np.array(column) for column in zip(*rows, strict=True))
    order = np.argsort(stamp, kind="stable")
    return ScanNormals(stamp[order], planes[order], normals[order])


def plane_moments(point: Floats, voxel_m: float = VOXEL_M) -> tuple[int, Floats]:
    """Number of planes in a cloud (n, 3), and the sum of n n^T over them (3, 3)."""
    from scipy.spatial import cKDTree  # noqa: PLC0415  slow to import

    thin = downsample(point, voxel_m)
    if len(thin) < NEIGHBOURS:
        return 0, np.zeros((3, 3))
    _, near = cKDTree(thin).query(thin, NEIGHBOURS)
    away = thin[near] - thin[near].mean(axis=1, keepdims=True)
    _, direction = np.linalg.eigh(away.swapaxes(1, 2) @ away)
    normal = direction[:, :, 0]
    off = np.abs(np.einsum("nki,ni->nk", away, normal)).max(axis=1)
    flat = normal[off <= FLAT_M]
    return len(flat), flat.T @ flat


def downsample(point: Floats, voxel_m: float) -> Floats:
    """The mean of the points in each voxel. (n, 3) -> (m, 3)."""
    cell = np.floor(np.asarray(point, dtype=np.float64) / voxel_m).astype(np.int64)
    _, place, count = np.unique(cell, axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    sums = [np.bincount(place, weights=point[:, axis], minlength=len(count)) for axis in range(3)]
    return np.stack(sums, axis=1) / count[:, None]


def scan_geometry(scans: ScanNormals, evaluation: Evaluation | None) -> ScanGeometry:
    """Condition numbers, and log10 NEES of the scored scans on the geometry of their cloud."""
    seen = np.flatnonzero(sees_all(scans.normals))
    if not len(seen):
        raise SeriesError("no cloud has planes that see every direction")
    found = geometry(scans.normals[seen])
    clouds, matched, degeneracy = len(scans.stamp), 0, tuple[Regression, ...]()
    if evaluation is not None:
        scored = evaluation.position
        row = closest(scored.estimate.stamp, scans.stamp[seen])
        near = np.abs(scans.stamp[seen][row] - scored.estimate.stamp) <= SCAN_GAP_NS
        if not near.any():
            why = "no scored scan is within 60 ms of a cloud: are the stamps of one clock?"
            raise SeriesError(why)
        there = Geometry(*(values[row[near]] for values in vars(found).values()))
        degeneracy, matched = regressions(scored.series["nees"][near], there), int(near.sum())
    return ScanGeometry(clouds, clouds - len(seen), found.condition, matched, degeneracy)
