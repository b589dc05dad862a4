import numpy as np
import pytest

from smfeval.io import read, text_reader, write
from smfeval.io.text_reader import GrowingArray
from support.beliefs import gaussian


@pytest.mark.parametrize("expected", [0, 7, 60, 1000])
def test_rows_come_back_in_order_however_many_were_expected(expected, rng):
    rows = rng.normal(size=(60, 2, 2))
    pile = GrowingArray((2, 2))
    for part in np.split(rows, [1, 1, 10, 55]):
        pile.new_rows(len(part), expected)[:] = part
    np.testing.assert_array_equal(pile.array(), rows)
    assert not pile.array().flags.writeable


def test_what_was_poured_stays_when_the_pile_moves():
    pile = GrowingArray(())
    pile.new_rows(3, 3)[:] = 1, 2, 3
    pile.new_rows(3, 3)[:] = 4, 5, 6
    assert pile.array().tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", ["a.square", "a.square.gz"])
@pytest.mark.parametrize("threaded_bytes", [0, 2**30])
def test_covariances_read_in_chunks_are_those_that_were_written(
    name, threaded_bytes, tmp_path, rng, monkeypatch
):
    track = gaussian(300, rng)
    write(track, tmp_path / name)
    monkeypatch.setattr(text_reader, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(text_reader, "THREADED_BYTES", threaded_bytes)
    again = read(tmp_path / name)
    np.testing.assert_array_equal(again.covariance, track.covariance)
    np.testing.assert_array_equal(again.position, track.position)
