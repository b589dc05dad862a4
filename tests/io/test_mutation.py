"""Damaged files: a smfeval error, or the data that is written there; never anything else.

A valid file of each text format is mutated: bytes flipped, bytes cut out or doubled, lines cut,
columns removed, the end cut off. Whatever happens, no other exception may escape, and rows may
vanish only with a word about it.
"""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smfeval.errors import SmfevalError
from smfeval.io import read, write
from support.beliefs import gaussian, particles, poses

SCANS = 6
CASES_EACH = 500


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    rng = np.random.default_rng(7)
    write(gaussian(SCANS, rng), folder / "gaussian.square")
    write(particles(SCANS, rng), folder / "ensemble.square")
    write(poses(SCANS, rng), folder / "poses.tum")
    write(gaussian(SCANS, rng), folder / "wide.txt", format="wide-tum")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


def rows_written(content: bytes) -> int:
    """Lines that a reader could take for rows, the last one only if it is finished."""
    lines = content.split(b"\n")
    return sum(bool(line.strip()) and not line.lstrip().startswith(b"#") for line in lines)


def rows_read(track) -> int:
    dropped = sum(left.count for left in track.provenance.dropped)
    return dropped + (int(track.offset[-1]) if hasattr(track, "offset") else len(track))


@pytest.mark.parametrize("name", ["gaussian.square", "ensemble.square", "poses.tum", "wide.txt"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_file_is_refused_or_read_as_it_stands(name, packed, originals, tmp_path):
    path = tmp_path / name

    @settings(
        max_examples=CASES_EACH // 2 + 1,
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
        lost = rows_written(content.replace(b"\r", b"\n")) - rows_read(track)
        told = any("left out" in note for note in track.provenance.notes)
        assert lost == 0 or (lost > 0 and told), (lost, track.provenance.notes)
        assert np.isfinite(track.position).all()

    mutate()


def test_a_damaged_gzip_stream_is_refused_or_read_whole(originals, tmp_path):
    packed = gzip.compress(originals["poses.tum"])
    whole = len(originals["poses.tum"].splitlines())
    rng = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(packed)
        damaged[rng.integers(len(damaged))] = rng.integers(256)
        (tmp_path / "a.tum.gz").write_bytes(bytes(damaged))
        try:
            rows = len(read(tmp_path / "a.tum.gz"))
        except SmfevalError:
            continue
        assert rows == whole
