"""The result: one row for each alibi, what each would need, and the closing sentence."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from smfeval.errors import OptionError
from smfeval.explain.alibis.judgement import Judgement
from smfeval.summarise.number import finite

Name = Literal[
    "gauge",
    "clock offset",
    "clock jitter",
    "continuous reference",
    "lever arm",
    "reference noise",
    "all at once",
]
Outcome = Literal["holds", "not excluded", "in part", "no"]
SizeUnit = Literal["m", "s"]

# An alibi that leaves at most half of k explains part of it. Less is no sign: giving up one of
# three directions, as a large jitter does, leaves 0.59 of any k (medians of chi-squared, 2 and 3).
IN_PART = 0.5
WIDEST_M = 10.0  # an extrinsic that is wrong by more is of another robot


@dataclass(frozen=True)
class ExtrinsicTolerance:
    """How wrong an extrinsic may be without anybody having noticed."""

    translation_m: float = 0.01
    rotation_deg: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.translation_m <= WIDEST_M and 0 <= self.rotation_deg <= 180):
            raise OptionError(
                f"a tolerance of {self.translation_m:g} m and {self.rotation_deg:g} deg is none: "
                f"write a length from 0 to {WIDEST_M:g} m and an angle from 0 to 180 degrees"
            )


@dataclass(frozen=True)
class Need:
    """How much of it gives k = 1; `size` is None where no amount does."""

    unit: SizeUnit
    size: float | None
    low: float | None = None  # sizes for which 1 is within the 95 % interval of k
    high: float | None = None
    kindest: float | None = None  # where no amount does: the best one (None: without limit),
    k_left: float | None = None  # and the k that it leaves

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {"unit": self.unit} | {
            name: finite(value) for name, value in asdict(self).items() if name != "unit"
        }


@dataclass(frozen=True)
class Alibi:
    """Something else that could explain the errors, granted; and what that does to the verdict."""

    name: Name
    granted: str  # in words: what was assumed instead
    judgement: Judgement | None  # None: it cannot be asked, see `reason`
    need: Need | None = None
    proviso: str | None = None  # it counts only if this is so, which the user must know
    searched: bool = False  # the kindest to the estimate of many was taken
    reason: str | None = None

    def holds(self, scored: Judgement) -> bool:
        """Whether the verdict would no longer be overconfident, and k has come down for it."""
        judged = self.judgement
        if judged is None or judged.label == "overconfident":
            return False
        return judged.k.value < scored.k.value

    def outcome(self, scored: Judgement) -> Outcome | None:
        """Whether it explains the verdict, might, explains part, or nothing; None: not known."""
        if self.judgement is None or not np.isfinite(self.judgement.k.value):
            return None
        k, label = self.judgement.k.value, self.judgement.label
        if self.holds(scored):
            return "not excluded" if label == "cannot tell" and k > 1 else "holds"
        return "in part" if k <= IN_PART * scored.k.value else "no"

    def to_dict(self, scored: Judgement) -> dict[str, Any]:
        """JSON data."""
        return {
            "alibi": self.name,
            "granted": self.granted,
            "proviso": self.proviso,
            "searched": self.searched,
            "judgement": None if self.judgement is None else self.judgement.to_dict(),
            "outcome": self.outcome(scored),
            "needed": None if self.need is None else self.need.to_dict(),
            "reason": self.reason,
        }


@dataclass(frozen=True, repr=False)
class Alibis:
    """What else could explain an overconfident verdict."""

    scored: Judgement  # as it was evaluated
    rows: tuple[Alibi, ...]  # empty where there is nothing to explain
    tolerance: ExtrinsicTolerance
    sentence: str
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        return {
            "scored": self.scored.to_dict(),
            "tolerance": asdict(self.tolerance),
            "rows": [row.to_dict(self.scored) for row in self.rows],
            "sentence": self.sentence,
            "notes": list(self.notes),
        }
