"""One belief without a reference: what its poses and its covariances show of each other.

A finding is a `Why` with its numbers, and what to look at or to ask. None is a verdict. Bounds hold
whatever the correlations of the errors are: of a weighted sum of errors e_i the standard deviation
is at most sum |w_i| sigma_i.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats, Ints, median_of, quantile_of
from smfeval.maths.stamps import NANOSECONDS
from smfeval.summarise.windows import path_length
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack
from smfeval.why.causes import Why
from smfeval.why.one_track import ENOUGH_SCANS, SAME, UNKNOWN_VARIANCE, Revisits, scorable_axes

NORMAL_MEDIAN = 0.6745  # of |x|, x standard normal
REGULAR_STEP = (0.4, 2.5)  # times the median step: outside, nothing is said of the motion within
JUMP_SIGMAS = 6.0  # of the bound
JUMP_M_S2 = 30.0  # three times gravity: less may well be driven, flown or carried
JUMP_USUAL = 10.0  # times what the track's own motion leaves
OUTLIER, FEW_OUTLIERS = 0.75, 2  # of r in the next step: there and back; a few come with long tails
JITTER_ORDER, SMOOTHER_ORDER = 5, 3  # differences: what is left of a motion, and of noise
JITTER_SIGMAS = 1.5  # of the bound; of white errors, 3 times sigma
WHITE = 3.0  # fifth over third differences: 3.5 of white noise, 4 at most, less of motion
STEADY_PATH_M = 100.0
STEADY_PARTS = 10  # of the path; the first may be needed to settle
STEADY_FACTOR = 2.0  # between medians of the others; a random walk has 2.5 and more
STEADY_SPREAD = 4.0  # between 2 % and 98 % of the scans: above, it grows between fixes
CELL_M, SAMPLE_M = 1.0, 0.5  # a place, and the way between two samples of the path
LOOP_M, ENOUGH_PLACES = 50.0, 10  # the way until a place is visited again, and the fewest of them
SLOPE = 0.3  # of the ground within a place
STOREY_M = 2.0  # lower than any bridge or floor that a vehicle passes under
HEIGHT_M, HEIGHT_SIGMAS = 0.1, 4.0
ALIKE = 0.5  # spread over median of heights that differ by one drift
FEW_VALUES, MANY_SCANS = 5, 200
POINTS_R2, POINTS_SPREAD, POINTS_POWER = 0.8, 0.05, (-1.5, -0.5)


@dataclass(frozen=True)
class ReportedPositions:
    """The scans and axes of a track that report a usable covariance."""

    time_s: Floats
    stamp: Ints
    position: Floats  # (n, d)
    covariance: Floats  # (n, d, d)
    axes: str

    @cached_property
    def sigma(self) -> Floats:
        """Per axis: sqrt(trace / d). (n,)."""
        return np.sqrt(np.trace(self.covariance, axis1=1, axis2=2) / len(self.axes))

    @cached_property
    def steps(self) -> tuple[Floats, Bools]:
        """Times between scans in s, and which are near the median. (n - 1,) each."""
        dt = np.diff(self.time_s)
        low, high = np.array(REGULAR_STEP) * median_of(dt)
        return dt, (dt >= low) & (dt <= high)

    @cached_property
    def way_m(self) -> Floats:
        """Length of the path up to each scan. (n,)."""
        return path_length(self.position)


def look(track: AnyTrack, counts: Floats | None = None) -> tuple[tuple[Why, ...], Revisits | None]:
    """What a belief shows without a reference; with `counts`, the points of each scan. (n,)."""
    gaussian = track.moments if isinstance(track, ParticleTrack) else track
    if not isinstance(gaussian, GaussianTrack) or len(gaussian) < ENOUGH_SCANS:
        return (), None
    found = list(_constants(gaussian))
    belief, usable = _usable(gaussian)
    if belief is None:
        return tuple(found), None

    found += [*_jumps(belief), *_jitter(belief)]
    drifts = gaussian.about.gauge != "fixed"  # in a fixed world it does not
    if drifts:
        found += _steady(belief)
    places = _places(belief)
    if places is not None and belief.axes == "xyz":
        found += _heights(belief, *places)
    if counts is not None:
        found += _points(belief, counts[usable])
    return tuple(found), _revisits(belief, *places) if drifts and places is not None else None


def _revisits(belief: ReportedPositions, first: Ints, again: Ints) -> Revisits:
    """What the reported covariances allow between two visits to a place."""
    height_m = None
    if belief.axes == "xyz":
        height_m = float(median_of(np.abs(belief.position[again, 2] - belief.position[first, 2])))
    return Revisits(
        places=len(first),
        way_m=float(median_of(belief.way_m[again] - belief.way_m[first])),
        allowed_m=float(2 * median_of(belief.sigma[first] + belief.sigma[again])),
        height_m=height_m,
    )


def _usable(track: GaussianTrack) -> tuple[ReportedPositions | None, Bools]:
    """The scans whose variances on the scorable axes are neither zero nor placeholders."""
    axes = scorable_axes(track).axes
    if axes is None:
        return None, np.zeros(len(track), np.bool_)
    index = ["xyz".index(axis) for axis in axes]
    block = track.position_covariance[:, index][:, :, index]
    variance = np.diagonal(block, axis1=1, axis2=2)
    usable: Bools = np.all((variance > 0) & (variance < UNKNOWN_VARIANCE), axis=1)
    if usable.sum() < ENOUGH_SCANS:
        return None, usable
    stamp = track.stamp[usable]
    time_s = (stamp - stamp[0]) / NANOSECONDS
    return ReportedPositions(
        time_s, stamp, track.position[usable][:, index], block[usable], axes
    ), usable


def _constants(track: GaussianTrack) -> Iterator[Why]:
    """Numbers that look like settings: the identity, one for m^2 and rad^2, a few values."""
    diagonal = np.diagonal(track.covariance, axis1=1, axis2=2)
    position, rotation = diagonal[:, :3], diagonal[:, 3:]
    if (np.abs(track.covariance[:, :3, :3] - np.eye(3)) <= SAME).all():
        yield Why("identity")
    elif position.any() and (np.abs(position - rotation) <= SAME * position).all():
        sigma_m = float(np.sqrt(median_of(position.mean(axis=1))))
        yield Why("copied-diagonal", {"sigma_m": sigma_m})
    trace = position.sum(axis=1)
    if len(trace) >= MANY_SCANS and trace.min() > 0:
        apart = np.diff(np.sort(trace)) > SAME * trace.max()
        if 1 <= apart.sum() < FEW_VALUES:
            yield Why("few-values", {"values": int(apart.sum()) + 1, "scans": len(trace)})


def _off_motion(belief: ReportedPositions) -> tuple[Ints, Floats, Floats]:
    """What each step leaves of the motion before and after it.

    r = s - dt (v_before + v_after) / 2 for a step s in dt, among steps of about one length.
    -> scans that the steps begin at (m,), weights of the four positions around (4, m), r (m, d).
    """
    dt, regular = belief.steps
    rows = np.flatnonzero(regular[1:-1] & regular[:-2] & regular[2:]) + 1
    before, after = dt[rows] / (2 * dt[rows - 1]), dt[rows] / (2 * dt[rows + 1])
    weights = np.stack([before, -1 - before, 1 + after, -after])
    around = rows + np.arange(-1, 3)[:, None]
    return rows, weights, np.einsum("kn,knd->nd", weights, belief.position[around])


def _jumps(belief: ReportedPositions) -> Iterator[Why]:
    """Steps that leave the motion by more than acceleration and sigma allow.

    Mean velocities of neighbouring steps differ by a dt at most, so the acceleration a is at least
    |r| / dt^2.
    """
    rows, weights, rest = _off_motion(belief)
    rest_m = np.linalg.norm(rest, axis=1)
    needed = rest_m / np.diff(belief.time_s)[rows] ** 2
    odd = np.flatnonzero((needed > JUMP_M_S2) & (rest_m > JUMP_USUAL * median_of(rest_m)))
    if len(rows) < ENOUGH_SCANS or not len(odd):
        return

    around = rows[odd] + np.arange(-1, 3)[:, None]
    toward = rest[odd] / rest_m[odd, None]
    spread = np.einsum("nd,knde,ne->kn", toward, belief.covariance[around], toward)
    bound = (np.abs(weights[:, odd]) * np.sqrt(spread)).sum(axis=0)
    beyond = rest_m[odd] > JUMP_SIGMAS * bound
    beside = np.maximum(rest_m[np.maximum(odd - 1, 0)], rest_m[np.minimum(odd + 1, len(rows) - 1)])
    outlier = beside > OUTLIER * rest_m[odd]  # a jump leaves half of r in the steps beside it
    stays = beyond & ~outlier
    if stays.any() or beyond.sum() > 2 * FEW_OUTLIERS:
        worst = int(np.argmax(np.where(beyond, rest_m[odd] / bound, 0)))
        row = rows[odd[worst]] + 1
        evidence = {
            "jumps": 1 + int((np.diff(rows[odd[beyond]]) > 2).sum()),  # one is seen in three steps
            "jump_m": float(rest_m[odd[worst]]),
            "allowed_m": float(2 * bound[worst]),
            "acceleration_m_s2": float(needed[odd[worst]]),
            "time_s": float(belief.time_s[row]),
        }
        yield Why("position-jump", evidence, context={"stamp": int(belief.stamp[row])})


def _jitter(belief: ReportedPositions) -> Iterator[Why]:
    """Noise of the positions, faster than motion, beyond what sigma allows.

    Of white noise j the fifth difference has a standard deviation of sqrt(252) j; of errors with a
    standard deviation of sigma it has 32 sigma at most.
    """
    _, regular = belief.steps
    if (~regular).mean() > 0.1 or len(regular) < ENOUGH_SCANS:
        return
    fast = np.abs(np.diff(belief.position, n=JITTER_ORDER, axis=0))
    slower = np.abs(np.diff(belief.position, n=SMOOTHER_ORDER, axis=0))
    sigma = np.sqrt(np.diagonal(belief.covariance, axis1=1, axis2=2))
    bound = 2**JITTER_ORDER * np.stack(
        [sigma[at : at + len(fast)] for at in range(JITTER_ORDER + 1)]
    ).max(axis=0)
    ratio = median_of(fast / bound, axis=0) / NORMAL_MEDIAN
    axis = int(np.argmax(ratio))
    white = median_of(fast[:, axis]) > WHITE * median_of(slower[:, axis])
    if ratio[axis] > JITTER_SIGMAS and white:
        jitter_m = float(median_of(fast[:, axis]) / NORMAL_MEDIAN / np.sqrt(252))
        sigma_m = float(median_of(sigma[:, axis]))
        evidence = {"jitter_m": jitter_m, "sigma_m": sigma_m, "factor": jitter_m / sigma_m}
        yield Why("position-jitter", evidence, context={"axis": belief.axes[axis]})


def _steady(belief: ReportedPositions) -> Iterator[Why]:
    """A sigma that does not grow over a long path."""
    way = belief.way_m
    if way[-1] < STEADY_PATH_M:
        return
    part = np.searchsorted(way, np.linspace(0, way[-1], STEADY_PARTS + 1)[1:-1])
    sigma = belief.sigma[part[0] :]
    low, high = (float(quantile_of(sigma, share)) for share in (0.02, 0.98))
    middle = [float(median_of(each)) for each in np.split(belief.sigma, part)[1:] if len(each)]
    if max(middle) < STEADY_FACTOR * min(middle) and high < STEADY_SPREAD * low:
        evidence = {"low_m": low, "high_m": high, "path_m": float(way[-1])}
        yield Why("steady-sigma", evidence | {"drift_percent": 200 * high / float(way[-1])})


def _places(belief: ReportedPositions) -> tuple[Ints, Ints] | None:
    """Scans of the first and the last visit to each place that is visited again."""
    if not belief.axes.startswith("xy"):
        return None
    way = belief.way_m
    marks = np.arange(0, way[-1], max(SAMPLE_M, way[-1] / 200_000))
    sample = np.unique(np.searchsorted(way, marks))
    cell = np.floor(belief.position[sample, :2] / CELL_M).astype(np.int64)
    order = np.lexsort((sample, cell[:, 1], cell[:, 0]))
    changes = np.flatnonzero(np.diff(cell[order], axis=0).any(axis=1)) + 1
    start = np.concatenate([[0], changes])
    end = np.concatenate([changes, [len(order)]]) - 1
    first, again = sample[order[start]], sample[order[end]]
    far = way[again] - way[first] >= LOOP_M
    return (first[far], again[far]) if far.sum() >= ENOUGH_PLACES else None


def _heights(belief: ReportedPositions, first: Ints, again: Ints) -> Iterator[Why]:
    """Places that are visited again at another height, less than a storey away."""
    away = belief.position[again] - belief.position[first]
    sigma = np.sqrt(belief.covariance[:, 2, 2])
    bound = sigma[first] + sigma[again]
    level = np.abs(away[:, 2]) - SLOPE * np.linalg.norm(away[:, :2], axis=1)
    height_m = float(median_of(np.abs(away[:, 2])))
    spread_m = float(median_of(np.abs(away[:, 2] - median_of(away[:, 2]))))
    one_drift = HEIGHT_M < height_m < STOREY_M and spread_m < ALIKE * height_m
    if one_drift and median_of(level / bound) > HEIGHT_SIGMAS:
        allowed_m = float(2 * median_of(bound))
        evidence = {"places": len(first), "height_m": height_m, "allowed_m": allowed_m}
        yield Why("height-at-revisits", evidence)


def _points(belief: ReportedPositions, counts: Floats) -> Iterator[Why]:
    """A variance that follows the number of points: log tr S = a + b log n."""
    known = np.isfinite(counts) & (counts > 0)
    if known.sum() < ENOUGH_SCANS:
        return
    x, y = np.log(counts[known]), 2 * np.log(belief.sigma[known])
    if x.std() < POINTS_SPREAD or y.std() == 0:
        return
    correlation = float(np.corrcoef(x, y)[0, 1])
    power = correlation * float(y.std() / x.std())
    if correlation**2 > POINTS_R2 and POINTS_POWER[0] < power < POINTS_POWER[1]:
        yield Why("points-alone", {"share": correlation**2, "power": power})
