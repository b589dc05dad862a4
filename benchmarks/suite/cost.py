"""CPU seconds and peak memory of commands, run in turns so that a busy machine hurts all alike.

Noise only adds: of several runs the cheapest counts. The process that measures stays small, for
Linux counts its memory at the start of a child as the child's own.
"""

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

BUDGET_S = 8.0  # a command is run again until its runs have cost this much
ROUNDS = 5  # at most
INSIDE_ROUNDS = 2  # at most, of a script that takes the best of several times itself
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Command:
    """A command line; `inside`: a script that prints the CPU seconds of its work alone, as JSON.

    Such a script may tell `wall_s` too. `proof` is the same work with all digits, run once and not
    measured. `writes` is a file that the command leaves, whose size is told.
    """

    name: str
    words: tuple[str, ...]
    inside: bool = False
    proof: tuple[str, ...] | None = None
    writes: str | None = None


@dataclass(frozen=True)
class Cost:
    """What the cheapest of some runs took; None: it was not told."""

    cpu_s: float
    peak_mb: float
    runs: int = 1
    wall_s: float | None = None
    written_mb: float | None = None


@dataclass(frozen=True)
class Run:
    """Cost of a command and what it printed."""

    cost: Cost
    out: str
    spent_s: float  # of the whole process


def environment(home: Path) -> dict[str, str]:
    """No settings of the user, no figures in windows, and no threads of BLAS that wait and spin.

    Modules may be compiled once and kept, as an installation has them.
    """
    left_out = ("XDG_", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")  # peers have names like ours
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    return kept | dict.fromkeys(ONE_THREAD, "1") | {"HOME": str(home), "MPLBACKEND": "Agg"}


def measured(command: Command, home: Path) -> Run:
    """Run once; user and system seconds of the child, its time on the clock and peak memory."""
    with (home / "out").open("w+") as out, (home / "err").open("w+") as err:
        env, start = environment(home), time.perf_counter()
        child = subprocess.Popen(command.words, stdout=out, stderr=err, env=env, cwd=home)
        _, status, used = os.wait4(child.pid, 0)
        wall_s: float | None = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command.name}: {(home / 'err').read_text()[-500:]}")
    text = (home / "out").read_text()
    spent_s = used.ru_utime + used.ru_stime
    cpu_s = spent_s
    if command.inside:
        told = json.loads(text)
        cpu_s, wall_s = told["cpu_s"], told.get("wall_s")
    written_mb = Path(command.writes).stat().st_size / 1e6 if command.writes else None
    cost = Cost(cpu_s, used.ru_maxrss / 1e3, wall_s=wall_s, written_mb=written_mb)
    return Run(cost, text, spent_s)


def proven(command: Command, run: Run, home: Path) -> Run:
    """The run with the digits of its proof, if there is one."""
    if command.proof is None:
        return run
    return replace(run, out=measured(Command(command.name, command.proof), home).out)


def in_turns(commands: Sequence[Command], home: Path) -> Mapping[str, Run]:
    """The cheapest run of each command: A B C, A B C, ... until each has used its budget."""
    runs: dict[str, list[Run]] = {command.name: [] for command in commands}
    for _ in range(ROUNDS):
        for command in commands:
            if again(command, runs[command.name]):
                runs[command.name].append(measured(command, home))
    return {
        command.name: proven(command, _cheapest(runs[command.name]), home) for command in commands
    }


def again(command: Command, done: Sequence[Run]) -> bool:
    """Whether a command has a run left."""
    most = INSIDE_ROUNDS if command.inside else ROUNDS
    return len(done) < most and sum(run.spent_s for run in done) < BUDGET_S


def _cheapest(runs: Sequence[Run]) -> Run:
    best = min(runs, key=lambda run: run.cost.cpu_s)
    wall_s = min((run.cost.wall_s for run in runs if run.cost.wall_s is not None), default=None)
    return replace(best, cost=replace(best.cost, runs=len(runs), wall_s=wall_s))
