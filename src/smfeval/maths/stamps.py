"""Stamps are int64 nanoseconds; this turns them into text and back without losing a digit."""

from smfeval.errors import OptionError

NANOSECONDS = 1_000_000_000
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
