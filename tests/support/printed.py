"""Printed text, compared in words exactly and in numbers up to the last digit shown."""

import re

import pytest

NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


def split(text: str) -> tuple[str, list[float]]:
    """The words with a mark for each number, and the numbers."""
    return NUMBER.sub("#", text), [float(n.replace(",", "")) for n in NUMBER.findall(text)]


def assert_alike(found: str, expected: str) -> None:
    """Equal, except that another processor may round the last digit otherwise."""
    (words, numbers), (expected_words, expected_numbers) = split(found), split(expected)
    assert words == expected_words
    assert numbers == pytest.approx(expected_numbers, rel=0.011)
