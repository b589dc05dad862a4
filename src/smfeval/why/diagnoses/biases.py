"""Systematic against random: constant in the world, in the body, along the velocity, with the way.

The errors of all scans, whitened by the reported covariance, are regressed on

    offset      e = c                 only where no alignment could absorb it
    lever arm   e = R b               constant in body axes
    clock       e = tau v             along the velocity v
    scale       e = s (x - x_0)       grows with the distance from where it is zero

beside the freedoms of the alignment (`freedoms`), which it has absorbed.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, inverse
from smfeval.why.causes import Why
from smfeval.why.diagnoses import regression
from smfeval.why.diagnoses.case import (
    ENOUGH_SCANS,
    RELEVANT_SHARE,
    TEST_LEVEL,
    Bodies,
    DiagnosisCase,
    Untested,
)

BLIND = 1e-10  # of the largest: a turn about the line that a straight track is, moves nothing
RIVAL = 0.8  # of what the named cause explains: a rival that does as much alone is mentioned
TURNS = {"none": "", "yaw": "z", "se3": "xyz", "sim3": "xyz", "first-pose": "xyz"}


def freedoms(case: DiagnosisCase) -> Floats:
    """What the alignment could absorb: error per unit of each freedom. (n, d, q)."""
    if case.alignment == "none":
        return np.zeros((len(case), case.dimension, 0))
    centred = (case.position - case.position.mean(axis=0)).T
    shifts, turns = case.dimension, TURNS[case.alignment]
    columns = np.zeros((shifts + len(turns) + (case.alignment == "sim3"), *centred.shape))
    columns[range(shifts), case.axes] = 1.0
    for column, axis in zip(columns[shifts:], turns, strict=False):
        i = "xyz".index(axis)
        column[i - 2], column[i - 1] = -centred[i - 1], centred[i - 2]
    if case.alignment == "sim3":
        columns[-1] = centred
    return (columns if shifts == 3 else columns[:, case.axes]).T


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
    return np.einsum("nii->n", inverse(case.covariance)) / case.dimension


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


@dataclass(frozen=True)
class SystematicErrors:
    """The biases found, and the error without them in metres (n, d).

    `share` is what they explain together; `alignment_covariance` that of a fitted alignment
    (n, d, d).
    """

    found: tuple[Why, ...]
    untested: tuple[Untested, ...]
    share: float
    remainder: Floats
    alignment_covariance: Floats | None


def find_biases(case: DiagnosisCase) -> SystematicErrors:
    """Which constant causes explain the error, and how much of it."""
    metres = regression.design_of(case.error, freedoms(case), _causes(case))
    sigmas = replace(metres, rows=whiten_errors(case, metres.rows.T).T)
    # where a few tight scans decide, only their part of the independent scans speaks
    most = regression.independent_scans(sigmas.remainder) * regression.effective_share(weight(case))

    def accept(finding: regression.Finding) -> bool:
        if finding.share < RELEVANT_SHARE:  # known without a look at the scans
            return False
        return finding.n_effective >= ENOUGH_SCANS and finding.probability < TEST_LEVEL

    selection = regression.select_causes(sigmas, accept=accept, most=most)
    base = sigmas.base
    return SystematicErrors(
        tuple(_why(each, case, selection) for each in selection.found),
        selection.untested,
        selection.share,
        metres.combine(_remainder_weights(case, selection))[..., 0],
        alignment_covariance(
            case,
            metres.rows[base].T,
            sigmas.rows[base].T,
            independent=regression.independent_scans(selection.remainder),
        ),
    )


def _remainder_weights(case: DiagnosisCase, selection: regression.Selection) -> Floats:
    """The error without the biases and without what the alignment makes of them, of a design.

    An alignment on the scored scans is fitted again beside the biases; of another one, only its
    answer to them is taken out. -> (c, 1).
    """
    bias = np.zeros((len(selection.design.rows), 1))
    for each in selection.found:
        bias[each.columns, 0] = each.effect.value
    error = np.zeros_like(bias)
    error[regression.RESPONSE] = 1.0
    answer = selection.design.fit((error if case.fitted else 0.0) - bias, selection.design.base)
    return error - bias - answer


def _causes(case: DiagnosisCase) -> list[regression.Cause]:
    count, axes = len(case), case.axes
    causes = []
    if case.rotation is not None and case.dimension > 1:
        causes.append(regression.Cause("lever-arm bias", so3.matrix(case.rotation)[:, axes]))
    causes.append(regression.Cause("time-offset bias", case.velocity[:, axes, None]))
    if case.alignment != "sim3":
        way = case.position - case.position[0]
        causes.append(regression.Cause("scale error", way[:, axes, None]))
    if case.alignment == "none":
        shifts = np.broadcast_to(np.eye(len(axes)), (count, len(axes), len(axes)))
        causes.append(regression.Cause("constant offset", shifts))
    return causes


def _why(finding: regression.Finding, case: DiagnosisCase, selection: regression.Selection) -> Why:
    """A bias by its coefficients, those that the motion shows; and a rival that explains as much.

    A rival would do nearly as well alone, and adds nothing.
    """
    name = finding.name
    axes = ["xyz"[i] for i in case.axes] if name == "constant offset" else list("xyz")
    shown = [axis for axis, kept in zip(axes, finding.is_identifiable, strict=False) if kept]
    value = finding.effect.value.tolist()
    bias_m, (first, *_) = dict(zip(shown, value, strict=True)), value
    found = {each.name for each in selection.found}
    rivals = (
        other
        for other, each in selection.alone.items()
        if other not in found and each.share >= RIVAL * finding.share
    )
    if name == "lever-arm bias":
        evidence, context = _lever_arm(bias_m, case.bodies)
    elif name == "time-offset bias":
        evidence, context = {"tau_ms": 1e3 * first}, {"tau_s": first}
    elif name == "scale error":
        evidence, context = {"scale_percent": 100 * first}, {"excess": first}
    else:
        evidence = {f"world_{axis}_m": metres for axis, metres in bias_m.items()}
        context = {"bias_m": bias_m}
    evidence |= {
        "share": finding.share,
        "p": finding.probability,
        "independent_scans": finding.n_effective,
    }
    context |= {
        "in_sigmas": case.has_belief,
        "together": selection.share if len(found) > 1 else None,
        "rival": next(rivals, None),
    }
    return Why(name, evidence, context=context)


def _lever_arm(bias_m: dict[str, float], bodies: Bodies) -> tuple[dict[str, Any], dict[str, Any]]:
    """Evidence and context of b; with an extrinsic also R_E b, in the axes of its translation.

    With the pose of the reference's body in the estimate's off by d in translation, the estimate
    is off by R d = (R R_E) b.
    """
    off_m: dict[str, float] = {}
    if bodies.turn is not None:
        bias = np.array([bias_m.get(axis, 0.0) for axis in "xyz"])
        off_m = dict(zip("xyz", (bodies.turn @ bias).tolist(), strict=True))
    evidence = {f"body_{axis}_m": metres for axis, metres in bias_m.items()}
    evidence |= {f"extrinsic_{axis}_m": metres for axis, metres in off_m.items()}
    names = {"reference_body": bodies.reference, "estimate_body": bodies.estimate}
    return evidence, {"bias_m": bias_m, "extrinsic_m": off_m, **names}
