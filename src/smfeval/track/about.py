"""What a track says of itself, and where it came from."""

from dataclasses import dataclass
from typing import Literal

from smfeval.track.rows import Dropped

Gauge = Literal["fixed", "se3", "gravity_yaw", "sim3"]
GAUGES: tuple[Gauge, ...] = ("fixed", "se3", "gravity_yaw", "sim3")


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
class Provenance:
    """Where a track came from, and what was assumed, decided or left out on the way."""

    name: str = "arrays"
    format: str = "arrays"
    convention: str | None = None
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()  # what a careful reader should know: a strict check refuses it
    remarks: tuple[str, ...] = ()  # what is merely worth knowing
