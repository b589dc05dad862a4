"""Who does the tasks of a study: this process, several of this machine, or a Dask cluster.

A task that kills its process fails; the rest goes on. Workers of a cluster read the inputs and
write the cache themselves: the plan's files and its output folder lie on a file system that all of
them see under the same names. Only small results travel.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from smfeval.errors import OptionError, SmfevalError, reason_of
from smfeval.io.atomic import forget_temporary_files, remove_temporary_files
from smfeval.maths.memory import keep_freed_memory
from smfeval.studies.task import PairTask, Task, TaskOutcome, failed_outcome

if TYPE_CHECKING:
    from distributed import Client

Step = Callable[[Task | PairTask], TaskOutcome]
# (index of the task, what came of it), in any order
ResultStream = Generator[tuple[int, TaskOutcome], None, None]
PROCESS_DIED = "the process that scored it died, twice (out of memory?)"

HAS_SIGMASK = hasattr(signal, "pthread_sigmask")  # not on Windows
DEFERRED = (signal.SIGINT, signal.SIGTERM)
HANG_UP = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
Given = TypeVar("Given")
IN_FLIGHT = 4  # tasks handed out per process: none waits, and memory does not grow with the plan
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")

IN_FLIGHT_ON_CLUSTER = 1000  # enough for hundreds of cores, little for the scheduler
ANSWER_TIMEOUT_S = 20  # for the scheduler to answer, and for a first worker
CONNECT_TIMEOUT_S = 5  # for anything to answer at its address
SCHEMES = ("tcp", "tls", "ws", "wss")  # of addresses that speak TCP below


def do_tasks(
    step: Step, tasks: Sequence[Task | PairTask], *, workers: int | None, scheduler: str | None
) -> ResultStream:
    """By the workers of a scheduler, or so many processes (None: one per core; 1: this one)."""
    if workers is not None and workers < 1:
        raise OptionError(f"{workers} workers do nothing; at least one is needed")
    if scheduler is not None:
        if workers is not None:
            raise OptionError("a scheduler has workers of its own; their number cannot be chosen")
        return run_on_cluster(step, tasks, scheduler=scheduler)
    count = min(workers or usable_cores(), len(tasks))
    if count > 1:
        return run_in_processes(step, tasks, workers=count)
    return ((index, step(task)) for index, task in enumerate(tasks))


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
        try:
            _submit(pool, os.getpid).result()
        except BrokenProcessPool as error:
            raise OptionError("processes cannot be started here; use one worker") from error
        for place, index in enumerate(suspects):
            try:
                yield index, _submit(pool, step, tasks[index]).result()
            except BrokenProcessPool:
                yield index, failed_outcome(tasks[index], PROCESS_DIED)
                return suspects[place + 1 :]
    return []


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
    """Processes with one thread each, which end with this one."""
    context = multiprocessing.get_context("fork" if _has_one_thread() else "spawn")
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    with terminate_as_interrupt():
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
        try:
            yield pool
        except (KeyboardInterrupt, GeneratorExit):  # nobody waits for the rest
            for process in list((pool._processes or {}).values()):  # noqa: SLF001  None once shut
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def _has_one_thread() -> bool:
    """Whether this process may be forked, which saves the 0.2 s of imports of each that is spawned.

    A fork copies the locks that other threads hold, but not those who would free them. Threads of
    libraries count, too (polars starts some when it is imported); only Linux tells how many.
    """
    threads = Path("/proc/self/task")
    return threads.is_dir() and len(list(threads.iterdir())) == 1


def _start_worker() -> None:
    """Let Ctrl-C end a worker at once and in silence, and the end of its parent, too.

    It leaves alone what its parent was writing when it was forked.
    """

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        remove_temporary_files()
        os._exit(1)

    forget_temporary_files()
    allow_interrupt()
    keep_freed_memory()
    threading.Thread(target=end_with_parent, daemon=True).start()


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Hear Ctrl-C and SIGTERM after the block only. A process that starts within it waits, too.

    It inherits the mask until `allow_interrupt`, and so imports what it needs in peace instead of
    telling where it was interrupted. The handler is for other threads of ours, which may catch the
    signal for us.
    """
    if not (HAS_SIGMASK and threading.current_thread() is threading.main_thread()):
        yield
        return
    heard: list[int] = []
    before = {
        each: signal.signal(each, lambda number, _: heard.append(number)) for each in DEFERRED
    }
    signal.pthread_sigmask(signal.SIG_BLOCK, DEFERRED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, DEFERRED)
        for each, handler in before.items():
            signal.signal(each, handler)
        if heard:
            signal.raise_signal(heard[0])


def allow_interrupt() -> None:
    """Let Ctrl-C (and SIGTERM) end this process at once and in silence, also one that came before.

    Nothing half-written stays. What `nohup` has us ignore stays ignored.
    """

    def end(number: int, frame: object) -> None:
        remove_temporary_files()
        os._exit(128 + number)

    for each in (*DEFERRED, *HANG_UP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, end)
    if HAS_SIGMASK:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, DEFERRED)


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


def run_on_cluster(step: Step, tasks: Sequence[Task | PairTask], *, scheduler: str) -> ResultStream:
    """By the workers of a scheduler. What a worker leaves undone when it dies, others do.

    Dask gives up on tasks that were often on workers that died. Those are done again at the end,
    one at a time, so that the guilty are told from bystanders.
    """
    with _client(scheduler) as client:
        suspects = []
        for index, done in _stream_results(client, step, enumerate(tasks), scheduler):
            if done is None:
                suspects.append(index)
            else:
                yield index, done
        for index in suspects:
            again = _result(client.submit(step, tasks[index], pure=False), scheduler)
            yield index, again or failed_outcome(tasks[index], PROCESS_DIED)


def _stream_results(
    client: "Client", step: Step, waiting: Iterator[tuple[int, Task | PairTask]], scheduler: str
) -> Iterator[tuple[int, TaskOutcome | None]]:
    """Results as they come; None for a task that Dask gave up."""
    from distributed import as_completed  # noqa: PLC0415  slow to import

    def submit(count: int) -> dict[Any, int]:  # each counts as new: its files may have changed
        return {client.submit(step, task, pure=False): i for i, task in islice(waiting, count)}

    running = submit(IN_FLIGHT_ON_CLUSTER)
    finished = as_completed(running, loop=client.loop)
    for future in finished:
        yield running.pop(future), _result(future, scheduler)
        more = submit(1)
        running |= more
        finished.update(more)


@contextmanager
def _client(scheduler: str) -> "Iterator[Client]":
    """A connection to a scheduler that has workers."""
    try:
        from distributed import Client  # noqa: PLC0415  an extra
    except ImportError as error:
        raise OptionError(
            'a cluster needs the extra cluster: pip install ".[cluster]" in the checkout'
        ) from error
    _check_address(scheduler)
    try:
        client = Client(scheduler, timeout=ANSWER_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"{scheduler}: no scheduler answers there ({reason_of(error)})"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=ANSWER_TIMEOUT_S)
        except TimeoutError as error:
            raise OptionError(f"{scheduler}: the scheduler has no workers") from error
        yield client


def _check_address(scheduler: str) -> None:
    """Raise unless the address is one and something answers there; a scheduler speaks first.

    A client that was given less waits for ever, or cannot be ended in peace.
    """
    try:
        parts = urlsplit(scheduler)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, a bracket without its partner
        host = port = None
    if host is None or port is None or parts.scheme not in SCHEMES:
        raise OptionError(
            f"{scheduler!r} is no address of a scheduler; write for example tcp://127.0.0.1:8786"
        )
    try:
        with socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S) as line:
            if scheduler.startswith("tcp:"):
                line.recv(1)
    except OSError as error:
        raise OptionError(
            f"{scheduler}: no scheduler answers there ({reason_of(error)})"
        ) from error


def _result(future: Any, scheduler: str) -> TaskOutcome | None:
    """What came of a task; None where the workers that had it died."""
    from distributed import KilledWorker  # noqa: PLC0415

    try:
        done: TaskOutcome = future.result()
    except SmfevalError:
        raise
    except KilledWorker:
        return None
    except Exception as error:
        raise OptionError(
            f"{scheduler}: the cluster failed ({reason_of(error)}); what is done is kept, run again"
        ) from error
    return done
