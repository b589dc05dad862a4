"""`smfeval score` against what a user would pick instead, as ratios of CPU time in one run.

    python benchmarks/scoring.py [scans ...]

Peers: `evo_ape tum -a` (APE only) on the same poses, and the authors' `smfeval nees` 0.4.0, from an
environment of its own if `.venv/peers` has one (the test of the interchange makes it). Floors:
reading the same file, and the same command at other sizes for the growth of the cost.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BIN = Path(sys.executable).parent
AUTHORS = Path(__file__).parents[1] / ".venv" / "peers" / "smfeval-0.4.0" / "bin" / "smfeval"
SIZES = (10_000, 100_000, 1_000_000)
PEER_LIMIT = 100_000  # scans: larger files take the peers too long

MAKE = """
import sys
import numpy as np
from smfeval import About, GaussianTrack, Track, write
n, folder = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
time = np.arange(n)
position = np.cumsum(0.1 * rng.normal(size=(n, 3)), axis=0)
rotation = rng.normal(size=(n, 4))
rotation /= np.linalg.norm(rotation, axis=1, keepdims=True)
root = 0.01 * rng.normal(size=(n, 6, 8))
stamp = 1_700_000_000_000_000_000 + 100_000_000 * time
about = About(body="imu", world="world", gauge="se3", algorithm="made", version="1")
error = 0.03 * rng.normal(size=(n, 3))
est = GaussianTrack(stamp, position + error, rotation, root @ root.swapaxes(1, 2), about=about)
write(est, folder + "/est.square")
write(est, folder + "/est.tum", lossy=True)
write(Track(stamp, position, rotation), folder + "/ref.tum")
"""
READ = "import sys; from smfeval import read; read(sys.argv[1]); read(sys.argv[2])"


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a command and its peak memory."""

    cpu_s: float
    peak_mb: float


def measured(command: list[object]) -> Cost:
    """Run once in a fresh process that reports on its child alone."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "sys.exit(done.stderr.decode()) if done.returncode else None\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
    )
    words = [sys.executable, "-c", script, *map(str, command)]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return Cost(float(out[0]), float(out[1]) / 1e3)


def best(command: list[object], runs: int = 3) -> Cost:
    """The cheapest of a few runs: noise only adds."""
    return min((measured(command) for _ in range(runs)), key=lambda cost: cost.cpu_s)


def compared(scans: int, folder: Path) -> Cost:
    """Print the costs at one size; returns ours."""
    subprocess.run([sys.executable, "-c", MAKE, str(scans), str(folder)], check=True)
    est, tum, ref = folder / "est.square", folder / "est.tum", folder / "ref.tum"
    score = [BIN / "smfeval", "score", est, "--ref", ref]
    ours = best(score)
    bare = best([*score, "--interval", "none"])
    read = best([sys.executable, "-c", READ, est, ref])
    print(f"\n{scans:,} scans")
    print(f"  smfeval score            {ours.cpu_s:8.2f} s CPU  {ours.peak_mb:6.0f} MB peak")
    print(f"  without intervals        {bare.cpu_s:8.2f} s CPU  {bare.peak_mb:6.0f} MB peak")
    print(f"  reading both files       {read.cpu_s:8.2f} s CPU")
    print(f"  rules beyond reading     {bare.cpu_s - read.cpu_s:8.2f} s (goal 2 s at 1,000,000)")
    if scans <= PEER_LIMIT:
        evo = best([BIN / "evo_ape", "tum", ref, tum, "-a"])
        ratio = evo.cpu_s / ours.cpu_s
        print(f"  evo_ape tum -a           {evo.cpu_s:8.2f} s CPU: {ratio:.1f} times ours (goal 5)")
        if AUTHORS.exists():
            words = [AUTHORS, "nees", est, ref, "--ref-body-frame", "imu"]
            authors = best(words, runs=1)
            ratio = authors.cpu_s / ours.cpu_s
            print(f"  authors' nees            {authors.cpu_s:8.2f} s CPU: {ratio:.1f} times ours")
    return ours


def main() -> None:
    sizes = [int(float(word)) for word in sys.argv[1:]] or list(SIZES)
    with tempfile.TemporaryDirectory() as folder:
        costs = [compared(scans, Path(folder)) for scans in sizes]
    if len(sizes) > 1:
        start = measured([BIN / "smfeval", "check", "--help"]).cpu_s
        slope = np.polyfit(np.log(sizes), np.log([cost.cpu_s - start for cost in costs]), 1)[0]
        print(f"\ncost grows with scans to the power {slope:.2f} (start-up {start:.2f} s left out)")


if __name__ == "__main__":
    main()
