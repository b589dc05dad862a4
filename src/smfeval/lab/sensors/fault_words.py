"""Faults in words, both ways: `extrinsic=3mm,0.15deg,clock=2ms,rings=7mm`."""

import re
from dataclasses import dataclass

from smfeval.errors import OptionError
from smfeval.lab.sensors.faults import NO_FAULTS, TYPICAL_FAULTS, Faults

LENGTH = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
TIME = {"ms": 1e-3, "us": 1e-6, "s": 1.0}
ANGLE = {"deg": 1.0}
RATIO = {"ppm": 1e-6, "%": 1e-2}

NAMED = {"none": NO_FAULTS, "typical": TYPICAL_FAULTS}
SIZE = re.compile(r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?P<unit>[a-z%]+)")


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
    "none, typical, or extrinsic=5mm,0.2deg,clock=2ms,range=1cm,rings=7mm,beams=0.1deg,scale=500ppm"
)


def in_words(faults: Faults) -> str:
    """The faults that are there, as `parsed` reads them."""
    parts, last = [], ""
    for dial in DIALS:
        size = getattr(faults, dial.field)
        if size:
            unit, factor = next(iter(dial.units.items()))
            parts.append(f"{'' if dial.word == last else dial.word + '='}{size / factor:g}{unit}")
            last = dial.word
    return ",".join(parts) or "none"


def parsed(text: str) -> Faults:
    """Faults from words; those that are not named are zero."""
    if text in NAMED:
        return NAMED[text]
    sizes: dict[str, float] = {}
    word = ""
    for part in text.split(","):
        given, equals, size = part.strip().rpartition("=")
        word = given if equals else word
        dial, number = _dial(word, size, part)
        if dial.field in sizes:
            raise OptionError(f"{part!r}: {word} is given twice")
        sizes[dial.field] = number
    return Faults(**sizes)


def _dial(word: str, size: str, part: str) -> tuple[Dial, float]:
    found = [dial for dial in DIALS if dial.word == word]
    if not found:
        words = ", ".join(dict.fromkeys(dial.word for dial in DIALS))
        raise OptionError(f"{part!r} is no fault; write none, typical or WORD=SIZE of {words}")
    units = [unit for dial in found for unit in dial.units]
    match = SIZE.fullmatch(size)
    dial = next((d for d in found if match and match["unit"] in d.units), None)
    if match is None or dial is None:
        raise OptionError(f"{part!r}: the size of {word} is a number with {', '.join(units)}")
    number = float(match["number"]) * dial.units[match["unit"]]
    if number < 0 and not dial.signed:
        raise OptionError(f"{part!r}: the size of {word} cannot be negative")
    return dial, number
