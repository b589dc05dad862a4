"""Faults: what is wrong with all points of a scan together, so that averaging does not help.

A filter is told the faultless values. Sizes are dials; directions and the biases of single beams
are drawn.
"""

import re
from dataclasses import dataclass, fields
from math import isfinite

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Floats
from smfeval_lab.motion import MARGIN_S

LONGEST_CLOCK_S = MARGIN_S  # the motion is known for so long before the start and after the end


@dataclass(frozen=True)
class Faults:
    """How wrong the sensor is. All zero: as told."""

    extrinsic_m: float = 0.0  # the LiDAR is mounted this far from where it is said to be
    extrinsic_deg: float = 0.0  # and turned by this much, about an axis that is drawn
    clock_s: float = 0.0  # a point stamped t was taken at t + clock_s
    range_bias_m: float = 0.0  # added to every range
    ring_bias_m: float = 0.0  # sigma of what is added to the ranges of each ring
    beam_deg: float = 0.0  # sigma of the error of each ring's elevation
    range_scale: float = 0.0  # ranges are this much too long, relative

    def __post_init__(self) -> None:
        if not all(isfinite(getattr(self, each.name)) for each in fields(self)):
            raise OptionError("the size of a fault is a number, not infinite or NaN")
        if not abs(self.clock_s) < LONGEST_CLOCK_S:
            raise OptionError(
                f"a clock that is {words.exact(self.clock_s)} s late: the walk is known for less "
                f"than {words.exact(LONGEST_CLOCK_S)} s beyond its ends"
            )
        if not self.range_scale > -1:
            raise OptionError(
                f"ranges scaled by {words.exact(self.range_scale, signed=True)} would not be "
                "positive"
            )


NO_FAULTS = Faults()
# What careful calibration leaves: 2-5 mm, 0.1-0.2 deg, 1-3 ms, 5-10 mm; here the middle of it.
TYPICAL_FAULTS = Faults(extrinsic_m=3e-3, extrinsic_deg=0.15, clock_s=2e-3, ring_bias_m=7e-3)
# What is left where a rig was calibrated once and taken apart since: a hand-held scanner in use.
HANDHELD_FAULTS = Faults(extrinsic_m=1e-2, extrinsic_deg=0.5, clock_s=10e-3, beam_deg=0.1)


@dataclass(frozen=True, eq=False)
class TrueSensor:
    """The sensor as it really is."""

    imu_T_lidar: se3.Pose
    clock_s: float
    range_bias_m: Floats  # (rings,)
    elevation_rad: Floats  # (rings,) by which each ring really looks higher
    range_scale: float


def draw_truth(
    faults: Faults, imu_T_lidar: se3.Pose, rings: int, rng: np.random.Generator
) -> TrueSensor:
    """The real sensor: the mounting T Exp(xi), the biases of each ring."""
    drawn = (rng.normal(size=3) for _ in range(2))
    shift, turn = (vector / np.linalg.norm(vector) for vector in drawn)
    error = faults.extrinsic_m * shift, so3.exp(np.radians(faults.extrinsic_deg) * turn)
    return TrueSensor(
        se3.compose(imu_T_lidar, error),
        faults.clock_s,
        faults.range_bias_m + faults.ring_bias_m * rng.normal(size=rings),
        np.radians(faults.beam_deg) * rng.normal(size=rings),
        faults.range_scale,
    )


LENGTH = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
TIME = {"ms": 1e-3, "us": 1e-6, "s": 1.0}
ANGLE = {"deg": 1.0}
RATIO = {"ppm": 1e-6, "%": 1e-2}

PRESETS = {"none": NO_FAULTS, "typical": TYPICAL_FAULTS, "handheld": HANDHELD_FAULTS}
SIZE_PATTERN = re.compile(r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?P<unit>[a-z%]+)")


@dataclass(frozen=True)
class Dial:
    """A word for a fault; the first unit is the one that is shown."""

    word: str
    field: str
    units: dict[str, float]
    signed: bool = False  # otherwise a sigma, or the size of something whose direction is drawn


DIALS = (
    Dial("extrinsic", "extrinsic_m", LENGTH),
    Dial("extrinsic", "extrinsic_deg", ANGLE),
    Dial("clock", "clock_s", TIME, signed=True),
    Dial("range", "range_bias_m", LENGTH, signed=True),
    Dial("rings", "ring_bias_m", LENGTH),
    Dial("beams", "beam_deg", ANGLE),
    Dial("scale", "range_scale", RATIO, signed=True),
)
HELP = (
    f"{', '.join(PRESETS)}, or "
    "extrinsic=5mm,0.2deg,clock=2ms,range=1cm,rings=7mm,beams=0.1deg,scale=500ppm"
)


def format_faults(faults: Faults) -> str:
    """The faults that are not zero, as `parse_faults` reads them."""
    parts, last = [], ""
    for dial in DIALS:
        size = getattr(faults, dial.field)
        if size:
            unit, factor = next(iter(dial.units.items()))
            parts.append(
                f"{'' if dial.word == last else dial.word + '='}{words.exact(size / factor)}{unit}"
            )
            last = dial.word
    return ",".join(parts) or "none"


def parse_faults(text: str) -> Faults:
    """Faults from words; those that are not named are zero."""
    if text in PRESETS:
        return PRESETS[text]
    sizes: dict[str, float] = {}
    word = ""
    for part in text.split(","):
        given, equals, size = part.strip().rpartition("=")
        word = given if equals else word
        dial, number = _parse_size(word, size, part)
        if dial.field in sizes:
            raise OptionError(f"{part!r}: {word} is given twice")
        sizes[dial.field] = number
    return Faults(**sizes)


def _parse_size(word: str, size: str, part: str) -> tuple[Dial, float]:
    found = [dial for dial in DIALS if dial.word == word]
    if not found:
        known = ", ".join(dict.fromkeys(dial.word for dial in DIALS))
        raise OptionError(
            f"{part!r} is no fault; write {', '.join(PRESETS)} or WORD=SIZE of {known}"
        )
    units = [unit for dial in found for unit in dial.units]
    match = SIZE_PATTERN.fullmatch(size)
    dial = next((d for d in found if match and match["unit"] in d.units), None)
    if match is None or dial is None:
        raise OptionError(f"{part!r}: the size of {word} is a number with {', '.join(units)}")
    number = float(match["number"]) * dial.units[match["unit"]]
    if number < 0 and not dial.signed:
        raise OptionError(f"{part!r}: the size of {word} cannot be negative")
    return dial, number
