"""What speaks for a verdict: what the kindest fit leaves, and what correlations could do to it.

The kindest fit (`align.nuisance`) leaves whitened errors r_i with T = sum |r_i|^2 / (n d), on every
track no larger than that of the true errors.

*First evidence, any correlation.* If u_1..u_n are jointly Gaussian with Cov(u_i) <= I_d and any
cross-covariances, P(mean |u_i|^2 > x) <= P(chi2_d > x) for x >= d + 4 (d = 1: 3); proof in
docs/judge.md. So T > chi2_d(0.975) / d convicts, and T over that limit is a lower bound of the
factor. With errors that are uncorrelated beyond L scans the same holds with floor(d n / (2 L + 1))
degrees of freedom: the memory that would excuse T.

*Second evidence, errors that average out.* The degrees of freedom of T by the spectrum of r: lines
of energy v_k with one random amplitude each give Var(T) / T^2 = 2 sum v^2 / (sum v)^2; E a^4 =
3 v^2 makes this nu = 3 / sum w^2 - 2 for w = |lines|^2 / sum. It is taken in body and in world axes
with and without errors that follow the motion, and no larger than the spread of the NEES over the
track allows: mean NEES^2 = s^2 + (mean NEES)^2 on every track, so what the spread lacks against
chi2_d is the variance of T.
"""

from collections.abc import Sequence
from functools import cached_property
from math import ceil, inf, sqrt

import numpy as np

from smfeval.align.nuisance import BestCaseFit
from smfeval.dataclass import dataclass
from smfeval.judge.levels import (
    FEWEST_AVERAGED,
    FEWEST_FOR_SPECTRUM,
    LEVEL,
    STEADY,
    TAIL,
    WHITE,
    WORST_PART,
    largest_mean,
)
from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.maths.special import chi_squared_quantile
from smfeval.summarise.number import Intervals
from smfeval.summarise.windows import FEWEST_WINDOWS, WindowRow

BESIDE = 2.5  # lines beside the fit, per column and axis, that tell what it absorbed


@dataclass(frozen=True)
class AnyCorrelation:
    """The first evidence.

    Attributes
    ----------
    excess
        T: mean square of what the kindest fit leaves, in units of the claim.
    limit
        What T stays below for an honest belief, whatever the correlations (97.5 %).
    dimension, scans
        Of the errors, and how many stand for the track.
    without_worst
        T with the worst scans set to zero: still a valid test.
    tails
        Factor in the limit for a belief whose tails reach farther than Gaussian ones.
    tracks
        Independent tracks that T is the mean of.
    """

    excess: float
    dimension: int
    scans: int
    without_worst: float
    tails: float = 1.0
    tracks: int = 1

    @property
    def limit(self) -> float:
        """chi2_{dm}(0.975) / (dm) for m tracks."""
        return self.tails * largest_mean(self.dimension * self.tracks)

    @property
    def at_least(self) -> float:
        """Lower bound of the factor on the covariance, averaged over scans: above 1 convicts."""
        return self.excess / self.limit

    @property
    def by_few_scans(self) -> bool:
        """Whether the worst scans alone carry the conviction."""
        return self.without_worst <= self.limit < self.excess

    @cached_property
    def excusing_scans(self) -> float | None:
        """L*: scans beyond which errors must be correlated to excuse T.

        None where T is no more than chance, and where no correlation excuses it.
        """
        T, most = self.excess / self.tails, self.dimension * self.scans
        if T <= 1 or self.at_least > 1 or self.tracks > 1 or largest_mean(most) >= T:
            return None
        low, high = 1, most  # least degrees of freedom with T above their limit
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if largest_mean(middle) < T else (middle + 1, high)
        return 0.5 * (most / low - 1)


def any_correlation(fit: BestCaseFit, tails: float = 1.0) -> AnyCorrelation:
    """The first evidence of what a fit leaves."""
    nees = fit.nees
    n, d = fit.white.shape
    kept = np.sort(nees)[: n - ceil(WORST_PART * n)]
    return AnyCorrelation(fit.excess, d, n, float(kept.sum()) / (n * d), tails)


@dataclass(frozen=True)
class Averaging:
    """The second evidence: the factor if the errors of this track average out.

    Attributes
    ----------
    low, high
        Ends of its 95 % interval.
    degrees
        Of freedom, that stand behind the mean square.
    absorbed
        Of the mean square, that the columns of the fit may have taken.
    surely_below
        The high end with the degrees of freedom of `low`, which calls a belief too wide; `high`
        allows the spread of the NEES its standard error, or no honest belief were consistent.
    """

    low: float
    high: float
    degrees: float
    absorbed: float
    surely_below: float


def averaging(
    fit: BestCaseFit, intervals: Intervals | None = None, tails: float = 1.0
) -> Averaging | None:
    """The second evidence; None for few scans, and where the mean NEES has no interval.

    `tails` is the factor by which those of the belief reach farther than Gaussian ones.
    """
    n, d = fit.white.shape
    if n < FEWEST_AVERAGED:
        return None
    nees = fit.nees / d
    mean = (intervals or Intervals()).of(nees, "mean", "1")
    if mean.low is None or mean.high is None:
        return None
    T = fit.excess
    lines, beside = _spectra(fit)
    spectra = [*lines, *beside]
    nu = min(max(1.0, 3 * float(each.sum() ** 2 / (each**2).sum()) - 2) for each in spectra)
    cv2 = float(nees.var()) / T**2 if T else 0.0
    least = min(nu, _degrees_of_spread(cv2, d))
    most = min(nu, _degrees_of_spread(cv2 * (1 + sqrt((2 * d + 4) / nu)), d))
    absorbed = _absorbed(fit, lines)
    low = T * least / chi_squared_quantile(least, LEVEL)
    high, below = (
        max((T + absorbed) * each / chi_squared_quantile(each, TAIL), mean.high)
        for each in (most, least)
    )
    return Averaging(min(low, mean.low) / tails, tails * high, least, absorbed, tails * below)


@dataclass(frozen=True)
class TrackEvidence:
    """Of one track: T, its degrees of freedom and what a fit may have absorbed of it."""

    excess: float
    degrees: float
    absorbed: float
    dimension: int


def pool_evidence(
    tracks: Sequence[TrackEvidence],
) -> tuple[AnyCorrelation | None, Averaging | None]:
    """Both kinds of evidence of independent tracks, each correlated inside in any way.

    Each track has the same weight: the mean of their T against chi2_{dm}(0.975) / (dm).
    """
    if not tracks:
        return None, None
    T, nu, absorbed = (
        np.array([getattr(each, name) for each in tracks])
        for name in ("excess", "degrees", "absorbed")
    )
    mean, count = float(T.mean()), len(tracks)
    worst = float(np.sort(T)[: count - 1].sum()) / count
    first = AnyCorrelation(mean, tracks[0].dimension, count, worst, tracks=count)
    if not (nu > 0).all() or not mean > 0:
        return first, None
    degrees = float(T.sum() ** 2 / np.sum(T**2 / nu))
    low = mean * degrees / chi_squared_quantile(degrees, LEVEL)
    taken = float(absorbed.mean())
    high = (mean + taken) * degrees / chi_squared_quantile(degrees, TAIL)
    return first, Averaging(low, high, degrees, taken, high)


def _degrees_of_spread(cv2: float, d: int) -> float:
    """Degrees of freedom that the spread of the NEES allows; inf where it is full."""
    lacking = (1 + 2 / d) / (1 + cv2) - 1
    return inf if lacking <= 0 else max(float(d), 2 / lacking)


def _both_axes(fit: BestCaseFit) -> list[Floats]:
    """What is left, in body and in world axes where it has all three of each kind. (n, d)."""
    white, poses = fit.white, fit.poses
    if poses.frame == "world" or white.shape[1] % 3:
        return [white]
    halves = [white[:, at : at + 3] for at in range(0, white.shape[1], 3)]
    return [white, np.concatenate([so3.rotate(poses.rotation, half) for half in halves], axis=1)]


def _spectra(fit: BestCaseFit) -> tuple[list[Floats], list[Floats]]:
    """Lines of what is left, in both axes; and of what follows the motion with those of the rest.

    (n,) each; (q + n,) each.
    """
    series = _both_axes(fit)
    if len(fit.poses) < FEWEST_FOR_SPECTRUM:
        return _lines(series), []
    X = fit.poses.motion.basis
    following = [X.T @ each for each in series]
    lines = _lines([*series, *(each - X @ B for each, B in zip(series, following, strict=True))])
    rest = lines[len(series) :]
    values = [np.linalg.svd(B, compute_uv=False) ** 2 if B.size else B[:, 0] for B in following]
    return lines[: len(series)], [np.concatenate(each) for each in zip(values, rest, strict=True)]


def _lines(series: list[Floats]) -> list[Floats]:
    """Energy of every frequency: squares of orthonormal cosine transforms, over the axes. (n,)."""
    n, d = series[0].shape
    together = np.concatenate(series, axis=1).T
    spectrum = np.fft.rfft(np.concatenate([together, together[:, ::-1]], axis=1))[:, :n]
    turned = spectrum * np.exp(-0.5j * np.pi * np.arange(n) / n)
    energy = np.sum((turned.real**2).reshape(len(series), d, n), axis=1) / (2 * n)
    energy[:, 0] /= 2
    return list(energy)


def _absorbed(fit: BestCaseFit, lines: list[Floats]) -> float:
    """A: what the columns may have taken of T, by the density beside them at its upper end."""
    (n, d), p = fit.white.shape, fit.columns
    if not p:
        return 0.0
    count = ceil(BESIDE * p / d) + 1
    energy = max(float(each[:count].sum()) for each in lines)
    degrees = count * d - p
    return p * energy / chi_squared_quantile(float(degrees), TAIL) / (n * d)


def usable_rows(rows: tuple[WindowRow, ...]) -> tuple[WindowRow, ...]:
    """Rows from the first horizon whose windows are independent, claims steady between halves."""
    steady = [row for row in rows if row.lo >= 1 / STEADY and row.hi <= STEADY]
    kept: list[WindowRow] = []
    for first_half in (False, True):
        series = [row for row in steady if row.first_half == first_half]
        white = [at for at, row in enumerate(series) if abs(row.rho) <= WHITE]
        kept += series[white[0] :] if white else []
    return tuple(kept)


def why_unusable(row: WindowRow | None) -> str | None:
    """Why a row says nothing on its own; None where it may."""
    if row is None:
        return f"fewer than {FEWEST_WINDOWS} windows have a regular covariance"
    if row.lo < 1 / STEADY or row.hi > STEADY:
        return f"covariances change more than {STEADY:.0f} times between the halves of the track"
    return "neighbouring windows are correlated" if abs(row.rho) > WHITE else None
