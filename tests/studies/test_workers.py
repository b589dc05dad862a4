"""Ctrl-C and SIGTERM, at any time: one line, and no process, trace or semaphore is left."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from smfeval.studies.workers import defer_interrupt, terminate_as_interrupt
from support.study_folders import PLAN, planned, simple

RUN = "from smfeval.cli.main import run; run()"
TRACKS = [f"t{i}" for i in range(40)]
KEPT = re.compile(
    r"smfeval: stopped; (\d+ of 80 runs kept; the same command goes on from there"
    r"|no file was written; the same command starts again)\n"
)


def workers_of(started: subprocess.Popen) -> list[psutil.Process]:
    children = psutil.Process(started.pid).children()
    return [each for each in children if "spawn_main" in " ".join(each.cmdline())]


@pytest.fixture
def started(tmp_path):
    """A study by two processes, of which at least one is being started; nobody else's group."""
    simple(tmp_path, tuple(TRACKS))
    planned(tmp_path, PLAN.replace('["one", "two"]', str(TRACKS)))
    words = [sys.executable, "-c", RUN, "study", "study.toml", "--workers", "2", "-q"]
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        end = time.monotonic() + 30
        while not workers_of(process):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.002)
        yield process


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
def test_a_study_that_is_stopped_says_one_line_and_leaves_no_process(how, whom, wait_s, started):
    time.sleep(wait_s)
    workers = workers_of(started)
    whom(started.pid, how)
    _, told = started.communicate(timeout=30)
    assert started.returncode == 130
    assert KEPT.fullmatch(told), told
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not alive


def test_an_interrupt_that_is_held_back_is_heard_after_the_block():
    gone_on = []

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        gone_on.append(True)

    with pytest.raises(KeyboardInterrupt), defer_interrupt():
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


def test_afterwards_signals_do_what_they_did_before():
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with defer_interrupt(), terminate_as_interrupt():
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


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
