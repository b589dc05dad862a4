"""How a cost grows with the scans, and whether a larger size is worth waiting for."""

from collections.abc import Mapping
from math import log

TINY = 100  # scans: the cost at this size is the start-up, which is no part of the growth
SEEN = 0.2  # costs beyond the start-up by less than this share of it are noise
LIMIT_S = 25.0  # what would take longer is not run
LIMIT_MEMORY = 0.5  # of the machine's
UPPER = 100  # the exponent is that of the largest sizes, within this factor


def net(costs: Mapping[int, float]) -> dict[int, float]:
    """Costs by scans beyond the start-up; sizes that cost hardly more than it are left out."""
    start = costs.get(TINY, 0.0)
    beyond = {n: cost - start for n, cost in sorted(costs.items()) if n > TINY}
    return {n: cost for n, cost in beyond.items() if cost > SEEN * start}


def exponent(costs: Mapping[int, float]) -> float | None:
    """Slope of log(cost - start-up) over log(scans) by least squares, over the largest sizes."""
    beyond = net(costs)
    points = [(log(n), log(cost)) for n, cost in beyond.items() if n * UPPER >= max(beyond)]
    if len(points) < 2:
        return None
    x_mean, y_mean = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / spread


def forecast(costs: Mapping[int, float], scans: int) -> float:
    """Cost at a larger size by the last two sizes: at least linear, at most quadratic."""
    beyond = net(costs)
    if not beyond:
        return 0.0
    *before, last = beyond
    steep = exponent({n: beyond[n] for n in (before[-1], last)}) if before else None
    power = min(max(steep or 1.0, 1.0), 2.0)
    return costs.get(TINY, 0.0) + beyond[last] * (scans / last) ** power


def too_much(
    cpu_s: Mapping[int, float], peak_mb: Mapping[int, float], scans: int, memory_mb: float
) -> str | None:
    """Why a command is not run at a size, by its cost at smaller ones, or None."""
    seconds, megabytes = forecast(cpu_s, scans), forecast(peak_mb, scans)
    if seconds > LIMIT_S:
        return f"about {duration(seconds)} by its growth; not run"
    if megabytes > LIMIT_MEMORY * memory_mb:
        return f"about {megabytes / 1e3:.0f} GB by its growth; not run"
    return None


def duration(seconds: float) -> str:
    """Seconds for people: 45 s, 7 min, 3 h."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
