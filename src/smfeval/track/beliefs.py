"""What all tracks share: scans in time, words about them, and new tracks from old ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.maths.arrays import Bools, Floats, Ints, read_only
from smfeval.maths.stamps import NANOSECONDS
from smfeval.results import Drawable
from smfeval.schema import Gauge
from smfeval.track.row_checks import DroppedRows


@dataclass(frozen=True)
class About:
    """What a track says of itself. None: it does not say."""

    body: str | None = None
    world: str | None = None
    gauge: Gauge | None = None
    algorithm: str | None = None
    version: str | None = None
    oriented: bool = True  # False: positions only (GNSS); the rotations are placeholders
    extra: tuple[tuple[str, str], ...] = ()  # header keys we do not know, kept for writing


@dataclass(frozen=True)
class UnreadColumns:
    """Columns of a file that were not read and may be the covariance of its poses."""

    names: tuple[str, ...]
    columns: str | None  # what the option `columns` would say of them; None: it cannot
    alike: bool  # their names or values are those of an uncertainty


@dataclass(frozen=True)
class Provenance:
    """Where a track came from, and what was assumed, decided or left out on the way."""

    name: str = "arrays"
    format: str = "arrays"
    convention: str | None = None
    dropped: tuple[DroppedRows, ...] = ()
    notes: tuple[str, ...] = ()  # what a careful reader should know: a strict check refuses it
    remarks: tuple[str, ...] = ()  # what is merely worth knowing
    convention_assumed: bool = False  # in part: nobody declared it
    unread: UnreadColumns | None = None  # of poses alone
    axes: tuple[str, str] | None = None  # of the position that alone are estimated, and why

    def __post_init__(self) -> None:
        """Words are kept as a terminal may show them, whatever a file is called."""
        object.__setattr__(self, "name", words.visible(self.name))
        for field_name in ("notes", "remarks"):
            shown = tuple(map(words.visible, getattr(self, field_name)))
            object.__setattr__(self, field_name, shown)


LONGEST_SPAN_NS = 2**63 - 1

Index = int | slice | Sequence[int] | Ints | Bools
Rows = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs(Drawable):
    """Beliefs over time: the part of a track that does not depend on how a belief is written."""

    stamp: Ints
    about: About = field(default_factory=About, kw_only=True)
    provenance: Provenance = field(default_factory=Provenance, kw_only=True)

    def __len__(self) -> int:
        return len(self.stamp)

    def __repr__(self) -> str:
        frames = {"body": self.about.body, "world": self.about.world, "gauge": self.about.gauge}
        said = [f"{name} {word}" for name, word in frames.items() if word is not None]
        extent = f"{words.count(len(self), 'scan')} in {words.duration(self.duration_s)}"
        what = "; ".join([extent, *filter(None, [", ".join(map(words.visible, said))])])
        return f"{type(self).__name__}({self.provenance.name}: {what})"

    def __getitem__(self, index: Index) -> Self:
        """The scans of a number, slice, mask or increasing numbers, as a track of the same kind."""
        chosen = np.atleast_1d(np.arange(len(self))[index])
        if len(chosen) == 0:
            raise TrackError("no scan is chosen")
        if not (np.diff(chosen) > 0).all():
            raise TrackError("scans are chosen out of order or twice; a track runs forward in time")
        if len(chosen) == len(self):
            return self
        return self._part(chosen)

    @property
    def duration_s(self) -> float:
        """Time from the first to the last scan."""
        return float(self.stamp[-1] - self.stamp[0]) / NANOSECONDS

    def with_about(self, **changes: Any) -> Self:
        """Return the same beliefs with other words about them (body, world, gauge ...)."""
        return self.with_arrays({}, about=replace(self.about, **changes))

    def with_notes(self, *notes: str) -> Self:
        """Return the same track with further notes on how it came about."""
        provenance = replace(self.provenance, notes=self.provenance.notes + notes)
        return self.with_arrays({}, provenance=provenance)

    def shift_stamps(self, offset_ns: int) -> Self:
        """Return the same beliefs with every stamp moved by the offset."""
        return self.with_arrays({"stamp": self.stamp + np.int64(offset_ns)})

    def _part(self, scans: Ints) -> Self:
        """Return the track of the chosen scans."""
        return self.with_arrays(self._select(scans))

    def _select(self, scans: Ints) -> Rows:
        """Return the arrays of the chosen scans."""
        raise NotImplementedError

    def _set_arrays(self, rows: Rows) -> None:
        for name, array in rows.items():
            object.__setattr__(self, name, read_only(array))

    def _record(self, dropped: tuple[DroppedRows, ...], notes: tuple[str, ...]) -> None:
        provenance = replace(
            self.provenance,
            dropped=self.provenance.dropped + dropped,
            notes=self.provenance.notes + notes,
        )
        object.__setattr__(self, "provenance", provenance)

    def with_arrays(self, rows: Rows, **changes: Any) -> Self:
        """Return a copy that shares everything not named; nothing is checked again."""
        new = object.__new__(type(self))
        for name in (each.name for each in fields(self)):
            object.__setattr__(new, name, changes.get(name, getattr(self, name)))
        new._set_arrays(rows)
        return new


def as_stamps(stamp: Any) -> Ints:
    """Check that stamps are whole nanoseconds."""
    array = np.asarray(stamp)
    if array.ndim != 1:
        raise TrackError(f"stamps have shape {array.shape}; one number per scan is needed")
    if array.dtype.kind not in "iu":
        raise TrackError(
            f"stamps are {array.dtype}; int64 nanoseconds are needed (smfeval.from_arrays takes "
            "seconds)"
        )
    if len(array) and int(array.max()) - min(int(array.min()), 0) > LONGEST_SPAN_NS:
        raise TrackError("stamps span more than two centuries; int64 nanoseconds cannot hold that")
    return private_array(array.astype(np.int64, copy=False), array)


def as_floats(array: Any, shape: tuple[int, ...], name: str) -> Floats:
    """Check the shape of an array of numbers, and that it is float64."""
    try:
        floats = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrackError(f"{name} is no array of numbers ({error})") from error
    if floats.shape != shape:
        raise TrackError(f"{name} has shape {floats.shape}; {shape} is needed")
    return private_array(floats, array)


def private_array(array: NDArray[Any], given: Any) -> NDArray[Any]:
    """The array, copied if the caller could still write to it; a read-only array is taken over."""
    shared = isinstance(given, np.ndarray) and np.shares_memory(array, given)
    return array.copy() if shared and array.flags.writeable else array


def normalise_quaternions(rotation: Floats) -> Floats:
    """Quaternions of length one; those that are so to the last bits are left as they are.

    A quaternion of no length, which is no rotation, is left for the check to refuse.
    """
    square = np.einsum("ni,ni->n", rotation, rotation)
    off = (np.abs(square - 1) > 16 * np.finfo(np.float64).eps) & (square > 0)
    if not off.any():
        return rotation
    return rotation / np.sqrt(np.where(off, square, 1.0))[:, None]
