"""The same study on a Dask cluster: a real scheduler, real workers, and one of them is killed."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from smfeval.errors import OptionError
from smfeval.studies import workers
from smfeval.studies.cache import Cache
from smfeval.studies.run import run_tasks
from smfeval.studies.workers import PROCESS_DIED, run_on_cluster
from support.study_plans import deadly, files_below, pairs_of, quick, reading, tasks_of

TESTS = str(Path(__file__).parents[1])
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")


@contextmanager
def started(name: str, ready: str, *words: str, **variables: str):
    """A command of Dask in a process of its own, once it says that it is ready; ended with us."""
    command = [sys.executable, "-m", f"distributed.cli.{name}", *words, "--no-dashboard"]
    path = os.pathsep.join(filter(None, (TESTS, os.environ.get("PYTHONPATH"))))
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": path} | variables
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as running:
        try:
            told = list(_until(ready, running.stderr))
            yield running, told[-1].split()[-1]
        finally:
            running.terminate() if "--nanny" in words else running.kill()


def _until(words: str, lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if words in line:
            return
    pytest.fail(f"no {words!r} from Dask")


@contextmanager
def scheduler(**variables: str):
    where = ("--host", "127.0.0.1", "--port", "0")
    with started("dask_scheduler", "Scheduler at:", *where, **variables) as (_, address):
        yield address


@contextmanager
def worker(address: str, nanny: str = "--no-nanny"):
    words = (address, "--nthreads", "1", nanny, "--host", "127.0.0.1")
    with started("dask_worker", "Registered to:", *words) as (running, _):
        yield running


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_writes_what_one_process_writes(tmp_path):
    plan = quick(tmp_path, tracks=20)
    tasks, pairs = tasks_of(plan), pairs_of(plan)
    tasks[5] = reading(tasks[5], tmp_path / "gone.square")
    alone = run_tasks(replace(plan, output=tmp_path / "alone"), tasks, pairs, workers=1)

    with scheduler() as address, worker(address) as first, worker(address) as second:
        killed = []

        def kill_in_the_middle(done: int, failed: int, total: int) -> None:
            if done >= total // 4 and not killed:
                killed.append((done, total))
                first.kill()

        ran = run_tasks(plan, tasks, pairs, scheduler=address, progress=kill_in_the_middle)
        assert first.wait(10) == -9
        assert second.poll() is None
    assert killed[0][0] < killed[0][1] / 2
    assert (ran.results, ran.pair_results) == (alone.results, alone.pair_results)
    assert [each.failure is None for each in ran.results].count(False) == 1
    written, expected = files_below(plan.output), files_below(tmp_path / "alone")
    assert len(expected) == 2 + 39
    assert written == expected


def test_without_dask_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    plan = quick(tmp_path, tracks=1)
    with pytest.raises(OptionError, match=r'pip install "\.\[cluster\]" in the checkout'):
        run_tasks(plan, tasks_of(plan), scheduler="tcp://127.0.0.1:1")


def test_a_scheduler_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT_TIMEOUT_S", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()  # and says nothing
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        plan = quick(tmp_path, tracks=1)
        with pytest.raises(OptionError, match=f"{address}: no scheduler answers there"):
            run_tasks(plan, tasks_of(plan), scheduler=address)


@pytest.mark.parametrize(
    "address",
    [
        *("", "junk", "127.0.0.1:8786", "nonsense://x:1", "tcp://", "tcp://x", "tcp://x:port"),
        *("tcp://x:99999", "tcp://[::1:1", "tcp://:8786"),
    ],
)
def test_an_address_that_is_none_is_refused_before_dask_hears_of_it(address, tmp_path, monkeypatch):
    monkeypatch.setattr("distributed.Client", None)  # whoever calls it fails
    plan = quick(tmp_path, tracks=1)
    with pytest.raises(OptionError, match="is no address of a scheduler; write for example tcp://"):
        run_tasks(plan, tasks_of(plan), scheduler=address)


def test_nobody_at_an_address_is_told_before_dask_hears_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr("distributed.Client", None)
    monkeypatch.setattr(workers, "CONNECT_TIMEOUT_S", 0.5)
    plan = quick(tmp_path, tracks=1)
    for address in ("tcp://127.0.0.1:1", "tls://no-such-host.invalid:8786"):
        with pytest.raises(OptionError, match=f"{address}: no scheduler answers there"):
            run_tasks(plan, tasks_of(plan), scheduler=address)


def test_a_scheduler_without_workers_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "ANSWER_TIMEOUT_S", 1)
    plan = quick(tmp_path, tracks=1)
    with scheduler() as address, pytest.raises(OptionError, match="has no workers"):
        run_tasks(plan, tasks_of(plan), scheduler=address)


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_told_and_what_is_done_is_kept(tmp_path):
    plan = quick(tmp_path, tracks=20)
    where = ("--host", "127.0.0.1", "--port", "0")
    with started("dask_scheduler", "Scheduler at:", *where) as (running, address):

        def lose(done: int, failed: int, total: int) -> None:
            if done == 3:
                running.kill()

        with worker(address), pytest.raises(OptionError, match="run again"):
            run_tasks(plan, tasks_of(plan), scheduler=address, progress=lose)
    assert run_tasks(plan, tasks_of(plan), workers=1).cached >= 3


@pytest.mark.slow
def test_a_task_that_kills_its_workers_fails_alone(tmp_path):
    tasks = tasks_of(quick(tmp_path, tracks=4, scans=50))[::2]
    step = partial(deadly, cache=Cache(tmp_path), victims=("01",))
    first_death = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with scheduler(**first_death) as address, worker(address, "--nanny"):
        found = dict(run_on_cluster(step, tasks, scheduler=address))
    assert [found[i].result.failure for i in range(4)] == [None, PROCESS_DIED, None, None]
