import pytest

from smfeval.maths.minimum import golden_section


def test_golden_section_finds_the_least_value_by_few_tries():
    tried = []

    def score(x):
        tried.append(x)
        return (x - 1.3) ** 2

    assert golden_section(score, -5, 5, 14) == pytest.approx(1.3, abs=0.05)
    assert len(tried) == 14
