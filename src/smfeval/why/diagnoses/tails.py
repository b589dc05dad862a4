"""Bulk against tail: a few scans, heavy tails, or too tight throughout.

Heavy tails are a t belief of scale s and nu degrees of freedom that predicts left-out scans better
than the scaled Gaussian.
"""

from math import lgamma

import numpy as np

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Bools, Floats
from smfeval.maths.special import chi_squared_mean_log, chi_squared_tail, chi_squared_tail_quantile
from smfeval.why.causes import Why
from smfeval.why.diagnoses.case import (
    ENOUGH_SCANS,
    TEST_LEVEL,
    TIGHTER_RATIO,
    TINY,
    DiagnosisCase,
    Untested,
    too_few,
)
from smfeval.why.diagnoses.regimes import BLOCKS
from smfeval.why.diagnoses.regression import mean_of

FOLDS = 5
NU = np.array([1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 200.0])
STEPS = 30
MOST = 4000  # training scans, evenly spaced: more do not move two parameters
LEAST_SCALE = 1e-12
FEW = 0.05  # of the scans
MANY_PARTICLES = 100.0  # the sample covariance of fewer has heavy tails of its own
GUARD = 2.0  # memories of the log NEES between training and test scans
LONGEST_GUARD = 0.1  # of the track
MOST_NAT = 1.0  # a scan counts for so much at most: the gain stated is a lower bound then
LEAST_NAT = 0.02  # per scan: less is not worth a name
MARGIN = 2.0  # how far the NEES of a regime may be from what was estimated for it
LIGHT = 30.0  # a t with more degrees of freedom is a Gaussian


@dataclass(frozen=True)
class Tail:
    """Which part of the total NEES the largest 1 % and 5 % carry, and would if honest."""

    top_1: float
    top_5: float
    expected_1: float
    expected_5: float
    mean_nees: float
    mean_nees_without_5: float


def tail_of(nees: Floats, d: int) -> Tail | None:
    """How much of the total NEES the largest carry; None without any error. (n,)."""

    def honest_share(largest: float) -> float:  # E[q; q > c] = d P(chi2_(d+2) > c), of d
        return chi_squared_tail(d + 2, chi_squared_tail_quantile(d, largest))

    ordered = np.sort(nees)[::-1]
    total, one, five = float(ordered.sum()), *(max(1, round(p * len(nees))) for p in (0.01, 0.05))
    if total == 0:
        return None
    return Tail(
        top_1=float(ordered[:one].sum()) / total,
        top_5=float(ordered[:five].sum()) / total,
        expected_1=honest_share(0.01),
        expected_5=honest_share(0.05),
        mean_nees=total / len(nees),
        mean_nees_without_5=float(ordered[five:].mean()),
    )


def t_log_density(nees: Floats, scale: Floats | float, nu: Floats | float, d: int) -> Floats:
    """Log density of the t belief relative to the constant of the Gaussian. (...)."""
    nu = np.asarray(nu, dtype=np.float64)
    norm = _log_gamma((nu + d) / 2) - _log_gamma(nu / 2) - d / 2 * np.log(nu / 2)
    return norm - (nu + d) / 2 * np.log1p(nees / (scale * nu)) - d / 2 * np.log(scale)


def _log_gamma(x: Floats) -> Floats:
    """Logarithm of the gamma function, of few numbers. (...) -> (...)."""
    return np.reshape([lgamma(each) for each in x.ravel()], x.shape)


def gaussian_log_density(nees: Floats, scale: float, d: int) -> Floats:
    """Log density of the scaled Gaussian relative to the same constant. (n,)."""
    return -nees / (2 * scale) - d / 2 * np.log(scale)


def fit_t(nees: Floats, d: int) -> tuple[float, float]:
    """Scale and nu of greatest likelihood. (n,)."""
    nu = NU[:, None]
    scale = np.full((len(NU), 1), max(float(np.median(nees)) / d, LEAST_SCALE))
    for _ in range(STEPS):
        weighted = (nu + d) * scale * np.mean(nees / (nu * scale + nees), axis=-1, keepdims=True)
        scale = np.maximum(weighted / d, LEAST_SCALE)
    best = int(np.argmax(t_log_density(nees, scale, nu, d).mean(axis=-1)))
    return float(scale[best, 0]), float(NU[best])


def cross_validated_gain(nees: Floats, d: int, *, guard: int) -> tuple[Floats, float]:
    """Out-of-sample gain of the t over the Gaussian (n,), in nats; nu of the folds (median)."""
    n = len(nees)
    gain, chosen = np.empty(n), []
    for fold in range(FOLDS):
        low, high = fold * n // FOLDS, (fold + 1) * n // FOLDS
        training = np.concatenate([nees[: max(0, low - guard)], nees[high + guard :]])
        training = training[:: -(-len(training) // MOST)]
        scale, nu = fit_t(training, d)
        held = nees[low:high]
        gaussian = gaussian_log_density(held, max(float(training.mean()) / d, LEAST_SCALE), d)
        gain[low:high] = t_log_density(held, scale, nu, d) - gaussian
        chosen.append(nu)
    return gain, float(np.median(chosen))


def extreme_scans(case: DiagnosisCase, nees: Floats) -> Bools:
    """Scans that no honest belief has one of: by the union bound, whatever the dependence. (n,)."""
    d, limit = case.dimension, TEST_LEVEL / len(nees)
    count = case.particles
    if count is None:
        return nees > chi_squared_tail_quantile(d, limit)
    from scipy.special import fdtrc  # noqa: PLC0415  slow to import, for particles only

    # back from the chi-squared scale of the median
    stretch = case.honest_median / case.gaussian_median
    return fdtrc(d, count - d, nees * stretch * (count - d) / ((count + 1) * d)) < limit


def tail_faults(
    case: DiagnosisCase, explained: Floats, *, most: float
) -> tuple[list[Why], list[Untested]]:
    """A few scans, or heavy tails; `explained` log NEES is taken out first. (n,)."""
    nees, nearby = case.nees * np.exp(-explained), explained
    k = max(1.0, float(np.median(nees)) / case.gaussian_median)
    if explained.any():
        k *= MARGIN  # where a regime or stretch begins is known to a block only
        nearby = running_maximum(explained, max(2, len(explained) // BLOCKS))
    if k > TIGHTER_RATIO and most < ENOUGH_SCANS:
        return [], [too_few(name, most) for name in ("a few scans", "heavy tails")]
    extreme = extreme_scans(case, case.nees * np.exp(-nearby) / k)
    if case.fewest_particles < MANY_PARTICLES:
        few = f"{words.number(case.fewest_particles)} particles have heavy tails of their own"
        return _few_scans(case, nees, extreme), [Untested("heavy tails", few)]

    found, untested = _heavy_tails(case, nees, most)
    rest, _ = _heavy_tails(case, nees[~extreme], most) if extreme.any() else (found, [])
    if extreme.any() and not rest:
        return _few_scans(case, nees, extreme), untested
    return found, untested


def running_maximum(series: Floats, reach: int) -> Floats:
    """The largest of each entry and of those up to `reach` before and after it. (n,) -> (n,).

    Of the maxima from the start and from the end of blocks as long as a window, one window needs
    two (van Herk, "A fast algorithm for local minimum and maximum filters", 1992).
    """
    width = 2 * reach + 1
    blocks = -(-(len(series) + 2 * reach) // width)
    padded = np.full((blocks, width), -np.inf)
    padded.ravel()[reach : reach + len(series)] = series
    ahead = np.maximum.accumulate(padded, axis=1).ravel()
    behind = np.maximum.accumulate(padded[:, ::-1], axis=1)[:, ::-1].ravel()
    return np.maximum(behind[: len(series)], ahead[2 * reach : 2 * reach + len(series)])


def _few_scans(case: DiagnosisCase, nees: Floats, extreme: Bools) -> list[Why]:
    share = float(extreme.mean())
    if not 0 < share <= FEW:
        return []
    evidence = {
        "scans": float(extreme.sum()),
        "share_of_scans": share,
        "share_of_nees": float(nees[extreme].sum() / nees.sum()),
        "first_s": float(case.time_s[int(np.argmax(extreme))]),
        "largest_nees": float(nees.max()),
    }
    return [Why("a few scans", evidence)]


def _heavy_tails(
    case: DiagnosisCase, nees: Floats, most: float
) -> tuple[list[Why], list[Untested]]:
    memory = len(nees) / mean_of(np.log(np.maximum(nees, TINY)), most=most).n_effective
    guard = int(min(GUARD * memory, LONGEST_GUARD * len(nees)))
    gain, nu = cross_validated_gain(nees, case.dimension, guard=guard)
    capped = np.minimum(gain, MOST_NAT)
    mean = mean_of(capped, most=most)
    if mean.n_effective < ENOUGH_SCANS:
        return [], [too_few("heavy tails", mean.n_effective)]
    if mean.probability >= TEST_LEVEL or mean.value < LEAST_NAT or nu >= LIGHT:
        return [], []
    found = case.intervals.of(capped, "mean", "nat")
    ends = {"gain_low_nat": found.low, "gain_high_nat": found.high}
    evidence = {"gain_nat": found.value, "nu": nu, "p": mean.probability}
    known = {name: end for name, end in ends.items() if end is not None}
    return [Why("heavy tails", evidence | known)], []


def overall_diagnosis(
    case: DiagnosisCase, explained: Floats, *, alone: bool, most: float
) -> Why | None:
    """Too tight in scans that nothing else sets apart; by little only if nothing else is found."""
    d = case.dimension
    honest = chi_squared_mean_log(d) - np.log(case.gaussian_median)
    mean = mean_of(np.log(np.maximum(case.relative_nees, TINY)) - explained - honest, most=most)
    k = float(np.median(case.relative_nees * np.exp(-explained)))
    sure = mean.probability < TEST_LEVEL and mean.n_effective >= ENOUGH_SCANS
    # half of the scans lie so far out with probability at most 2 p, by Markov's inequality
    by_median = 2 * chi_squared_tail(d, k * case.gaussian_median) < TEST_LEVEL
    if not (sure or by_median) or k <= (1 if alone else TIGHTER_RATIO):
        return None
    evidence = {"k": k, "p": mean.probability, "independent_scans": mean.n_effective}
    return Why("too tight throughout", evidence)
