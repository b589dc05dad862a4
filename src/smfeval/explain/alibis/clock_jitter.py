"""Clock jitter: every scan has a clock error of its own, so the motion smears the error along it.

A clock error of standard deviation s adds s^2 v v^T to what the belief predicts, v the velocity.
By Sherman and Morrison, with a = v^T S^-1 e and b = v^T S^-1 v,

    NEES(s) = NEES - s^2 a^2 / (1 + s^2 b) = (NEES - a^2 / b) + (a^2 / b) / (1 + s^2 b):

errors across the motion, the first part, remain whatever the jitter. The sum of two parts keeps its
digits however small S is beside s^2 v v^T; the difference, or a factor of the sum, would not.
"""

from collections.abc import Callable

import numpy as np

from smfeval.explain.alibis.case import Case
from smfeval.explain.alibis.crossing import crossing, median_of
from smfeval.explain.alibis.judgement import judged
from smfeval.explain.alibis.result import Alibi, Need
from smfeval.explain.alibis.sizes import milliseconds
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats

SOFTWARE_S = 0.01  # stamps that software takes on a busy host; hardware is far better
LARGEST_S = 1e3  # beyond this the limit is reached


def clock_jitter(case: Case) -> Alibi:
    """The verdict with the jitter of software stamps, and the jitter that gives k = 1."""
    granted = f"{milliseconds(SOFTWARE_S)}, stamps by software"
    if case.velocity is None:
        return Alibi("clock jitter", granted, None, reason="too few scans to tell their velocity")
    relative = jitter_curve(case)
    return Alibi(
        "clock jitter", granted, judged(case, relative(SOFTWARE_S)), needed_jitter(relative)
    )


def scored_velocity(case: Case) -> Floats:
    """Velocity in the reference's world on the scored axes. (m, d)."""
    assert case.velocity is not None
    alignment = case.alignment
    velocity = so3.turned(alignment.scale * alignment.rotation, case.velocity[case.scored])
    return velocity[:, case.options.axis_index]


def needed_jitter(relative: Callable[[float], Floats]) -> Need:
    """The jitter that gives k = 1, or the k that is left without limit."""
    size = crossing(median_of(relative), LARGEST_S)
    if size is not None:
        return Need("s", size)
    return Need("s", None, k_left=float(np.median(relative(np.inf))))


def jitter_curve(case: Case) -> Callable[[float], Floats]:
    """Relative NEES as a function of the jitter in seconds; inf gives the limit."""
    residuals, velocity = case.residuals(), scored_velocity(case)
    honest = case.honest[case.scored]
    error, motion = (normal.whitened(x, residuals.predicted) for x in (residuals.error, velocity))
    speed = np.linalg.norm(motion, axis=1)  # sigmas per second
    way = motion / np.where(speed > 0, speed, 1.0)[:, None]
    along = np.einsum("nd,nd->n", error, way)
    across = error - along[:, None] * way
    remains = np.einsum("nd,nd->n", across, across)

    def relative(jitter_s: float) -> Floats:
        smear = np.where(speed > 0, jitter_s, 0.0) * speed  # inf times a standstill is nothing
        return (remains + along**2 / (1 + smear**2)) / honest

    return relative
