import pytest

from smfeval.show.words import aligned, count, length, length_range, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.01212, "0.0121"),
        (82.05, "82"),
        (999.4, "999"),
        (999.6, "1,000"),
        (250597.4, "250,597"),
        (1.02e6, "1.02e+06"),
        (-12345.0, "-12,345"),
    ],
)
def test_numbers_have_three_digits_and_no_needless_exponent(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0.0, "0 m"),
        (0.0121, "1.21 cm"),
        (0.00077, "770 um"),
        (0.0011, "1.1 mm"),
        (31.5, "31.5 m"),
        (7510.0, "7.51 km"),
        (0.99999, "1 m"),
        (1e-12, "0.001 nm"),
    ],
)
def test_lengths_find_their_unit(size, text):
    assert length(size) == text


def test_ranges_share_a_unit():
    assert length_range(0.0007, 0.00106) == "0.7-1.06 mm"
    assert length_range(0.0271, 0.0271) == "27.1 mm"
    assert length_range(0.0, 0.0) == "0 m"


def test_counts_have_their_plural():
    assert [count(n, "scan") for n in (1, 2, 1000)] == ["1 scan", "2 scans", "1,000 scans"]


def test_a_repeated_label_is_shown_once():
    text = aligned([("a", "1"), ("note", "x"), ("note", "y")])
    assert text == "  a     1\n  note  x\n        y"
