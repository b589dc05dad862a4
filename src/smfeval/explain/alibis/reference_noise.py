"""Reference noise: the reference's positions are themselves off, at random, alike in every axis.

S + sigma^2 I has the eigenvectors u of S, so NEES(sigma) = sum (u e)^2 / (l + sigma^2): one
decomposition, and each sigma costs a pass over the scans.
"""

from collections.abc import Callable

import numpy as np

from smfeval import words
from smfeval.explain.alibis.case import (
    Alibi,
    AlibiCase,
    Need,
    crossing,
    judge,
    k_number,
    median_curve,
    widen_bracket,
)
from smfeval.maths.arrays import Floats
from smfeval.summarise.number import Number

TOTAL_STATION_M = 2e-3  # on a prism; motion capture is as good
SURVEYED_MAP_M = 1e-2  # scans registered to a map of a terrestrial scanner: about 1 cm
RTK_M = 2e-2  # carrier-phase GNSS with fixed ambiguities: 1 to 2 cm
SURVEYED_MAP_ONLY = "the reference is such a one"
RTK_ONLY = "the reference is no better than RTK"
ROUNDING = 1e-9  # of a sigma that is surely enough
END_STEPS = 13  # of an interval's end: to 0.3 %


def reference_noise(case: AlibiCase, search: AlibiCase) -> tuple[Alibi, ...]:
    """The verdict before references of three kinds; and the sigma for k = 1."""
    need = needed_noise(case, search)
    return (
        _row(case, TOTAL_STATION_M, "total station or motion capture", need),
        _row(case, SURVEYED_MAP_M, "LiDAR registered to a surveyed map", proviso=SURVEYED_MAP_ONLY),
        _row(case, RTK_M, "RTK", proviso=RTK_ONLY),
    )


def _row(
    case: AlibiCase,
    sigma_m: float,
    kind: str,
    need: Need | None = None,
    *,
    proviso: str | None = None,
) -> Alibi:
    granted = f"{words.length(sigma_m)}, {kind}"
    judgement = judge(with_isotropic_noise(case, sigma_m))
    return Alibi("reference noise", granted, judgement, need, proviso)


def with_isotropic_noise(case: AlibiCase, sigma_m: float) -> AlibiCase:
    """Before a reference with sigma^2 I more at every scan."""
    shape = (len(case.reference), 3, 3)
    return case.with_reference_noise(np.broadcast_to(sigma_m**2 * np.eye(3), shape))


def needed_noise(case: AlibiCase, search: AlibiCase) -> Need:
    """The sigma that gives k = 1, and those for which 1 lies within the interval of k."""
    relative, enough = noise_curve(case)
    size = crossing(median_curve(relative), enough)
    low, high = _noise_ends(search)
    if size is None or low is None or high is None:
        return Need("m", size)
    return Need("m", size, min(low, size), max(high, size))


def noise_curve(case: AlibiCase) -> tuple[Callable[[float], Floats], float]:
    """Relative NEES as a function of sigma, and a sigma that is surely enough for k = 1."""
    residuals, honest = case.residuals, case.honest_median[case.scored_scans]
    values, vectors = np.linalg.eigh(residuals.predicted_covariance)
    values = np.maximum(values, np.finfo(np.float64).tiny)  # rounding
    square = np.einsum("nij,ni->nj", vectors, residuals.error) ** 2

    def relative(sigma_m: float) -> Floats:
        return np.einsum("nj,nj->n", square, 1 / (values + sigma_m**2)) / honest

    # NEES <= |e|^2 / sigma^2
    enough = float(np.sqrt(np.median(square.sum(axis=1) / honest)))
    return relative, (1 + ROUNDING) * enough


def _noise_ends(case: AlibiCase) -> tuple[float | None, float | None]:
    """Sigmas at which the low and the high end of the interval of k are 1."""
    relative, enough = noise_curve(case)

    def number(sigma_m: float) -> Number:
        return k_number(case, relative(sigma_m))

    if number(0.0).low is None or number(enough).high is None:
        return None, None
    low = crossing(lambda sigma: _end_or_above(number(sigma).low), enough, steps=END_STEPS)
    far = widen_bracket(lambda sigma: _end_or_above(number(sigma).high), enough)
    if far is None:
        return low, None
    return low, crossing(lambda sigma: _end_or_above(number(sigma).high), far, steps=END_STEPS)


def _end_or_above(end: float | None) -> float:
    """An end that is not known forbids nothing and proves nothing: taken as above 1."""
    return np.inf if end is None else end
