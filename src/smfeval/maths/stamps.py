"""Stamps are int64 nanoseconds; this turns them into text and back without losing a digit."""

from typing import Any

import numpy as np

from smfeval.errors import OptionError
from smfeval.maths.arrays import Bools, Ints

NANOSECONDS = 1_000_000_000
LAST_SECOND = 9.2e9  # of stamps in nanoseconds that int64 holds
GAP_STEPS = 2.5  # steps: a longer pause between scans is a gap, and no line may cross it
UNITS_S = {"ms": 1e-3, "us": 1e-6, "s": 1.0, "": 1.0}


def parse_seconds(text: str) -> float:
    """A time in words: `0.005`, `0.005s` or `5ms`."""
    suffix = next(unit for unit in UNITS_S if text.endswith(unit))
    try:
        return UNITS_S[suffix] * float(text.removesuffix(suffix))
    except ValueError as error:
        raise OptionError(f"{text!r} is no time; write 0.005 or 5ms") from error


def seconds_text(stamp_ns: int) -> str:
    """Exact decimal seconds with nine decimals: 1500000000 -> '1.500000000'."""
    sign = "-" if stamp_ns < 0 else ""
    whole, fraction = divmod(abs(int(stamp_ns)), NANOSECONDS)
    return f"{sign}{whole}.{fraction:09d}"


def json_stamp(said: Any) -> int:
    """Nanoseconds of `stamp_ns`, or of `stamp` in seconds."""
    if "stamp_ns" in said:
        if not isinstance(said["stamp_ns"], int):
            raise TypeError("stamp_ns is a whole number")
        return int(said["stamp_ns"])
    seconds = float(said["stamp"])
    if not abs(seconds) < LAST_SECOND:
        raise ValueError(f"stamp {seconds} is no time in seconds")
    whole = int(seconds)
    return whole * NANOSECONDS + round((seconds - whole) * NANOSECONDS)


def gap_mask(stamp: Ints) -> Bools:
    """Whether the next scan is further away than GAP_STEPS median steps. (n,) -> (n - 1,)."""
    step = np.diff(stamp)
    return step > GAP_STEPS * np.median(step) if len(step) else np.zeros(0, dtype=np.bool_)
