"""Systematic against random: constant in the world, in the body, along the velocity, with the way.

The errors of all scans, whitened by the reported covariance, are regressed on

    offset      e = c                 only where no alignment could absorb it
    lever arm   e = R b               constant in body axes
    clock       e = tau v             along the velocity v
    scale       e = s (x - x_0)       grows with the distance from where it is zero

beside the freedoms of the alignment (`freedoms`), which it has absorbed.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.explain.diagnoses.bias_texts import TEXTS
from smfeval.explain.diagnoses.case import Case
from smfeval.explain.diagnoses.freedoms import doubt, freedoms, in_sigmas, weight
from smfeval.explain.diagnoses.limits import EACH, ENOUGH, RELEVANT
from smfeval.explain.diagnoses.regression import (
    coefficients,
    evenness,
    independent_scans,
    without,
)
from smfeval.explain.diagnoses.result import Diagnosis, Untested
from smfeval.explain.diagnoses.selection import Cause, Finding, Selection, select, untested
from smfeval.explain.diagnoses.words import percent
from smfeval.maths import so3
from smfeval.maths.arrays import Floats

RIVAL = 0.8  # of what the named cause explains: a rival that does as much alone is mentioned


@dataclass(frozen=True)
class Systematic:
    """The biases found, and the error without them in metres (n, d).

    `share` is what they explain together; `doubt` is the covariance of a fitted alignment
    (n, d, d).
    """

    found: tuple[Diagnosis, ...]
    untested: tuple[Untested, ...]
    share: float
    remainder: Floats
    doubt: Floats | None


def systematic(case: Case) -> Systematic:
    """Which constant causes explain the error, and how much of it."""
    error, base = in_sigmas(case, case.error), in_sigmas(case, freedoms(case))
    causes = [Cause(each.name, in_sigmas(case, each.columns)) for each in _causes(case)]
    every = np.concatenate([base, *(each.columns for each in causes)], axis=-1)
    # where a few tight scans decide, only their part of the independent scans speaks
    most = independent_scans(without(error, every)) * evenness(weight(case))
    selection = select(error, base, causes, accept=_accepted, most=most)
    return Systematic(
        tuple(_diagnosis(each, case, selection) for each in selection.found),
        untested(selection),
        selection.share,
        _remainder(case, selection, base),
        doubt(case, base, independent=independent_scans(without(error, selection.base))),
    )


def _remainder(case: Case, selection: Selection, white: Floats) -> Floats:
    """The error in metres without the biases and without what the alignment makes of them. (n, d).

    `white` are the freedoms in sigmas. An alignment on the scored scans is fitted again beside the
    biases; of another one, only its answer to them is taken out.
    """
    columns = {each.name: each.columns for each in _causes(case)}
    bias = np.zeros_like(case.error)
    for each in selection.found:
        bias += columns[each.name][..., each.kept] @ each.effect.value
    absorbed = case.error - bias if case.fitted else -bias
    turned = freedoms(case) @ coefficients(in_sigmas(case, absorbed), white)
    return case.error - bias - turned


def _accepted(finding: Finding) -> bool:
    enough = finding.n_effective >= ENOUGH and finding.share >= RELEVANT
    return enough and finding.probability < EACH


def _causes(case: Case) -> list[Cause]:
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


def _diagnosis(finding: Finding, case: Case, selection: Selection) -> Diagnosis:
    name, share = finding.name, finding.share
    numbers, sentence, advice = TEXTS[name](_named(finding, case), case.bodies)
    told = numbers | {
        "share": share,
        "p": finding.probability,
        "independent_scans": finding.n_effective,
    }
    scale = " in reported sigmas" if case.believes else ""
    explains = f"{sentence}; that is {percent(share)} of the mean squared error{scale}"
    if len(selection.found) > 1:
        explains += f" beyond the other biases ({percent(selection.share)} with them)"
    return Diagnosis(name, told, explains + _rival(finding, selection), advice)


def _named(finding: Finding, case: Case) -> dict[str, float]:
    """Coefficients by axis, those that the motion shows; a lone one has no axis."""
    axes = ["xyz"[i] for i in case.axes] if finding.name == "constant offset" else list("xyz")
    shown = [axis for axis, kept in zip(axes, finding.kept, strict=False) if kept]
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
