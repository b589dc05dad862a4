"""A study against a bare loop over read and evaluate, and on two processes against one.

    python benchmarks/study.py [tasks [scans]]

2,000 tasks of 3,000 scans by default (4 GB of files in the temporary folder); `run.py` has a small
one. Goals: two processes at least 1.8 times as fast as one, one at most 15 % slower than the bare
loop, and no memory in the process that waits but for the results themselves, whatever the scans. On
a machine that does other work, believe the CPU seconds.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from suite.files import made, script

TASKS, SCANS = 2_000, 3_000
SPEED_UP, OVERHEAD = 1.8, 15


@dataclass(frozen=True)
class Cost:
    """What a run took: CPU of all its processes, seconds on the clock, and the peak of its own."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def measured(folder: Path, count: int, how: str) -> Cost:
    """The cost of one run in a fresh process, whose peak begins with that of this small one."""
    words = [sys.executable, script("our_study"), str(folder), str(count), how]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return Cost(**json.loads(done.stdout))


def report(folder: Path, count: int, scans: int) -> None:
    measured(folder, count, "make")
    loop, single, double, again = (
        measured(folder, count, how) for how in ("bare", "one", "two", "known")
    )
    quarter = measured(folder, count // 4, "two")
    print(f"{count:,} tasks of {scans:,} scans")
    for name, cost in {"bare loop": loop, "one process": single, "two processes": double}.items():
        print(
            f"  {name:14} {cost.wall_s:8.1f} s {cost.cpu_s:8.1f} s CPU"
            f" {1e3 * cost.cpu_s / count:7.1f} ms CPU a task {cost.peak_mb:6.0f} MB"
        )
    print(f"  known already  {again.wall_s:8.1f} s {1e3 * again.wall_s / count:28.2f} ms a task")
    speed, extra = single.wall_s / double.wall_s, 100 * (single.cpu_s / loop.cpu_s - 1)
    work = 100 * (double.cpu_s / single.cpu_s - 1)
    further_kb = 1e3 * (double.peak_mb - quarter.peak_mb) / (count - count // 4)
    print(f"  two against one: {speed:.2f} times as fast (goal {SPEED_UP}), CPU {work:+.1f} %")
    print(f"  one against the bare loop: CPU {extra:+.1f} % (goal at most {OVERHEAD})")
    print(
        f"  memory of the process that waits: {quarter.peak_mb:.0f} MB for {count // 4:,} tasks, "
        f"{double.peak_mb:.0f} MB for {count:,}: {further_kb:.1f} kB for each further result"
    )


def main() -> None:
    given = [int(float(word)) for word in sys.argv[1:]]
    count, scans = (*given, *(TASKS, SCANS)[len(given) :])
    with tempfile.TemporaryDirectory() as folder:
        report(made(scans, Path(folder)).folder, count, scans)


if __name__ == "__main__":
    main()
