"""Stamps are int64 nanoseconds; this turns them into text and back without losing a digit."""

NANOSECONDS = 1_000_000_000


def seconds_text(stamp_ns: int) -> str:
    """Exact decimal seconds with nine decimals: 1500000000 -> '1.500000000'."""
    sign = "-" if stamp_ns < 0 else ""
    whole, fraction = divmod(abs(int(stamp_ns)), NANOSECONDS)
    return f"{sign}{whole}.{fraction:09d}"
