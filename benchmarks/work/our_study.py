"""A study of one track under many names, or a loop over it. FOLDER TASKS HOW

FOLDER holds est.square and ref.tum. HOW is `bare`, a loop over `read` and `evaluate`; `one` or
`two` workers; `part`, the first of two; `parts`, both after each other, and the results gathered;
or `known`, the results of an earlier run. `make` makes the files only.
"""

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
os.environ.setdefault("POLARS_MAX_THREADS", "1")  # as the workers of a study do

from timing import tell

from smfeval import evaluate, read
from smfeval.maths.memory import keep_freed_memory
from smfeval.studies.find import StudyTasks
from smfeval.studies.plan import Plan
from smfeval.studies.run import StudyPart, run_part, run_tasks
from smfeval.studies.task import Input, Task
from smfeval.summarise.numbers import metrics

ESTIMATORS = 10  # that share each reference
HALVES = (StudyPart(1, 2), StudyPart(2, 2))


def make(folder: Path, count: int) -> Path:
    """Files of all tasks; every one differs from every other in a comment at its head."""
    made = folder / f"study{count}"
    if made.exists():
        return made
    made.mkdir()
    estimate, reference = (folder / "est.square").read_bytes(), (folder / "ref.tum").read_bytes()
    for number in range(count):
        (made / f"{number}.square").write_bytes(b"# %d\n" % number + estimate)
    for number in range(-(-count // ESTIMATORS)):
        (made / f"{number}.tum").write_bytes(b"# %d\n" % number + reference)
    return made


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
    """What a user would write for the same numbers and the same rows of scans."""
    for task in tasks:
        both = task.estimate, task.reference
        estimate, reference = (read(each.source, **dict(each.reading)) for each in both)
        found = evaluate(estimate, reference, options=task.options)
        for name in metrics():
            found.get(name)
        found.per_scan()


def in_parts(plan: Plan, tasks: list[Task], *parts: StudyPart) -> None:
    found = StudyTasks(tuple(tasks), (), ())
    for part in parts:
        run_part(plan, found, part, workers=1, fresh=True)


def cpu_s() -> float:
    """Of this process and those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(folder: Path, count: int, how: str) -> None:
    keep_freed_memory()  # as the command line does
    if how != "two":  # nor does the command line import it before its workers are forked
        import polars  # noqa: F401, PLC0415
    made = make(folder, count)
    plan = Plan("made", made, (), (), made / "out")
    tasks = tasks_in(made, plan, count)

    def both_parts() -> None:
        in_parts(plan, tasks, *HALVES)
        run_tasks(plan, tasks, workers=1)

    work: dict[str, Callable[[], object]] = {
        "bare": lambda: bare(tasks),
        "one": lambda: run_tasks(plan, tasks, workers=1, fresh=True),
        "two": lambda: run_tasks(plan, tasks, workers=2, fresh=True),
        "part": lambda: in_parts(plan, tasks, HALVES[0]),
        "parts": both_parts,
        "known": lambda: run_tasks(plan, tasks, workers=1),
        "make": lambda: None,
    }
    if how == "known":
        run_tasks(plan, tasks, workers=1)
    start, spent = time.perf_counter(), cpu_s()
    work[how]()
    wall_s = time.perf_counter() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    tell(cpu_s() - spent, wall_s=wall_s, peak_mb=peak_mb)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
