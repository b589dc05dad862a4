"""Interchange with the authors' own package, installed into an environment of its own.

Its import name is the same as ours, so it is only ever run as another process.

Its regression fixtures are not in its source archive, and `scripts/make_regression_fixtures.py` in
there cannot make them: it cuts them out of runs in a `slam_benchmark` checkout with the Oxford
Spires data, which is not published with it. Two of them (`real_fast_lio2`, `real_faster_lio`) are
beside this checkout as `spires/`; for the rest, files are made on the spot by the package's writer.
"""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from smfeval.compare import compare_pair
from smfeval.evaluation import Options
from smfeval.io import read, write
from smfeval.io.recorder import SquareWriter
from smfeval.maths.stamps import seconds_text
from smfeval.schema import GAUGES
from smfeval.track import About, ParticleTrack
from support.beliefs import ABOUT, gaussian, particles, poses

VERSION = "0.4.0"
PEER = f"smfeval=={VERSION}"
PIP = [sys.executable, "-m", "pip"]
CACHE = Path(__file__).parents[2] / ".venv" / "peers" / f"smfeval-{VERSION}"

READ_THERE = """
import json, sys
from pathlib import Path
from smfeval.io import load_square
header, steps = load_square(Path(sys.argv[1]))
print(json.dumps({
    "body": header.body_frame,
    "gauge": header.gauge.value,
    "rows": [[s.timestamp, *s.translation.tolist(), *s.quat_xyzw.tolist(),
              *(s.covariance.ravel().tolist() if hasattr(s, "covariance") else [])]
             for s in steps],
}))
"""

WRITE_THERE = """
import sys
from pathlib import Path
from smfeval.io import load_square, write_header, write_steps
header, steps = load_square(Path(sys.argv[1]))
with open(sys.argv[2], "w") as f:
    write_header(f, header)
    write_steps(f, steps, header)
"""


# Files of every kind that the format has, made by the authors' package alone, and their numbers.
MAKE_THERE = """
import json, sys
from pathlib import Path
import numpy as np
from smfeval.format import *
from smfeval.io import write_header, write_steps
from smfeval.steps import *

folder, rng = Path(sys.argv[1]), np.random.default_rng(42)
COMMON = dict(format_version=FORMAT_VERSION, pose_frame="map", body_frame="base link",
              timestamp_unit="seconds", algorithm="their bot", algorithm_version="1.0 b")

def quaternions(n):
    q = rng.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)

def gaussian(stamp):
    root = rng.normal(size=(6, 6))
    return GaussianStep(stamp, rng.normal(size=3), quaternions(1)[0], root @ root.T + np.eye(6))

def deterministic(stamp):
    return DeterministicStep(stamp, rng.normal(size=3), quaternions(1)[0])

def ensemble(stamp, weights):
    n = int(rng.integers(2, 6))
    poses = np.concatenate([rng.normal(size=(n, 3)), quaternions(n)], axis=1)
    return EnsembleStep(stamp, poses, weights(n) if weights else None)

def save(name, header, steps):
    with (folder / f"{name}.smfeval").open("w") as f:
        write_header(f, header)
        write_steps(f, steps, header)
    fields = ("timestamp", "translation", "quat_xyzw", "covariance", "particles", "weights")
    given = [{k: getattr(s, k, None) for k in fields} for s in steps]
    rows = [{k: np.asarray(v).tolist() for k, v in g.items() if v is not None} for g in given]
    (folder / f"{name}.json").write_text(json.dumps(rows))

STAMPS = [0.5, 1.25, 1710755138.125]
for gauge in Gauge:
    for side in TangentConvention:
        for order in TangentOrder:
            header = SquareHeader(representation=Representation.GAUSSIAN_SE3, gauge=gauge,
                                  tangent_convention=side, tangent_order=order,
                                  rotation_param="axis_angle", **COMMON)
            name = f"gaussian-{gauge.value}-{side.value}-{order.value}"
            save(name, header, [gaussian(t) for t in STAMPS])
header = SquareHeader(representation=Representation.DETERMINISTIC, gauge=Gauge.FIXED, **COMMON)
save("deterministic", header, [deterministic(t) for t in STAMPS])
WEIGHTS = {"none": (False, WeightFormat.LINEAR, None),
           "linear": (True, WeightFormat.LINEAR, lambda n: rng.uniform(0.1, 1, n)),
           "log": (True, WeightFormat.LOG, lambda n: rng.normal(size=n))}
for kind, (weighted, form, weights) in WEIGHTS.items():
    header = SquareHeader(representation=Representation.ENSEMBLE_SE3, gauge=Gauge.SIM3,
                          weighted=weighted, weight_format=form, weights_normalized=False,
                          particle_count_hint=500, **COMMON)
    save(f"ensemble-{kind}", header, [ensemble(t, weights) for t in STAMPS])
"""


@pytest.fixture(scope="module")
def peer():
    """The peer's interpreter; installed once, skipped if it cannot be."""
    python = CACHE / "bin" / "python"
    if not (CACHE / "installed").exists():
        commands = [
            [sys.executable, "-m", "venv", "--without-pip", CACHE],
            [*PIP, "--python", python, "install", "--quiet", "--no-compile", PEER],
        ]
        for command in commands:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"the authors' package cannot be installed: {done.stderr[-200:]}")
        (CACHE / "installed").touch()
    return python


@pytest.fixture(scope="module")
def made_there(peer, tmp_path_factory):
    """A folder with files of the authors' package and the numbers that it put into them."""
    folder = tmp_path_factory.mktemp("theirs")
    done = run(peer, "-c", MAKE_THERE, folder)
    assert done.returncode == 0, done.stderr
    return folder


def run(python, *words):
    command = [str(python), *map(str, words)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=CACHE)


def validate(python, path):
    return run(CACHE / "bin" / "smfeval", "validate", "--strict", path)


def test_our_gaussian_files_pass_their_strict_validation(peer, tmp_path, rng):
    track = gaussian(20, rng).with_about(extra=(("SENSOR", "xt32"),))
    write(track, tmp_path / "a.square")
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr


def test_our_live_recorder_passes_their_strict_validation(peer, tmp_path, rng):
    track = gaussian(5, rng)
    with SquareWriter(tmp_path / "a.square", ABOUT) as writer:
        for i in range(5):
            pose = (track.position[i], track.rotation[i])
            writer.append(int(track.stamp[i]), pose, track.covariance[i])
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("make", [gaussian, poses, particles])
def test_a_track_that_declares_nothing_passes_there_and_still_declares_nothing_here(
    make, peer, tmp_path, rng
):
    write(make(5, rng).with_arrays({}, about=About()), tmp_path / "a.square")
    assert "#%ASSUMED GAUGE POSE_FRAME BODY_FRAME" in (tmp_path / "a.square").read_text()
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "a.square").about == About()


def test_our_numbers_are_read_there_to_the_last_digit(peer, tmp_path, rng):
    track = gaussian(20, rng)
    write(track, tmp_path / "a.square")
    done = run(peer, "-c", READ_THERE, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    rows = np.array(there["rows"])
    assert (there["body"], there["gauge"]) == ("imu", "se3")
    np.testing.assert_array_equal(rows[:, 0], track.stamp / 1e9)
    np.testing.assert_array_equal(rows[:, 1:4], track.position)
    np.testing.assert_array_equal(rows[:, 4:8], track.rotation)
    np.testing.assert_array_equal(rows[:, 8:].reshape(-1, 6, 6), track.covariance)


def column(rows, name):
    return np.concatenate([np.atleast_2d(row[name]) for row in rows])


def poses_in(rows):
    """Positions and quaternions side by side, one row per pose or particle."""
    if "particles" in rows[0]:
        return column(rows, "particles")
    return np.concatenate([column(rows, "translation"), column(rows, "quat_xyzw")], axis=1)


def test_files_made_there_are_read_here_to_the_last_digit(made_there):
    names = {path.stem for path in made_there.glob("*.smfeval")}
    assert len(names) == 20
    for name in names:
        track = read(made_there / f"{name}.smfeval")
        rows = json.loads((made_there / f"{name}.json").read_text())
        assert track.stamp.tolist() == [500_000_000, 1_250_000_000, 1_710_755_138_125_000_000]
        assert (track.about.body, track.about.world) == ("base link", "map")
        assert (track.about.algorithm, track.about.version) == ("their bot", "1.0 b")
        position, rotation = track.position, track.rotation
        if isinstance(track, ParticleTrack):
            position, rotation = track.particle_position, track.particle_rotation
            weights = [row.get("weights", [1.0] * len(row["particles"])) for row in rows]
            np.testing.assert_array_equal(track.weight, np.concatenate(weights))
            assert track.log_weight == (name == "ensemble-log")
            assert track.about.extra == (("PARTICLE_COUNT_HINT", "500"),)
        np.testing.assert_array_equal(position, poses_in(rows)[:, :3])
        np.testing.assert_allclose(rotation, poses_in(rows)[:, 3:], rtol=0, atol=4e-16)


@pytest.mark.parametrize("gauge", GAUGES)
def test_covariances_made_there_are_read_here_in_each_convention(gauge, made_there):
    for side, order in itertools.product(
        ("right", "left"), ("translation_rotation", "rotation_translation")
    ):
        name = f"gaussian-{gauge}-{side}_perturbation-{order}"
        track = read(made_there / f"{name}.smfeval")
        raw = column(json.loads((made_there / f"{name}.json").read_text()), "covariance").reshape(
            -1, 6, 6
        )
        if order == "rotation_translation":
            raw = np.roll(raw, 3, axis=(1, 2))
        if side == "left":
            raw = np.array([moved(matrix, track, i) for i, matrix in enumerate(raw)])
        np.testing.assert_allclose(track.covariance, raw, rtol=1e-12, atol=1e-12)
        assert track.about.gauge == gauge


def moved(matrix, track, scan):
    """Left to right perturbation by the adjoint of the inverse pose, written out."""
    R = Rotation.from_quat(track.rotation[scan]).as_matrix()
    x, y, z = track.position[scan]
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    adjoint = np.block([[R.T, -R.T @ cross], [np.zeros((3, 3)), R.T]])
    return adjoint @ matrix @ adjoint.T


@pytest.mark.parametrize("name", ["fast_lio2", "faster_lio"])
def test_their_regression_fixtures_are_read_here_as_there(name, peer, shared_data):
    source = shared_data / "spires" / f"{name}.square"
    track = read(source)
    there = json.loads(run(peer, "-c", READ_THERE, source).stdout)
    rows = np.array(there["rows"])
    assert (track.about.body, track.about.gauge) == (there["body"], there["gauge"])
    assert [float(seconds_text(stamp)) for stamp in track.stamp.tolist()] == rows[:, 0].tolist()
    np.testing.assert_array_equal(track.position, rows[:, 1:4])
    np.testing.assert_allclose(track.rotation, rows[:, 4:8], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(track.covariance, rows[:, 8:].reshape(-1, 6, 6))


@pytest.mark.parametrize(
    "make", [gaussian, poses, particles, lambda n, rng: particles(n, rng, log_weight=True)]
)
def test_their_files_are_read_here(make, peer, tmp_path, rng):
    """Ours is read there, written again by their writer, and read here: the same belief.

    Their stamps are doubles, which lose the last digits of nanoseconds since 1970.
    """
    track = make(8, rng)
    write(track, tmp_path / "a.square")
    done = run(peer, "-c", WRITE_THERE, tmp_path / "a.square", tmp_path / "b.square")
    assert done.returncode == 0, done.stderr
    again = read(tmp_path / "b.square")
    assert type(again) is type(track)
    assert again.about == track.about
    np.testing.assert_array_equal(again.position, track.position)
    assert np.abs(again.stamp - track.stamp).max() < 2_000
    if hasattr(track, "covariance"):
        np.testing.assert_array_equal(again.covariance, track.covariance)


def test_real_files_convert_to_files_that_pass_there(peer, tmp_path, shared_data):
    track = read(shared_data / "spires" / "fast_lio2.square", preset="fast-lio2")
    write(track, tmp_path / "a.square")
    done = validate(peer, tmp_path / "a.square")
    assert done.returncode == 0, done.stderr


def test_the_paper_s_k_pair_is_theirs(peer, tmp_path, shared_data):
    """They add covariances in the axes of two bodies that are turned by a tenth of a degree."""
    place = shared_data / "campaign" / "easy" / "college_2"
    reading = {"convention": "world-position", "body": "imu", "world": "odom", "gauge": "se3"}
    tracks = []
    for name in ("fastlio2", "pointlio"):
        tracks.append(read(place / f"{name}.txt.gz", order="translation-first", **reading))
        write(tracks[-1], tmp_path / f"{name}.square")
    both = (str(tmp_path / f"{name}.square") for name in ("fastlio2", "pointlio"))
    done = run(peer, "-I", CACHE / "bin" / "smfeval", "pair", *both, "--json")
    theirs = json.loads(done.stdout)
    ours = compare_pair(*tracks, options=Options(association="nearest"), sweeps=False)
    assert len(ours.pairs) == theirs["n_matched"]
    assert ours.k_paper == pytest.approx(theirs["k_pair_lower_bound"], rel=2e-3)
