import numpy as np
import polars as pl
import pytest

from smfeval.errors import FormatError
from smfeval.io import read, write
from smfeval.track import GaussianTrack, ParticleTrack
from support.beliefs import gaussian, particles, poses


@pytest.mark.parametrize("make", [gaussian, poses, particles])
def test_parquet_reads_back_bit_for_bit(make, tmp_path, rng):
    track = make(20, rng).with_about(extra=(("SENSOR", "xt32"),))
    write(track, tmp_path / "a.parquet")
    again = read(tmp_path / "a.parquet")
    assert type(again) is type(track)
    assert again.about == track.about
    for field in ("stamp", "position", "rotation"):
        np.testing.assert_array_equal(getattr(again, field), getattr(track, field))
    if isinstance(track, GaussianTrack):
        np.testing.assert_array_equal(again.covariance, track.covariance)
    if isinstance(track, ParticleTrack):
        np.testing.assert_array_equal(again.weight, track.weight)


def test_other_parquet_files_are_refused(tmp_path):
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="not a belief track"):
        read(tmp_path / "a.parquet")


def test_a_changed_table_is_refused(tmp_path, rng):
    write(gaussian(5, rng), tmp_path / "a.parquet")
    metadata = {"square": pl.read_parquet_metadata(tmp_path / "a.parquet")["square"]}
    frame = pl.read_parquet(tmp_path / "a.parquet")
    changes = {
        "columns must be": frame.drop("c55"),
        "int64": frame.with_columns(pl.col("stamp").cast(pl.Float64)),
        "missing": frame.with_columns(tx=pl.lit(None, dtype=pl.Float64)),
        "no row": frame.head(0),
    }
    for word, changed in changes.items():
        changed.write_parquet(tmp_path / "b.parquet", metadata=metadata)
        with pytest.raises(FormatError, match=word):
            read(tmp_path / "b.parquet")


def test_a_cut_file_is_refused(tmp_path, rng):
    write(gaussian(50, rng), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for size in (0, 3, 50, len(whole) // 2, len(whole) - 1):
        (tmp_path / "b.parquet").write_bytes(whole[:size])
        with pytest.raises(FormatError):
            read(tmp_path / "b.parquet")


@pytest.mark.parametrize("name", ["run[1].parquet", "run*.parquet", "run?.parquet"])
def test_a_name_is_no_pattern(name, tmp_path, rng):
    other, meant = gaussian(5, rng), gaussian(7, rng)
    write(other, tmp_path / "run1.parquet")
    write(meant, tmp_path / name)
    np.testing.assert_array_equal(read(tmp_path / name).position, meant.position)


def test_a_folder_named_like_the_home_folder_is_no_home_folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    track = gaussian(5, rng)
    (tmp_path / "~").mkdir()
    write(track, "~/a.parquet")
    np.testing.assert_array_equal(read("~/a.parquet").position, track.position)
