"""Value and interval as people write them: one power of ten, as many digits as count."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isfinite, log10

DIGITS_BESIDE_INTERVAL = 2  # significant digits, at least
DIGITS_ALONE = 3  # significant digits without an interval
MAX_DIGITS = 4  # significant digits, whatever the interval says
PLAIN_DECADES = range(-2, 3)  # decades that are read without a power of ten: 0.01 to 999


@dataclass(frozen=True)
class Digits:
    """A number: `text` times ten to the `exponent`."""

    text: str
    exponent: int = 0


@dataclass(frozen=True)
class NumberStyle:
    """How a format writes a power of ten (after the digits, 0: nothing) and infinity."""

    power: Callable[[int], str]
    infinity: str

    def number(self, digits: Digits) -> str:
        """Digits and power."""
        return self._digits(digits) + self.power(digits.exponent)

    def interval(self, low: Digits, high: Digits) -> str:
        """Both ends in brackets, a shared power behind them."""
        if low.exponent != high.exponent:
            return f"[{self.number(low)}, {self.number(high)}]"
        return f"[{self._digits(low)}, {self._digits(high)}]{self.power(low.exponent)}"

    def _digits(self, digits: Digits) -> str:
        return digits.text.replace("inf", self.infinity)


def round_value(value: float) -> Digits:
    """A number without an interval."""
    return _round_digits(
        value, _power(value, DIGITS_ALONE), DIGITS_ALONE - 1 - _decade(value, DIGITS_ALONE)
    )


def round_interval(value: float, low: float, high: float) -> tuple[Digits, Digits, Digits]:
    """Value and ends, each as exact as the interval deserves, in the power of ten of the value.

    Where an end would be hard to read in that power, each end has its own. Where the interval
    reaches to both sides of zero, the larger end gives power and digits: what is small beside it is
    as good as zero.
    """
    reach = max((abs(end) for end in (low, high) if isfinite(end)), default=abs(value))
    both_signs = low < 0 < high
    anchor = reach if both_signs or not value or not isfinite(value) else value
    power, needed = _power(anchor), _needed_decimals(anchor, (high - low) / 2)
    shared = all(
        _decade(end) - power in PLAIN_DECADES for end in (low, high) if end and isfinite(end)
    )

    def one(x: float, power: int) -> Digits:
        size = anchor if both_signs else x
        return _round_digits(x, power, max(DIGITS_BESIDE_INTERVAL - 1 - _decade(size), needed))

    if shared or both_signs:
        return one(value, power), one(low, power), one(high, power)
    return one(value, power), one(low, _power(low)), one(high, _power(high))


def _needed_decimals(anchor: float, half_width: float) -> int:
    """Decimals so that the last digit is no coarser than half the width of the interval."""
    if not isfinite(half_width) or half_width <= 0:
        return DIGITS_ALONE - 1 - _decade(anchor)
    return min(ceil(-log10(half_width)), MAX_DIGITS - 1 - _decade(anchor))


def _decade(value: float, digits: int = DIGITS_BESIDE_INTERVAL) -> int:
    """Exponent of the first digit, after rounding: 996 with two digits is 1.0e3."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2]) if value and isfinite(value) else 0


def _power(value: float, digits: int = DIGITS_BESIDE_INTERVAL) -> int:
    """The power of ten that is split off: none for numbers that are read with ease."""
    decade = _decade(value, digits)
    return 0 if decade in PLAIN_DECADES else decade


def _round_digits(value: float, power: int, decimals: int) -> Digits:
    """Rounded to so many decimals (of the value itself), with the power split off."""
    if not isfinite(value) or value == 0:
        return Digits(f"{value + 0.0:.0f}")
    places = max(0, decimals + power)
    text = f"{value * 10.0**-power:.{places}f}"
    return Digits(text.removeprefix("-") if float(text) == 0 else text, power)
