"""Innovations of a filter: what a measurement differs from its prediction by, per sensor.

An innovation is nu = z - h(x_prior), its covariance S = H P H^T + R as the filter claims it before
it sees z. An honest filter has innovations that are white: given all before, nu ~ N(0, S).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.maths.arrays import Bools, Floats, Ints, read_only
from smfeval.track.row_checks import LARGEST_VARIANCE, SMALLEST_VARIANCE

MOST_COMPONENTS = 64  # of one innovation; a scan of thousands of points is to be condensed first
SYMMETRY_TOLERANCE = 1e-6  # relative, as for covariances of tracks
LARGEST_INNOVATION = 1e15  # in units of no sensor; its NIS is still a float
SIZES = f"{words.exact(SMALLEST_VARIANCE)} to {words.exact(LARGEST_VARIANCE)}"


@dataclass(frozen=True)
class SensorInnovations:
    """The measurements of one sensor, in the order in which the filter saw them.

    Attributes
    ----------
    sensor
        Its name.
    stamp
        Nanoseconds, not decreasing. (n,)
    innovation
        nu = z - h(x_prior). (n, d)
    covariance
        S = H P H^T + R, positive definite. (n, d, d)
    accepted
        False where the filter's gate rejected the measurement. (n,)
    """

    sensor: str
    stamp: Ints
    innovation: Floats
    covariance: Floats
    accepted: Bools

    def __post_init__(self) -> None:
        shape = np.shape(self.innovation)
        if len(shape) != 2 or not 0 < shape[1] <= MOST_COMPONENTS:
            raise TrackError(
                f"{self.sensor}: innovations of shape {shape}; expected (n, d), d = 1 to "
                f"{MOST_COMPONENTS}"
            )
        n, d = shape
        shapes = {"stamp": (n,), "covariance": (n, d, d), "accepted": (n,)}
        for name, wanted in shapes.items():
            if np.shape(getattr(self, name)) != wanted:
                found = np.shape(getattr(self, name))
                raise TrackError(f"{self.sensor}: {name} of shape {found}; expected {wanted}")
        kinds = {"stamp": np.int64, "accepted": np.bool_}
        for name in ("stamp", "innovation", "covariance", "accepted"):
            kind: Any = kinds.get(name, np.float64)
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=kind)))
        self._refuse_bad_rows()

    def _refuse_bad_rows(self) -> None:
        numbers = np.concatenate([self.innovation[:, :, None], self.covariance], axis=2)
        finite = np.isfinite(numbers).reshape(len(self), -1)
        self._refuse(~finite.all(axis=1), "a number is not finite")
        variance = np.diagonal(self.covariance, axis1=1, axis2=2)
        sized = (variance <= LARGEST_VARIANCE) & ((variance >= SMALLEST_VARIANCE) | (variance <= 0))
        self._refuse(np.asarray(~sized.all(axis=1)), f"a variance is not from {SIZES}")
        far = (np.abs(self.innovation) > LARGEST_INNOVATION).any(axis=1)
        self._refuse(np.asarray(far), f"an innovation is beyond {words.exact(LARGEST_INNOVATION)}")
        self._refuse(np.diff(self.stamp, prepend=self.stamp[:1]) < 0, "the stamp goes back")
        size = np.abs(self.covariance).max(axis=(1, 2), initial=0.0)
        skew = np.abs(self.covariance - self.covariance.swapaxes(1, 2)).max(axis=(1, 2), initial=0)
        self._refuse(skew > SYMMETRY_TOLERANCE * size, "the covariance is not symmetric")
        try:
            _ = self.whitened
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(self.covariance)[:, 0]
            self._refuse(least <= 1e-12 * size, "the covariance is not positive definite")
            raise TrackError(f"{self.sensor}: a covariance is not positive definite") from None

    def _refuse(self, bad: Bools, reason: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            others = words.count(int(bad.sum()), "row")
            raise TrackError(f"{reason} ({others} like it)", place=f"{self.sensor}, row {row + 1}")

    def __len__(self) -> int:
        return len(self.stamp)

    @property
    def dimension(self) -> int:
        """Components of an innovation, d."""
        return self.innovation.shape[1]

    @cached_property
    def whitened(self) -> Floats:
        """z = L^-1 nu with S = L L^T: N(0, I) and independent if the filter is honest. (n, d)."""
        root = np.linalg.cholesky(self.covariance)
        return read_only(np.linalg.solve(root, self.innovation[:, :, None])[:, :, 0])

    @property
    def nis(self) -> Floats:
        """Normalised innovation squared, nu^T S^-1 nu. (n,)."""
        return np.asarray(np.square(self.whitened).sum(axis=1))


@dataclass(frozen=True)
class Innovations:
    """What a filter logged: one table per sensor.

    Attributes
    ----------
    sensors
        In the order of their names; sensors with rows of several sizes are split by size.
    name
        The file, or what a sentence calls it.
    notes
        What a reader of the file should know.
    """

    sensors: tuple[SensorInnovations, ...]
    name: str = "innovations"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.sensors:
            raise TrackError(f"{self.name}: there are no innovations")
        names = [each.sensor for each in self.sensors]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TrackError(f"{self.name}: two tables of sensor {twice[0]!r}")

    def __len__(self) -> int:
        return sum(map(len, self.sensors))
