"""`smfeval demo`: the main job on data made on the spot; no files needed.

`--save FOLDER` leaves the files there, with a few more, to try the other verbs on.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import numpy as np

from smfeval.cli.main import run_verb
from smfeval.cli.outputs import check_saves
from smfeval.cli.saves import FOLDER, outputs_of
from smfeval.errors import OptionError
from smfeval.io import write
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import About, AnyTrack, GaussianTrack, ParticleTrack, Track

SCANS = 3000
RATE_HZ = 10.0
ERROR_CORRELATION = 0.9  # correlation of the errors from scan to scan
SIGMA_M = np.array([0.02, 0.02, 0.03])
SIGMA_RAD = np.array([0.002, 0.002, 0.005])  # less certain of the heading
ALONG_TRACK_FACTOR = np.array([1.5, 1.0, 1.0])  # less certain along the way than across it
SIGMA_VARIATION = 0.3  # part by which the uncertainty of a scan is above or below its mean
COVARIANCE_DIVISOR = 25.0  # each axis five times
SECOND_COVARIANCE_DIVISOR = 9.0
ABOUT = About(body="base_link", world="map", gauge="fixed", algorithm="demo", version="1")
PARTICLES, PARTICLE_STRIDE = 60, 10  # particles of a scan, and one scan in so many


def demo_tracks(*, rng: np.random.Generator) -> dict[str, AnyTrack]:
    """File name -> track: the two that the demo scores."""
    reference, honest = simulate_walk(rng=rng)
    bold = honest.with_arrays({"covariance": honest.covariance / COVARIANCE_DIVISOR})
    return {"truth.tum": reference, "honest.square": honest, "overconfident.square": bold}


def more_tracks(reference: Track, *, rng: np.random.Generator) -> dict[str, AnyTrack]:
    """File name -> track: others to try the verbs on, with errors of their own."""
    second, third = (honest_estimate(reference, rng=rng) for _ in range(2))
    tight = {"covariance": second.covariance / SECOND_COVARIANCE_DIVISOR}
    return {
        "second.square": second.with_arrays(tight),
        "third.square": third,
        "particles.square": sample_particles(third[np.arange(0, SCANS, PARTICLE_STRIDE)], rng=rng),
        "planar.square": planar_belief(third),
    }


def simulate_walk(*, rng: np.random.Generator) -> tuple[Track, GaussianTrack]:
    """A walk around figures of eight, and a consistent estimate with autocorrelated errors."""
    time = np.arange(SCANS) / RATE_HZ
    angle = 2 * np.pi * time / 60
    sway = 0.03 * np.sin(8 * time)
    position = np.stack([12 * np.sin(angle), 6 * np.sin(2 * angle), sway], axis=1)
    forward = np.gradient(position, axis=0)
    heading = np.unwrap(np.arctan2(forward[:, 1], forward[:, 0]))
    rotation = so3.exp(np.stack([0 * heading, 0 * heading, heading], axis=1))

    stamp = (time * 1e9).astype(np.int64)
    reference = Track(stamp, position, rotation, about=About(body="base_link", world="map"))
    return reference, honest_estimate(reference, rng=rng)


def honest_estimate(reference: Track, *, rng: np.random.Generator) -> GaussianTrack:
    """A consistent estimate: autocorrelated errors, and the covariance that they have."""
    wave = np.sin(np.linspace(0, 20 * np.pi, SCANS))[:, None]  # now more, now less certain
    swell = 1 + SIGMA_VARIATION * wave
    sigma = np.concatenate([ALONG_TRACK_FACTOR * SIGMA_M, SIGMA_RAD]) * swell
    covariance = sigma[:, :, None] ** 2 * np.eye(6)
    turn = sigma[:, 3:] * correlated_noise(SCANS, rng=rng.spawn(1)[0])
    rotation = so3.compose(reference.rotation, so3.exp(turn))
    error = so3.rotate(rotation, sigma[:, :3] * correlated_noise(SCANS, rng=rng))
    position = reference.position + error
    return GaussianTrack(reference.stamp, position, rotation, covariance, about=ABOUT)


def sample_particles(belief: GaussianTrack, *, rng: np.random.Generator) -> ParticleTrack:
    """The same belief as equal particles drawn from it: T = T_mean Exp(xi)."""
    count = len(belief) * PARTICLES
    variance = belief.covariance[:, range(6), range(6)]
    rows = (belief.position, belief.rotation, np.sqrt(variance))
    mean, rotation, sigma = (np.repeat(each, PARTICLES, axis=0) for each in rows)
    draw = sigma * rng.normal(size=(count, 6))
    return ParticleTrack(
        belief.stamp,
        np.arange(0, count + 1, PARTICLES),
        mean + so3.rotate(rotation, draw[:, :3]),
        so3.compose(rotation, so3.exp(draw[:, 3:])),
        np.full(count, 1 / PARTICLES),
        about=ABOUT,
    )


def planar_belief(belief: GaussianTrack) -> GaussianTrack:
    """What a planar robot reports: nothing about z, roll and pitch."""
    planar = belief.covariance.copy()
    for axis in (2, 3, 4):
        planar[:, axis, :] = planar[:, :, axis] = 0.0
    heading = belief.rotation * np.array([0.0, 0.0, 1.0, 1.0])
    heading /= np.linalg.norm(heading, axis=1, keepdims=True)
    return belief.with_arrays({"covariance": planar, "rotation": heading})


def correlated_noise(scans: int, *, rng: np.random.Generator) -> Floats:
    """Three series of standard normal numbers, each correlated from scan to scan. (scans, 3)."""
    shocks = np.sqrt(1 - ERROR_CORRELATION**2) * rng.normal(size=(scans, 3))
    series = np.empty((scans, 3))
    series[0] = rng.normal(size=3)
    for i in range(1, scans):
        series[i] = ERROR_CORRELATION * series[i - 1] + shocks[i]
    return series


SEED = 7
REFERENCE_FLAGS = ("--ref", "truth.tum")


def run(chosen: argparse.Namespace) -> int:
    """Show what smfeval does, on data of its own."""
    check_saves(chosen, "evaluations", "evaluation")
    saving = _save_flags(chosen)
    chosen.folder = next(iter(outputs_of(chosen, FOLDER)), None)
    rng = np.random.default_rng(SEED)
    tracks = demo_tracks(rng=rng)
    if chosen.folder is not None:
        reference = tracks["truth.tum"]
        assert isinstance(reference, Track)
        tracks |= more_tracks(reference, rng=rng)
    with _output_folder(chosen, tracks) as folder, chdir(folder):
        for name, track in tracks.items():
            write(track, name)
        code = _run_verbs(chosen, saving)
    if chosen.folder is not None and not chosen.json:
        print(f"in {chosen.folder}: {', '.join(tracks)}")
    return code


@contextmanager
def _output_folder(chosen: argparse.Namespace, tracks: dict[str, AnyTrack]) -> Iterator[Path]:
    """Where the files go: the user's folder, or one that is gone afterwards."""
    if chosen.folder is None:
        with tempfile.TemporaryDirectory(prefix="smfeval-demo-") as name:
            yield Path(name)
        return
    there = [name for name in tracks if (chosen.folder / name).exists()]
    if there and not chosen.force:
        raise OptionError(f"{chosen.folder / there[0]}: the file exists; --force overwrites it")
    try:
        chosen.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise OptionError(f"{chosen.folder}: cannot be a folder ({why})") from error
    yield chosen.folder


def _save_flags(chosen: argparse.Namespace) -> list[str]:
    """Flags of `score` for what is to be saved, wherever it runs."""
    files = [output.path for output in chosen.save if output.kind != FOLDER]
    words = [word for path in files for word in ("--save", str(path.resolve()))]
    return [*words, *(["--plot"] if chosen.plot else []), *(["--force"] if chosen.force else [])]


def _run_verbs(chosen: argparse.Namespace, saving: list[str]) -> int:
    """The verbs on the files of this folder, each shown as a user would type it."""
    if chosen.json:
        both = ("honest.square", "overconfident.square")
        return run_verb("score", [*both, *REFERENCE_FLAGS, "--json", *saving])
    more = [flag for flag, on in (("-q", chosen.quiet), ("-v", chosen.verbose)) if on]
    return max(
        _echo_and_run("check", "honest.square", *more),
        _echo_and_run("score", "honest.square", *REFERENCE_FLAGS, *more),
        _echo_and_run("score", "overconfident.square", *REFERENCE_FLAGS, *more, *saving),
    )


def _echo_and_run(name: str, *words: str) -> int:
    """Print a command line as a user would type it, and run it."""
    print(f"$ smfeval {name} {' '.join(words)}")
    code = run_verb(name, list(words))
    print()
    return code
