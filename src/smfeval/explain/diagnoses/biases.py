"""Systematic against random: constant in the world, in the body, along the velocity, with the way.

The errors of all scans, each over its reported sigma, are regressed on

    offset      e = c                 only where no alignment could absorb it
    lever arm   e = R b               constant in body axes
    clock       e = tau v             along the velocity v
    scale       e = s (x - x_0)       grows with the distance from where it is zero

beside the freedoms of the alignment (first order: c + w x (x - x_mean)), which it has absorbed.
"""

from dataclasses import dataclass

import numpy as np

from smfeval.explain.diagnoses.bias_texts import TEXTS
from smfeval.explain.diagnoses.case import Case
from smfeval.explain.diagnoses.limits import EACH, ENOUGH, RELEVANT
from smfeval.explain.diagnoses.regression import independent_scans, without
from smfeval.explain.diagnoses.result import Diagnosis, Untested
from smfeval.explain.diagnoses.selection import Cause, Finding, Selection, select, untested
from smfeval.explain.diagnoses.words import percent
from smfeval.maths import so3
from smfeval.maths.arrays import Floats

RIVAL = 0.8  # of what the named cause explains: a rival that does as much alone is mentioned

TURNS = {"none": "", "yaw": "z", "se3": "xyz", "sim3": "xyz", "first-pose": "xyz"}


@dataclass(frozen=True)
class Systematic:
    """The biases found, and the error without them in metres (n, d)."""

    found: tuple[Diagnosis, ...]
    untested: tuple[Untested, ...]
    share: float
    remainder: Floats


def systematic(case: Case) -> Systematic:
    """Which constant causes explain the error, and how much of it."""
    weight = _weight(case)
    error, freedoms = case.error * weight[:, None], _freedoms(case) * weight[:, None, None]
    causes = [Cause(each.name, each.columns * weight[:, None, None]) for each in _causes(case)]
    every = np.concatenate([freedoms, *(each.columns for each in causes)], axis=-1)
    most = independent_scans(without(error, every))
    selection = select(error, freedoms, causes, accept=_accepted, most=most)
    bias = _bias(selection, freedoms) / weight[:, None]
    return Systematic(
        tuple(_diagnosis(each, case, selection) for each in selection.found),
        untested(selection),
        sum(each.share for each in selection.found),
        case.error - bias,
    )


def _accepted(finding: Finding) -> bool:
    enough = finding.n_effective >= ENOUGH and finding.share >= RELEVANT
    return enough and finding.probability < EACH


def _weight(case: Case) -> Floats:
    """One over the reported sigma; one for plain poses. (n,)."""
    if not case.believes:
        return np.ones(len(case))
    return 1 / np.sqrt(np.trace(case.covariance, axis1=1, axis2=2) / case.dimension)


def _freedoms(case: Case) -> Floats:
    """What the alignment has absorbed. (n, d, q)."""
    if case.alignment == "none":
        return np.zeros((len(case), case.dimension, 0))
    centred = case.position - case.position.mean(axis=0)
    shifts = [np.broadcast_to(np.eye(3)[i], centred.shape) for i in case.axes]
    turns = [np.cross(np.eye(3)["xyz".index(axis)], centred) for axis in TURNS[case.alignment]]
    scale = [centred] if case.alignment == "sim3" else []
    return np.stack([*shifts, *turns, *scale], axis=-1)[:, case.axes]


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


def _bias(selection: Selection, freedoms: Floats) -> Floats:
    """The weighted error that the causes found explain beside what was absorbed. (n, d)."""
    bias = np.zeros(freedoms.shape[:2])
    for each in selection.found:
        bias += without(each.columns @ each.effect.value, freedoms)
    return bias


def _diagnosis(finding: Finding, case: Case, selection: Selection) -> Diagnosis:
    name, share = finding.name, finding.share
    numbers, sentence, advice = TEXTS[name](_named(finding, case))
    told = numbers | {
        "share": share,
        "p": finding.probability,
        "independent_scans": finding.n_effective,
    }
    scale = " in reported sigmas" if case.believes else ""
    explains = f"{sentence}; that is {percent(share)} of the mean squared error{scale}"
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
