"""Clock offset: the clocks of estimate and reference differ by a constant.

A shift by s added to the estimate's stamps moves it, at the reference's stamps, to
x - v s + 1/2 a s^2 (`compare.clock_sweep`); the alignment is fitted again for every s.
"""

from collections.abc import Callable, Iterable

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment, centre_of, turn_and_scale
from smfeval.explain.alibis.case import (
    UNFITTED_ALIGNMENTS,
    Alibi,
    AlibiCase,
    Need,
    crossing,
    judge,
    median_curve,
    once_for_each_case,
    select_scans,
    try_judge,
)
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats

REACH_S = 0.05  # a larger offset shows in any plot of the two tracks
STEP_S = 1e-3
FINE_STEPS = 10  # steps within one step, about the best


def clock_offset(case: AlibiCase, search: AlibiCase) -> Alibi:
    """The offset that is kindest to the estimate, and the smallest that gives k = 1."""
    if case.velocity is None:
        within = f"within {words.duration(REACH_S)}"
        return Alibi("clock offset", within, None, reason="too few scans to tell their velocity")
    offsets, k = offset_curve(search)
    best = float(offsets[np.argmin(k)])
    judgement, reason = try_judge(case.at_offset(best))
    return Alibi(
        "clock offset",
        f"{words.duration(best, signed=True)}, best within {words.duration(REACH_S)}",
        judgement,
        needed_offset(offsets, k),
        searched=True,
        reason=reason,
    )


def kindest_offset(case: AlibiCase) -> float:
    """The offset within reach with the least k."""
    offsets, k = offset_curve(case)
    return float(offsets[np.argmin(k)])


@once_for_each_case
def offset_curve(case: AlibiCase) -> tuple[Floats, Floats]:
    """Offsets within reach, and k at each: every millisecond, and finer about the best."""
    count = round(REACH_S / STEP_S)
    coarse = STEP_S * np.arange(-count, count + 1)
    k = _k_at_offsets(case, coarse)
    fine = coarse[np.argmin(k)] + np.linspace(-STEP_S, STEP_S, 2 * FINE_STEPS + 1)
    fine = fine[np.abs(fine) <= REACH_S * (1 + 1e-9)]
    offsets, first = np.unique(np.concatenate([coarse, fine]), return_index=True)
    return offsets, np.concatenate([k, _k_at_offsets(case, fine)])[first]


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


def _k_at_offsets(case: AlibiCase, offsets: Iterable[float]) -> Floats:
    """k at each offset; covariances stay, for they hardly change within reach."""
    root = np.linalg.cholesky(case.residuals.predicted_covariance)
    # once: covariances of a search have an inverse
    whitening = np.ascontiguousarray(np.linalg.inv(root).transpose(1, 2, 0))
    honest = case.honest_median[case.scored_scans]
    target = case.scored_reference.position
    columns, fit = case.options.space.columns, _fit_curve(case)

    def k_at(offset: float) -> float:
        position = case.positions_at_offset(offset)
        turn, shift = fit(position)
        moved = so3.rotate_all(turn, select_scans(position, case.scored_scans))
        error = (moved + shift - target)[:, columns]
        white = np.einsum("ijn,jn->in", whitening, np.ascontiguousarray(error.T))
        return float(np.median(np.einsum("dn,dn->n", white, white) / honest))

    return np.array([k_at(offset) for offset in offsets])


def _fit_curve(case: AlibiCase) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Scale times rotation, and translation, of the fit to positions that were moved. (n, 3)."""
    if case.kind in UNFITTED_ALIGNMENTS:
        return lambda position: _parts(case.at_positions(position).alignment)
    theirs = case.reference.position[case.fitted]
    their_centre = centre_of(theirs)
    theirs = theirs - their_centre

    def fit(position: Floats) -> tuple[Floats, Floats]:
        ours = select_scans(position, case.fitted)
        centre = centre_of(ours)
        ours = ours - centre
        rotation, scale = turn_and_scale(case.kind, theirs.T @ ours, float(np.sum(ours**2)))
        turn = scale * rotation
        return turn, their_centre - turn @ centre

    return fit


def _parts(found: Alignment) -> tuple[Floats, Floats]:
    return found.scale * found.rotation, found.translation


SOFTWARE_S = 0.01  # stamps that software takes on a busy host; hardware is far better
LARGEST_S = 1e3  # beyond this the limit is reached


def clock_jitter(case: AlibiCase) -> Alibi:
    """The verdict with the jitter of software stamps, and the jitter that gives k = 1."""
    granted = f"{words.duration(SOFTWARE_S)}, stamps by software"
    if case.velocity is None:
        return Alibi("clock jitter", granted, None, reason="too few scans to tell their velocity")
    relative = jitter_curve(case)  # keeps its digits where S + s^2 v v^T has none
    judgement = judge(with_jitter(case, SOFTWARE_S), relative(SOFTWARE_S))
    return Alibi("clock jitter", granted, judgement, needed_jitter(relative))


def with_jitter(case: AlibiCase, jitter_s: float) -> AlibiCase:
    """Before a reference that is uncertain along the motion by so many seconds at every scan."""
    v = world_velocity(case)
    return case.with_reference_noise(jitter_s**2 * v[:, :, None] * v[:, None, :])


def scored_velocity(case: AlibiCase) -> Floats:
    """Velocity in the reference's world on the scored axes. (m, d)."""
    return world_velocity(case)[case.scored_scans][:, case.options.space.columns]


def world_velocity(case: AlibiCase) -> Floats:
    """Velocity of every matched scan in the reference's world. (n, 3)."""
    assert case.velocity is not None
    alignment = case.alignment
    return so3.rotate_all(alignment.scale * alignment.rotation, case.velocity)


def needed_jitter(relative: Callable[[float], Floats]) -> Need:
    """The jitter that gives k = 1, or the k that is left without limit."""
    size = crossing(median_curve(relative), LARGEST_S)
    if size is not None:
        return Need("s", size)
    return Need("s", None, k_left=float(np.median(relative(np.inf))))


def jitter_curve(case: AlibiCase) -> Callable[[float], Floats]:
    """Relative NEES as a function of the jitter in seconds; inf gives the limit."""
    residuals, velocity = case.residuals, scored_velocity(case)
    honest = case.honest_median[case.scored_scans]
    error, motion = (
        normal.whiten(x, residuals.predicted_covariance) for x in (residuals.error, velocity)
    )
    speed = np.linalg.norm(motion, axis=1)  # sigmas per second
    way = motion / np.where(speed > 0, speed, 1.0)[:, None]
    along = np.einsum("nd,nd->n", error, way)
    across = error - along[:, None] * way
    remains = np.einsum("nd,nd->n", across, across)

    def relative(jitter_s: float) -> Floats:
        smear = np.where(speed > 0, jitter_s, 0.0) * speed  # inf times a standstill is nothing
        return (remains + along**2 / (1 + smear**2)) / honest

    return relative
