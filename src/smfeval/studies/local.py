"""Tasks in processes of this machine. One that kills its process fails; the rest goes on."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from smfeval.errors import OptionError
from smfeval.io.atomic import remove_temporary_files
from smfeval.studies.cache import TaskOutcome, failed_result
from smfeval.studies.task import PairTask, Task

HAS_SIGMASK = hasattr(signal, "pthread_sigmask")  # not on Windows
Step = Callable[[Task | PairTask], TaskOutcome]
# (index of the task, what came of it), in any order
ResultStream = Generator[tuple[int, TaskOutcome], None, None]
Given = TypeVar("Given")
IN_FLIGHT = 4  # tasks handed out per process: none waits, and memory does not grow with the plan
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")
PROCESS_DIED = "the process that scored it died, twice (out of memory?)"


def run_here(step: Step, tasks: Sequence[Task | PairTask]) -> ResultStream:
    """One after the other, in this process."""
    return ((index, step(task)) for index, task in enumerate(tasks))


def run_in_processes(step: Step, tasks: Sequence[Task | PairTask], *, workers: int) -> ResultStream:
    """By several processes.

    If one dies, nobody knows of which task: those that were handed out are done again, one at a
    time, and the one that kills again has failed.
    """
    waiting = deque(range(len(tasks)))
    while waiting:
        suspects = yield from _run_until_broken(step, tasks, waiting, workers)
        while suspects:
            suspects = yield from _run_one_at_a_time(step, tasks, suspects)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_until_broken(
    step: Step, tasks: Sequence[Task | PairTask], waiting: deque[int], workers: int
) -> Generator[tuple[int, TaskOutcome], None, list[int]]:
    """Yield results until all are done or a process dies; returns tasks of unknown fate."""
    running: dict[Future[TaskOutcome], int] = {}
    with _pool(workers) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < IN_FLIGHT * workers:
                    running[_submit(pool, step, tasks[waiting[0]])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    done = future.result()
                    yield running.pop(future), done
            except BrokenProcessPool:
                return sorted(running.values())
    return []


def _run_one_at_a_time(
    step: Step, tasks: Sequence[Task | PairTask], suspects: list[int]
) -> Generator[tuple[int, TaskOutcome], None, list[int]]:
    """Yield results until a task kills its process, and its failure; returns those after it."""
    with _pool(1) as pool:
        _refuse_unless_alive(pool)
        for place, index in enumerate(suspects):
            try:
                yield index, _submit(pool, step, tasks[index]).result()
            except BrokenProcessPool:
                yield index, TaskOutcome(failed_result(tasks[index], PROCESS_DIED), cached=False)
                return suspects[place + 1 :]
    return []


def _refuse_unless_alive(pool: ProcessPoolExecutor) -> None:
    try:
        _submit(pool, os.getpid).result()
    except BrokenProcessPool as error:
        raise OptionError("processes cannot be started here; use one worker") from error


def _submit(pool: ProcessPoolExecutor, do: Callable[..., Given], *given: object) -> Future[Given]:
    """Hand out work, for which a process may be started."""
    with defer_interrupt(), _script_left_alone():
        return pool.submit(do, *given)


@contextmanager
def _script_left_alone() -> Iterator[None]:
    """Processes that start within the block do not run the user's script again.

    A spawned process does so to find what the script defines; tasks are made of our modules alone.
    """
    script = sys.modules["__main__"]
    spec, path = script.__spec__, script.__dict__.pop("__file__", None)
    script.__spec__ = None
    try:
        yield
    finally:
        script.__spec__ = spec
        if path is not None:
            script.__file__ = path


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes with one thread each, which end with this one.

    They are spawned: a fork would copy the locks of the threads that polars runs.
    """
    context = multiprocessing.get_context("spawn")
    with terminate_as_interrupt(), _environment(dict.fromkeys(THREAD_VARIABLES, "1")):
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
        try:
            yield pool
        except (KeyboardInterrupt, GeneratorExit):  # nobody waits for the rest
            for process in list(pool._processes.values()):  # noqa: SLF001  public from 3.14 on
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """Variables that processes started within the block will see."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _start_worker() -> None:
    """Let Ctrl-C end a worker at once and in silence, and the end of its parent, too."""
    allow_interrupt()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    remove_temporary_files()
    os._exit(1)


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Hear Ctrl-C after the block only. A process that starts within it waits for `hear`.

    It inherits the mask, and so imports what it needs in peace instead of telling where it was
    interrupted. The handler is for other threads of ours, which may catch the signal for us.
    """
    if not (HAS_SIGMASK and threading.current_thread() is threading.main_thread()):
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


def allow_interrupt() -> None:
    """Let Ctrl-C (and SIGTERM) end this process at once and in silence, also one that came before.

    Nothing half-written stays.
    """

    def end(number: int, frame: object) -> None:
        remove_temporary_files()
        os._exit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    if HAS_SIGMASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Take a request to end (SIGTERM) as Ctrl-C: what is open is closed, semaphores are freed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
