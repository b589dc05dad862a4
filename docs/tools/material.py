"""Files that the pages work on, made on the spot: seeded, the same every time."""

import tempfile
from collections.abc import Callable, Iterable
from contextlib import chdir, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np

from smfeval.align.body import move_to_body
from smfeval.cli.demo import honest_estimate, simulate_walk
from smfeval.cli.main import run_verb
from smfeval.io import read, write
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.maths import geodesy, so3
from smfeval.track import About, GaussianTrack, Track
from tools.drift import dead_reckoning
from tools.logs import write_dataflash, write_streams, write_ulog

SCANS = 600  # of the smaller files
NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])


def lay_out(names: Iterable[str], folder: Path) -> None:
    """Fill a folder with the files of the demo, if they are not renounced, and those named."""
    wanted = list(names)
    if "none" not in wanted:
        copytree(_demo_files(), folder, dirs_exist_ok=True)
    for name in wanted:
        MATERIAL[name](folder)


@cache
def _demo_files() -> Path:
    """The files of `smfeval demo --save`, made once."""
    folder = Path(tempfile.mkdtemp(prefix="smfeval-docs-"))
    with redirect_stdout(StringIO()):
        run_verb("demo", ["--save", str(folder), "--json"])
    return folder


def _part(folder: Path, name: str = "honest.square") -> GaussianTrack:
    track = read(folder / name)[:SCANS]
    assert isinstance(track, GaussianTrack)
    return track


def between(folder: Path) -> None:
    """A reference at 20 Hz whose poses lie 25 ms beside the scans of the estimates."""
    reference, _ = simulate_walk(rng=np.random.default_rng(11))
    dense = np.arange(2, 2 * SCANS) / 20 + 0.025
    time = reference.stamp / 1e9
    position = np.stack([np.interp(dense, time, axis) for axis in reference.position.T], axis=1)
    heading = np.unwrap(2 * np.arctan2(reference.rotation[:, 2], reference.rotation[:, 3]))
    turn = np.zeros((len(dense), 3))
    turn[:, 2] = np.interp(dense, time, heading)
    stamp = np.round(dense * 1e9).astype(np.int64)
    write(Track(stamp, position, so3.exp(turn)), folder / "between.tum")


def late(folder: Path) -> None:
    """A consistent estimate whose stamps are 33 ms early."""
    track = read(folder / "honest.square")
    write(track.shift_stamps(-33_000_000), folder / "late.square")


def lever(folder: Path) -> None:
    """A consistent estimate of a point 8 cm to the left of the reference's."""
    track = read(folder / "honest.square")
    moved = move_to_body(track, (np.array([0.0, 0.08, 0.0]), NO_TURN), track.about.body)
    write(moved, folder / "lever.square")


def dataset(folder: Path, tracks: int = 8) -> None:
    """Three estimators on some tracks, laid out as ov_eval and rpg do."""
    tightness = {"alpha": 1.0, "beta": 4.0, "gamma": 16.0}
    for number in range(tracks):
        rng = np.random.default_rng(100 + number)
        reference, _ = simulate_walk(rng=rng)
        start = 300 * number
        part = slice(start, start + SCANS)
        _write(reference[part], folder / "data" / "truth" / f"walk_{number}.tum")
        for name, factor in tightness.items():
            belief = honest_estimate(reference, rng=rng)[part]
            tight = belief.with_arrays({"covariance": belief.covariance / factor})
            _write(tight, folder / "data" / "algorithms" / name / f"walk_{number}" / "run_0.square")


def sweep(folder: Path) -> None:
    """A setting at four values: one estimator reports less and errs as before, one improves."""
    for number in range(3):
        rng = np.random.default_rng(300 + number)
        reference, _ = simulate_walk(rng=rng)
        truth = reference[:SCANS]
        _write(truth, folder / "sweep" / "truth" / f"walk_{number}.tum")
        for sigma in (0.5, 1, 2, 4):
            belief = honest_estimate(reference, rng=rng)[:SCANS]
            error = belief.position - truth.position
            reported = belief.with_arrays({"covariance": sigma**2 * belief.covariance})
            better = reported.with_arrays({"position": truth.position + sigma * error})
            for name, track in (("shrinks", reported), ("improves", better)):
                _write(track, folder / "sweep" / name / f"walk_{number}" / f"{sigma}.square")


def study_results(folder: Path) -> None:
    """What a small study leaves, for queries."""
    dataset(folder, tracks=2)
    with chdir(folder), redirect_stdout(StringIO()):
        run_verb("study", ["--init", "data"])
        run_verb("study", ["study.toml", "--workers", "1", "-q"])


def drift(folder: Path) -> None:
    """Dead reckoning with its exact covariance, and with a 7th of it."""
    estimate, reference = dead_reckoning()
    tight = estimate.with_arrays({"covariance": estimate.covariance / 7})
    for name, track in (("reckoned", estimate), ("tight", tight)):
        write(track, folder / f"{name}.square")
    write(reference, folder / "drive.tum")


def odometry(folder: Path) -> None:
    """Poses of dead reckoning without covariances, on four drives."""
    for number in range(4):
        for name, track in zip(("", "truth"), dead_reckoning(number), strict=True):
            path = folder / "odometry" / name / f"drive_{number}.tum"
            path.parent.mkdir(parents=True, exist_ok=True)
            write(track.shift_stamps(number * 10**12), path, lossy=True)


def _write(track: Track, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(track, path)


def gnss(folder: Path) -> None:
    """Two RTKLIB solutions of one drive: a consistent rover, and a survey-grade reference."""
    rng = np.random.default_rng(5)
    reference, _ = simulate_walk(rng=rng)
    truth = reference.position[::5]
    sigma = np.array([0.4, 0.5, 0.9])  # north, east, up
    error = rng.normal(size=truth.shape) * sigma[[1, 0, 2]]
    _write_pos(folder / "rover.pos", truth + error, sigma)
    _write_pos(folder / "base.pos", truth, np.array([0.01, 0.01, 0.02]))
    from tools.bags import write_fixes  # noqa: PLC0415  rosbags is slow to import

    stamps = [MORNING_NS + i * 500_000_000 for i in range(len(truth))]
    write_fixes(folder / "drive.mcap", stamps, _places(truth + error), sigma[[1, 0, 2]])


def receivers(folder: Path) -> None:
    """One drive as a stream of a u-blox receiver and as NMEA, and a better one as reference."""
    rng = np.random.default_rng(5)
    truth = simulate_walk(rng=rng)[0].position[::5]
    sigma = np.array([0.5, 0.4, 0.9])  # east, north, up
    write_streams(folder, _places(truth + rng.normal(size=truth.shape) * sigma), sigma)
    stamp = (1_714_979_280 + np.arange(len(truth)) / 2) * 1e9  # 2024-05-06 07:08
    still = np.tile(NO_TURN, (len(truth), 1))
    about = About("antenna", "enu", "fixed", oriented=False)
    write(Track(stamp.astype(np.int64), truth, still, about=about), folder / "survey.square")


def flight(folder: Path) -> None:
    """One flight as a log of PX4 and as one of ArduPilot, each with the truth of a simulation."""
    write_ulog(folder / "flight.ulg")
    write_dataflash(folder / "flight.bin")


HEADING = (
    "% program   : made on the spot\n"
    "%  GPST                  latitude(deg) longitude(deg)  height(m)   Q  ns   sdn(m)   sde(m)"
    "   sdu(m)  sdne(m)  sdeu(m)  sdun(m) age(s)  ratio\n"
)
MORNING_NS = 1_772_359_200 * 10**9  # 2026-03-01 10:00, when the solutions begin
ORIGIN = (35.165361, 136.881409, 41.391)


def _write_pos(path: Path, enu: Any, sigma: Any) -> None:
    latitude, longitude, height = _places(enu).T
    columns = zip(latitude, longitude, height, strict=True)
    tail = " ".join(f"{value:.4f}" for value in (*sigma, 0, 0, 0))
    rows = (
        f"2026/03/01 {10 + (i // 2) // 3600:02d}:{(i // 2) // 60 % 60:02d}:"
        f"{(i % 120) / 2:06.3f} {a:.9f} {b:.9f} {c:.4f} 1 12 {tail} 0.0 9.9\n"
        for i, (a, b, c) in enumerate(columns)
    )
    path.write_text(HEADING + "".join(rows))


def _places(enu: Any) -> Any:
    """Latitude, longitude (degrees) and height of points about the origin."""
    origin = np.array(ORIGIN)
    away = np.asarray(enu) @ geodesy.enu_axes(origin)
    return geodesy.llh_from_ecef(geodesy.ecef_from_llh(origin) + away)


def openvins(folder: Path) -> None:
    """The 20 columns of ov_eval's recorder, and the two state files of ov_msckf."""
    track = _part(folder)
    pose = track.position, track.rotation
    covariance = from_right(track.covariance, pose, CONVENTIONS["world-position"], "rotation-first")
    upper = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    columns = [covariance[:, i + k, j + k] for k in (0, 3) for i, j in upper]
    table = np.column_stack([track.stamp / 1e9, *pose, *columns])
    head = "timestamp(s) tx ty tz qx qy qz qw Pr11 Pr12 Pr13 Pr22 Pr23 Pr33 Pt11 Pt12 Pt13 Pt22 "
    np.savetxt(folder / "ov_estimate.txt", table, fmt="%.9g", header=head + "Pt23 Pt33")


def bag(folder: Path) -> None:
    """What known estimators publish of one walk, each in its own way, in one MCAP."""
    from tools.bags import write_bag  # noqa: PLC0415  rosbags is slow to import

    by_rules = {}
    for name in ("honest.square", "second.square"):  # at length, so that they have a verdict
        whole = read(folder / name)
        assert isinstance(whole, GaussianTrack)
        written = whole.covariance, (whole.position, whole.rotation), CONVENTIONS["ros"]
        by_rules[name] = whole, from_right(*written, "translation-first")
    track = _part(folder)
    pose = track.position, track.rotation
    in_world = from_right(
        track.covariance, pose, CONVENTIONS["world-position"], "translation-first"
    )
    swapped = np.roll(in_world, 3, axis=(1, 2))
    planar = _part(folder, "planar.square")
    flat = from_right(planar.covariance, pose, CONVENTIONS["ros"], "translation-first")
    flat[:, [2, 3, 4], :] = flat[:, :, [2, 3, 4]] = 0.0
    zero = np.zeros_like(in_world)
    write_bag(
        folder / "run.mcap",
        {
            "/odometry/filtered": (*by_rules["honest.square"], "odom", "base_link"),
            "/lio/odometry": (*by_rules["second.square"], "odom", "base_link"),
            "/Odometry": (track, np.concatenate([zero[:1], swapped[:-1]]), "camera_init", "body"),
            "/aft_mapped_to_init": (track, zero, "camera_init", "aft_mapped"),
            "/glim_ros/odom": (track, zero, "odom", "imu"),
            "/kiss/odometry": (track, zero + 0.1 * np.eye(6), "odom_lidar", "lidar"),
            "/lio_sam/mapping/odometry": (track, zero, "odom", "odom_mapping"),
            "/ov_msckf/poseimu": (track, in_world, "global", None),
            "/amcl_pose": (planar, flat, "map", None),
        },
    )


MATERIAL: dict[str, Callable[[Path], None]] = {
    "none": lambda folder: None,
    "between": between,
    "late": late,
    "lever": lever,
    "dataset": dataset,
    "sweep": sweep,
    "drift": drift,
    "odometry": odometry,
    "gnss": gnss,
    "receivers": receivers,
    "flight": flight,
    "openvins": openvins,
    "bag": bag,
}
