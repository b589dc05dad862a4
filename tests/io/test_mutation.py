"""Damaged files: a smfeval error, or the data that is written there; never anything else.

A valid file of each text format is mutated: bytes flipped, bytes cut out or doubled, lines cut,
columns removed, the end cut off. Whatever happens, no other exception may escape, rows may vanish
only with a word about it, and what is read is what plain Python reads in the same bytes.
"""

import gzip
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smfeval.errors import SmfevalError
from smfeval.io import parsers, read, text_reader, write
from smfeval.track import GaussianTrack, ParticleTrack
from support.beliefs import gaussian, particles, poses

SCANS = 6
CASES_EACH = 60  # of each format, parser and packing; ten times as many in the slow tests


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    rng = np.random.default_rng(7)
    write(gaussian(SCANS, rng), folder / "gaussian.square")
    write(particles(SCANS, rng), folder / "ensemble.square")
    write(poses(SCANS, rng), folder / "poses.tum")
    write(gaussian(SCANS, rng), folder / "wide.txt", format="wide-tum")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(
    params=[parsers.parse_compiled, parsers.parse_in_python], ids=["C", "Python"], autouse=True
)
def parser(request, monkeypatch):
    monkeypatch.setattr(text_reader, "parse_rows", request.param)


def flip(data, content):
    place = data.draw(st.integers(0, len(content) - 1))
    return content[:place] + bytes([data.draw(st.integers(0, 255))]) + content[place + 1 :]


def cut_bytes(data, content):
    start = data.draw(st.integers(0, len(content) - 1))
    return content[:start] + content[start + data.draw(st.integers(1, 40)) :]


def double_bytes(data, content):
    start = data.draw(st.integers(0, len(content) - 1))
    return content[:start] + content[start : start + 30] + content[start:]


def cut_line(data, content):
    lines = content.splitlines(keepends=True)
    del lines[data.draw(st.integers(0, len(lines) - 1))]
    return b"".join(lines)


def cut_column(data, content):
    lines = content.splitlines(keepends=True)
    row = data.draw(st.integers(0, len(lines) - 1))
    words = lines[row].split(b" ")
    del words[data.draw(st.integers(0, len(words) - 1))]
    lines[row] = b" ".join(words)
    return b"".join(lines)


def cut_end(data, content):
    return content[: data.draw(st.integers(0, len(content) - 1))]


MUTATIONS = [flip, flip, cut_bytes, double_bytes, cut_line, cut_column, cut_end]


COLUMNS = {  # where each format keeps its pose and the rest
    "gaussian.square": (slice(1, 8), slice(8, 29)),
    "ensemble.square": (slice(3, 10), slice(2, 3)),
    "poses.tum": (slice(1, 8), slice(8, 8)),
    "wide.txt": (slice(1, 8), slice(8, 29)),
}


def words_in(content: bytes) -> list[list[bytes]]:
    """The words of each line that is neither blank nor a comment.

    A carriage return ends a row; in a comment or header line it is white space.
    """
    lines = [line for line in content.split(b"\n") if not line.lstrip().startswith(b"#")]
    pieces = [piece for line in lines for piece in line.split(b"\r")]
    rows = [piece.replace(b",", b" ").split() for piece in pieces]
    return [row for row in rows if row and not row[0].startswith(b"#")]


def sorted_by_stamp(rows: list[list[bytes]]) -> tuple[list[int], np.ndarray]:
    """Stamps in nanoseconds and all columns as numbers, by plain Python."""
    stamp = [int(Decimal(row[0].decode()).scaleb(9)) for row in rows]
    order = sorted(range(len(rows)), key=stamp.__getitem__)
    return [stamp[i] for i in order], np.array([[float(word) for word in rows[i]] for i in order])


def arrays_of(track):
    """Stamps, positions, rotations and the rest of a track, one entry per row of its file."""
    if isinstance(track, ParticleTrack):
        stamp = np.repeat(track.stamp, track.count)
        return stamp, track.particle_position, track.particle_rotation, track.weight[:, None]
    rest = np.empty((len(track), 0))
    if isinstance(track, GaussianTrack):
        lower = np.tril_indices(6)
        rest = track.covariance[:, lower[0], lower[1]]
    return track.stamp, track.position, track.rotation, rest


def assert_same_numbers(track, name, content):
    """Everything that was read stands in the file; what does not was left out with a word."""
    stamp, position, rotation, rest = arrays_of(track)
    written = words_in(content)
    lost = len(written) - len(stamp)
    told = any("left out" in note for note in track.provenance.notes)
    assert lost == 0 or (lost > 0 and told), (lost, track.provenance.notes)
    pose, others = COLUMNS[name]
    expected_stamp, expected = sorted_by_stamp(written[: len(stamp)])  # only the end may be lost
    assert stamp.tolist() == expected_stamp
    np.testing.assert_array_equal(position, expected[:, pose][:, :3])
    quaternion = expected[:, pose][:, 3:]
    unit = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    np.testing.assert_allclose(rotation, unit, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(rest, expected[:, others])


@pytest.mark.parametrize("cases", [CASES_EACH, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_file_is_refused_or_read_as_it_stands(name, packed, cases, originals, tmp_path):
    path = tmp_path / name

    @settings(
        max_examples=cases,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.data())
    def mutate(data):
        content = data.draw(st.sampled_from(MUTATIONS))(data, originals[name])
        path.write_bytes(gzip.compress(content, 1) if packed else content)
        try:
            track = read(path)
        except SmfevalError:
            return
        assert_same_numbers(track, name, content)

    mutate()


def test_a_damaged_gzip_stream_is_refused_or_read_whole(originals, tmp_path):
    packed = gzip.compress(originals["poses.tum"])
    rng = np.random.default_rng(3)
    for _ in range(100):
        damaged = bytearray(packed)
        damaged[rng.integers(len(damaged))] = rng.integers(256)
        (tmp_path / "a.tum.gz").write_bytes(bytes(damaged))
        try:
            track = read(tmp_path / "a.tum.gz")
        except SmfevalError:
            continue
        assert_same_numbers(track, "poses.tum", originals["poses.tum"])
