"""What must not change a number, for every reader: other names, other folders, gzip, another order
of the rows, and the way to another format and back. Seeded; what is compared is compared bit for
bit, unless a format keeps less.
"""

import gzip
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smfeval.evaluation import Options, evaluate
from smfeval.io import read, write
from smfeval.io.formats import FORMATS
from smfeval.summarise.number import Intervals
from smfeval.track import GaussianTrack, ParticleTrack
from support.beliefs import gaussian, particles, poses, with_cross

CASES = 2000
SCANS = 7
BINARY = ("parquet", "npz")
NAMES = ("run[1]", "run*", "~", "a b", "été", "x=y", "-v", "a.b.c", "%41", "#1", "'q'", "état é")


@dataclass
class Source:
    """Files of one track as a reader takes them. Rows that belong together move together."""

    format: str
    folder: Path
    main: str  # name of the file to read
    beside: tuple[str, ...] = ()  # found by their names, row for row like the main file
    named: dict[str, str] = field(default_factory=dict)  # option -> file, row for row likewise
    options: dict[str, Any] = field(default_factory=dict)
    block: int = 1  # rows that stand together

    def read(self):
        """The track of these files."""
        named = {option: self.folder / name for option, name in self.named.items()}
        return read(self.folder / self.main, **self.options, **named)

    @property
    def files(self) -> list[Path]:
        """All files, the one to read first."""
        return [self.folder / name for name in (self.main, *self.beside, *self.named.values())]


def write_rows(path: Path, heading: str, rows: np.ndarray, separator: str = " ") -> None:
    lines = (separator.join([stamp, *map(repr, map(float, row))]) for stamp, *row in rows)
    path.write_text("\n".join([heading, *lines]) + "\n")


def seconds(track) -> list[str]:
    return [f"{stamp // 10**9}.{stamp % 10**9:09d}" for stamp in track.stamp.tolist()]


def with_stamps(stamps, columns) -> list[list[Any]]:
    return [[stamp, *row] for stamp, row in zip(stamps, columns, strict=True)]


def square(folder, rng):
    make = (poses, gaussian)[int(rng.integers(2))]
    write(make(SCANS, rng), folder / "a.square")
    return Source("square", folder, "a.square")


def square_particles(folder, rng):
    track = particles(SCANS, rng)
    write(track, folder / "a.square")
    block = int(track.count[0]) if len(set(track.count.tolist())) == 1 else 10**6
    return Source("square", folder, "a.square", block=block)


def tum(folder, rng):
    write(poses(SCANS, rng), folder / "a.tum")
    return Source("tum", folder, "a.tum")


def tum_with_covariance(folder, rng):
    track = gaussian(SCANS, rng)
    write(track, folder / "a.tum", lossy=True)
    lower = track.covariance[:, *np.tril_indices(6)]
    write_rows(folder / "c.txt", "# c", with_stamps(seconds(track), lower))
    return Source("tum", folder, "a.tum", named={"covariance": "c.txt"})


def wide_tum(folder, rng):
    write(gaussian(SCANS, rng), folder / "a.txt", format="wide-tum")
    return Source("wide-tum", folder, "a.txt", options={"format": "wide-tum"})


def kitti(folder, rng):
    write(poses(SCANS, rng), folder / "a.kitti")
    return Source("kitti", folder, "a.kitti", named={"times": "a.times.txt"})


def euroc(folder, rng):
    track = poses(SCANS, rng)
    columns = np.concatenate([track.position, np.roll(track.rotation, 1, axis=1)], axis=1)
    heading = "#timestamp [ns],p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m]"
    heading += ",q_RS_w [],q_RS_x [],q_RS_y [],q_RS_z []"
    stamps = map(str, track.stamp.tolist())
    write_rows(folder / "a.csv", heading, with_stamps(stamps, columns), ",")
    return Source("euroc", folder, "a.csv")


def openvins(folder, rng):
    track = gaussian(SCANS, rng)
    upper = np.triu_indices(3)
    turn, place = track.covariance[:, 3:, 3:], track.covariance[:, :3, :3]
    columns = [track.position, track.rotation, turn[:, *upper], place[:, *upper]]
    heading = "# timestamp(s) tx ty tz qx qy qz qw "
    heading += "Pr11 Pr12 Pr13 Pr22 Pr23 Pr33 Pt11 Pt12 Pt13 Pt22 Pt23 Pt33"
    rows = with_stamps(seconds(track), np.concatenate(columns, axis=1))
    write_rows(folder / "a.txt", heading, rows)
    return Source("openvins", folder, "a.txt")


def rtklib(folder, rng):
    heading = (
        "%  GPST latitude(deg) longitude(deg) height(m) Q ns sdn(m) sde(m) sdu(m) sdne(m) sdeu(m) "
        "sdun(m) age(s) ratio"
    )
    place = np.array([35.16, 136.88, 41.0]) + rng.normal(size=(SCANS, 3)) * [1e-4, 1e-4, 1.0]
    rows = (
        f"2023/07/11 06:04:{i:06.3f} {x!r} {y!r} {z!r} 1 19 0.3 0.4 0.8 0.1 0.1 -0.1 0.0 5.9"
        for i, (x, y, z) in enumerate(place.tolist())
    )
    (folder / "a.pos").write_text("\n".join([heading, *rows]) + "\n")
    return Source("rtklib", folder, "a.pos", options={"origin": "35.16,136.88,41"})


def parquet(folder, rng):
    make = (poses, gaussian, particles, lambda n, rng: with_cross(gaussian(n, rng), rng)[0])
    write(make[int(rng.integers(4))](SCANS, rng), folder / "a.parquet")
    return Source("parquet", folder, "a.parquet")


def square_with_cross(folder, rng):
    write(with_cross(gaussian(SCANS, rng), rng)[0], folder / "a.square")
    return Source("square", folder, "a.square", beside=("a.cross",))


def csv(folder, rng):
    make = (poses, gaussian)[int(rng.integers(2))]
    write(make(SCANS, rng), folder / "a.csv")
    return Source("csv", folder, "a.csv")


def npz(folder, rng):
    make = (poses, gaussian)[int(rng.integers(2))]
    write(make(SCANS, rng), folder / "a.npz")
    return Source("npz", folder, "a.npz")


SOURCES: tuple[Callable[..., Source], ...] = (
    square,
    square_particles,
    square_with_cross,
    tum,
    tum_with_covariance,
    wide_tum,
    kitti,
    euroc,
    openvins,
    rtklib,
    parquet,
    csv,
    npz,
)


def arrays(track) -> Iterator[tuple[str, np.ndarray]]:
    """The numbers of a track, by name."""
    yield "stamp", track.stamp
    if isinstance(track, ParticleTrack):
        for name in ("offset", "particle_position", "particle_rotation", "weight"):
            yield name, getattr(track, name)
        return
    yield "position", track.position
    yield "rotation", track.rotation
    if isinstance(track, GaussianTrack):
        yield "covariance", track.covariance
        if track.cross is not None:
            order = np.lexsort(track.cross.pairs.T)
            yield "pairs", track.cross.pairs[order]
            yield "block", track.cross.block[order]


def differences(one, other, *, exact: bool = True) -> list[str]:
    """Names of the numbers in which two tracks differ."""
    a, b = dict(arrays(one)), dict(arrays(other))
    same = np.array_equal if exact else lambda x, y: np.allclose(x, y, rtol=1e-12, atol=1e-13)
    return [name for name in a | b if name not in a or name not in b or not same(a[name], b[name])]


def first_row(lines: list[str]) -> int:
    """The first line that is neither blank nor a comment nor a row of names."""
    return next(
        i
        for i, line in enumerate(lines)
        if line.strip() and line[0] not in "#%" and not line[0].isalpha()
    )


def rename(source, rng):
    """The name of a file counts only where a format finds others by it."""
    new = NAMES[int(rng.integers(len(NAMES)))]
    suffix = Path(source.main).suffix
    shutil.move(source.folder / source.main, source.folder / f"{new}{suffix}")
    for name in source.beside:
        shutil.move(source.folder / name, source.folder / f"{new}{Path(name).suffix}")
    source.beside = tuple(f"{new}{Path(name).suffix}" for name in source.beside)
    source.main = f"{new}{suffix}"


def move(source, rng):
    """To a folder of any name."""
    new = source.folder.parent / NAMES[int(rng.integers(len(NAMES)))]
    shutil.move(source.folder, new)
    source.folder = new


def pack(source, rng):
    """By gzip, under the old name or with .gz; each file or some of them."""
    if source.format in BINARY:
        return
    path = source.folder / source.main
    packed = gzip.compress(path.read_bytes(), int(rng.integers(1, 10)))
    if source.beside or rng.random() < 0.5:
        path.write_bytes(packed)
        return
    path.unlink()
    source.main += ".gz"
    (source.folder / source.main).write_bytes(packed)


def shuffle(source, rng):
    """The rows of all files in the same new order."""
    if source.format in BINARY:
        return
    order = None
    for path in source.files[: 1 + len(source.named)]:
        lines = path.read_text().splitlines(keepends=True)
        first = first_row(lines)
        rows = lines[first:]
        blocks = [rows[at : at + source.block] for at in range(0, len(rows), source.block)]
        order = rng.permutation(len(blocks)) if order is None else order
        path.write_text("".join(lines[:first] + [line for at in order for line in blocks[at]]))


def comment(source, rng):
    """A comment more before the first row, and blank lines."""
    if source.format in BINARY:
        return
    path = source.folder / source.main
    mark = "%" if source.format == "rtklib" else "#"
    lines = path.read_text().splitlines(keepends=True)
    first = first_row(lines)
    path.write_text("".join([*lines[:first], f"{mark} a note\n", "\n", *lines[first:]]))


CHANGES = (comment, shuffle, pack, rename, move)  # in this order; each case takes some of them
CASES_OF_A_TRACK = 8  # the same files, changed in other ways
BACK = ("square", "parquet", "square.gz")  # formats that keep all that a track has


@pytest.mark.slow
@pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
def test_no_number_changes(make, tmp_path):
    rng = np.random.default_rng([19, SOURCES.index(make)])
    failed = []
    for case in range(-(-CASES // len(SOURCES))):
        folder = tmp_path / "work"
        folder.mkdir()
        if case % CASES_OF_A_TRACK == 0:
            made = make(folder, rng)
            before = made.read()
            content = {path: path.read_bytes() for path in folder.iterdir()}
        for path, data in content.items():
            path.write_bytes(data)
        source = replace(made)
        taken = [change for change in CHANGES if rng.random() < 0.4]
        for change in taken:
            change(source, rng)
        after = source.read()
        if source.format == "parquet" or rng.random() < 0.3:
            path = source.folder / f"back.{BACK[int(rng.integers(len(BACK)))]}"
            write(after, path)
            after = read(path)
        wrong = differences(before, after, exact="back" not in after.provenance.name)
        failed += [(case, [change.__name__ for change in taken], wrong)] if wrong else []
        shutil.rmtree(source.folder)
    assert not failed, failed[:5]


LOGS = {"bag", "px4", "ardupilot", "ubx", "nmea", "graph"}  # messages or vertices, not rows


def test_every_format_of_rows_is_among_them(tmp_path, rng):
    """Messages of bags are read in tests/io/ros, of other logs in the test of each."""
    found = set()
    for make in SOURCES:
        (tmp_path / make.__name__).mkdir()
        source = make(tmp_path / make.__name__, rng)
        found.add(source.format)
        assert FORMATS[source.format].title.split()[0] in source.read().provenance.format
    assert found == {entry.name for entry in FORMATS.values() if entry.reader} - LOGS


@pytest.mark.parametrize("make", [square, wide_tum, openvins, tum_with_covariance])
def test_no_score_changes(make, tmp_path):
    """The numbers of an evaluation, to the last bit."""
    rng = np.random.default_rng(5)
    folder = tmp_path / "work"
    folder.mkdir()
    source = make(folder, rng)
    reference = poses(SCANS, rng)
    options = Options(intervals=Intervals(None), alignment="none")
    before = evaluate(source.read(), reference, options=options).to_dict()
    for change in CHANGES:
        change(source, rng)
    after = evaluate(source.read(), reference, options=options).to_dict()
    for part in ("scores", "calibration", "position"):
        assert before.get(part) == after.get(part)
