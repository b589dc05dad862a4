"""NumPy's .npz by its documented keys."""

import zipfile
from contextlib import suppress

import numpy as np
import pytest

from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.io import declared_gauge, format_of, read, write
from support.beliefs import gaussian, poses

N = 6


@pytest.mark.parametrize("make", [poses, gaussian])
def test_what_is_written_is_read_again(make, tmp_path, rng):
    track = make(N, rng)
    write(track, tmp_path / "a.npz")
    found = read(tmp_path / "a.npz")
    assert format_of(tmp_path / "a.npz") == "npz"
    assert found.about == track.about
    assert declared_gauge(tmp_path / "a.npz") == track.about.gauge
    for name in ("stamp", "position", "rotation", *(["covariance"] if make is gaussian else [])):
        np.testing.assert_array_equal(getattr(found, name), getattr(track, name))


def test_arrays_of_others_are_read_by_the_documented_keys(tmp_path, rng):
    track = gaussian(N, rng)
    seconds = (track.stamp - track.stamp[0]) / 1e9
    arrays = {"time": seconds, "position": track.position, "rotation": track.rotation}
    np.savez_compressed(tmp_path / "a.npz", covariance=track.covariance, speed=seconds, **arrays)
    found = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.stamp, track.stamp - track.stamp[0])
    np.testing.assert_array_equal(found.covariance, track.covariance)
    assert "(assumed)" in found.provenance.convention
    assert found.provenance.remarks == (f"{tmp_path / 'a.npz'}: not used: speed",)
    turned = read(tmp_path / "a.npz", order="rotation-first").covariance
    np.testing.assert_array_equal(turned, np.roll(track.covariance, 3, axis=(1, 2)))


def test_positions_alone_keep_their_covariance(tmp_path, rng):
    track = gaussian(N, rng)
    covariance = track.covariance[:, :3, :3]
    np.savez(tmp_path / "a.npz", stamp=track.stamp, position=track.position, covariance=covariance)
    found = read(tmp_path / "a.npz")
    assert not found.about.oriented
    np.testing.assert_array_equal(found.covariance[:, :3, :3], covariance)
    write(found, tmp_path / "b.npz")
    again = read(tmp_path / "b.npz")
    assert again.about == found.about
    np.testing.assert_array_equal(again.covariance, found.covariance)


T = np.arange(4)
P, Q = np.zeros((4, 3)), np.tile([0.0, 0, 0, 1], (4, 1))


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"position": P}, r"one array of times is needed, .*; there is position"),
        ({"stamp": T, "time": T, "position": P}, "one array of times is needed"),
        ({"stamp": T * 1.0, "position": P}, "stamp must be whole nanoseconds"),
        ({"time": T + np.inf, "position": P}, "time is not in seconds, or not finite"),
        ({"time": T * 1e10, "position": P}, "time is not in seconds"),
        ({"stamp": T}, "there is no array `position`"),
        ({"stamp": T, "position": P.T}, r"position must be numbers \(4, 3\), not float64 \(3, 4\)"),
        ({"stamp": T, "position": P, "rotation": P}, r"rotation must be numbers \(4, 4\)"),
        ({"stamp": T, "position": P, "covariance": np.eye(6)}, r"numbers \(4, 6, 6\)"),
        ({"stamp": T, "position": P.astype(str)}, "position must be numbers"),
        ({"stamp": T.astype(object), "position": P}, "damaged or no npz file"),
        ({"stamp": T[:0], "position": P[:0]}, "there is no scan in it"),
        ({"stamp": T * 0, "position": P, "rotation": Q}, "duplicates|stamp"),
        ({"stamp": T, "position": P, "header": np.array("#%FORMAT x")}, "FORMAT 'x' is unknown"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(arrays, sentence, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(SmfevalError, match=sentence) as refused:
        read(tmp_path / "a.npz")
    assert "\n" not in str(refused.value)


def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", stamp=T, position=P)
    content = (tmp_path / "a.npz").read_bytes()
    assert content.count(b"(4, 3)") == 1
    more = content.replace(b"'shape': (4, 3), }   ", b"'shape': (4000, 3), }")
    assert more != content
    (tmp_path / "a.npz").write_bytes(more)
    with pytest.raises(SmfevalError, match="damaged or no npz file"):
        read(tmp_path / "a.npz")


def test_more_than_the_limit_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", stamp=np.arange(9000), position=np.zeros((9000, 3)))
    with pytest.raises(SmfevalError, match="more than 100 kB in it"):
        read(tmp_path / "a.npz", limit="100kB")


def test_junk_is_refused_in_words(tmp_path, rng):
    """Bytes of a good file changed or cut at random: a sentence or a track, nothing else."""
    write(gaussian(N, rng), tmp_path / "a.npz")
    good = (tmp_path / "a.npz").read_bytes()
    for case in range(200):
        bad = bytearray(good if case % 4 else good[: rng.integers(len(good))])
        for at in rng.integers(0, max(len(bad), 1), size=3):
            bad[at : at + 1] = bytes([rng.integers(256)])
        (tmp_path / "b.npz").write_bytes(bytes(bad))
        with suppress(SmfevalError):
            read(tmp_path / "b.npz")


@pytest.mark.parametrize("name", ["P", "cov", "pose_covariance"])
def test_an_array_that_may_be_the_covariance_is_not_lost(name, tmp_path, rng):
    track = gaussian(N, rng)
    arrays = {"stamp": track.stamp, "position": track.position, "rotation": track.rotation}
    np.savez(tmp_path / "a.npz", **arrays, **{name: track.covariance})
    found = read(tmp_path / "a.npz")
    assert found.provenance.unread.names == (name,)
    with pytest.raises(OptionError, match="may be the covariance"):
        write(found, tmp_path / "b.tum")


def test_names_that_do_not_end_are_refused(tmp_path):
    """numpy reads the header of an old array by tokens of Python."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,  "
    length = len(header).to_bytes(2, "little")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("stamp.npy", b"\x93NUMPY\x01\x00" + length + header)
    with pytest.raises(FormatError, match="damaged or no npz file"):
        read(tmp_path / "a.npz")
