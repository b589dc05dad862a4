"""The table of formats."""

import pytest

from smfeval.compare.duels import Column, StudySection
from smfeval.show.study.formats import FORMATS
from smfeval.studies.result import Study
from support.study_results import cell, number, plan, study


def lonely():
    """One estimator, one track, one number without an interval."""
    alone = number(0.1, reason="tracks: 1; an interval needs 6")
    column = Column("mae", (cell("A", alone, (0.1,), best=True),), (), None)
    return Study(plan("A", ("t",)), (), (), (StudySection("all", False, 1, (column,), ()),), ())


STUDIES = {
    "everything goes wrong": study(),
    "no tables": Study(plan(), (), (), (), ()),
    "no columns": Study(plan(), (), (), (StudySection("all", False, 0, (), ()),), ()),
    "one number": lonely(),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("made", STUDIES.values(), ids=STUDIES)
def test_every_format_shows_every_study_the_same_way_each_time(name, made):
    written = FORMATS[name].text(made)
    assert written.endswith("\n")
    assert not written.endswith("\n\n")
    assert written == FORMATS[name].text(made)
    assert "NaN" not in written
    assert "None" not in written


@pytest.mark.parametrize("name", FORMATS)
def test_one_number_on_one_track_is_shown_alone(name):
    written = FORMATS[name].text(lonely())
    assert "10.0" in written or "0.1" in written
    assert "tracks: 1; an interval needs 6" in written


def test_files_of_different_formats_have_different_endings():
    assert len({each.suffix for each in FORMATS.values()}) == len(FORMATS) == 5
