"""Reference noise: the reference's positions are themselves off, at random, alike in every axis.

S + sigma^2 I has the eigenvectors u of S, so NEES(sigma) = sum (u e)^2 / (l + sigma^2): one
decomposition, and each sigma costs a pass over the scans.
"""

from collections.abc import Callable

import numpy as np

from smfeval.explain.alibis.case import Case
from smfeval.explain.alibis.crossing import crossing, median_of, widened
from smfeval.explain.alibis.judgement import judge, number_of
from smfeval.explain.alibis.result import Alibi, Need
from smfeval.explain.alibis.sizes import metres
from smfeval.maths.arrays import Floats
from smfeval.summarise.number import Number

SURVEY_GRADE_M = 2e-3  # total station on a prism, or scans registered to a surveyed map
RTK_M = 2e-2  # carrier-phase GNSS with fixed ambiguities: 1 to 2 cm
RTK_ONLY = "the reference is no better than RTK"
END_STEPS = 12  # of an interval's end: to 0.4 %


def reference_noise(case: Case, search: Case) -> tuple[Alibi, ...]:
    """The verdict before a survey-grade and before an RTK reference; and the sigma for k = 1."""
    need = needed_noise(case, search)
    survey, rtk = (judge(case, noise=isotropic(case, sigma)) for sigma in (SURVEY_GRADE_M, RTK_M))
    return (
        Alibi("reference noise", f"{metres(SURVEY_GRADE_M)}, survey-grade", survey, need),
        Alibi("reference noise", f"{metres(RTK_M)}, RTK", rtk, proviso=RTK_ONLY),
    )


def isotropic(case: Case, sigma_m: float) -> Floats:
    """sigma^2 I for every scored scan. (m, d, d)."""
    d = len(case.options.axes)
    return np.broadcast_to(sigma_m**2 * np.eye(d), (len(case.scored), d, d))


def needed_noise(case: Case, search: Case) -> Need:
    """The sigma that gives k = 1, and those for which 1 lies within the interval of k."""
    relative, enough = noise_curve(case)
    size = crossing(median_of(relative), enough)
    low, high = _ends(search)
    if size is None or low is None or high is None:
        return Need("m", size)
    return Need("m", size, min(low, size), max(high, size))


def noise_curve(case: Case) -> tuple[Callable[[float], Floats], float]:
    """Relative NEES as a function of sigma, and a sigma that is surely enough for k = 1."""
    residuals, honest = case.residuals(), case.honest[case.scored]
    values, vectors = np.linalg.eigh(residuals.predicted)
    values = np.maximum(values, np.finfo(np.float64).tiny)  # rounding
    square = np.einsum("nij,ni->nj", vectors, residuals.error) ** 2

    def relative(sigma_m: float) -> Floats:
        return np.einsum("nj,nj->n", square, 1 / (values + sigma_m**2)) / honest

    # NEES <= |e|^2 / sigma^2
    return relative, float(np.sqrt(np.median(square.sum(axis=1) / honest)))


def _ends(case: Case) -> tuple[float | None, float | None]:
    """Sigmas at which the low and the high end of the interval of k are 1."""
    relative, enough = noise_curve(case)

    def number(sigma_m: float) -> Number:
        return number_of(case, relative(sigma_m))

    if number(0.0).low is None or number(enough).high is None:
        return None, None
    low = crossing(lambda sigma: _end(number(sigma).low), enough, steps=END_STEPS)
    far = widened(lambda sigma: _end(number(sigma).high), enough)
    if far is None:
        return low, None
    return low, crossing(lambda sigma: _end(number(sigma).high), far, steps=END_STEPS)


def _end(end: float | None) -> float:
    """An end that is not known forbids nothing and proves nothing: taken as above 1."""
    return np.inf if end is None else end
