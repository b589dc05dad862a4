"""By how much do two clocks differ? The shift at which the rates of two tracks go in step.

Speed and angular rate do not depend on world, gauge or axes of the body, so they can be compared
before anything is aligned. Both tracks give them over the same window on an even grid; at each lag
the Pearson correlation r of the parts that overlap (gaps left out) comes from six FFT products, as
in D. Padfield, Masked object registration in the Fourier domain, 2012. The signals are joined by
what each says against chance, G = sum of -m log(1 - r^2) over the signals with r > 0, where m
counts effective samples: the likelihood ratio of two Gaussian signals, chi-squared by chance.
"""

import numpy as np

from smfeval import words
from smfeval.associate.clock_errors import Curve, curve_of
from smfeval.associate.nearest import mismatch
from smfeval.dataclass import dataclass
from smfeval.errors import PairingError
from smfeval.maths import so3
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.autocovariance import autocovariance, fast_length
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import AnyTrack, Track

REACH_S = 10.0  # search to either side, unless told otherwise
WINDOW_S = 0.1  # about: rates over a shorter time are mostly noise
PARTS = 2  # lags per step
MIN_RATE_SPREAD = {"speed": 1e-4, "angular rate": 1e-4}  # m/s, rad/s: less says nothing
OUTLIER_DEVIATIONS = 3.0  # median deviations: a rate farther off is an outlier of the estimate
MIN_EVIDENCE = 20.0  # G by chance among some hundred lags: less than once in a hundred
FEWEST_SAMPLES = 20  # samples that overlap at a lag
MIN_SIGNAL_SHARE = 0.1  # of G: a signal that adds less was not what the offset was found from
RIVAL_SHARE = 0.95  # of the best G: another offset with more is as good
VALLEY_SHARE = 0.75  # of a peak of G: if it falls no lower on the way, it is no other offset
MOST_RIVALS = 6
PERFECT = 1 - 1e-9  # r^2 of signals that are equal but for rounding
LARGEST_GRID = 2**23  # samples


@dataclass(frozen=True)
class Correlation:
    """The lag at which the rates go in step best."""

    offset_s: float  # to be added to the stamps of the estimate
    correlation: dict[str, float]  # of each signal at that lag
    signals: tuple[str, ...]  # those that the offset was found from
    rivals_s: tuple[float, ...]  # other offsets at which the rates go in step nearly as well


@dataclass(frozen=True)
class _Grid:
    """Even instants on two curves; lag j sets sample i of ours against i + j of theirs.

    A step is a whole number of steps of the slower track: with broken ones, noise between its poses
    would come and go evenly, and look like motion. Lags between come from instants of theirs that
    are moved by parts of a step.
    """

    ours: Floats  # s
    theirs: Floats  # s
    step_s: float
    lags: Ints

    @property
    def offset_s(self) -> Floats:
        """Offset of each lag and part: what is added to the stamps of ours. (lags * PARTS,)."""
        fine = np.arange(PARTS * len(self.lags)) / PARTS + self.lags[0]
        return self.theirs[0] - self.ours[0] + self.step_s * fine


@dataclass(frozen=True)
class _Rates:
    """One signal of one track on the grid; nothing where it is not known."""

    value: Floats  # (n,), about its median, zero where not known
    known: Floats  # (n,), one or zero


def correlate(estimate: AnyTrack, reference: AnyTrack, *, reach_s: float = REACH_S) -> Correlation:
    """The clock offset within `reach_s`, to a fraction of the slower track's step.

    Raises where the motion says nothing about the clock: standing still, or moving on evenly.
    """
    if min(len(estimate), len(reference)) < FEWEST_SAMPLES:
        raise PairingError(f"a time offset needs at least {FEWEST_SAMPLES} poses of each track")
    origin = int(reference.stamp[0])
    ours, theirs = curve_of(estimate, origin), curve_of(reference, origin)
    apart = max(ours.seconds[0] - theirs.seconds[-1], theirs.seconds[0] - ours.seconds[-1])
    if apart > reach_s:
        raise mismatch(estimate.stamp, reference.stamp, 0, reach_s)

    grid = _grid(ours, theirs, reach_s)
    oriented = estimate.about.oriented and reference.about.oriented
    names = MIN_RATE_SPREAD if oriented else ("speed",)
    signals = {name: _signal_correlation(name, ours, theirs, grid) for name in names}
    evidence = np.sum([part for _, part in signals.values()], axis=0)

    best = int(np.argmax(evidence))
    correlation = {name: float(values[best]) for name, (values, _) in signals.items()}
    if evidence[best] < MIN_EVIDENCE:
        seen = ", ".join(f"{name} {words.fixed(value, 2)}" for name, value in correlation.items())
        raise PairingError(
            "the motion says nothing about the time offset: the rates of the two tracks hardly "
            f"vary, or not together (best correlation of {seen}, which chance could do)"
        )
    if best in (0, len(evidence) - 1):
        raise PairingError(
            "the motions go in step best at the edge of the offsets searched "
            f"({words.duration(reach_s)} to either side): the time offset is larger"
        )
    least = MIN_SIGNAL_SHARE * evidence[best]
    before, middle, after = evidence[best - 1 : best + 2]
    bend = before - 2 * middle + after  # of the parabola through the peak and its neighbours
    vertex = float(0.5 * (before - after) / bend) if bend < 0 else 0.0
    return Correlation(
        float(grid.offset_s[best] + vertex * grid.step_s / PARTS),
        correlation,
        tuple(name for name, (_, part) in signals.items() if part[best] > least),
        tuple(float(offset) for offset in grid.offset_s[_rivals(evidence)]),
    )


def _grid(ours: Curve, theirs: Curve, reach_s: float) -> _Grid:
    """Instants as far as the tracks may meet, lags as far as the offsets reach."""
    slower = max(ours.step_s, theirs.step_s)
    step = slower * max(1, round(WINDOW_S / slower))
    first, second = (_instants(*both, step, reach_s) for both in ((ours, theirs), (theirs, ours)))
    base = second[0] - first[0]
    least, most = np.floor((-reach_s - base) / step), np.ceil((reach_s - base) / step)
    return _Grid(first, second, float(step), np.arange(int(least), int(most) + 1))


def _instants(curve: Curve, other: Curve, step: float, reach_s: float) -> Floats:
    """Even instants on a curve, as far as the other may reach them."""
    start = max(curve.seconds[0], other.seconds[0] - reach_s)
    end = min(curve.seconds[-1], other.seconds[-1] + reach_s)
    count = int((end - start) / step) + 1
    if not FEWEST_SAMPLES <= count <= LARGEST_GRID:
        raise PairingError(
            f"the tracks share {words.duration(end - start)}, within an offset of "
            f"{words.duration(reach_s)}: too "
            f"{'short' if count < FEWEST_SAMPLES else 'long'} a time to compare their rates"
        )
    return start + step * np.arange(count)


def _signal_correlation(
    name: str, ours: Curve, theirs: Curve, grid: _Grid
) -> tuple[Floats, Floats]:
    """Correlation of a signal at each offset of the grid, and G = -m log(1 - r^2) if r > 0."""
    moved = [grid.theirs + grid.step_s * part / PARTS for part in range(PARTS)]
    kept = _rates(name, ours, grid.ours, grid.step_s)
    other = [_rates(name, theirs, time, grid.step_s) for time in moved]
    parts = [_correlations(kept, each, grid.lags) for each in other]
    correlation, samples = (np.stack(each, axis=1).ravel() for each in zip(*parts, strict=True))
    effective = samples / _memory(kept, other[0])
    square = np.minimum(np.maximum(correlation, 0) ** 2, PERFECT)
    return correlation, -effective * np.log1p(-square)


def _rates(name: str, curve: Curve, time: Floats, window: float) -> _Rates:
    """Speed (m/s) or angular rate (rad/s) over the window about each instant.

    About its median, jumps cut off; one that hardly varies is not known at all.
    """
    known = curve.is_known(time, window / 2 + curve.tangent_s)
    before, after = time[known] - window / 2, time[known] + window / 2
    if name == "speed":
        way = curve.position_at(after) - curve.position_at(before)
    else:
        way = so3.log(so3.compose(so3.inverse(curve.rotation_at(before)), curve.rotation_at(after)))
    rate = np.sqrt(np.einsum("ni,ni->n", way, way)) / window
    value = np.zeros(len(known))
    moving = len(rate) > 0 and float(rate.std()) > MIN_RATE_SPREAD[name]
    if moving:
        away = rate - np.median(rate)
        usual = OUTLIER_DEVIATIONS * float(np.median(np.abs(away))) or np.inf
        value[known] = away.clip(-usual, usual)
    return _Rates(value, (known & moving).astype(np.float64))


def _correlations(a: _Rates, b: _Rates, lags: Ints) -> tuple[Floats, Floats]:
    """Pearson correlation of a(i) and b(i + lag), and samples that overlap, at each lag."""
    size = fast_length(len(a.value) + len(b.value))
    ours = [np.conj(np.fft.rfft(each, size)) for each in (a.known, a.value, a.value**2)]
    theirs = [np.fft.rfft(each, size) for each in (b.known, b.value, b.value**2)]

    def summed(i: int, j: int) -> Floats:
        # beyond half the circle is the other direction; beyond both tracks nothing overlaps
        inside = (lags > -len(a.value)) & (lags < len(b.value))
        return np.where(inside, np.fft.irfft(ours[i] * theirs[j], size)[lags % size], 0.0)

    samples = np.maximum(np.round(summed(0, 0)), 1.0)
    covariance = summed(1, 1) - summed(1, 0) * summed(0, 1) / samples
    spread = (summed(2, 0) - summed(1, 0) ** 2 / samples) * (
        summed(0, 2) - summed(0, 1) ** 2 / samples
    )
    usual = float(np.sum(a.value**2) * np.sum(b.value**2))
    enough = (samples >= FEWEST_SAMPLES) & (spread > 1e-12 * usual)
    root = np.sqrt(np.where(enough, spread, 1.0))
    return np.where(enough, covariance / root, 0.0), samples


def _memory(a: _Rates, b: _Rates) -> float:
    """Samples per effective sample of a correlation: 1 + 2 sum rho_a rho_b (Bartlett 1935).

    Summed until the product first is nothing, as motion that comes back would never end it.
    """
    lags = min(len(a.value), len(b.value)) - 1
    product = autocovariance(a.value, lags) * autocovariance(b.value, lags)
    if product[0] == 0:
        return 1.0
    end = int(np.argmax(product <= 0)) or len(product)
    return 1 + 2 * float(product[1:end].sum() / product[0])


def _rivals(evidence: Floats) -> Ints:
    """Other peaks of G, beyond a valley, that are nearly as high; the highest first."""
    best = int(np.argmax(evidence))
    before = np.minimum.accumulate(evidence[best::-1])[::-1]
    valley = np.concatenate([before, np.minimum.accumulate(evidence[best:])[1:]])
    least = min(RIVAL_SHARE * evidence[best], evidence[best] - MIN_EVIDENCE)
    beyond = (VALLEY_SHARE * evidence > valley) & (evidence > least)
    beyond[1:] &= evidence[1:] > evidence[:-1]
    beyond[:-1] &= evidence[:-1] >= evidence[1:]
    found = np.flatnonzero(beyond)
    return found[np.argsort(-evidence[found], kind="stable")][:MOST_RIVALS]


STRETCHES = 20  # evenly spaced
MOST_SCANS = 10_000  # of the estimate; more would not narrow the offset by anything that matters
MOST_POSES = 100_000  # of the reference
EXCERPT_MARGIN_S = 1.0  # of the reference, for velocities at the ends of a stretch


def excerpts(estimate: AnyTrack, reference: Track, *, reach_s: float) -> tuple[AnyTrack, Track]:
    """Both tracks on the same stretches, those of the reference longer by what a shift may need.

    Tracks that are short enough, or too short for such stretches, stay as they are.
    """
    share = min(1.0, MOST_SCANS / len(estimate), MOST_POSES / len(reference))
    period = estimate.duration_s / STRETCHES
    beside = reach_s + EXCERPT_MARGIN_S
    if share * period + 2 * beside >= period:
        return estimate, reference
    origin = estimate.stamp[0]
    ours = ((estimate.stamp - origin) / NANOSECONDS) % period <= share * period
    place = ((reference.stamp - origin) / NANOSECONDS + beside) % period
    theirs = place <= share * period + 2 * beside
    if not theirs.any():
        return estimate, reference
    return estimate[ours], reference[theirs]
