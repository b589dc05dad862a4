"""Systematic against random: constant in the world, in the body, along the velocity, with the way.

The errors of all scans, whitened by the reported covariance, are regressed on

    offset      e = c                 only where no alignment could absorb it
    lever arm   e = R b               constant in body axes
    clock       e = tau v             along the velocity v
    scale       e = s (x - x_0)       grows with the distance from where it is zero

beside the freedoms of the alignment (`freedoms`), which it has absorbed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats
from smfeval.why.diagnoses.case import (
    ENOUGH_SCANS,
    RELEVANT_SHARE,
    TEST_LEVEL,
    Bodies,
    DiagnosisCase,
)
from smfeval.why.diagnoses.regression import (
    RESPONSE,
    Cause,
    Finding,
    Selection,
    design_of,
    effective_share,
    independent_scans,
    select_causes,
    untested_causes,
)
from smfeval.why.diagnoses.result import Diagnosis, Untested

BiasText = tuple[dict[str, float], str, str]
Coefficients = dict[str, float]  # coefficients by axis, those that the motion shows


def _lever_arm(value: Coefficients, bodies: Bodies) -> BiasText:
    theirs = bodies.reference_words
    advice = _no_extrinsic(value, theirs)
    numbers = {f"body_{each}_m": metres for each, metres in value.items()}
    if bodies.turn is not None:
        off = in_extrinsic_axes(value, bodies.turn)
        numbers |= {f"extrinsic_{each}_m": metres for each, metres in off.items()}
        advice = _wrong_extrinsic(off, bodies) + _unobserved_text(value, theirs)
    size = f"{words.lengths(*value.values())} in {', '.join(value)}"
    return numbers, f"the error is constant in body axes: {size} of {theirs}", advice


def _no_extrinsic(value: Coefficients, body: str) -> str:
    axis = _longest(value)
    return (
        f"check the extrinsic by {words.lengths(value[axis])} in {axis} of {body}: the "
        "estimate is about "
        "a point that lies off the reference's by this much"
    )


def _wrong_extrinsic(off: Coefficients, bodies: Bodies) -> str:
    axis, ours = _longest(off), bodies.estimate_words
    return (
        f"check the extrinsic by {words.lengths(off[axis])} in {axis} of {ours}: subtract "
        f"{words.lengths(*off.values())} from its translation (x, y, z of {ours})"
    )


def in_extrinsic_axes(value: Coefficients, turn: Floats) -> Coefficients:
    """R_E b: a bias in the reference's body, in the axes that the extrinsic's translation has.

    With the pose of the reference's body in the estimate's off by d in translation, the estimate
    is off by R d = (R R_E) b.
    """
    bias = np.array([value.get(axis, 0.0) for axis in "xyz"])
    return dict(zip("xyz", (turn @ bias).tolist(), strict=True))


def _unobserved_text(value: Coefficients, body: str) -> str:
    """What the motion does not show, and is taken as right."""
    missing = [axis for axis in "xyz" if axis not in value]
    return f"; {', '.join(missing)} of {body} is not shown by the motion" if missing else ""


def _longest(value: Coefficients) -> str:
    return max(value, key=lambda each: abs(value[each]))


def _clock(value: Coefficients, _: Bodies) -> BiasText:
    (tau_s,) = value.values()
    late = "early" if tau_s > 0 else "late"
    return (
        {"tau_ms": 1e3 * tau_s},
        f"the error is {words.duration(tau_s)} times the velocity: the stamps of the estimate are "
        f"{late}",
        f"let the clock offset be estimated, or add {words.duration(tau_s)} to the stamps of the "
        "estimate",
    )


def _scale(value: Coefficients, _: Bodies) -> BiasText:
    (share,) = value.values()
    return (
        {"scale_percent": 100 * share},
        f"the error grows with the way covered: the estimate is {words.quantity(abs(share), '%')} "
        f"too {'long' if share > 0 else 'short'}",
        "check wheel radius, range scale or camera baseline; an alignment by sim3 would hide it",
    )


def _offset(value: Coefficients, _: Bodies) -> BiasText:
    return (
        {f"world_{each}_m": metres for each, metres in value.items()},
        f"the error is constant in world axes: {words.lengths(*value.values())} in "
        f"{', '.join(value)}",
        "check the origins of the two worlds (datum, map frame), or leave the translation open",
    )


TEXTS: dict[str, Callable[[Coefficients, Bodies], BiasText]] = {
    "lever-arm bias": _lever_arm,
    "clock-like bias": _clock,
    "scale error": _scale,
    "constant offset": _offset,
}


BLIND = 1e-10  # of the largest: a turn about the line that a straight track is, moves nothing

TURNS = {"none": "", "yaw": "z", "se3": "xyz", "sim3": "xyz", "first-pose": "xyz"}


def freedoms(case: DiagnosisCase) -> Floats:
    """What the alignment could absorb: error per unit of each freedom. (n, d, q)."""
    if case.alignment == "none":
        return np.zeros((len(case), case.dimension, 0))
    centred = (case.position - case.position.mean(axis=0)).T
    shifts = [np.broadcast_to(np.eye(3)[i, :, None], centred.shape) for i in case.axes]
    turns = [_turn(centred, "xyz".index(axis)) for axis in TURNS[case.alignment]]
    scale = [centred] if case.alignment == "sim3" else []
    return np.stack([*shifts, *turns, *scale])[:, case.axes].T


def _turn(position: Floats, axis: int) -> Floats:
    """How positions move with a turn about an axis: its cross product with each. (3, n)."""
    moved = np.zeros_like(position)
    after, last = (axis + 1) % 3, (axis + 2) % 3
    moved[after], moved[last] = -position[last], position[after]
    return moved


def whiten_errors(case: DiagnosisCase, metres: Floats) -> Floats:
    """S^(-1/2) times errors or columns; plain poses have no sigma. (n, d) or (n, d, p)."""
    if not case.has_belief:
        return metres
    whiten = normal.whiten if metres.ndim == 2 else normal.whiten_all
    return whiten(metres, case.covariance)


def weight(case: DiagnosisCase) -> Floats:
    """How much a scan says by its reported covariance: mean of 1 / sigma^2. (n,)."""
    if not case.has_belief:
        return np.ones(len(case))
    root = whiten_errors(case, np.broadcast_to(np.eye(case.dimension), case.covariance.shape))
    return np.einsum("nij,nij->n", root, root) / case.dimension


def alignment_covariance(
    case: DiagnosisCase, columns: Floats, white: Floats, *, independent: float
) -> Floats | None:
    """Covariance J P J^T of the fitted alignment; None where nothing was fitted. (n, d, d).

    `columns` are the freedoms in metres and `white` in sigmas (n, d, q), `independent` the scans
    that the errors are worth.
    """
    if not (case.fitted and case.has_belief):
        return None
    flat = white.T.reshape(white.shape[2], -1)
    known = flat @ flat.T
    size = np.sqrt(np.diagonal(known))
    size = np.where(size > 0, size, 1.0)
    known = np.linalg.pinv(known / np.outer(size, size), rcond=BLIND, hermitian=True)
    known *= len(case) / independent / np.outer(size, size)
    rows = columns.T
    return np.einsum("pdn,pen->nde", rows, np.tensordot(known, rows, axes=1))


RIVAL = 0.8  # of what the named cause explains: a rival that does as much alone is mentioned


@dataclass(frozen=True)
class SystematicErrors:
    """The biases found, and the error without them in metres (n, d).

    `share` is what they explain together; `doubt` is the covariance of a fitted alignment
    (n, d, d).
    """

    found: tuple[Diagnosis, ...]
    untested: tuple[Untested, ...]
    share: float
    remainder: Floats
    alignment_covariance: Floats | None


def find_biases(case: DiagnosisCase) -> SystematicErrors:
    """Which constant causes explain the error, and how much of it."""
    metres = design_of(case.error, freedoms(case), _causes(case))
    sigmas = replace(metres, rows=whiten_errors(case, metres.rows.T).T)
    # where a few tight scans decide, only their part of the independent scans speaks
    most = independent_scans(sigmas.remainder) * effective_share(weight(case))
    selection = select_causes(sigmas, accept=_is_accepted, most=most)
    base = sigmas.base
    return SystematicErrors(
        tuple(_diagnosis(each, case, selection) for each in selection.found),
        untested_causes(selection),
        selection.share,
        metres.combine(_remainder_weights(case, selection))[..., 0],
        alignment_covariance(
            case,
            metres.rows[base].T,
            sigmas.rows[base].T,
            independent=independent_scans(selection.remainder),
        ),
    )


def _remainder_weights(case: DiagnosisCase, selection: Selection) -> Floats:
    """The error without the biases and without what the alignment makes of them, of a design.

    An alignment on the scored scans is fitted again beside the biases; of another one, only its
    answer to them is taken out. -> (c, 1).
    """
    bias = np.zeros((len(selection.design.rows), 1))
    for each in selection.found:
        bias[each.columns, 0] = each.effect.value
    error = np.zeros_like(bias)
    error[RESPONSE] = 1.0
    answer = selection.design.fit((error if case.fitted else 0.0) - bias, selection.design.base)
    return error - bias - answer


def _is_accepted(finding: Finding) -> bool:
    if finding.share < RELEVANT_SHARE:  # known without a look at the scans
        return False
    return finding.n_effective >= ENOUGH_SCANS and finding.probability < TEST_LEVEL


def _causes(case: DiagnosisCase) -> list[Cause]:
    count, axes = len(case), case.axes
    causes = []
    if case.rotation is not None and case.dimension > 1:
        causes.append(Cause("lever-arm bias", so3.matrix(case.rotation)[:, axes]))
    causes.append(Cause("clock-like bias", case.velocity[:, axes, None]))
    if case.alignment != "sim3":
        way = case.position - case.position[0]
        causes.append(Cause("scale error", way[:, axes, None]))
    if case.alignment == "none":
        shifts = np.broadcast_to(np.eye(len(axes)), (count, len(axes), len(axes)))
        causes.append(Cause("constant offset", shifts))
    return causes


def _diagnosis(finding: Finding, case: DiagnosisCase, selection: Selection) -> Diagnosis:
    name, share = finding.name, finding.share
    numbers, sentence, advice = TEXTS[name](_coefficients_by_axis(finding, case), case.bodies)
    told = numbers | {
        "share": share,
        "p": finding.probability,
        "independent_scans": finding.n_effective,
    }
    scale = " in reported sigmas" if case.has_belief else ""
    explains = f"{sentence}; that is {words.share(share)} of the mean squared error{scale}"
    if len(selection.found) > 1:
        explains += f" beyond the other biases ({words.share(selection.share)} with them)"
    return Diagnosis(name, told, explains + _rival(finding, selection), advice)


def _coefficients_by_axis(finding: Finding, case: DiagnosisCase) -> dict[str, float]:
    """Coefficients by axis, those that the motion shows; a lone one has no axis."""
    axes = ["xyz"[i] for i in case.axes] if finding.name == "constant offset" else list("xyz")
    shown = [axis for axis, kept in zip(axes, finding.is_identifiable, strict=False) if kept]
    return dict(zip(shown, finding.effect.value.tolist(), strict=True))


def _rival(finding: Finding, selection: Selection) -> str:
    """Another cause that would do nearly as well alone, and adds nothing."""
    found = {each.name for each in selection.found}
    rivals = [
        name
        for name, each in selection.alone.items()
        if name not in found and each.share >= RIVAL * finding.share
    ]
    return f" (this motion hardly tells it from a {rivals[0]})" if rivals else ""
