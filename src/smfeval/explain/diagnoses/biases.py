"""Systematic against random: constant in the world, in the body, along the velocity, with the way.

The errors of all scans, whitened by the reported covariance, are regressed on

    offset      e = c                 only where no alignment could absorb it
    lever arm   e = R b               constant in body axes
    clock       e = tau v             along the velocity v
    scale       e = s (x - x_0)       grows with the distance from where it is zero

beside the freedoms of the alignment (`freedoms`), which it has absorbed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfeval import words
from smfeval.explain.diagnoses.case import (
    ENOUGH_SCANS,
    RELEVANT_SHARE,
    TEST_LEVEL,
    Bodies,
    DiagnosisCase,
)
from smfeval.explain.diagnoses.regression import (
    Cause,
    Finding,
    Selection,
    coefficients,
    effective_share,
    independent_scans,
    regression_residual,
    select_causes,
    untested_causes,
)
from smfeval.explain.diagnoses.result import Diagnosis, Untested
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats

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
    centred = case.position - case.position.mean(axis=0)
    shifts = [np.broadcast_to(np.eye(3)[i], centred.shape) for i in case.axes]
    turns = [np.cross(np.eye(3)["xyz".index(axis)], centred) for axis in TURNS[case.alignment]]
    scale = [centred] if case.alignment == "sim3" else []
    return np.stack([*shifts, *turns, *scale], axis=-1)[:, case.axes]


def whiten_errors(case: DiagnosisCase, metres: Floats) -> Floats:
    """S^(-1/2) times errors or columns; plain poses have no sigma. (n, d) or (n, d, p)."""
    if not case.has_belief:
        return metres
    if metres.ndim == 2:
        return normal.whiten(metres, case.covariance)
    white = np.empty(metres.shape)
    for i in range(metres.shape[-1]):
        white[..., i] = normal.whiten(metres[..., i], case.covariance)
    return white


def weight(case: DiagnosisCase) -> Floats:
    """How much a scan says by its reported covariance: mean of 1 / sigma^2. (n,)."""
    if not case.has_belief:
        return np.ones(len(case))
    root = whiten_errors(case, np.broadcast_to(np.eye(case.dimension), case.covariance.shape))
    return np.einsum("nij,nij->n", root, root) / case.dimension


def alignment_covariance(
    case: DiagnosisCase, white: Floats, *, independent: float
) -> Floats | None:
    """Covariance J P J^T of the fitted alignment; None where nothing was fitted. (n, d, d).

    `white` are the freedoms in sigmas (n, d, q), `independent` the scans that the errors are worth.
    """
    if not (case.fitted and case.has_belief):
        return None
    size = np.sqrt(np.einsum("ndp,ndp->p", white, white))
    columns, unit = (each / np.where(size > 0, size, 1.0) for each in (freedoms(case), white))
    known = np.linalg.pinv(np.einsum("ndp,ndq->pq", unit, unit), rcond=BLIND, hermitian=True)
    return len(case) / independent * np.einsum("ndp,pq,neq->nde", columns, known, columns)


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
    error, base = whiten_errors(case, case.error), whiten_errors(case, freedoms(case))
    causes = [Cause(each.name, whiten_errors(case, each.columns)) for each in _causes(case)]
    every = np.concatenate([base, *(each.columns for each in causes)], axis=-1)
    # where a few tight scans decide, only their part of the independent scans speaks
    most = independent_scans(regression_residual(error, every)) * effective_share(weight(case))
    selection = select_causes(error, base, causes, accept=_is_accepted, most=most)
    return SystematicErrors(
        tuple(_diagnosis(each, case, selection) for each in selection.found),
        untested_causes(selection),
        selection.share,
        _remainder(case, selection, base),
        alignment_covariance(
            case, base, independent=independent_scans(regression_residual(error, selection.base))
        ),
    )


def _remainder(case: DiagnosisCase, selection: Selection, white: Floats) -> Floats:
    """The error in metres without the biases and without what the alignment makes of them. (n, d).

    `white` are the freedoms in sigmas. An alignment on the scored scans is fitted again beside the
    biases; of another one, only its answer to them is taken out.
    """
    columns = {each.name: each.columns for each in _causes(case)}
    bias = np.zeros_like(case.error)
    for each in selection.found:
        bias += columns[each.name][..., each.is_identifiable] @ each.effect.value
    absorbed = case.error - bias if case.fitted else -bias
    turned = freedoms(case) @ coefficients(whiten_errors(case, absorbed), white)
    return case.error - bias - turned


def _is_accepted(finding: Finding) -> bool:
    enough = finding.n_effective >= ENOUGH_SCANS and finding.share >= RELEVANT_SHARE
    return enough and finding.probability < TEST_LEVEL


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
