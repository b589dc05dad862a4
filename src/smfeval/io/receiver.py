"""What streams of GNSS receivers share: messages with checksums, fixes as rows of a track.

A stream is what came over a wire: a message that is cut off or whose checksum is wrong is left out
and counted, for the others stand by themselves.
"""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from smfeval.errors import FormatError
from smfeval.io.geodetic import local_from_llh, refuse_off_earth
from smfeval.io.options import ReadOptions
from smfeval.io.source import open_input
from smfeval.maths.arrays import Bools, Floats, Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import DroppedRows, GaussianTrack, Provenance, Track

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UTC_REMARK = "stamps are UTC; no leap seconds were applied"
ELLIPSOID_REMARK = "heights are above the ellipsoid"
DAMAGED = "messages that are damaged or cut off"


@dataclass
class Damage:
    """Messages that could not be read, counted while a stream is."""

    stream: io.BytesIO
    name: str
    places: list[int] = field(default_factory=list)

    def __call__(self, error: Any) -> None:
        """Count one, near the place at which the stream stands."""
        del error
        self.places.append(self.stream.tell())

    @property
    def dropped(self) -> tuple[DroppedRows, ...]:
        """What was left out, for the track."""
        if not self.places:
            return ()
        first = f"{self.name} before byte {self.places[0]}"
        return (DroppedRows(DAMAGED, len(self.places), first),)


def messages(
    path: Path, make_reader: Callable[[io.BytesIO, Damage], Any]
) -> tuple[list[Any], Damage]:
    """The messages of a stream that its reader understands, and what was damaged."""
    with open_input(path) as source:
        stream = io.BytesIO(source.read())
    damage = Damage(stream, str(path))
    return list(_parsed(make_reader(stream, damage), damage)), damage


def _parsed(reader: Any, damage: Damage) -> Iterator[Any]:
    """Messages; bytes that look like text and are none raise beyond the reader's own errors."""
    while True:
        try:
            raw, message = reader.read()
        except (ValueError, KeyError, IndexError, TypeError) as error:
            damage(error)
            continue
        if raw is None:
            return
        if message is not None:
            yield message


def utc_ns(when: datetime, seconds: float, nano: int = 0) -> int:
    """Nanoseconds since 1970 of a minute, seconds in it (60 in a leap second) and a rest."""
    since = when + timedelta(seconds=seconds) - EPOCH
    whole = (since.days * 86_400 + since.seconds) * NANOSECONDS + since.microseconds * 1_000
    return whole + nano


@dataclass(frozen=True)
class ReceiverFixes:
    """Fixes of a receiver as arrays; covariances are in east, north, up at each of them."""

    name: str
    format: str
    stamp: Ints
    llh: Floats  # degrees, m above the ellipsoid
    covariance: Floats  # (n, 3, 3)
    row: Ints  # place among the fixes of the stream, from zero
    convention: str
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    dropped: tuple[DroppedRows, ...] = ()

    def where(self, row: int) -> str:
        """The place of a row, for people."""
        return f"{self.name} fix {self.row[row] + 1}"

    def without(self, bad: Bools, reason: str) -> "ReceiverFixes":
        """The fixes that are not bad; the others are counted under a reason."""
        if not bad.any():
            return self
        if bad.all():
            raise FormatError(f"{self.name}: no fix is left: {reason} in every one")
        left = DroppedRows(reason, int(bad.sum()), self.where(int(np.argmax(bad))))
        names = ("stamp", "llh", "covariance", "row")
        kept: dict[str, Any] = {name: getattr(self, name)[~bad] for name in names}
        return replace(self, **kept, dropped=(*self.dropped, left))

    def track(self, options: ReadOptions) -> Track:
        """A belief about the position of the antenna in one local frame."""
        refuse_off_earth(self.llh, self.where)
        local = local_from_llh(self.llh, self.covariance, options)
        return GaussianTrack(
            self.stamp,
            *local.pose,
            local.belief,
            about=local.about(),
            provenance=Provenance(
                self.name,
                self.format,
                f"position only, in world axes; {self.convention}",
                self.dropped,
                self.notes,
                (local.note, *self.remarks),
            ),
            intake=options.intake(self.where),
        )
