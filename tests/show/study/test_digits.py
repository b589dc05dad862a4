"""Numbers as people write them, against arithmetic on what was written."""

from decimal import Decimal
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfeval.show.study.layout import Digits, NumberStyle, round_value

ASCII = NumberStyle(power=lambda e: f" x 10^{e}" if e else "", infinity="inf")


def paper(value, low=None, high=None):
    if low is None:
        return ASCII.number(round_value(value))
    middle, *ends = map(round_value, (value, low, high))
    return f"{ASCII.number(middle)} {ASCII.interval(*ends)}"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((5600, 2600, 16000), "5600 [2600, 1.60 x 10^4]"),
        ((1.31, 0.92, 2.04), "1.31 [0.920, 2.04]"),
        ((176.2, 0.0, 404.4), "176 [0, 404]"),
        ((4e-5, 2.1e-5, 7e-5), "4.00 x 10^-5 [2.10, 7.00] x 10^-5"),
        ((-6.32, -8.1, 9.0e5), "-6.32 [-8.10, 9.00 x 10^5]"),
        ((-0.003, -0.4, 0.4), "-3.00 x 10^-3 [-0.400, 0.400]"),
        ((0.0, 0.0, 0.57), "0 [0, 0.570]"),
        ((5.6, 2.6, inf), "5.60 [2.60, inf]"),
        ((22.3, 6.77, 5.97e5), "22.3 [6.77, 5.97 x 10^5]"),
    ],
)
def test_a_value_keeps_three_digits_whatever_its_interval(numbers, expected):
    assert paper(*numbers) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12.5, "12.5"),
        (0.04123, "0.0412"),
        (999.4, "999"),
        (9999.6, "1.00 x 10^4"),
        (0.00999, "9.99 x 10^-3"),
        (-1234.0, "-1234"),
        (12345.0, "1.23 x 10^4"),
        (0.0, "0"),
        (-0.0, "0"),
        (inf, "inf"),
        (-inf, "-inf"),
    ],
)
def test_a_number_has_three_digits(value, expected):
    assert paper(value) == expected


def read_back(digits: Digits) -> float:
    return float(Decimal(digits.text).scaleb(digits.exponent))


magnitudes = st.builds(lambda m, e: m * 10.0**e, st.floats(1, 10), st.integers(-12, 12))
numbers = magnitudes | magnitudes.map(lambda x: -x)


@given(numbers)
def test_what_is_written_alone_is_the_number_to_three_digits(value):
    assert read_back(round_value(value)) == pytest.approx(value, rel=5.01e-3)
    assert len(round_value(value).text.lstrip("-")) <= 6
