"""The table of diagnoses, and that nothing is named beside it."""

import pytest

from smfeval.why.diagnoses.biases import TEXTS
from smfeval.why.diagnoses.case import FAMILY_LEVEL, TEST_LEVEL
from smfeval.why.diagnoses.result import DIAGNOSES, Diagnosis


def test_the_level_of_a_test_counts_the_table():
    assert len(set(DIAGNOSES)) * TEST_LEVEL == pytest.approx(FAMILY_LEVEL)
    assert set(TEXTS) <= set(DIAGNOSES)


def test_a_diagnosis_beside_the_table_would_not_be_counted():
    with pytest.raises(ValueError, match="not in the table"):
        Diagnosis("bad weather", {}, "it rained", "wait")
