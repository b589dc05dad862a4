"""Ctrl-C and a polite end, while processes start and run: silence, and nothing left behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
