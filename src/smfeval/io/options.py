"""How to read a source: what the user may decide, and what a format listens to."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, ORDERS, Order
from smfeval.track import GAUGES, Gauge, Intake
from smfeval.track.rows import BadRows, Duplicates


@dataclass(frozen=True)
class ReadOptions:
    """Decisions about a source. None: as the file, the preset or the format says.

    What the user says here wins over a preset, a preset over the file's own header, and the
    header over what the format implies; each contradiction leaves a note on the track.
    """

    format: str | None = None
    preset: str | None = None
    convention: str | None = None
    order: Order | None = None
    body: str | None = None
    world: str | None = None
    gauge: Gauge | None = None
    bad_rows: BadRows = "refuse"
    duplicates: Duplicates = "refuse"
    covariance: Path | None = None  # TUM: sidecar file with the covariances
    times: Path | None = None  # KITTI: file with one stamp per row
    deviation: Path | None = None  # OpenVINS: state_deviation beside state_estimate
    origin: tuple[float, float, float] | None = None  # RTKLIB: latitude, longitude, height
    topic: str | None = None  # bags
    tf: str | None = None  # bags: PARENT:CHILD

    def __post_init__(self) -> None:
        _known("convention", self.convention, tuple(CONVENTIONS))
        _known("order", self.order, ORDERS)
        _known("gauge", self.gauge, GAUGES)
        _known("bad_rows", self.bad_rows, ("refuse", "drop"))
        _known("duplicates", self.duplicates, ("refuse", "first", "last"))

    def intake(self, where: Callable[[int], str]) -> Intake:
        """How rows are taken in, with rows named by `where`."""
        return Intake(self.bad_rows, self.duplicates, where)

    def refuse_unused(self, format_name: str, used: frozenset[str]) -> None:
        """Raise on an option that the format would ignore."""
        for option in fields(self):
            given = getattr(self, option.name) != option.default
            if given and option.name not in ALWAYS_USED | used:
                raise OptionError(
                    f"option {option.name.replace('_', '-')} means nothing for {format_name} files"
                )


@dataclass(frozen=True)
class WriteOptions:
    """Decisions about a file to write. Only wide TUM can be told its convention."""

    format: str | None = None
    convention: str | None = None
    order: Order | None = None

    def __post_init__(self) -> None:
        _known("convention", self.convention, tuple(CONVENTIONS))
        _known("order", self.order, ORDERS)


ALWAYS_USED = frozenset({"format", "preset", "body", "world", "gauge", "bad_rows", "duplicates"})


def _known(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise OptionError(f"{name} {value!r} is unknown; it is one of {', '.join(allowed)}")
