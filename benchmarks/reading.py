"""Reading a SQUARE file against the floor: polars parsing the same text into numbers.

    python benchmarks/reading.py [scans]

Each side runs in its own process; printed are the best of five, their ratio, and peak memory
against the bytes of the track's arrays.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RUNS = 5
FLOOR = """
import polars as pl
names = {{str(i): pl.Float64 for i in range(29)}}
def work():
    pl.read_csv({path!r}, separator=" ", has_header=False, comment_prefix="#", schema=names)
"""
OURS = """
from smfeval.io import read
def work():
    read({path!r})
"""
WRITE = """
import numpy as np
from smfeval import About, GaussianTrack, write
rng, scans = np.random.default_rng(0), {scans}
root = 1e-3 * rng.normal(size=(scans, 6, 6))
rotation = rng.normal(size=(scans, 4))
track = GaussianTrack(
    1_700_000_000_000_000_000 + 100_000_000 * np.arange(scans),
    10 * rng.normal(size=(scans, 3)),
    rotation / np.linalg.norm(rotation, axis=1, keepdims=True),
    root @ root.swapaxes(1, 2),
    about=About(body="imu", gauge="se3"),
)
write(track, {path!r})
"""
MEASURE = """
import resource, time
wall, cpu = time.perf_counter(), time.process_time()
work()
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def measured(script: str) -> np.ndarray:
    """Best wall and CPU seconds, and peak bytes, over the runs."""
    runs = [
        subprocess.run([sys.executable, "-c", script + MEASURE], check=True, capture_output=True)
        for _ in range(RUNS)
    ]
    return np.array([[float(word) for word in run.stdout.split()] for run in runs]).min(axis=0)


def main() -> None:
    scans = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "track.square")
        script = WRITE.format(scans=scans, path=str(path))
        subprocess.run([sys.executable, "-c", script], check=True)
        floor = measured(FLOOR.format(path=str(path)))
        ours = measured(OURS.format(path=str(path)))
        size = path.stat().st_size
    arrays = scans * 8 * (1 + 3 + 4 + 36)
    print(f"{scans:,} scans, {size / 1e6:.0f} MB of text, arrays {arrays / 1e6:.0f} MB")
    print(
        f"polars alone   {floor[0]:.2f} s wall  {floor[1]:.2f} s CPU  {floor[2] / 1e6:.0f} MB peak"
    )
    print(f"smfeval.read   {ours[0]:.2f} s wall  {ours[1]:.2f} s CPU  {ours[2] / 1e6:.0f} MB peak")
    print(f"ratio          {ours[0] / floor[0]:.2f} wall  {ours[1] / floor[1]:.2f} CPU (goal 1.5)")
    print(f"peak memory    {ours[2] / arrays:.2f} times the arrays (goal 3)")


if __name__ == "__main__":
    main()
