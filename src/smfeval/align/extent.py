"""Stretches of a track given in scans, seconds or metres: `100`, `10s`, `30m`."""

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths.stamps import NANOSECONDS

if TYPE_CHECKING:
    from smfeval.maths.arrays import Floats, Ints

Unit = Literal["scans", "s", "m"]
PATTERN = re.compile(r"(?P<size>\d+\.?\d*|\.\d+)\s*(?P<unit>scans?|s|m)?")


@dataclass(frozen=True)
class Extent:
    """So many scans, seconds or metres."""

    size: float
    unit: Unit

    def __post_init__(self) -> None:
        if not (isfinite(self.size) and self.size > 0):
            raise OptionError(f"an extent must be positive, not {words.exact(self.size)}")
        if self.unit == "scans" and self.size != int(self.size):
            raise OptionError(f"scans come in whole numbers, not {words.exact(self.size)}")

    def __str__(self) -> str:
        return f"{words.exact(self.size)} {self.unit}"

    def progress(self, stamp: "Ints", position: "Floats") -> "Floats":
        """How far each scan is from the first, in this extent's unit. (n,)."""
        import numpy as np  # noqa: PLC0415  --help makes extents, and has no use for numpy

        if self.unit == "scans":
            return np.arange(len(stamp), dtype=np.float64)
        if self.unit == "s":
            return (stamp - stamp[0]) / NANOSECONDS
        steps = np.linalg.norm(np.diff(position, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])


def parse_extent(text: str) -> Extent:
    """Read `100`, `100scans`, `10s` or `30m`."""
    match = PATTERN.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"{text!r} is no extent; write 100 (scans), 10s or 30m")
    unit = match["unit"] or "scans"
    return Extent(float(match["size"]), "scans" if unit.startswith("sc") else unit)  # type: ignore[arg-type]
