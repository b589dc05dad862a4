"""Degeneracy from scans alone: the normals that a point-to-plane filter would have matched.

A scan is thinned to one point per voxel (the mean of its points). Through the five nearest of these
goes a plane, by the eigenvector n of their smallest moment; it counts where all five are flat. Of
M = sum n n^T the eigenvalues, and so the condition number, are the same in every frame; only how
many voxels a surface fills depends on how it lies to their grid.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Evaluation
from smfeval.explain.degeneracy import Geometry, Regression, geometry, regressions, sees_all
from smfeval.maths.arrays import Floats, Ints

NEIGHBOURS = 5
FLAT_M = 0.1  # a neighbour farther from the plane refuses it
VOXEL_M = 0.5
SCAN_GAP_NS = 60_000_000  # between a cloud and a scan: start or end of a scan of 10 Hz


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
    counts = {"clouds": len(scans.stamp), "singular": len(scans.stamp) - len(seen)}
    if evaluation is None:
        return ScanGeometry(**counts, condition=found.condition, matched=0, degeneracy=())
    rows, scored = _nearest_clouds(scans.stamp[seen], evaluation.position.estimate.stamp)
    nees = evaluation.position.series["nees"][scored]
    there = Geometry(*(getattr(found, name)[rows] for name in vars(found)))
    return ScanGeometry(
        **counts,
        condition=found.condition,
        matched=len(rows),
        degeneracy=regressions(nees, there),
    )


def _nearest_clouds(clouds: Ints, stamps: Ints) -> tuple[Ints, Ints]:
    """For each scan the nearest cloud; scans without one within reach are left out."""
    after = np.minimum(np.searchsorted(clouds, stamps), len(clouds) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(clouds[before] - stamps) < np.abs(clouds[after] - stamps)
    row = np.where(nearer, before, after)
    good = np.flatnonzero(np.abs(clouds[row] - stamps) <= SCAN_GAP_NS)
    if not len(good):
        raise SeriesError("no scored scan is within 60 ms of a cloud: the clocks do not meet")
    return row[good], good
