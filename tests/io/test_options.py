"""What a user may decide about a source, and what is refused before any file is opened."""

from pathlib import Path

import pytest

from smfeval.errors import OptionError
from smfeval.io import read, write
from smfeval.io.options import ReadOptions
from support.beliefs import poses


def test_files_and_origin_may_be_given_as_text():
    options = ReadOptions(covariance="a.cov", times="b", deviation="c", origin="35.1,-136.9,40")
    assert (options.covariance, options.times, options.deviation) == (
        Path("a.cov"),
        Path("b"),
        Path("c"),
    )
    assert options.origin == (35.1, -136.9, 40.0)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"origin": "1,2"}, "origin '1,2' is no place"),
        ({"origin": "1_0,2,3"}, "origin '1_0,2,3' is no place"),
        ({"origin": (1, 2)}, "is no place; latitude and longitude"),
        ({"origin": 5.0}, "origin 5.0 is no place"),
        ({"covariance": 5}, "covariance 5 is no file name"),
        ({"times": ""}, "times '' is no file name"),
        ({"lag": 2}, "lag 2 is unknown; it is one of 0, 1"),
        ({"lag": -1}, "lag -1 is unknown"),
        ({"body": "a\nb"}, "body .* fits no header: one line of text is needed"),
        ({"world": "  "}, "world '  ' fits no header"),
    ],
)
def test_values_that_mean_nothing_are_refused(option, sentence):
    with pytest.raises(OptionError, match=sentence):
        ReadOptions(**option)


def test_a_lag_belongs_to_bags(tmp_path, rng):
    write(poses(3, rng), tmp_path / "a.tum")
    for lag in (0, 1):
        with pytest.raises(OptionError, match="option lag means nothing for TUM files"):
            read(tmp_path / "a.tum", lag=lag)


def test_what_is_given_is_what_differs_from_saying_nothing():
    assert ReadOptions().given_names == set()
    assert ReadOptions(bad_rows="refuse", lag=0, body="imu").given_names == {"lag", "body"}
