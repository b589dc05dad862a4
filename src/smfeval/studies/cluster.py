"""Tasks on a Dask cluster: the same step as in local processes, on whatever machines are there.

Workers read the inputs and write the cache themselves: the plan's files and its output folder lie
on a file system that all of them see under the same names. Only small results travel.
"""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from smfeval.errors import OptionError, SmfevalError
from smfeval.studies.cache import TaskOutcome, failed_result
from smfeval.studies.local import PROCESS_DIED, ResultStream, Step
from smfeval.studies.task import PairTask, Task

if TYPE_CHECKING:
    from distributed import Client

IN_FLIGHT = 1000  # tasks handed out: enough for hundreds of cores, little for the scheduler
ANSWER_TIMEOUT_S = 20  # for the scheduler to answer, and for a first worker
CONNECT_TIMEOUT_S = 5  # for anything to answer at its address
SCHEMES = ("tcp", "tls", "ws", "wss")  # of addresses that speak TCP below


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
            yield (
                index,
                again or TaskOutcome(failed_result(tasks[index], PROCESS_DIED), cached=False),
            )


def _stream_results(
    client: "Client", step: Step, waiting: Iterator[tuple[int, Task | PairTask]], scheduler: str
) -> Iterator[tuple[int, TaskOutcome | None]]:
    """Results as they come; None for a task that Dask gave up."""
    from distributed import as_completed  # noqa: PLC0415  slow to import

    running = dict(_submit(client, step, islice(waiting, IN_FLIGHT)))
    finished = as_completed(running, loop=client.loop)
    for future in finished:
        yield running.pop(future), _result(future, scheduler)
        for extra, index in _submit(client, step, islice(waiting, 1)):
            running[extra] = index
            finished.add(extra)


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
            f"{scheduler}: no scheduler answers there ({_first_line(error)})"
        ) from error
    with client:
        _refuse_without_workers(client, scheduler)
        yield client


def _check_address(scheduler: str) -> None:
    """Raise unless the address is one and something answers there; a scheduler speaks first.

    A client that was given less waits for ever, or cannot be ended in peace.
    """
    host, port = _parse_address(scheduler)
    try:
        with socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S) as line:
            if scheduler.startswith("tcp:"):
                line.recv(1)
    except OSError as error:
        raise OptionError(
            f"{scheduler}: no scheduler answers there ({_first_line(error)})"
        ) from error


def _parse_address(scheduler: str) -> tuple[str, int]:
    try:
        parts = urlsplit(scheduler)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, a bracket without its partner
        host = port = None
    if host is None or port is None or parts.scheme not in SCHEMES:
        raise OptionError(
            f"{scheduler!r} is no address of a scheduler; write for example tcp://127.0.0.1:8786"
        )
    return host, port


def _refuse_without_workers(client: "Client", scheduler: str) -> None:
    try:
        client.wait_for_workers(1, timeout=ANSWER_TIMEOUT_S)
    except TimeoutError as error:
        raise OptionError(f"{scheduler}: the scheduler has no workers") from error


def _submit(
    client: "Client", step: Step, some: Iterator[tuple[int, Task | PairTask]]
) -> Iterator[tuple[Any, int]]:
    """Hand out tasks; each counts as new, for its files may have changed."""
    for index, task in some:
        yield client.submit(step, task, pure=False), index


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
            f"{scheduler}: the cluster failed ({_first_line(error)}); what is done is kept, "
            "run again"
        ) from error
    return done


def _first_line(error: BaseException) -> str:
    """The first line of an error, or its kind."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__
