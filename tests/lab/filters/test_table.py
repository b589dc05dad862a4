"""The table of filters and settings given as words."""

import pytest

from smfeval.errors import OptionError
from smfeval.lab.filters.ieskf import Settings
from smfeval.lab.filters.settings import settings_of
from smfeval.lab.filters.table import FILTERS, filter_named


def test_words_become_settings():
    found = settings_of(
        Settings, ["point_variance=1e-4", "iterations=7", "kernel=huber", "undistort=no"]
    )
    assert found == Settings(point_variance=1e-4, iterations=7, kernel="huber", undistort=False)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("point_variance", "write name=value"),
        ("variance=1", "'variance' is unknown; the settings are: point_variance"),
        ("iterations=2.5", "a whole number is needed"),
        ("point_variance=small", "a number is needed"),
        ("kernel=tukey", "it is one of none, huber, cauchy"),
        ("undistort=perhaps", "write true or false"),
        ("point_variance=-1", "must be positive"),
        ("point_variance=nan", "must be positive"),
        ("shared_m=-1", "cannot be negative"),
        ("iterations=0", "must be at least 1"),
        ("voxel_m=0", "the map needs a voxel of its own"),
    ],
)
def test_words_that_are_no_settings_are_refused(word, sentence):
    with pytest.raises(OptionError, match=sentence):
        settings_of(Settings, [word])


def test_filters_are_found_by_name():
    assert filter_named("ieskf").settings() == Settings()
    with pytest.raises(OptionError, match="'eskf' is unknown; it is one of ieskf"):
        filter_named("eskf")


def test_every_filter_says_what_it_is():
    assert all(entry.words for entry in FILTERS.values())
