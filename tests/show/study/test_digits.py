"""Numbers as people write them, against arithmetic on what was written."""

from decimal import Decimal
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfeval.show.study.layout import Digits, NumberStyle, round_interval, round_value

ASCII = NumberStyle(power=lambda e: f" x 10^{e}" if e else "", infinity="inf")


def paper(value, low=None, high=None):
    if low is None:
        return ASCII.number(round_value(value))
    middle, *ends = round_interval(value, low, high)
    return f"{ASCII.number(middle)} {ASCII.interval(*ends)}"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((5600, 2600, 16000), "5.6 x 10^3 [2.6, 16] x 10^3"),
        ((1.31, 0.92, 2.04), "1.3 [0.92, 2.0]"),
        ((0.123, 0.119, 0.127), "0.123 [0.119, 0.127]"),
        ((0.1234567, 0.1234566, 0.1234568), "0.1235 [0.1235, 0.1235]"),
        ((358, 112, 596), "358 [112, 596]"),
        ((9.96e2, 9.9e2, 1.2e3), "1.0 x 10^3 [0.99, 1.2] x 10^3"),
        ((4e-5, 2.1e-5, 7e-5), "4.0 x 10^-5 [2.1, 7.0] x 10^-5"),
        ((-2.1, -2.7, -0.29), "-2.1 [-2.7, -0.29]"),
        ((-0.003, -0.4, 0.4), "0.00 [-0.40, 0.40]"),
        ((4.2, 0.0, 9.1), "4.2 [0, 9.1]"),
        ((0.5, 0.3, 2000), "0.50 [0.30, 2.0 x 10^3]"),
        ((5600, 2.6e-9, 16000), "5.6 x 10^3 [2.6 x 10^-9, 1.6 x 10^4]"),
        ((5600, 9.5, 20000), "5.6 x 10^3 [9.5, 2.0 x 10^4]"),
        ((1460, 150, 8.6e7), "1.5 x 10^3 [150, 8.6 x 10^7]"),
        ((0.57, 0.0, 11.2), "0.57 [0, 11]"),
        ((0.0, 0.0, 0.57), "0 [0, 0.57]"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((3.0, 3.0, 3.0), "3.00 [3.00, 3.00]"),
        ((5.6, 2.6, inf), "5.60 [2.60, inf]"),
        ((inf, 2.6, inf), "inf [2.60, inf]"),
    ],
)
def test_value_and_interval_share_a_power_and_their_digits_count(numbers, expected):
    assert paper(*numbers) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12.5, "12.5"),
        (0.04123, "0.0412"),
        (999.4, "999"),
        (999.6, "1.00 x 10^3"),
        (0.00999, "9.99 x 10^-3"),
        (-1234.0, "-1.23 x 10^3"),
        (0.0, "0"),
        (-0.0, "0"),
        (inf, "inf"),
        (-inf, "-inf"),
    ],
)
def test_a_number_alone_has_three_digits(value, expected):
    assert paper(value) == expected


def read_back(digits: Digits) -> float:
    return float(Decimal(digits.text).scaleb(digits.exponent))


magnitudes = st.builds(lambda m, e: m * 10.0**e, st.floats(1, 10), st.integers(-12, 12))
numbers = magnitudes | magnitudes.map(lambda x: -x)


@given(numbers)
def test_what_is_written_alone_is_the_number_to_three_digits(value):
    assert read_back(round_value(value)) == pytest.approx(value, rel=5.01e-3)
    assert len(round_value(value).text.lstrip("-")) <= 6


@given(st.lists(magnitudes, min_size=3, max_size=3, unique=True).map(sorted))
def test_positive_numbers_are_written_to_two_digits_or_as_exactly_as_the_interval_asks(ends):
    low, value, high = ends
    for digits, number in zip(round_interval(value, low, high), (value, low, high), strict=True):
        off = abs(read_back(digits) - number)
        assert off <= 0.0501 * number
        assert off <= 0.501 * (high - low) / 2 or off <= 5.01e-4 * value  # four digits at most
        assert len(digits.text) <= 8


@given(numbers, magnitudes, magnitudes)
def test_around_zero_nothing_is_off_by_more_than_a_digit_of_the_larger_end(value, below, above):
    low, high = min(value, -below), max(value, above)
    for digits, number in zip(round_interval(value, low, high), (value, low, high), strict=True):
        assert abs(read_back(digits) - number) <= 0.0501 * max(-low, high)
        assert float(digits.text) != 0 or not digits.text.startswith("-")
