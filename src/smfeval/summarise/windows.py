"""Windows of relative motion: which scans they join, and what their NEES says over a horizon.

Errors and claims of windows are those of `summarise.motion`. Windows that do not overlap are
independent where the joint covariance is implied. Where it is given, neighbours share the error of
a scan; if windows further apart are independent, the correlation of neighbours is at most 1/2 and
the mean NEES is worth at least two thirds of its degrees of freedom.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from smfeval.align.joint import SHORTEST_LAG, Joint, shortest_lag
from smfeval.align.nuisance import solve_shortest
from smfeval.dataclass import dataclass
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints, median_of
from smfeval.maths.normal_distance import energy_score
from smfeval.maths.special import chi_squared_quantile
from smfeval.summarise.number import Intervals, Number

FEWEST_WINDOWS = 12
FEWEST_SCANS_APART = SHORTEST_LAG  # between the ends of a window: files are rounded
TOLERANCE = 1.25  # a window of seconds or metres may be this many times as long as asked for
STILL = 0.03  # growth over a window, relative to the median, below which the body stood still
THIN = 1e-5  # a window whose covariance is flatter than this has no inverse worth the name
# A filter with weak absolute updates passes as a random walk while its variance P saturates,
# dP/dt = q - P^2/R. Its displacements then have (q + P^2/R) / (q - P^2/R) times the implied
# variance; the mean of that over a track times lo^2 is at most 1.003 for all q, R and starts that
# the growth gate lets pass (P at the end at least 5 times P at the start).
GUARD = 2
SPACE = 3  # components of a displacement or a rotation
SAMPLED = 2000  # scans from which windows are counted
MOST_OVERLAPPING = 20_000  # windows of a horizon that are scored: of longer tracks, evenly so many


@dataclass(frozen=True)
class Windows:
    """Relative motion over windows of one horizon, in body axes of each window's start.

    Attributes
    ----------
    horizon
        Scans from the first to the second of each pair.
    first, second
        Indices of scans (m,).
    error
        Truth minus estimate of the displacement, metres (m, 3); of rotations and poses as
        `summarise.motion` has them (m, d).
    covariance
        Claimed covariance of the error, or a bound of it (m, d, d).
    columns
        What is open between worlds, bodies and clocks, as it shows in the errors (m, d, q); None
        where nothing is, or it was fitted.
    fitted
        Freedoms fitted to these very windows.
    assumed
        Whether the covariance rests on a growth that was recognised, not on what was given.
    shared
        Whether neighbours share the error of a scan, of the estimate or of the reference.
    every
        Covariances of all windows (M, 3, 3) and their second scans (M,), for windows left out
        because the covariance hardly grows over them: the body stood still.
    """

    horizon: int
    first: Ints
    second: Ints
    error: Floats
    covariance: Floats
    columns: Floats | None = None
    fitted: int = 0
    assumed: bool = False
    shared: bool = False
    every: tuple[Floats, Ints] | None = None


@dataclass(frozen=True)
class WindowRow:
    """Inflation k over one horizon, and what guards it.

    Attributes
    ----------
    horizon, seconds, metres
        Length of the windows: scans, and means of duration and path.
    windows
        How many.
    k
        Mean NEES over its degrees of freedom.
    nu
        Degrees of freedom of k, fewer for heavy tails.
    rho
        Correlation of neighbouring windows (of the next but one, if neighbours share a scan) over
        its standard deviation.
    lo, hi
        Extreme ratios of the claimed covariance in the second half to that in the first, with 1:
        how wrong a joint covariance that is only assumed may be.
    first_half
        Whether only the first half of the track was used.
    still
        Windows left out because the body stood still.
    dimension
        Components of each error.
    """

    horizon: int
    seconds: float
    metres: float
    windows: int
    k: float
    nu: float
    rho: float
    lo: float
    hi: float
    first_half: bool = False
    still: int = 0
    dimension: int = 3

    def interval(self, doubt: float) -> tuple[float, float]:
        """Interval of k that misses on either side with probability `doubt`."""
        high, low = (chi_squared_quantile(self.nu, p) for p in (doubt, 1 - doubt))
        total = self.k * self.nu
        least, most = self.guard
        return least * total / low, most * total / high

    @property
    def guard(self) -> tuple[float, float]:
        """Factors on k within which a joint covariance that is only assumed may be wrong."""
        return self.lo**GUARD, self.hi**GUARD

    def number(self, intervals: Intervals) -> Number:
        """k with its interval at the level asked for; effective samples are windows."""
        if intervals.method is None:
            return Number(self.k, "1")
        low, high = self.interval((1 - intervals.level) / 2)
        return Number(self.k, "1", low, high, n_effective=self.nu / self.dimension)


@dataclass(frozen=True)
class WindowSample:
    """The horizon that is scored.

    Attributes
    ----------
    row
        Its inflation.
    separate, overlapping
        Its windows that do not overlap, and those from every scan on, where asked for.
    """

    row: WindowRow
    separate: Windows
    overlapping: Windows | None

    @cached_property
    def scores(self) -> dict[str, Floats]:
        """Proper scores (`window_scores`) of windows that do not overlap. (m,) each."""
        return window_scores(self.separate)

    @cached_property
    def overlapping_scores(self) -> dict[str, Floats] | None:
        """Scores of windows from every scan on, a series that depends on itself. (M,) each."""
        return None if self.overlapping is None else window_scores(self.overlapping)

    @property
    def free(self) -> float:
        """Part of the degrees of freedom that fitted freedoms leave."""
        return 1 - self.separate.fitted / self.separate.error.size


# Which windows


def horizons(scans: int) -> list[int]:
    """Horizons h0 2^j with enough windows that do not overlap."""
    first = shortest_lag(scans)
    doublings = range(max(0, (scans // first).bit_length()))
    return [h for h in (first << j for j in doublings) if (scans - 1) // h >= FEWEST_WINDOWS]


def scans_of_windows(scans: int) -> Ints:
    """Ten evenly spaced scans to the shortest horizon: their windows are those of all scans.

    They are at most 2,000, as those of a fit.
    """
    first = shortest_lag(scans)
    return np.arange((scans - 1) * SHORTEST_LAG // first + 1) * first // SHORTEST_LAG


def window_ends(joint: Joint, horizon: int, scans: int) -> tuple[Ints, Ints]:
    """First and second scans of windows that do not overlap. (m,) each."""
    known = joint.kind == "given"
    first = _given_starts(joint, horizon) if known else np.arange(0, scans - horizon, horizon)
    return first, first + horizon


def ends_over(progress: Floats, size: float) -> tuple[Ints, Ints]:
    """Ends of windows of so many seconds or metres that do not overlap. (n,) -> (m,) each.

    `progress` does not fall. A window that a gap makes longer than TOLERANCE sizes is left out.
    """
    at = 0
    starts: list[int] = []
    stops: list[int] = []
    while True:
        stop = int(np.searchsorted(progress, progress[at] + size))
        if stop >= len(progress):
            return np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
        if progress[stop] - progress[at] <= TOLERANCE * size:
            starts.append(at)
            stops.append(stop)
        at = stop


def overlapping_ends(joint: Joint, horizon: int, scans: int) -> tuple[Ints, Ints]:
    """First and second scans of windows from every scan on, of those that J is given for."""
    if joint.kind == "given":
        assert joint.pairs is not None
        first = joint.pairs[joint.pairs[:, 1] - joint.pairs[:, 0] == horizon, 0]
    else:
        first = np.arange(scans - horizon)
    first = _evenly(first)
    return first, first + horizon


def overlapping_ends_over(progress: Floats, size: float) -> tuple[Ints, Ints]:
    """Ends of windows of so many seconds or metres from every scan on. (n,) -> (m,) each."""
    second = np.searchsorted(progress, progress + size)
    first = np.flatnonzero(second < len(progress))
    first = first[progress[second[first]] - progress[first] <= TOLERANCE * size]
    first = _evenly(first)
    return first, second[first]


def _evenly(first: Ints) -> Ints:
    at = np.linspace(0, len(first) - 1, min(len(first), MOST_OVERLAPPING)).astype(np.int64)
    return first[at]


def scans_over(joint: Joint, progress: Floats, size: float) -> int:
    """Scans in a window of so many seconds or metres, by the median; 0 where there is none.

    With J given, the least lag that is given and as long, within TOLERANCE.
    """
    if joint.kind == "given":
        lags = given_horizons(joint)
        spans = [float(median_of(progress[lag:] - progress[:-lag])) for lag in lags]
        fits = (lag for lag, span in zip(lags, spans, strict=True) if _spans(span, size))
        return next(fits, 0)
    start = np.arange(0, len(progress), max(1, len(progress) // SAMPLED))
    end = np.searchsorted(progress, progress[start] + size)
    inside = end < len(progress)
    scans = int(median_of((end - start)[inside])) if inside.any() else 0
    return scans if scans >= FEWEST_SCANS_APART else 0


def _spans(span: float, size: float) -> bool:
    return size * (1 - 1e-9) <= span <= TOLERANCE * size


def without_standstill(found: Windows) -> Windows:
    """Without windows whose covariance hardly grows."""
    trace = np.einsum("nii->n", found.covariance)
    moving = trace > STILL * median_of(trace) if len(trace) else np.ones(0, dtype=np.bool_)
    kept = _select_windows(found, np.flatnonzero(moving))
    return replace(kept, every=(found.covariance, found.second))


def _select_windows(found: Windows, at: Ints) -> Windows:
    return replace(
        found,
        first=found.first[at],
        second=found.second[at],
        error=found.error[at],
        covariance=found.covariance[at],
        columns=None if found.columns is None else found.columns[at],
    )


def _given_starts(joint: Joint, horizon: int) -> Ints:
    """Starts of given pairs of this horizon that do not overlap."""
    assert joint.pairs is not None
    starts = joint.pairs[joint.pairs[:, 1] - joint.pairs[:, 0] == horizon, 0]
    after = np.searchsorted(starts, starts + horizon).tolist()
    chosen, at = [], 0
    while at < len(starts):
        chosen.append(at)
        at = after[at]
    return starts[chosen]


def given_horizons(joint: Joint) -> list[int]:
    """Horizons with enough given pairs, each at least twice the one before."""
    assert joint.pairs is not None
    kept: list[int] = []
    for lag in sorted(set((joint.pairs[:, 1] - joint.pairs[:, 0]).tolist())):
        if kept and lag < 2 * kept[-1]:
            continue
        if len(_given_starts(joint, lag)) >= FEWEST_WINDOWS:
            kept.append(lag)
    return kept


# Without what is open


def without_columns(found: Windows) -> Windows:
    """Errors less what the open columns explain of them, by generalised least squares."""
    columns = found.columns
    if columns is None or not columns.shape[2] or is_thin(found):
        return found
    weighted = np.linalg.solve(found.covariance, columns)
    curvature = np.einsum("nij,nik->jk", columns, weighted)
    theta, rank = solve_shortest(curvature, np.einsum("nij,ni->j", weighted, found.error))
    return replace(found, error=found.error - columns @ theta, columns=None, fitted=rank)


def is_thin(found: Windows) -> bool:
    """Whether a window's covariance has no inverse worth the name."""
    if not len(found.covariance):
        return True
    value = np.linalg.eigvalsh(_in_own_units(found.covariance))
    return bool((value[:, 0] <= THIN * value.sum(axis=1)).any())


def _in_own_units(covariance: Floats) -> Floats:
    """Metres and radians made alike by the mean variance of each axis; positions as they are."""
    if covariance.shape[-1] <= SPACE or not len(covariance):
        return covariance
    unit = np.sqrt(np.einsum("nii->i", covariance) / len(covariance))
    unit = np.where(unit > 0, unit, 1.0)
    return covariance / np.outer(unit, unit)


def _whiten(found: Windows) -> Floats:
    """Errors in units of their claim: symmetric roots; of poses L^-1 e with S = L L^T. (m, d)."""
    if found.error.shape[1] <= SPACE:
        return normal.whiten(found.error, found.covariance)
    root = np.linalg.cholesky(found.covariance)
    return np.linalg.solve(root, found.error[..., None])[..., 0]


# What they say


def window_row(
    found: Windows, stamp: Ints, path_m: Floats, *, first_half: bool = False
) -> WindowRow | None:
    """Inflation over one horizon; None for too few windows or a thin covariance.

    What is open is fitted to the windows of the row. `path_m` (n,) is the distance travelled to
    each scan.
    """
    last = (len(stamp) - 1) // 2 if first_half else len(stamp)
    covariance, second = (found.covariance, found.second) if found.every is None else found.every
    covariance = covariance[second <= last]
    found = _select_windows(found, np.flatnonzero(found.second <= last))
    m, d = found.error.shape
    if m < FEWEST_WINDOWS or is_thin(found):
        return None
    found = without_columns(found)
    z = _whiten(found)
    nees = np.einsum("ni,ni->n", z, z)
    free = 1 - found.fitted / (d * m)
    # The heavier the tails, the fewer degrees of freedom a mean of m NEES is worth.
    each = min(float(d), 2 * nees.mean() ** 2 / nees.var(ddof=1)) if nees.any() else float(d)
    # Neighbours that share a scan: correlation at most 1/2, its square counts twice.
    loss, lag = (1.5, 2) if found.shared else (1.0, 1)
    along = np.sum(z[:-lag] * z[lag:]) / max(nees.sum(), np.finfo(float).tiny)
    rho = np.sqrt(d * m / loss) * along
    lo, hi = halves(covariance) if found.assumed else (1.0, 1.0)
    return WindowRow(
        found.horizon,
        float(np.mean(stamp[found.second] - stamp[found.first])) * 1e-9,
        float(np.mean(path_m[found.second] - path_m[found.first])),
        m,
        float(nees.mean() / (d * free)),
        float(m * each * free / loss),
        float(rho),
        lo,
        hi,
        first_half,
        len(covariance) - m,
        d,
    )


def halves(covariance: Floats) -> tuple[float, float]:
    """Extreme ratios of the mean covariance in the second half to that in the first, with 1."""
    half, covariance = len(covariance) // 2, _in_own_units(covariance)
    early, late = covariance[:half].mean(axis=0), covariance[half:].mean(axis=0)
    value, vector = np.linalg.eigh(early)
    if value[0] <= THIN * value.sum():
        return 0.0, np.inf
    root = vector / np.sqrt(value)
    ratio = np.linalg.eigvalsh(root.T @ late @ root)
    return min(1.0, float(ratio[0])), max(1.0, float(ratio[-1]))


def window_scores(found: Windows) -> dict[str, Floats]:
    """Proper scores of each window: energy in metres, log in nat, and NEES. (m,) each."""
    error, covariance = drop_singular(found.error, found.covariance)
    fit = normal.likelihood_terms(error, covariance)
    return {
        "energy": energy_score(error, covariance),
        "log": -normal.log_density(fit, 3),
        "nees": fit.nees,
    }


def drop_singular(error: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Without scans that claim a singular covariance, such as a start that is known exactly."""
    keep = ~normal.is_singular(covariance)
    return error[keep], covariance[keep]


def path_length(position: Floats) -> Floats:
    """Metres travelled from the first scan. (n, 3) -> (n,)."""
    steps = np.linalg.norm(np.diff(position, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])
