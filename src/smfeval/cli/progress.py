"""How far a study is: a bar on a terminal, a line a minute elsewhere."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from smfeval import words
from smfeval.studies.run import Progress

LINE_EVERY_S = 60.0
LINES_FOR_RATE = 5  # the rate is that of the last lines: known results come faster than others


@contextmanager
def study_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Listen to a study; quiet, nothing is said but on a terminal."""
    if sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    elif quiet:
        yield lambda done, failed, total: None
    else:
        yield ProgressLines(lambda line: print(f"smfeval: {line}", file=sys.stderr, flush=True))


class ProgressLines:
    """A line where a minute has passed since the last, with the time that is left.

    That is the number of runs that are left over the rate of the last five lines.
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


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console  # noqa: PLC0415  only on a terminal
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", failed=0)
        yield lambda done, failed, total: bar.update(
            task, completed=done, total=total, failed=failed
        )
