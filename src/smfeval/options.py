"""What a user may decide about an evaluation."""

from dataclasses import dataclass, field
from typing import Literal

from smfeval.align.extent import Extent
from smfeval.align.gauge import ALIGNMENTS, AlignmentKind
from smfeval.errors import OptionError
from smfeval.maths import se3
from smfeval.score import RULES, RuleSettings
from smfeval.score.rules import rule_named
from smfeval.score.spaces import POSITION_AXES, PositionSpace
from smfeval.summarise.number import Intervals

Association = Literal["nearest", "gp"]
ASSOCIATIONS: tuple[Association, ...] = ("nearest", "gp")
TOLERANCE_S = 0.005


@dataclass(frozen=True)
class Options:
    """How to pair, align and score. The defaults are what most users want."""

    association: Association = "nearest"
    tolerance_s: float = TOLERANCE_S
    offset_s: float | Literal["auto"] = 0.0  # added to the stamps of the estimate; auto: found
    extrinsic: se3.Pose | None = None  # pose of the reference's body in the estimate's body
    alignment: AlignmentKind | None = None  # None: by the gauge that the estimate declares
    fit_on: Extent | None = None  # fit the alignment on this much of the start, score the rest
    axes: str = POSITION_AXES
    rules: tuple[str, ...] = tuple(RULES)
    settings: RuleSettings = field(default_factory=RuleSettings)
    horizons: tuple[Extent, ...] = ()
    reference_covariance: bool = True  # use the reference's own covariance if it has one
    singular: Literal["refuse", "drop"] = "refuse"
    intervals: Intervals = field(default_factory=Intervals)

    def __post_init__(self) -> None:
        PositionSpace(self.axes)  # refuses axes that do not exist
        if self.alignment is not None and self.alignment not in ALIGNMENTS:
            known = ", ".join(ALIGNMENTS)
            raise OptionError(f"alignment {self.alignment!r} is unknown; it is one of {known}")
        if isinstance(self.offset_s, str) and self.offset_s != "auto":
            raise OptionError(f"offset {self.offset_s!r} is neither a time in seconds nor auto")
        for name in self.rules:
            rule_named(name)

    @property
    def given_offset_s(self) -> float:
        """The offset as a number; raises while it is yet to be found."""
        if isinstance(self.offset_s, str):
            raise OptionError("a clock offset is found by scoring one estimate against a reference")
        return self.offset_s

    @property
    def space(self) -> PositionSpace:
        """The space that is scored: the position on the chosen axes."""
        return PositionSpace(self.axes, self.reference_covariance)
