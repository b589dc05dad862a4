"""Where the errors of an estimate come from, and what else could explain its verdict."""

from typing import Any

import numpy as np

from smfeval.dataclass import dataclass
from smfeval.evaluation import Evaluation
from smfeval.why.diagnoses import Diagnoses, diagnose
from smfeval.why.explanations import Explanations, other_explanations


@dataclass(frozen=True)
class Reasons:
    """What `--why` finds."""

    causes: Diagnoses
    explanations: Explanations

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {"causes": self.causes.to_dict(), "explanations": self.explanations.to_dict()}


def reasons(evaluation: Evaluation) -> Reasons:
    """Causes and other explanations; chance is drawn from the seed of the intervals."""
    rng = np.random.default_rng(evaluation.options.intervals.seed)
    return Reasons(diagnose(evaluation, rng=rng), other_explanations(evaluation))
