"""Quantities with a unit, as people write them.

An extent is a stretch of a track in scans, seconds or metres: `100`, `10s`, `30m`. The sigma of a
reference says how uncertain it is taken to be, per axis: `1cm`, `8mm,0.1deg`, `0.02m,0.002rad`.
Alert limits say how large an error may be: `1m`, `1m,0.5m vertical,2deg`, `0.3m cross,1.5m along`.
"""

import re
from dataclasses import asdict
from math import degrees, isfinite, pi, radians
from typing import TYPE_CHECKING, Literal

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.maths.stamps import NANOSECONDS
from smfeval.schema import PROTECTED, suggest_word

if TYPE_CHECKING:
    from smfeval.maths.arrays import Floats, Ints

Unit = Literal["scans", "s", "m"]
PATTERN = r"(?P<size>\d+\.?\d*|\.\d+)\s*(?P<unit>scans?|s|m)?"


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
    match = re.fullmatch(PATTERN, text.strip())
    if match is None:
        raise OptionError(f"{text!r} is no extent; write 100 (scans), 10s or 30m")
    unit = match["unit"] or "scans"
    return Extent(float(match["size"]), "scans" if unit.startswith("sc") else unit)  # type: ignore[arg-type]


UNITS_M = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "": 1.0}
UNITS_RAD = {"deg": radians(1), "rad": 1.0}
LARGEST_M = 1e6  # what is farther off is no reference


@dataclass(frozen=True)
class ReferenceSigma:
    """Standard deviation of the reference's position and rotation about each axis."""

    position_m: float
    rotation_rad: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.position_m <= LARGEST_M and 0 <= self.rotation_rad <= pi):
            raise OptionError(f"a reference cannot be uncertain by {self}")
        if self.position_m == self.rotation_rad == 0:
            raise OptionError("a reference that is uncertain by 0 is exact: leave it out")

    def __str__(self) -> str:
        unit = words.length_unit(self.position_m)
        length = f"{words.exact(self.position_m / unit.size)} {unit.name}"
        angle = f" and {words.exact(degrees(self.rotation_rad))} deg" if self.rotation_rad else ""
        return f"{length}{angle} per axis"


def parse_reference_sigma(said: str | float | ReferenceSigma) -> ReferenceSigma:
    """Read `0.01`, `1cm` or `1cm,0.1deg`: metres where no unit is given; an angle needs one."""
    if isinstance(said, ReferenceSigma):
        return said
    length, comma, angle = (part.strip() for part in str(said).partition(","))
    try:
        position_m = _in_units(length, UNITS_M)
        rotation_rad = _in_units(angle, UNITS_RAD | {"": 1.0}) if comma else 0.0
    except ValueError as error:
        raise OptionError(f"{said!r} is no sigma; write 1cm or 1cm,0.1deg") from error
    if comma and not angle.endswith(tuple(UNITS_RAD)):
        raise OptionError(f"{said!r}: is {angle} in deg or rad? write {angle}deg or {angle}rad")
    return ReferenceSigma(position_m, rotation_rad)


def _in_units(text: str, units: dict[str, float]) -> float:
    suffix = next(unit for unit in units if text.endswith(unit))
    return units[suffix] * float(text.removesuffix(suffix))


LIMIT = r"(?P<size>\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)\s*(?P<rest>[a-z -]*)"
LIMIT_WORDS = {  # what else people call a component
    "longitudinal": "along",
    "along-track": "along",
    "lateral": "cross",
    "cross-track": "cross",
    "rotation": "attitude",
}


RISK = 1e-4
SMALLEST_RISK = 1e-12


def check_risk(risk: float) -> None:
    """Raise where a risk is no probability of a rare event."""
    if not SMALLEST_RISK <= risk < 0.5:
        raise OptionError(f"a risk of {words.exact(risk)} is none: write a probability like 1e-4")


@dataclass(frozen=True)
class AlertLimits:
    """The largest error that the user of a pose can bear, by component (`schema.PROTECTED`).

    Lengths are in metres, the attitude is an angle in radians; None: no limit.
    """

    horizontal: float | None = None
    along: float | None = None
    cross: float | None = None
    vertical: float | None = None
    attitude: float | None = None

    def __post_init__(self) -> None:
        for name, size in self.given.items():
            if not (isfinite(size) and size > 0):
                raise OptionError(f"an alert limit is positive, not {words.exact(size)} ({name})")
        if not self.given:
            raise OptionError("no alert limit is given; write 1m or 1m,0.5m vertical,2deg")

    @property
    def given(self) -> dict[str, float]:
        """The limits that there are, by component."""
        return {name: size for name, size in asdict(self).items() if size is not None}

    def text(self, name: str) -> str:
        """The limit of a component with its unit: '1 m', '2 deg'."""
        size = self.given[name]
        if name == "attitude":
            return f"{words.exact(degrees(size))} deg"
        unit = words.length_unit(size)
        return f"{words.exact(size / unit.size)} {unit.name}"

    def __str__(self) -> str:
        return words.join(f"{self.text(name)} {name}" for name in self.given)


def parse_alert_limits(said: str | float | AlertLimits) -> AlertLimits:
    """Read `1m`, `1m,0.5m vertical,2deg` or `0.3m cross,1.5m along`.

    A length without a word is horizontal, without a unit in metres; an angle is of the attitude.
    """
    if isinstance(said, AlertLimits):
        return said
    found: dict[str, float] = {}
    for part in str(said).split(","):
        name, size = _parse_limit(part.strip(), str(said))
        if name in found:
            raise OptionError(f"{said!r} has two limits of the {name} error")
        found[name] = size
    return AlertLimits(**found)


def _parse_limit(part: str, said: str) -> tuple[str, float]:
    match = re.fullmatch(LIMIT, part)
    if match is None:
        raise OptionError(f"{said!r} is no alert limit; write 1m or 1m,0.5m vertical,2deg")
    first, *rest = match["rest"].split() or [""]
    unit, word = (first, rest) if first in UNITS_M | UNITS_RAD else ("", [first, *rest])
    if len(word) > 1:
        raise OptionError(f"{said!r}: {part!r} is no alert limit; write 0.5m vertical")
    name = word[0] if word and word[0] else "attitude" if unit in UNITS_RAD else "horizontal"
    name = LIMIT_WORDS.get(name, name)
    if name not in PROTECTED:
        raise OptionError(f"{said!r}: {name!r} is no error; {suggest_word(name, PROTECTED)}")
    if (name == "attitude") != (unit in UNITS_RAD):
        raise OptionError(f"{said!r}: {name} and {unit or 'm'} do not go together")
    return name, (UNITS_RAD | UNITS_M)[unit] * float(match["size"])
