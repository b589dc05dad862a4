"""Counts and lists in the sentences of a case study."""

from collections.abc import Sequence


def tracks(count: int) -> str:
    """'1 track', '2 tracks'."""
    return f"{count} track" if count == 1 else f"{count} tracks"


def listed(names: Sequence[str]) -> str:
    """'a, b and c'."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def ranged(values: Sequence[float], digits: str = ".3g") -> str:
    """'1.2 to 3.4', or the value where they are alike."""
    low, high = format(min(values), digits), format(max(values), digits)
    return low if low == high else f"{low} to {high}"
