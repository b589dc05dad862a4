"""What figures are drawn from: evaluations that are checked, and series thinned for drawing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.evaluation.result import ScoredScans
from smfeval.maths.arrays import Bools, Floats, Ints, gap_mask
from smfeval.maths.dependence import wanders
from smfeval.maths.stamps import NANOSECONDS
from smfeval.score import Residuals
from smfeval.score.pit import honest_median, relative_nees
from smfeval.summarise.number import Number
from smfeval.summarise.quantities import coverage_numbers

Evaluations = Evaluation | Sequence[Evaluation]
PIXEL_COLUMNS = 2100  # pixels of a wide figure at 300 dpi
MIN_SCANS = 2  # a line needs two ends
# Okabe and Ito (2008), without the yellow that vanishes on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


def evaluation_list(evaluations: Evaluations) -> list[Evaluation]:
    """One evaluation or several as a list, each with scans enough for a line."""
    found = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    if not found:
        raise SeriesError("there is no evaluation to draw")
    for each in found:
        scans = len(each.position.residuals)
        if scans < MIN_SCANS:
            raise SeriesError(f"{estimate_name(each)}: {scans} scored scan makes no line to draw")
    return found


def numbered_beliefs(evaluations: Evaluations) -> dict[int, Evaluation]:
    """Those that report uncertainty, by their place among all, which decides their colour."""
    found = evaluation_list(evaluations)
    kept = {at: each for at, each in enumerate(found) if each.position.has_belief}
    if not kept:
        why = "reports no uncertainty, so there is none to draw its errors against"
        raise SeriesError(f"{estimate_name(found[0])} {why}")
    return kept


def single_belief(evaluation: Evaluation) -> Evaluation:
    """The one evaluation of a figure, of an estimate that reports uncertainty."""
    (found,) = numbered_beliefs(evaluation).values()
    return found


def estimate_name(evaluation: Evaluation) -> str:
    """What the estimate is called in a message."""
    return evaluation.estimate.provenance.name


def origin_ns(evaluations: Sequence[Evaluation]) -> int:
    """The earliest scored stamp: zero of the time axis."""
    return min(int(each.position.estimate.stamp[0]) for each in evaluations)


def sigma(residuals: Residuals) -> Floats:
    """Reported sigma of the error: sqrt(tr S), the RMS of |e| if consistent. (n,) m or rad.

    S is what the belief predicts for the reference, S + S_ref. A sigma per axis, sqrt(tr S / d),
    would set a length in d dimensions against the spread of one of them.
    """
    return np.sqrt(np.trace(residuals.predicted_covariance, axis1=1, axis2=2))


def nees_ratio(scored: ScoredScans) -> Floats:
    """NEES over the median that a consistent belief has: k is the median of it. (n,)."""
    return scored.series["nees"] / honest_median(scored.residuals)


def check_positive(values: Sequence[float] | Floats, what: str) -> Floats:
    """Numbers that a logarithmic axis can show."""
    found = np.asarray(values, dtype=np.float64)
    if found.size == 0:
        raise SeriesError(f"there is no {what} to draw")
    bad = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if len(bad):
        value = f"{what} {words.exact(found.flat[bad[0]])} (number {bad[0] + 1})"
        raise SeriesError(f"{value} has no logarithm to draw")
    return found


def thin_scans(stamp: Ints, *series: Floats, columns: int = PIXEL_COLUMNS) -> Ints:
    """Scans to draw, ascending; all of them where they are few. (n,), (n,)... -> (kept,)."""
    n, span = len(stamp), int(stamp[-1] - stamp[0])
    if n <= 4 * columns:
        return np.arange(n)
    column = np.minimum((stamp - stamp[0]) / span * columns, columns - 1).astype(np.int64)
    start = np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1])
    last = np.concatenate([start[1:] - 1, [n - 1]])
    before = np.flatnonzero(gap_mask(stamp))

    kept = [start, last, before, before + 1]
    for values in series:
        kept += [_first_minimum(values, start), _first_minimum(-values, start)]
    return np.unique(np.concatenate(kept))


def _first_minimum(values: Floats, start: Ints) -> Ints:
    """Index of the first least value of each run that begins at `start`. (n,), (c,) -> (c,)."""
    least = np.repeat(np.minimum.reduceat(values, start), np.diff(start, append=len(values)))
    hit = np.flatnonzero(values == least)
    return hit[np.searchsorted(hit, start)]


VISIBLE_GAP = 0.005  # part of the time axis: a shorter gap is narrower than the line
TIME_BINS = 150  # of a figure one column wide, each as wide as a line is thick


def breaks(stamp: Ints) -> Bools:
    """Whether a line breaks before the next scan: at gaps that can be seen. (n,) -> (n - 1,)."""
    return gap_mask(stamp) & (np.diff(stamp) > VISIBLE_GAP * (stamp[-1] - stamp[0]))


def polyline(stamp: Ints, *series: Floats) -> list[Floats]:
    """The series, thinned, with NaN in each gap. (drawn,) each."""
    kept = thin_scans(stamp, *series)
    broken = np.concatenate([[0], np.cumsum(breaks(stamp))])[kept]
    at = np.flatnonzero(np.diff(broken)) + 1
    return [np.insert(values[kept], at, np.nan) for values in series]


def time_series(stamp: Ints, *series: Floats, origin_ns: int | None = None) -> list[Floats]:
    """Seconds since the origin, and least, median and greatest value of each series. (m,), (3, m).

    Each scan stands for itself where they are few; many are drawn by the median and the range of
    each of TIME_BINS bins. NaN where the line breaks.
    """
    bins, broken = np.arange(len(stamp)), np.concatenate([[0], np.cumsum(breaks(stamp))])
    if len(stamp) > 2 * TIME_BINS:
        bins = (stamp - stamp[0]) // ((stamp[-1] - stamp[0]) // TIME_BINS + 1)
    start = np.concatenate([[0], np.flatnonzero(np.diff(bins) | np.diff(broken)) + 1])
    count = np.diff(start, append=len(stamp))
    last, own = start + count - 1, np.repeat(np.arange(len(start)), count)

    since = (stamp - (stamp[0] if origin_ns is None else origin_ns)) / NANOSECONDS
    time, at = 0.5 * (since[start] + since[last]), np.flatnonzero(np.diff(broken[start])) + 1
    drawn = [np.insert(time, at, 0.5 * (time[at - 1] + time[at]))]
    for values in series:
        ordered = values[np.lexsort((values, own))]
        middle = 0.5 * (ordered[start + (count - 1) // 2] + ordered[start + count // 2])
        curve = np.stack([ordered[start], middle, ordered[last]])
        drawn.append(np.insert(curve, at, np.nan, axis=1))
    return drawn


def stretch_index(stamp: Ints) -> Ints:
    """Number of the gapless stretch that each scan belongs to. (n,)."""
    return np.concatenate([[0], np.cumsum(gap_mask(stamp))])


WINDOWS = 150  # of rolling quantiles


def rolling_quantiles(
    stamp: Ints, value: Floats, quantiles: Sequence[float], *, windows: int = WINDOWS
) -> tuple[Floats, Floats]:
    """Quantiles over a window that moves in thirds. (n,), (n,), (q,) -> (windows,), (q, windows).

    The first are seconds: the middles of the windows. NaN where no scan is in the middle third.
    """
    edges = np.linspace(stamp[0], stamp[-1], windows + 1)
    first = np.searchsorted(stamp, edges)
    first[-1] = len(stamp)
    found = np.full((len(quantiles), windows), np.nan)
    for at in np.flatnonzero(np.diff(first)).tolist():
        inside = value[first[max(at - 1, 0)] : first[min(at + 2, windows)]]
        found[:, at] = np.quantile(inside, quantiles)
    return 0.5 * (edges[:-1] + edges[1:]) / NANOSECONDS, found


LEVELS = np.linspace(0, 1, 41)[1:-1]  # of the coverage curve


@dataclass(frozen=True)
class CoverageCurve:
    """Share of scans inside the region of each of LEVELS, with the ends of its interval. (39,).

    The true coverage rises with the level, so the low end of a level holds for all above it, and
    the high end for all below. Where a level has no interval of its own (too few independent scans
    on its rarer side) it has these ends of the nearest levels that have one. NaN: none has.
    """

    share: Floats
    low: Floats
    high: Floats
    own: Bools  # levels whose interval is not that of their neighbours


def coverage_curve(evaluation: Evaluation) -> CoverageCurve:
    """Coverage at every level; no band has a hole."""
    found = empirical_coverages(evaluation, LEVELS.tolist())
    ends = [(np.nan, np.nan) if s.low is None or s.high is None else (s.low, s.high) for s in found]
    low, high = np.array(ends, dtype=np.float64).T
    missing = np.isnan(low)
    if not missing.all():
        low = _carry(low, first=0.0)
        high = _carry(high[::-1], first=1.0)[::-1]
    share = np.array([each.value for each in found])
    return CoverageCurve(share, low, high, ~missing)


def _carry(values: Floats, *, first: float) -> Floats:
    """Each NaN replaced by the last number before it, `first` where there is none. (n,)."""
    padded = np.concatenate([[first], values])
    last = np.maximum.accumulate(np.where(np.isnan(padded), 0, np.arange(len(padded))))
    return padded[last][1:]


def empirical_coverages(evaluation: Evaluation, levels: Iterable[float]) -> list[Number]:
    """Share of scans that the region of each level holds, with its interval."""
    scored = evaluation.position
    relative = relative_nees(scored.residuals, scored.series["nees"], scored.series["pit"])
    intervals = evaluation.options.intervals
    if wanders(scored.residuals.error):  # the numbers have no interval either
        intervals = replace(intervals, method=None)
    inside = [scored.series["pit"] <= level for level in levels]
    return coverage_numbers(inside, relative, intervals)
