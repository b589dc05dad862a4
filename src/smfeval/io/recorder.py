"""A live recorder: one belief after the other, each on disk before the next is taken."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import OptionError, TrackError
from smfeval.io.header import header_text
from smfeval.io.square import GAUSSIAN_FIELDS
from smfeval.maths.stamps import seconds_text
from smfeval.maths.symmetric import pack_lower
from smfeval.track import About, GaussianTrack


class SquareWriter:
    """Write a SQUARE file while the estimator runs.

    ::

        with SquareWriter("est.square", About(body="imu", gauge="se3", algorithm="mine")) as writer:
            writer.append(stamp_ns, (position, quaternion_xyzw), covariance)

    The covariance is of the right perturbation, translation first. Each row is checked like a
    track and flushed whole, so a killed process loses at most the row in flight. Stamps must
    increase. An existing file is not overwritten unless `overwrite` is set.
    """

    def __init__(self, path: str | Path, about: About | None = None, *, overwrite: bool = False):
        self.path = Path(path)
        self._last: int | None = None
        try:
            self._file = self.path.open("wb" if overwrite else "xb", buffering=0)
        except FileExistsError as error:
            raise OptionError(f"{path}: the file exists; it is not overwritten") from error
        except OSError as error:
            raise OptionError(f"{path}: cannot be written ({error.strerror})") from error
        header = header_text(about or About(), "gaussian_se3", GAUSSIAN_FIELDS)
        self._file.write(header.encode())

    def append(
        self, stamp_ns: int, pose: tuple[ArrayLike, ArrayLike], covariance: ArrayLike
    ) -> None:
        """Write one belief: stamp in nanoseconds, (position, quaternion xyzw), 6x6 covariance."""
        if self._last is not None and stamp_ns <= self._last:
            raise TrackError(
                f"stamp {seconds_text(stamp_ns)} is not after {seconds_text(self._last)}",
                place=str(self.path),
            )
        belief = GaussianTrack(
            np.array([stamp_ns]),
            np.asarray(pose[0], dtype=np.float64)[None],
            np.asarray(pose[1], dtype=np.float64)[None],
            np.asarray(covariance, dtype=np.float64)[None],
        )
        values = [*belief.position[0], *belief.rotation[0], *pack_lower(belief.covariance[0])]
        row = " ".join([seconds_text(stamp_ns), *(repr(float(value)) for value in values)])
        self._file.write(f"{row}\n".encode())  # one system call: a row is there whole or not at all
        self._last = int(stamp_ns)

    def close(self) -> None:
        """Make sure that everything is on the disk, and close."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
