"""What the verdict would be: k with its 95 % interval, and the label that the evaluation gives."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smfeval.errors import SeriesError, SmfevalError
from smfeval.evaluation import Evaluation
from smfeval.explain.alibis.case import Case
from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.score import Residuals
from smfeval.summarise.number import Number, finite
from smfeval.summarise.summary import VERDICT_LEVEL, Calibration
from smfeval.summarise.verdict import Label, verdict


@dataclass(frozen=True)
class Judgement:
    """k, median NEES and label, by the rules of the verdict."""

    k: Number  # with its 95 % interval
    nees_median: float
    label: Label
    scans: int

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "k": self.k.to_dict(),
            "nees_median": finite(self.nees_median),
            "verdict": self.label,
            "scans": self.scans,
        }


def as_evaluated(evaluation: Evaluation) -> Judgement:
    """The judgement that an evaluation already holds."""
    found = evaluation.calibration
    assert found is not None
    scans = len(evaluation.scored.residuals)
    return Judgement(found.k_at_95, found.nees_median.value, evaluation.verdict.label, scans)


def judge(case: Case, *, noise: Floats | None = None) -> Judgement:
    """The case as it stands, with more noise of the reference if given. (m, d, d)."""
    return judged(case, relative_nees(case, noise=noise))


def tried(case: Case, *, noise: Floats | None = None) -> tuple[Judgement | None, str | None]:
    """The judgement, or the reason in words where there is none."""
    try:
        return judge(case, noise=noise), None
    except SmfevalError as error:
        return None, str(error)


def judged(case: Case, relative: Floats) -> Judgement:
    """What relative NEES of the scored scans amount to. (m,)."""
    k = number_of(case, relative)
    median = float(np.median(relative * case.honest[case.scored]))
    return Judgement(k, median, _label(case, k), len(relative))


def relative_nees(case: Case, *, noise: Floats | None = None) -> Floats:
    """NEES over that of an honest belief's median, of covariances that have an inverse. (m,)."""
    residuals = case.residuals()
    if noise is not None:
        residuals = noisier(residuals, noise)
    singular = int(normal.is_singular(residuals.predicted).sum())
    if singular:
        raise SeriesError(f"it makes {singular:,} of {len(residuals):,} covariances singular")
    return case.relative(residuals)


def noisier(residuals: Residuals, noise: Floats) -> Residuals:
    """The same errors before a reference with more noise. (m, d, d)."""
    own = residuals.noise
    return replace(residuals, noise=noise if own is None else own + noise)


def number_of(case: Case, relative: Floats) -> Number:
    """k with the interval that the verdict rests on."""
    return replace(case.options.intervals, level=VERDICT_LEVEL).of(relative, "median", "1")


def _label(case: Case, k: Number) -> Label:
    """The verdict's label; its other numbers are not asked."""
    stand_in: Calibration = replace(case.calibration, k=k, k_at_95=k, negligible=False)
    scans, dimension = len(case.scored), len(case.options.axes)
    fitted = case.alignment.freedoms if case.in_sample else 0
    return verdict(scans, dimension, stand_in, fitted=fitted).label
