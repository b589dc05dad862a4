"""Ctrl-C and SIGTERM, at any time: one line, and no process, trace or semaphore is left."""

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from smfeval.studies.workers import PROCESS_DIED, defer_interrupt, terminate_as_interrupt
from support.study_folders import PLAN, planned, simple
from support.study_plans import quick, tasks_of

RUN = "from smfeval.cli.main import run; run()"
SCRIPTS = {"fork": RUN, "spawn": f"import polars; {RUN}"}  # polars has threads
TRACKS = [f"t{i}" for i in range(120)]
KEPT = re.compile(
    r"smfeval: stopped; (\d+ of 240 runs kept; the same command goes on from there"
    r"|no file was written; the same command starts again)\n"
)


def workers_of(started: subprocess.Popen, start: str) -> list[psutil.Process]:
    """The children that do tasks; the other one, of spawned workers, keeps track of semaphores."""
    children = psutil.Process(started.pid).children()
    try:
        words = [" ".join(each.cmdline()) for each in children]
    except psutil.NoSuchProcess:  # a child has ended in the meantime
        return []
    mark = "spawn_main" if start == "spawn" else RUN
    return [each for each, of in zip(children, words, strict=True) if mark in of]


@pytest.fixture
def started(tmp_path, start):
    """A study by two processes, of which at least one is being started; nobody else's group."""
    simple(tmp_path, tuple(TRACKS))
    planned(tmp_path, PLAN.replace('["one", "two"]', str(TRACKS)))
    words = [sys.executable, "-c", SCRIPTS[start], "study", "study.toml", "--workers", "2", "-q"]
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        end = time.monotonic() + 30
        while not workers_of(process, start):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.002)
        yield process


@pytest.mark.parametrize("start", SCRIPTS)
@pytest.mark.parametrize(
    ("how", "whom", "wait_s"),
    [
        (signal.SIGINT, os.killpg, 0.1),  # as a terminal does: to all, while they import
        (signal.SIGTERM, os.kill, 0.1),
        pytest.param(signal.SIGINT, os.killpg, 0.0, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, os.killpg, 3.0, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, os.kill, 3.0, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, os.kill, 3.0, marks=pytest.mark.slow),
    ],
)
def test_a_study_that_is_stopped_says_one_line_and_leaves_no_process(
    how, whom, wait_s, start, started
):
    time.sleep(wait_s)
    workers = workers_of(started, start)
    whom(started.pid, how)
    _, told = started.communicate(timeout=30)
    assert started.returncode == 130
    assert KEPT.fullmatch(told), told
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_is_held_back_is_heard_after_the_block(number):
    gone_on = []

    def interrupt() -> None:
        os.kill(os.getpid(), number)
        gone_on.append(True)

    with pytest.raises(KeyboardInterrupt), terminate_as_interrupt(), defer_interrupt():
        interrupt()
    assert gone_on


def test_an_interrupt_that_another_thread_catches_is_heard_after_the_block():
    gone_on, stop = [], threading.Event()
    other = threading.Thread(target=stop.wait)  # does not hold it back
    other.start()

    def interrupt() -> None:
        signal.pthread_kill(other.ident, signal.SIGINT)
        time.sleep(0.05)
        gone_on.append(True)

    with pytest.raises(KeyboardInterrupt), defer_interrupt():
        interrupt()
    stop.set()
    other.join()
    assert gone_on


ALONE = """
import pickle, sys
from functools import partial
from pathlib import Path
sys.path.insert(0, {tests!r})
from smfeval.studies.cache import Cache
from smfeval.studies.workers import run_in_processes
from support.study_plans import deadly, start_of
tasks = pickle.loads(Path("tasks").read_bytes())
for step in (start_of, partial(deadly, cache=Cache(Path.cwd()), victims=("01",))):
    found = dict(run_in_processes(step, tasks, workers=2))
    print([found[at].result.failure for at in range(len(tasks))])
"""


@pytest.mark.parametrize("start", SCRIPTS)
def test_workers_are_forked_from_one_thread_alone_and_a_deadly_task_fails_alone(start, tmp_path):
    tasks = tasks_of(quick(tmp_path, tracks=3, scans=50))[::2]
    (tmp_path / "tasks").write_bytes(pickle.dumps(tasks))
    script = ALONE.format(tests=str(Path(__file__).parents[1]))
    before = SCRIPTS[start].removesuffix(RUN)
    done = subprocess.run(
        [sys.executable, "-c", before + script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # as the command line sets it
    )
    assert (done.returncode, done.stderr) == (0, "")
    name = f"{start.capitalize()}Process"
    assert done.stdout == f"{[name] * 3}\n{[None, PROCESS_DIED, None]}\n"


def test_afterwards_signals_do_what_they_did_before():
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with terminate_as_interrupt():
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        with defer_interrupt():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    assert not {signal.SIGINT, signal.SIGTERM} & signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_a_thread_that_may_set_no_handler_is_left_alone():
    failures = []

    def use() -> None:
        try:
            with defer_interrupt(), terminate_as_interrupt():
                pass
        except ValueError as error:
            failures.append(error)

    other = threading.Thread(target=use)
    other.start()
    other.join()
    assert failures == []
