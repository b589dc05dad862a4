"""How far a command is: a bar on a terminal, and of a study a line a minute elsewhere."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from smfeval import words
from smfeval.io.progress import listening

LINE_EVERY_S, DRAWN_EVERY_S = 60.0, 0.1
LINES_FOR_RATE = 5  # the rate is that of the last lines: known results come faster than others

# Runs that are kept, and all, of a command that goes on when it is run again: for Ctrl-C.
KEPT_RUNS: list[int] = []
StudyHearer = Callable[[int, int, int], None]  # hears: done, failed, total


@contextmanager
def progress(title: str) -> Iterator[None]:
    """A bar of what is reported by `io.progress` inside the block; none but on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415  only on a terminal
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        with listening(lambda done, total: bar.update(task, completed=done, total=total)):
            yield


@contextmanager
def study_progress(*, quiet: bool = False) -> Iterator[StudyHearer]:
    """Listen to a study or a sweep; quiet, nothing is said but on a terminal."""
    with _study_hearer(quiet=quiet) as hear:

        def note_and_hear(done: int, failed: int, total: int) -> None:
            KEPT_RUNS[:] = [done - failed, total]
            hear(done, failed, total)

        yield note_and_hear


@contextmanager
def _study_hearer(*, quiet: bool) -> Iterator[StudyHearer]:
    if not sys.stderr.isatty():
        if quiet:
            yield lambda done, failed, total: None
        else:
            yield ProgressLines(lambda line: print(f"smfeval: {line}", file=sys.stderr, flush=True))
        return
    from rich import progress as rich  # noqa: PLC0415  only on a terminal
    from rich.console import Console  # noqa: PLC0415

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[failed]} failed"),
        rich.TimeRemainingColumn(),
    )
    # Drawn as runs end, not by a thread of its own, with which no worker could be forked.
    console, drawn = Console(stderr=True), [0.0]
    with rich.Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("runs", failed=0)

        def hear(done: int, failed: int, total: int) -> None:
            due = done == total or monotonic() - drawn[0] >= DRAWN_EVERY_S
            drawn[0] = monotonic() if due else drawn[0]
            bar.update(task, completed=done, total=total, failed=failed, refresh=due)

        yield hear


class ProgressLines:
    """A line where a minute has passed since the last, with the time that is left.

    It is the number of runs that are left over the rate of the last five lines.
    """

    def __init__(self, say: Callable[[str], None], *, clock: Callable[[], float] = monotonic):
        self._say, self._clock = say, clock
        self._lines: deque[tuple[float, int]] = deque(maxlen=LINES_FOR_RATE + 1)

    def __call__(self, done: int, failed: int, total: int) -> None:
        """Hear of a run that has ended."""
        now = self._clock()
        if not self._lines:
            self._lines.append((now, done))
        if now - self._lines[-1][0] < LINE_EVERY_S or done == total:
            return
        self._lines.append((now, done))
        (before, had), rest = self._lines[0], total - done
        left = words.waiting_time((now - before) / (done - had) * rest)
        of = words.count_of(done, total, "run")
        self._say(f"{of} and pairs, {words.count(failed)} failed, about {left} left")
