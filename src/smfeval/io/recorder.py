"""A live recorder: one belief after the other, each on disk before the next is taken."""

import os
from collections.abc import Mapping
from io import FileIO
from operator import index
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from smfeval import words
from smfeval.errors import OptionError, TrackError
from smfeval.io.atomic import unwritable
from smfeval.io.formats import CROSS
from smfeval.io.header import GAUSSIAN_FIELDS, header_text
from smfeval.io.parsers import LAST_STAMP
from smfeval.io.square import cross_header, cross_row, cross_target, remove_stale
from smfeval.maths.arrays import Floats
from smfeval.maths.stamps import seconds_text
from smfeval.track import About, CrossCovariance, GaussianTrack, Intake
from smfeval.track.cross import valid_cross

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows does not let two processes write to one file
    flock = None  # type: ignore[assignment]

KEPT_SCANS = 10_000  # that cross-covariances may reach back; a 6x6 each is some 4 MB


class SquareWriter:
    """Write a SQUARE file while the estimator runs.

    ::

        with SquareWriter("est.square", About(body="imu", gauge="se3", algorithm="mine")) as writer:
            writer.append(stamp_ns, (position, quaternion_xyzw), covariance)

    The covariance is of the right perturbation, translation first. Each row is checked like a
    track and flushed whole, so a killed process loses at most the row in flight. Stamps must
    increase. An existing file is not overwritten unless `overwrite` is set.

    `cross={stamp_i: C}` adds cross-covariances C = Cov(xi_i, xi_j) of this scan j with earlier
    scans i, rows for the earlier one. They go to `est.cross` beside the file, after the row of
    scan j is on disk and in one piece, so that file never names a scan that is not there.

    A killed process loses nothing more; a power failure may lose what the system had not yet
    brought to the disk. `close` waits for that, and with `sync` so does every row. The file is
    locked: a second recorder on it is refused.
    """

    def __init__(
        self,
        path: str | Path,
        about: About | None = None,
        *,
        overwrite: bool = False,
        sync: bool = False,
    ):
        self.path = Path(path)
        self._about = about or About()
        self._overwrite = overwrite
        self._sync = sync
        self._recent: dict[int, Floats] = {}  # covariance by stamp, of the last KEPT_SCANS
        self._cross_file: FileIO | None = None
        header = header_text(self._about, "gaussian_se3", GAUSSIAN_FIELDS)
        beside = CROSS.found_beside(self.path)
        if beside and not overwrite:
            raise OptionError(f"{beside[0]}: the file exists; it is not overwritten")
        self._file = self._open(self.path)
        remove_stale(self.path, written=None)
        self._write(self._file, header)

    def append(
        self,
        stamp_ns: int,
        pose: tuple[ArrayLike, ArrayLike],
        covariance: ArrayLike,
        *,
        cross: Mapping[int, ArrayLike] | None = None,
    ) -> None:
        """Write one belief: stamp in nanoseconds, (position, quaternion xyzw), 6x6 covariance.

        `cross` maps stamps of earlier scans i to Cov(xi_i, xi_j), rows for i. (6, 6) each.
        """
        if self._file.closed:
            raise OptionError(f"{self.path}: the recorder is closed; nothing can be appended")
        belief = self._check_belief(stamp_ns, pose, covariance)
        stamp = int(belief.stamp[0])
        blocks = {i: self._check_block(belief, i, (cross or {})[i]) for i in sorted(cross or {})}

        values = [*belief.position[0], *belief.rotation[0], *belief.triangle[0]]
        row = " ".join([seconds_text(stamp), *(repr(float(value)) for value in values)])
        self._write(self._file, f"{row}\n")
        self._recent[stamp] = belief.covariance[0]
        if len(self._recent) > KEPT_SCANS:
            del self._recent[next(iter(self._recent))]
        if blocks:
            rows = [f"{cross_row(first, stamp, block)}\n" for first, block in blocks.items()]
            if self._cross_file is None:  # the first rows bring their header with them
                self._cross_file = self._open(cross_target(self.path))
                rows.insert(0, cross_header(self._about))
            self._write(self._cross_file, "".join(rows))

    def _check_block(self, belief: GaussianTrack, first: int, block: ArrayLike) -> Floats:
        """The cross-covariance with an earlier scan, checked together with its two scans."""
        place = f"{self.path}: stamp {seconds_text(int(belief.stamp[0]))}"
        earlier = self._recent.get(first)
        if earlier is None:
            raise TrackError(
                f"a cross-covariance is with stamp {first} ns, which is none of the last "
                f"{words.count(KEPT_SCANS)} scans",
                place=place,
            )
        try:
            pair = CrossCovariance(np.array([[0, 1]]), np.asarray(block, np.float64)[None])
            both = np.stack([earlier, belief.covariance[0]])
            valid_cross(pair, np.array([first, belief.stamp[0]]), both, Intake())
        except (TypeError, ValueError) as error:
            raise TrackError("a cross-covariance is a 6x6 matrix", place=place) from error
        except TrackError as error:
            raise TrackError(error.reason, place=place) from error
        return pair.block[0]

    def _open(self, path: Path) -> FileIO:
        """A new or emptied file that no other recorder writes to."""
        if self._overwrite and path.exists() and not path.is_file():
            raise OptionError(f"{path}: this is no regular file; nothing is recorded there")
        try:
            file = path.open("ab" if self._overwrite else "xb", buffering=0)
            try:
                if flock is not None:
                    flock(file, LOCK_EX | LOCK_NB)
                file.truncate(0)
            except BaseException:
                file.close()
                raise
        except FileExistsError as error:
            raise OptionError(f"{path}: the file exists; it is not overwritten") from error
        except BlockingIOError as error:
            raise OptionError(f"{path}: another recorder writes to it") from error
        except OSError as error:
            raise unwritable(path, error) from error
        return file

    def _check_belief(
        self, stamp_ns: int, pose: tuple[ArrayLike, ArrayLike], covariance: ArrayLike
    ) -> GaussianTrack:
        """A later belief as a track of one scan; what is wrong with it names file and stamp."""
        try:
            stamp = index(stamp_ns)
        except TypeError as error:
            reason = f"stamp {stamp_ns!r} is no whole number of nanoseconds"
            raise TrackError(reason, place=str(self.path)) from error
        if abs(stamp) > LAST_STAMP:
            raise TrackError(f"stamp {stamp} ns is beyond int64", place=str(self.path))
        last = next(reversed(self._recent), None)
        if last is not None and stamp <= last:
            reason = f"stamp {seconds_text(stamp)} is not after {seconds_text(last)}"
            raise TrackError(reason, place=str(self.path))

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

    def _write(self, file: FileIO, text: str) -> None:
        """One system call: a row is there whole or not at all. A failure is the end of the file."""
        data = text.encode()
        try:
            written = file.write(data)
            if self._sync:
                os.fsync(file.fileno())
        except OSError as error:
            self._close_files()
            raise unwritable(str(file.name), error) from error
        if written != len(data):
            self._close_files()
            raise OptionError(f"{file.name}: cannot be written (the disk took a part of the row)")

    def close(self) -> None:
        """Make sure that everything is on the disk, and close."""
        for file in (self._file, self._cross_file):
            if file is not None and not file.closed:
                os.fsync(file.fileno())
        self._close_files()

    def _close_files(self) -> None:
        for file in (self._file, self._cross_file):
            if file is not None:
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
