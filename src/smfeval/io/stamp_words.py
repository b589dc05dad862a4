"""A stamp as a file writes it: exact nanoseconds, and why it is no time."""

from smfeval.io.number_rows import Unit
from smfeval.maths.stamps import NANOSECONDS, seconds_text

DECIMALS = 9  # of a second: whole nanoseconds
LAST_STAMP = 2**63 - 1  # ns: the year 2262
LARGEST_SHOWN = 1e28  # a stamp beyond this is shown as it is written, not with all its digits
# What a stamp of our time looks like if its unit is not seconds: below a limit, a unit.
UNITS = ((1e14, "milliseconds"), (1e17, "microseconds"), (1e20, "nanoseconds"))


LONGEST, LONGEST_EXPONENT = 64, 4  # characters, the sign of the exponent among them


def is_odd(word: str) -> bool:
    """Whether a number is written as no clock would, so that it takes a closer look."""
    return len(word) > LONGEST or len(word.lower().partition("e")[2]) > LONGEST_EXPONENT


def nanoseconds(word: str, unit: Unit) -> int:
    """Nanoseconds of a stamp, from its digits and not through a float."""
    return billionths(word) if unit == "seconds" else billionths(word) // NANOSECONDS


def billionths(word: str) -> int:
    """A number times 10^9, rounded half to even: `1.5` -> 1500000000, `2.5e-9` -> 2."""
    mantissa, _, exponent = word.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = int(whole + fraction)
    places = DECIMALS - len(fraction) + int(exponent or 0)
    if places >= 0:
        return digits * 10**places if digits else 0
    dropped = min(-places, len(mantissa) + 1)  # beyond its digits a number is zero
    return round(digits, -dropped) // 10**dropped


def why_no_time(word: str, unit: Unit) -> str | None:
    """What keeps a number from being a stamp, if anything does."""
    size = abs(float(word))
    if len(word) > LONGEST:
        return f"the stamp has {len(word)} characters; at most {LONGEST} are read"
    if not any(map(str.isdigit, word)):
        return "the stamp is not finite"
    if size > LARGEST_SHOWN:
        return _too_large(word, size, unit)
    if abs(nanoseconds(word, unit)) > LAST_STAMP:
        return _too_large(seconds_text(billionths(word)), size, unit)
    return None


def _too_large(shown: str, size: float, unit: Unit) -> str:
    """A stamp that is no time, with a guess at its unit where seconds were meant."""
    guess = next((name for limit, name in UNITS if size < limit), None)
    if unit == "seconds" and guess is not None:
        return f"stamp {shown} is no time in seconds; it looks like {guess}"
    return f"stamp {shown} is beyond the year 2262, the last that nanoseconds can count to"
