"""What work costs, measured so that a busy machine gives the same answer.

Lines and bytes are counted. Times are ratios: the least processor time of some rounds over that of
a floor, work of the same kind that numpy or polars does in one go, both measured in turn.
"""

import gc
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable

Work = Callable[[], object]


def hottest_line(make: Callable[[int], Work], n: int) -> tuple[float, str]:
    """How often does the line of Python that grows fastest run for each further scan?

    A line in a loop over scans runs once per scan or more often, one in a loop over chunks of scans
    runs hardly at all.
    """
    few, many = (_line_counts(make(size)) for size in (n, 4 * n))
    line, count = max((many - few).items(), key=lambda item: item[1], default=("no line", 0))
    return count / (3 * n), line


def _line_counts(work: Work) -> Counter[str]:
    """How often does each line run, once all is imported that the work needs?"""
    work()
    count: Counter[tuple[str, int]] = Counter()

    def trace(frame, event, _):
        if event == "line":
            count[frame.f_code.co_filename, frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return Counter({f"{name}:{line}": times for (name, line), times in count.items()})


def peak_bytes(work: Work) -> int:
    """Most bytes, of Python and of numpy, that the work holds at one time beyond what was there."""
    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def times_the_floor(
    work: Work, floor: Work, *, bound: float = 0.0, rounds: tuple[int, int] = (3, 30)
) -> float:
    """Processor time of the work over that of its floor, done in turn, each at its fastest.

    Measured until it is below the bound, at least and at most so many rounds: what other processes
    add to single rounds does not last, what the work itself costs does.
    """
    least, most = rounds
    _seconds(work, floor)
    times = [_seconds(work, floor) for _ in range(least)]
    while _ratio(times) >= bound and len(times) < most:
        times.append(_seconds(work, floor))
    return _ratio(times)


def _ratio(times: list[tuple[float, float]]) -> float:
    of_work, of_floor = (min(column) for column in zip(*times, strict=True))
    return of_work / of_floor


def _seconds(work: Work, floor: Work) -> tuple[float, float]:
    start = time.process_time()
    work()
    middle = time.process_time()
    floor()
    return middle - start, time.process_time() - middle
