"""Tasks in processes of this machine. One that kills its process fails; the rest goes on."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from sys import intern
from typing import TypeVar

from smfeval.errors import OptionError
from smfeval.study.cache import Done, failed
from smfeval.study.result import PairResult, TaskResult
from smfeval.study.task import PairTask, Task
from smfeval.summarise.number import Number

SIGMASK = hasattr(signal, "pthread_sigmask")  # not on Windows


@contextmanager
def held_back() -> Iterator[None]:
    """Hear Ctrl-C after the block only. A process that starts within it waits for `hear`.

    It inherits the mask, and so imports what it needs in peace instead of telling where it was
    interrupted. The handler is for other threads of ours, which may catch the signal for us.
    """
    if not (SIGMASK and threading.current_thread() is threading.main_thread()):
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


def hear() -> None:
    """Let Ctrl-C end this process at once and in silence, also one that came before."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if SIGMASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def ended_politely() -> Iterator[None]:
    """Take a request to end (SIGTERM) as Ctrl-C: what is open is closed, semaphores are freed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


Step = Callable[[Task | PairTask], Done]
Found = Generator[
    tuple[int, Done], None, None
]  # (index of the task, what came of it), in any order

Given = TypeVar("Given")

IN_FLIGHT = 4  # tasks handed out per process: none waits, and memory does not grow with the plan
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")
DIED = "the process that scored it died, twice (out of memory?)"


def here(step: Step, tasks: Sequence[Task | PairTask]) -> Found:
    """One after the other, in this process."""
    return ((index, step(task)) for index, task in enumerate(tasks))


def in_processes(step: Step, tasks: Sequence[Task | PairTask], *, workers: int) -> Found:
    """By several processes.

    If one dies, nobody knows of which task: those that were handed out are done again, one at a
    time, and the one that kills again has failed.
    """
    waiting = deque(range(len(tasks)))
    while waiting:
        suspects = yield from _until_broken(step, tasks, waiting, workers)
        while suspects:
            suspects = yield from _one_at_a_time(step, tasks, suspects)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _until_broken(
    step: Step, tasks: Sequence[Task | PairTask], waiting: deque[int], workers: int
) -> Generator[tuple[int, Done], None, list[int]]:
    """Yield results until all are done or a process dies; returns tasks of unknown fate."""
    running: dict[Future[Done], int] = {}
    with _pool(workers) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < IN_FLIGHT * workers:
                    running[_submitted(pool, step, tasks[waiting[0]])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    done = future.result()
                    yield running.pop(future), done
            except BrokenProcessPool:
                return sorted(running.values())
    return []


def _one_at_a_time(
    step: Step, tasks: Sequence[Task | PairTask], suspects: list[int]
) -> Generator[tuple[int, Done], None, list[int]]:
    """Yield results until a task kills its process, and its failure; returns those after it."""
    with _pool(1) as pool:
        _refuse_unless_alive(pool)
        for place, index in enumerate(suspects):
            try:
                yield index, _submitted(pool, step, tasks[index]).result()
            except BrokenProcessPool:
                yield index, Done(failed(tasks[index], DIED), cached=False)
                return suspects[place + 1 :]
    return []


def _refuse_unless_alive(pool: ProcessPoolExecutor) -> None:
    try:
        _submitted(pool, os.getpid).result()
    except BrokenProcessPool as error:
        raise OptionError(
            "processes cannot be started here; use one worker, or put the call under "
            "`if __name__ == '__main__':`"
        ) from error


def _submitted(
    pool: ProcessPoolExecutor, do: Callable[..., Given], *given: object
) -> Future[Given]:
    """Hand out work, for which a process may be started."""
    with held_back():
        return pool.submit(do, *given)


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes with one thread each, which end with this one.

    They are spawned: a fork would copy the locks of the threads that polars runs.
    """
    context = multiprocessing.get_context("spawn")
    with ended_politely(), _environment(dict.fromkeys(ONE_THREAD, "1")):
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)
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


def _begin() -> None:
    """Let Ctrl-C end a worker at once and in silence, and the end of its parent, too."""
    hear()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def lean_task(result: TaskResult, *, source: str) -> TaskResult:
    """The same result, with its source named so."""
    return TaskResult(
        estimator=intern(result.estimator),
        group=intern(result.group),
        track=intern(result.track),
        repeat=result.repeat,
        key=result.key,
        source=source,
        failure=_text(result.failure),
        scans=result.scans,
        scored=result.scored,
        verdict=_text(result.verdict),
        numbers=tuple((intern(name), _number(number)) for name, number in result.numbers),
        notes=tuple(map(intern, result.notes)),
    )


def lean_pair(result: PairResult) -> PairResult:
    """The same result."""
    return replace(
        result,
        a=intern(result.a),
        b=intern(result.b),
        group=intern(result.group),
        track=intern(result.track),
        verdict=_text(result.verdict),
        k_pair=None if result.k_pair is None else _number(result.k_pair),
        nees_median=None if result.nees_median is None else _number(result.nees_median),
    )


def _number(number: Number) -> Number:
    return replace(number, unit=intern(number.unit), reason=_text(number.reason))


def _text(text: str | None) -> str | None:
    return None if text is None else intern(text)
