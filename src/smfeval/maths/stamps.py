"""Stamps are int64 nanoseconds; this turns them into text and back without losing a digit."""

from typing import Any

NANOSECONDS = 1_000_000_000
LAST_SECOND = 9.2e9  # of stamps in nanoseconds that int64 holds


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
        if not abs(said["stamp_ns"]) < LAST_SECOND * NANOSECONDS:
            raise ValueError("stamp_ns is no time in nanoseconds")
        return int(said["stamp_ns"])
    seconds = float(said["stamp"])
    if not abs(seconds) < LAST_SECOND:
        raise ValueError(f"stamp {seconds} is no time in seconds")
    whole = int(seconds)
    return whole * NANOSECONDS + round((seconds - whole) * NANOSECONDS)
