"""The few special functions that scoring needs, and where a function is least, by numpy alone.

Importing `scipy.special` costs 0.2 s of CPU, nearly half as much as a whole `smfeval score` of ten
thousand scans (`BENCHMARK.md`, "What limits us"). Degrees of freedom are whole here, so that the
chi-squared and the t distribution are finite sums (Abramowitz and Stegun, "Handbook of Mathematical
Functions", 26.4.4, 26.4.5, 26.7.3 and 26.7.4). Of many degrees, which only studies of many tracks
and innovations of many dimensions have, scipy's functions are taken.
"""

from collections.abc import Callable
from functools import lru_cache, reduce
from itertools import accumulate
from math import ceil, erfc, exp, factorial, gamma, lgamma, log, pi, sqrt
from math import erf as erf_at
from operator import mul

import numpy as np

from smfeval.maths.arrays import Floats

MANY = 60  # degrees of freedom beyond which sums are long, and lose their digits


def t_cdf(degrees: int, t: Floats) -> Floats:
    """Probability of at most t, to 1e-15 of 1. (...) -> (...)."""
    if degrees > MANY:
        from scipy.special import stdtr  # noqa: PLC0415  slow to import

        return np.asarray(stdtr(degrees, t))
    square = degrees + t * t
    cosine2, sine = degrees / square, t / np.sqrt(square)
    last, *before = _coefficients(degrees)
    series = np.full_like(t, last)
    for coefficient in before:
        series *= cosine2
        series += coefficient
    if degrees % 2 == 0:
        return 0.5 + 0.5 * sine * series
    theta = np.arctan(t / np.sqrt(degrees))
    inner = sine * np.sqrt(cosine2) * series if degrees > 1 else 0.0
    return 0.5 + (theta + inner) / np.pi


FLAT = 0.9  # cos^2 above which the tail of a t distribution is not small
NEGLIGIBLE = 37.0  # e to the minus this is less than the last digit


def t_tail(degrees: int, t: float) -> float:
    """Probability of more than a t that is not negative, to 1e-13 of itself.

    What the sum of `t_cdf` leaves of 1/2 is the same sum continued without end, of terms that are
    all positive.
    """
    if degrees > MANY:
        return float(t_cdf(degrees, np.array(-t)))
    square = degrees + t * t
    cosine2, sine = degrees / square, t / sqrt(square)
    if not cosine2 <= FLAT:
        return float(1 - t_cdf(degrees, np.array(t)))
    if cosine2 == 0:
        return 0.0
    terms = np.arange(degrees, degrees + 2 * ceil(NEGLIGIBLE / -log(cosine2)), 2)
    series = 1 + float(np.cumprod((terms + 1) / (terms + 2) * cosine2).sum())
    norm = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2 + 1)) / (2 * sqrt(pi))
    return norm * sine * cosine2 ** (degrees / 2) * series


@lru_cache(maxsize=32)
def _coefficients(degrees: int) -> tuple[float, ...]:
    """Of the powers of cos^2 in the sum, the highest first."""
    terms = range(2 + degrees % 2, degrees - 1, 2)
    return tuple(accumulate(((term - 1) / term for term in terms), mul, initial=1.0))[::-1]


def t_density(degrees: int, t: Floats) -> Floats:
    """Derivative of the probability. (...) -> (...)."""
    norm = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(pi * degrees)
    return norm * (1 + t * t / degrees) ** (-(degrees + 1) / 2)


STEP = 1 / 64  # between the points about which erf is expanded
END = 6.0  # erf is 1 from here on
TERMS = 7  # of Taylor's series, for a distance of at most STEP / 2
CERTAIN = 2000.0  # half a squared length that is never exceeded, with MANY degrees or fewer
HALVINGS = 80
NEWTON_STEPS = 100
QUANTILE_PRECISION = 1e-13


def erf(x: Floats) -> Floats:
    """The error function, to 4e-16, from Taylor's series about the nearest tabulated point."""
    series = _taylor()
    size = np.minimum(np.abs(x), END)
    nearest = np.rint(np.fmin(size, END) / STEP).astype(np.intp)  # fmin: no index is nan
    beyond = size - nearest * STEP
    value: Floats = series[-1].take(nearest)
    for coefficient in series[-2::-1]:
        value *= beyond
        value += coefficient.take(nearest)
    return np.copysign(value, x)


@lru_cache(maxsize=1)
def _taylor() -> Floats:
    """Taylor's coefficients of erf at the points 0, STEP, .. END. (TERMS, points).

    The n-th derivative is 2 / sqrt(pi) exp(-x^2) times (-1)^(n-1) H_(n-1)(x), with Hermite's
    polynomials H_(k+1) = 2 x H_k - 2 k H_(k-1).
    """
    x = np.arange(0, END + STEP, STEP)
    hermite = [np.zeros_like(x), np.ones_like(x)]  # H_-1 and H_0
    for k in range(TERMS - 2):
        hermite.append(2 * x * hermite[-1] - 2 * k * hermite[-2])
    slope = 2 / sqrt(pi) * np.exp(-(x**2))
    powers = [slope * (-1) ** (n - 1) * hermite[n] / factorial(n) for n in range(1, TERMS)]
    return np.array([[erf_at(point) for point in x], *powers])


# Numerator and denominator of Wichura's three rational functions, highest power first: near the
# median, in the tails, and far out.
WICHURA = (
    (2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987,
     13731.69376550946, 1971.5909503065513, 133.14166789178438, 3.3871328727963665),
    (5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597,
     5394.196021424751, 687.1870074920579, 42.31333070160091, 1.0),
    (0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684,
     3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835),
    (1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008,
     0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0),
    (2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124,
     0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103),
    (2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133,
     0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0),
)  # fmt: skip


def normal_quantile(probability: Floats | float) -> Floats:
    """The standard normal value with a probability below it, strictly between 0 and 1."""
    each = [normal_quantile_at(p) for p in np.ravel(probability).tolist()]
    return np.array(each).reshape(np.shape(probability))


def normal_quantile_at(p: float) -> float:
    """The same of one number, to 1e-16 of itself (Wichura, 1988, algorithm AS 241).

    As `statistics.NormalDist().inv_cdf`, without the modules that come along with it.
    """
    if not 0 < p < 1:
        raise ValueError(f"{p} is no probability strictly between 0 and 1")
    q = p - 0.5
    if abs(q) <= 0.425:
        return _ratio(0, 0.180625 - q * q, factor=q)
    r = sqrt(-log(min(p, 1 - p)))
    x = _ratio(2, r - 1.6) if r <= 5 else _ratio(4, r - 5)
    return -x if q < 0 else x


def _ratio(row: int, x: float, factor: float = 1.0) -> float:
    """A rational function of WICHURA at x, times a factor."""
    above, below = (reduce(lambda sum_, next_: sum_ * x + next_, WICHURA[row + i]) for i in (0, 1))
    return above * factor / below


def chi_squared_cdf(degrees: int, x: Floats) -> Floats:
    """Probability of at most x, to 1e-15 of 1. (...) -> (...)."""
    if degrees > MANY:
        from scipy.special import chdtr  # noqa: PLC0415  slow to import

        return np.asarray(chdtr(degrees, x))
    half = np.minimum(x / 2, CERTAIN)
    inside = erf(np.sqrt(half)) if degrees % 2 else -np.expm1(-half)
    terms = [half**power / divisor for power, divisor in _powers(degrees)]
    return inside - np.exp(-half) * sum(terms) if terms else inside


def chi_squared_tail(degrees: int, x: float) -> float:
    """Probability of more than x, to 1e-13 of itself, down to 1e-300."""
    if degrees > MANY:
        from scipy.special import chdtrc  # noqa: PLC0415  slow to import

        return float(chdtrc(degrees, max(x, 0.0)))
    half = min(max(x, 0.0) / 2, CERTAIN)
    outside = erfc(sqrt(half)) if degrees % 2 else exp(-half)
    root = exp(-half / 2)  # the sum is large where exp(-half) has no digits left
    return outside + root * sum(half**power / divisor * root for power, divisor in _powers(degrees))


def _powers(degrees: int) -> list[tuple[float, float]]:
    """Powers p = 1/2, 3/2, .. (odd degrees) or 1, 2, .. below degrees / 2, and gamma(p + 1)."""
    first = 0.5 if degrees % 2 else 1.0
    return [(k + first, gamma(k + first + 1)) for k in range((degrees - 1) // 2)]


def chi_squared_mean_log(degrees: int) -> float:
    """Mean of the logarithm: digamma(degrees / 2) + log 2."""
    first = 1 if degrees % 2 else 2
    return log(2) * (-1) ** degrees - np.euler_gamma + sum(2 / k for k in range(first, degrees, 2))


@lru_cache(maxsize=1024)
def chi_squared_tail_quantile(degrees: int, probability: float) -> float:
    """The value that is exceeded with a probability, by halving."""
    low, high = 0.0, 1.0
    while chi_squared_tail(degrees, high) > probability:
        low, high = high, 2 * high
    return bisect(lambda x: chi_squared_tail(degrees, x) > probability, low, high)


SERIES_DEGREES = 200  # up to here quantiles are of the series


@lru_cache(maxsize=4096)
def chi_squared_quantile(degrees: float, probability: float) -> float:
    """Of any degrees of freedom, to 1e-12; of more than 200, from 1 % to 99 % within 1e-4.

    With x half of it and a half the degrees, Newton's steps on the logarithm of

        P = x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..),

    which is concave in log x, from below. Of many degrees, Wilson and Hilferty's cube (1931).
    """
    if degrees > SERIES_DEGREES:
        spread = 2 / (9 * degrees)
        return degrees * (1 - spread + normal_quantile_at(probability) * sqrt(spread)) ** 3
    a, wanted = degrees / 2, log(probability) + lgamma(degrees / 2 + 1)
    log_x = wanted / a
    for _ in range(NEWTON_STEPS):
        x = exp(log_x)
        series = 1 + float(np.cumprod(x / (a + np.arange(1, int(2 * x) + NEGLIGIBLE))).sum())
        step = (wanted - a * log_x + x - log(series)) * series / a
        log_x += step
        if abs(step) <= QUANTILE_PRECISION:
            break
    return 2 * exp(log_x)


@lru_cache(maxsize=64)
def t_quantile(degrees: int, probability: float) -> float:
    """The value of Student's t with a probability below it, by Newton's steps.

    They start at the normal distribution's quantile, which is nearer to zero; from there each step
    stays short of the solution, because the distribution is concave beyond zero.
    """
    if degrees > MANY:
        from scipy.special import stdtrit  # noqa: PLC0415  slow to import

        return float(stdtrit(degrees, probability))
    upper = max(probability, 1 - probability)
    t = normal_quantile(upper)
    for _ in range(NEWTON_STEPS):
        step = (upper - t_cdf(degrees, t)) / t_density(degrees, t)
        t = t + step
        if np.abs(step) <= 1e-14 * t:
            break
    return float(t if probability >= 0.5 else -t)


def student_reach(values: Floats, tail: float) -> float:
    """From the mean of independent numbers to the ends of Student's interval. (n,)."""
    error = float(np.std(values, ddof=1)) / sqrt(len(values))
    return -t_quantile(len(values) - 1, tail) * error


def bisect(
    is_below: Callable[[float], bool], low: float, high: float, halvings: int = HALVINGS
) -> float:
    """Where the answer to "is the solution above this?" turns from yes to no."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2


GOLDEN = (sqrt(5) - 1) / 2


def golden_section(score: Callable[[float], float], low: float, high: float, tries: int) -> float:
    """Where a function with one minimum is least, by so many values of it."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = score(left), score(right)
    for _ in range(tries - 2):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = score(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = score(right)
    return left if at_left <= at_right else right
