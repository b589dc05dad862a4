"""A study against a bare loop over read and evaluate, and on two processes against one.

    python benchmarks/study.py [tasks [scans]]

2,000 tasks of 3,000 scans by default (4 GB of files in the temporary folder). Goals: two processes
at least 1.8 times as fast as one, one at most 15 % slower than the bare loop, and no memory in the
process that waits but for the results themselves, whatever the scans. On a machine that does other
work, believe the CPU seconds.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
os.environ.setdefault("POLARS_MAX_THREADS", "1")  # as the workers of a study do

import numpy as np

from smfeval import evaluate, read, write
from smfeval.studies.plan import Plan
from smfeval.studies.run import run_tasks
from smfeval.studies.task import Input, Task

TASKS, SCANS = 2_000, 3_000
ESTIMATORS = 10  # that share each reference
SPEED_UP, OVERHEAD = 1.8, 15


@dataclass(frozen=True)
class Cost:
    """What a run took: seconds on the clock and of all its processes, and the peak of its own."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def make(folder: Path, tasks: int, scans: int) -> None:
    """Files of all tasks; every estimate differs from every other in a comment at its head."""
    from work.tracks import beliefs  # noqa: PLC0415  the processes that are measured need it not

    belief, _, walk = beliefs(scans, np.random.default_rng(0))
    write(belief, folder / "est.square")
    write(walk, folder / "ref.tum")
    estimate, reference = (folder / "est.square").read_bytes(), (folder / "ref.tum").read_bytes()
    for number in range(tasks):
        (folder / f"{number}.square").write_bytes(b"# %d\n" % number + estimate)
    for number in range(-(-tasks // ESTIMATORS)):
        (folder / f"{number}.tum").write_bytes(b"# %d\n" % number + reference)


def tasks_in(folder: Path, plan: Plan, count: int) -> list[Task]:
    body = (("body", "imu"),)
    return [
        Task(
            f"estimator {number % ESTIMATORS}",
            "made",
            f"track {number // ESTIMATORS}",
            0,
            Input(str(folder / f"{number}.square")),
            Input(str(folder / f"{number // ESTIMATORS}.tum"), body),
            None,
            plan.options,
        )
        for number in range(count)
    ]


def bare(tasks: list[Task]) -> None:
    """What a user would write."""
    for task in tasks:
        estimate, reference = (read(each.source, **dict(each.reading)) for each in _both(task))
        evaluate(estimate, reference, options=task.options)


def _both(task: Task) -> tuple[Input, Input]:
    return task.estimate, task.reference


def one(folder: Path, count: int, workers: int, *, fresh: bool) -> None:
    """Do one run in this process and print its cost; no workers: the bare loop."""
    plan = Plan("made", folder, (), (), folder / "out")
    tasks = tasks_in(folder, plan, count)
    start = time.perf_counter()
    if workers:
        run_tasks(plan, tasks, workers=workers, fresh=fresh)
    else:
        bare(tasks)
    wall_s = time.perf_counter() - start
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cpu_s = sum(each.ru_utime + each.ru_stime for each in (own, children))
    print(json.dumps([wall_s, cpu_s, own.ru_maxrss / 1e3]))


def measured(folder: Path, count: int, workers: int, *, fresh: bool = True) -> Cost:
    """The cost of one run in a fresh process."""
    words = [sys.executable, __file__, "one", folder, count, workers, int(fresh)]
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return Cost(*json.loads(done.stdout))


def report(folder: Path, count: int, scans: int) -> None:
    loop, single, double = (measured(folder, count, workers) for workers in (0, 1, 2))
    again = measured(folder, count, 1, fresh=False)
    quarter = measured(folder, count // 4, 2)
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
    if sys.argv[1:2] == ["one"]:
        _, _, folder, count, workers, fresh = sys.argv
        one(Path(folder), int(count), int(workers), fresh=fresh == "1")
        return
    if sys.argv[1:2] == ["make"]:
        _, _, folder, count, scans = sys.argv
        make(Path(folder), int(count), int(scans))
        return
    given = [int(float(word)) for word in sys.argv[1:]]
    count, scans = (*given, *(TASKS, SCANS)[len(given) :])
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: this one stays small, for a child's peak begins with its parent's
        words = [sys.executable, __file__, "make", folder, str(count), str(scans)]
        subprocess.run(words, check=True)
        report(Path(folder), count, scans)


if __name__ == "__main__":
    main()
