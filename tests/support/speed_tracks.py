"""An honest belief and its reference, of any length, and the files they are in."""

import numpy as np

from smfeval.io import write
from smfeval.track import GaussianTrack, Track
from support.beliefs import ABOUT, circuit, covariances


def tracks(n: int, *, seed: int = 0) -> tuple[GaussianTrack, Track]:
    """An estimate whose errors are those it reports, and the truth."""
    rng = np.random.default_rng(seed)
    stamp, position, rotation = circuit(n)
    covariance = covariances(n, rng, scale=1e-2)
    error = np.linalg.cholesky(covariance[:, :3, :3]) @ rng.normal(size=(n, 3, 1))
    estimate = GaussianTrack(stamp, position + error[..., 0], rotation, covariance, about=ABOUT)
    return estimate, Track(stamp, position, rotation, about=ABOUT)


def files(n: int, folder) -> tuple[str, str]:
    """Write the tracks as SQUARE and as TUM; return the paths."""
    estimate, reference = tracks(n)
    paths = str(folder / f"{n}.square"), str(folder / f"{n}.tum")
    write(estimate, paths[0])
    write(reference, paths[1])
    return paths
