"""The health of a track's covariances: rank, size, whether they are zero, constant or growing."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths.arrays import Floats
from smfeval.track import GaussianTrack

ZERO_RANK = 1e-12  # an eigenvalue of the correlation matrix below this counts as zero
GROWTH = 2.0  # last tenth against first tenth of the track: below this factor, sigma is steady
WORTH_COMPARING = 20  # scans: fewer are too short to say that anything grows


@dataclass(frozen=True)
class Spread:
    """Smallest, median and largest standard deviation over the scans (root of the mean axis)."""

    smallest: float
    median: float
    largest: float


@dataclass(frozen=True)
class Health:
    """What the covariances of a track look like. Sigmas are per axis: sqrt(trace / 3)."""

    rank: tuple[int, int]  # smallest and largest rank of the 6x6
    position_sigma_m: Spread
    rotation_sigma_rad: Spread
    zero_scans: int
    constant: bool
    growth: float | None  # position sigma at the end over that at the start


def health(track: GaussianTrack) -> Health:
    """Describe the covariances of a track."""
    covariance = track.covariance
    position = _sigma(covariance[:, :3, :3])
    rank = _rank(covariance)
    return Health(
        rank=(int(rank.min()), int(rank.max())),
        position_sigma_m=_spread(position),
        rotation_sigma_rad=_spread(_sigma(covariance[:, 3:, 3:])),
        zero_scans=int((~covariance.any(axis=(1, 2))).sum()),
        constant=len(track) > 1 and bool((covariance == covariance[0]).all()),
        growth=_growth(position),
    )


def _sigma(block: Floats) -> Floats:
    return np.sqrt(np.trace(block, axis1=1, axis2=2) / 3)


def _spread(sigma: Floats) -> Spread:
    return Spread(float(sigma.min()), float(np.median(sigma)), float(sigma.max()))


def _rank(covariance: Floats) -> Floats:
    """Rank of each covariance, counted on its correlation matrix."""
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    correlation = covariance / scale[:, :, None] / scale[:, None, :]
    return (np.linalg.eigvalsh(correlation) > ZERO_RANK).sum(axis=1)


def _growth(sigma: Floats) -> float | None:
    """Median sigma of the last tenth over that of the first tenth."""
    tenth = len(sigma) // 10
    first = float(np.median(sigma[:tenth])) if len(sigma) >= WORTH_COMPARING else 0.0
    return float(np.median(sigma[-tenth:])) / first if first > 0 else None
