"""A live recorder: one belief after the other, each on disk before the next is taken."""

import os
from operator import index
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from smfeval.errors import OptionError, TrackError
from smfeval.io.header import header_text
from smfeval.io.square import GAUSSIAN_FIELDS
from smfeval.io.text_layout import LAST_STAMP
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
        header = header_text(about or About(), "gaussian_se3", GAUSSIAN_FIELDS)
        try:
            self._file = self.path.open("wb" if overwrite else "xb", buffering=0)
        except FileExistsError as error:
            raise OptionError(f"{path}: the file exists; it is not overwritten") from error
        except OSError as error:
            raise OptionError(f"{path}: cannot be written ({error.strerror})") from error
        self._write(header)

    def append(
        self, stamp_ns: int, pose: tuple[ArrayLike, ArrayLike], covariance: ArrayLike
    ) -> None:
        """Write one belief: stamp in nanoseconds, (position, quaternion xyzw), 6x6 covariance."""
        if self._file.closed:
            raise OptionError(f"{self.path}: the recorder is closed; nothing can be appended")
        stamp = self._next_stamp(stamp_ns)
        belief = self._check_belief(stamp, pose, covariance)
        values = [*belief.position[0], *belief.rotation[0], *pack_lower(belief.covariance[0])]
        row = " ".join([seconds_text(stamp), *(repr(float(value)) for value in values)])
        self._write(f"{row}\n")
        self._last = stamp

    def _next_stamp(self, stamp_ns: int) -> int:
        """The stamp, if it is a whole number of nanoseconds after the last one."""
        try:
            stamp = index(stamp_ns)
        except TypeError as error:
            reason = f"stamp {stamp_ns!r} is no whole number of nanoseconds"
            raise TrackError(reason, place=str(self.path)) from error
        if abs(stamp) > LAST_STAMP:
            raise TrackError(f"stamp {stamp} ns is beyond int64", place=str(self.path))
        if self._last is not None and stamp <= self._last:
            reason = f"stamp {seconds_text(stamp)} is not after {seconds_text(self._last)}"
            raise TrackError(reason, place=str(self.path))
        return stamp

    def _check_belief(
        self, stamp: int, pose: tuple[ArrayLike, ArrayLike], covariance: ArrayLike
    ) -> GaussianTrack:
        """The belief as a track of one scan; what is wrong with it names file and stamp."""
        place = f"{self.path}: stamp {seconds_text(stamp)}"
        try:
            position, rotation = pose
            arrays = [
                np.asarray(part, np.float64)[None] for part in (position, rotation, covariance)
            ]
        except (TypeError, ValueError) as error:
            reason = "a belief is a stamp, (position, quaternion xyzw) and a 6x6 covariance"
            raise TrackError(reason, place=place) from error
        try:
            return GaussianTrack(np.array([stamp]), *arrays)
        except TrackError as error:
            raise TrackError(error.reason, place=place) from error

    def _write(self, text: str) -> None:
        """One system call: a row is there whole or not at all. A failure is the end of the file."""
        data = text.encode()
        try:
            written = self._file.write(data)
        except OSError as error:
            self._file.close()
            raise OptionError(f"{self.path}: cannot be written ({error.strerror})") from error
        if written != len(data):
            self._file.close()
            raise OptionError(f"{self.path}: cannot be written (the disk took a part of the row)")

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
