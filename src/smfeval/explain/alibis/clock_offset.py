"""Clock offset: the clocks of estimate and reference differ by a constant.

A shift by s added to the estimate's stamps moves it, at the reference's stamps, to
x - v s + 1/2 a s^2 (`compare.clock_sweep`); the alignment is fitted again for every s.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from smfeval.explain.alibis.case import Case
from smfeval.explain.alibis.judgement import judge
from smfeval.explain.alibis.result import Alibi, Need
from smfeval.explain.alibis.sizes import milliseconds
from smfeval.maths.arrays import Floats

REACH_S = 0.05  # a larger offset shows in any plot of the two tracks
STEP_S = 1e-3
FINE = 10  # steps within one step, about the best


def clock_offset(case: Case, search: Case) -> Alibi:
    """The offset that is kindest to the estimate, and the smallest that gives k = 1."""
    if case.velocity is None:
        within = f"within {milliseconds(REACH_S)}"
        return Alibi("clock offset", within, None, reason="too few scans to tell their velocity")
    offsets, k = offset_curve(search)
    best = float(offsets[np.argmin(k)])
    return Alibi(
        "clock offset",
        f"{milliseconds(best, signed=True)}, best within {milliseconds(REACH_S)}",
        judge(case.at_offset(best)),
        needed_offset(offsets, k),
        searched=True,
    )


def kindest_offset(case: Case) -> float:
    """The offset within reach with the least k."""
    offsets, k = offset_curve(case)
    return float(offsets[np.argmin(k)])


def offset_curve(case: Case) -> tuple[Floats, Floats]:
    """Offsets within reach, and k at each: every millisecond, and finer about the best."""
    count = round(REACH_S / STEP_S)
    coarse = STEP_S * np.arange(-count, count + 1)
    k = _k(case, coarse)
    fine = coarse[np.argmin(k)] + np.linspace(-STEP_S, STEP_S, 2 * FINE + 1)
    fine = fine[np.abs(fine) <= REACH_S * (1 + 1e-9)]
    offsets, first = np.unique(np.concatenate([coarse, fine]), return_index=True)
    return offsets, np.concatenate([k, _k(case, fine)])[first]


def needed_offset(offsets: Floats, k: Floats) -> Need:
    """The smallest offset, either way, that gives k = 1; linear between offsets asked."""
    enough = np.flatnonzero(k <= 1)
    if len(enough) == 0:
        best = int(np.argmin(k))
        return Need("s", None, kindest=float(abs(offsets[best])), k_left=float(k[best]))
    at = enough[np.argmin(np.abs(offsets[enough]))]
    before = at - int(np.sign(offsets[at]))  # the neighbour on the side of zero
    if before == at:
        return Need("s", 0.0)
    part = (k[before] - 1) / (k[before] - k[at])
    return Need("s", float(abs(offsets[before] + part * (offsets[at] - offsets[before]))))


def _k(case: Case, offsets: Iterable[float]) -> Floats:
    """k at each offset; covariances stay, for they hardly change within reach."""
    base = case.residuals()
    errors = (case.at_offset(offset).error() for offset in offsets)
    return np.array([np.median(case.relative(replace(base, error=error))) for error in errors])
