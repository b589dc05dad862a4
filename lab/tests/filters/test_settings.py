"""The table of filters and settings given as words."""

from dataclasses import fields

import pytest

from smfeval.errors import OptionError
from smfeval_lab.filters import FILTERS, filter_named
from smfeval_lab.filters.ieskf import Settings
from smfeval_lab.filters.settings import parse_settings

FLOATS = [each.name for each in fields(Settings) if each.type is float]


def test_words_become_settings():
    found = parse_settings(
        Settings, ["point_variance=1e-4", "iterations=7", "noise=residuals", "undistort=no"]
    )
    assert found == Settings(point_variance=1e-4, iterations=7, noise="residuals", undistort=False)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("point_variance", "write name=value"),
        ("variance=1", "'variance' is unknown; the settings are: point_variance"),
        ("iterations=2.5", "a whole number is needed"),
        ("point_variance=small", "a number is needed"),
        ("noise=loud", "it is one of fixed, residuals"),
        ("undistort=perhaps", "write true or false"),
        ("point_variance=-1", "must be from 1e-10 to 10000, not -1.0"),
        ("point_variance=nan", "must be from 1e-10 to 10000, not nan"),
        ("nearest_m=-1", "must be from 0 to 1000"),
        ("iterations=0", "must be from 1 to 1000"),
        ("voxel_m=1e-9", "must be 0 or from 0.001 to 100"),
        *((f"{name}=inf", f"setting {name} must be .*, not inf") for name in FLOATS),
        ("voxel_m=0", "the map needs a voxel of its own"),
    ],
)
def test_words_that_are_no_settings_are_refused(word, sentence):
    with pytest.raises(OptionError, match=sentence):
        parse_settings(Settings, [word])


def test_filters_are_found_by_name():
    assert filter_named("ieskf").settings() == Settings()
    with pytest.raises(OptionError, match="'eskf' is unknown; 'ieskf' may be meant"):
        filter_named("eskf")


def test_every_filter_says_what_it_is():
    assert all(entry.description for entry in FILTERS.values())
