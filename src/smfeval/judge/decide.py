"""One decider: facts of a track in one space, or of a pair, or of several tracks, to a verdict.

Order of evidence: what holds under any correlation convicts before anything else is asked; then
relative motion, and errors that average out. Acquitted is nobody whose claim is exceeded anywhere:
relative motion must reach a share of the track, and after a fit whose joint covariance is unknown
"consistent" speaks of what an aligned track can show, and "conservative" is never said.
"""

from dataclasses import replace
from typing import Any, Literal

from smfeval.align.nuisance import Freedom, Nuisance
from smfeval.dataclass import dataclass
from smfeval.judge.evidence import AnyCorrelation, Averaging
from smfeval.judge.levels import CONSISTENT, FEWEST_SCANS, MOTION_TAIL, REACHED, TAIL, WIDE
from smfeval.maths import so3
from smfeval.summarise.number import Number, finite_or_none
from smfeval.summarise.windows import WindowRow

Label = Literal["overconfident", "consistent", "conservative", "cannot tell"]
By = Literal["any correlation", "averaging", "relative motion", "nothing"]
Reason = Literal[
    "no uncertainty",
    "few scans",
    "no errors",
    "doubt",
    "gaps",
    "horizons disagree",
    "extrinsic or time offset",
    "correlation",
    "hidden by the fit",
    "not shown",
    "two beliefs",
]
Space = Literal["position", "rotation", "pose"]


@dataclass(frozen=True)
class Facts:
    """What a verdict is reached from.

    Attributes
    ----------
    space
        What is judged.
    scans
        Scored.
    k
        Under the alignment that was asked for, with its 95 % interval; None: nothing is claimed.
    first, second
        Evidence of what the kindest fit leaves.
    acquitting
        The second evidence that may acquit: where nothing of the world was fitted, of errors with
        extrinsic and clock as given, for free ones absorb what a wide belief lacks.
    rows
        Relative motion over horizons that may be judged by (`usable_rows`).
    track_scans
        Of the whole track, for the share that windows reach.
    is_fitted
        Whether an alignment took freedoms of the world from the tracks.
    freedoms, values
        What was fitted kindly, and its values.
    decides
        Freedoms each of which, if known to be as given, would convict.
    own_share
        The estimate's part of the predicted variance; the rest is the reference's.
    same
        Whether errors are what rounding leaves of zero.
    gap_factor
        Factor that gaps between stamps explain at most; None: no gaps convict.
    no_acquittal
        Whether what was granted for gaps may make beliefs look wider than they are.
    step_s
        Seconds between the scans of the first evidence.
    vetoed
        Of particles: their ranks, which hold for a cloud of any shape, are not beyond honest ones;
        then no mean square convicts, which may be that of a few particles far from Gaussian.
    coverage
        Share of scans whose 90 % region holds the reference.
    pair
        Names of two beliefs, one in the place of the reference: at least one of them is convicted,
        if their errors are not opposed at any scan, and neither is acquitted.
    """

    space: Space
    scans: int
    k: Number | None
    first: AnyCorrelation | None = None
    second: Averaging | None = None
    acquitting: Averaging | None = None
    rows: tuple[WindowRow, ...] = ()
    track_scans: int = 0
    is_fitted: bool = True
    freedoms: tuple[Freedom, ...] = ()
    values: Nuisance | None = None
    decides: tuple[Freedom, ...] = ()
    own_share: float = 1.0
    same: bool = False
    gap_factor: float | None = None
    no_acquittal: bool = False
    step_s: float = 0.0
    vetoed: bool = False
    coverage: float | None = None
    pair: tuple[str, str] | None = None


@dataclass(frozen=True)
class Verdict:
    """A label, what decided it, and how far off the covariance is.

    Attributes
    ----------
    label
        One of the four.
    by
        The evidence that decided; where none did, `reason` says why.
    at_least
        Lower bound (97.5 %) of the factor by which the covariance is too tight, averaged over
        scans; None unless overconfident.
    row
        Of relative motion, where that decided.
    reference_sigma
        White noise of the reference, per axis (m or rad), that would end the verdict.
    doubt, lost
        What looks wrong in the files and forbids a verdict; that the estimate is lost.
    facts
        All that it rests on.
    """

    label: Label
    by: By
    facts: Facts
    reason: Reason | None = None
    at_least: float | None = None
    row: WindowRow | None = None
    reference_sigma: float | None = None
    doubt: str | None = None
    lost: str | None = None

    @property
    def factor(self) -> float | None:
        """k: how many times too small the covariance is, under the alignment asked for."""
        return None if self.facts.k is None else self.facts.k.value

    @property
    def low(self) -> float | None:
        """Low end of the 95 % interval of k."""
        return None if self.facts.k is None else self.facts.k.low

    @property
    def high(self) -> float | None:
        """High end of the 95 % interval of k."""
        return None if self.facts.k is None else self.facts.k.high

    @property
    def margin(self) -> float:
        """The largest bound over what would convict: how far the verdict is from another one."""
        return max(_bounds(self.facts)[0].values()) / max(1.0, self.facts.gap_factor or 0.0)

    @property
    def correlated_beyond_s(self) -> float | None:
        """Seconds beyond which consistent errors would have to be correlated; None: not needed."""
        first = self.facts.first
        scans = None if first is None else first.excusing_scans
        return None if scans is None else scans * self.facts.step_s

    @property
    def sentence(self) -> str:
        """The verdict with its evidence, in words."""
        from smfeval.judge.sentences import sentence  # noqa: PLC0415  words come last

        return sentence(self)

    @property
    def headline(self) -> str:
        """The label and the reason in a few words."""
        from smfeval.judge.sentences import headline  # noqa: PLC0415  words come last

        return headline(self)

    @property
    def next_step(self) -> str | None:
        """The one thing to do next where nothing could be told."""
        from smfeval.judge.sentences import next_step  # noqa: PLC0415  words come last

        return next_step(self)

    def after_doubt(self, doubt: str | None, lost: str | None = None) -> "Verdict":
        """None, where something looks wrong that no column of a fit expresses; or of one lost."""
        if self.reason in ("no uncertainty", "few scans", "no errors"):
            return self
        if doubt is None:
            return replace(self, lost=lost)
        return Verdict("cannot tell", "nothing", self.facts, "doubt", doubt=doubt)

    def to_dict(self) -> dict[str, Any]:
        """Strict JSON data."""
        facts, first = self.facts, self.facts.first
        return {
            "label": self.label,
            "sentence": self.sentence,
            "next": self.next_step,
            "evidence": self.by,
            "reason": self.reason,
            "factor": finite_or_none(self.factor),
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
            "at_least": finite_or_none(self.at_least),
            "excess": None if first is None else finite_or_none(first.excess),
            "limit": None if first is None else first.limit,
            "without_worst": None if first is None else finite_or_none(first.without_worst),
            "averaged": None if facts.second is None else _ends(facts.second),
            "correlated_beyond_s": finite_or_none(self.correlated_beyond_s),
            "horizon": None if self.row is None else self.row.horizon,
            "reference_sigma": finite_or_none(self.reference_sigma),
            "refined": list(facts.freedoms),
            "explained_by": list(facts.decides),
            "fitted": None if facts.values is None else _fitted(facts.values),
        }


def _ends(second: Averaging) -> list[float | None]:
    return [finite_or_none(second.low), finite_or_none(second.high)]


def _fitted(values: Nuisance) -> dict[str, Any]:
    """The pose of the reference's body in the estimate's, and the clock, as the fit has them."""
    return {
        "lever_arm_m": values.lever_m.tolist(),
        "body_rotation_rad": so3.log(values.body).tolist(),
        "time_offset_s": values.clock_s,
    }


def label_of(low: float, high: float) -> Label:
    """The label of a factor by its interval alone."""
    if low > 1:
        return "overconfident"
    if high < 1:
        return "conservative"
    return "consistent" if low >= 1 / CONSISTENT and high <= CONSISTENT else "cannot tell"


def decide(facts: Facts) -> Verdict:
    """The verdict that the facts allow."""
    k = facts.k
    if k is None:
        return _open(facts, "no uncertainty")
    if facts.scans < FEWEST_SCANS:
        return _open(facts, "few scans")
    if k.value == 0 or facts.same:
        return _open(facts, "no errors")

    convicted = _convict(facts)
    if convicted is not None and facts.vetoed:
        return _open(facts, "not shown")
    if convicted is not None:
        bound = convicted.at_least or 0.0
        return _open(facts, "gaps") if bound <= (facts.gap_factor or 0.0) else convicted
    acquitted = _by_motion(facts) if facts.rows else _by_averaging(facts)
    if acquitted.label == "conservative" and k.value > 1:  # short windows too wide, the whole not
        acquitted = _open(facts, "horizons disagree")
    if facts.pair is not None and acquitted.reason not in (
        "extrinsic or time offset",
        "correlation",
    ):
        acquitted = _open(facts, "two beliefs")
    stands = acquitted.label == "cannot tell" or not facts.no_acquittal
    return acquitted if stands else _open(facts, "gaps")


def _open(facts: Facts, reason: Reason) -> Verdict:
    return Verdict("cannot tell", "nothing", facts, reason)


def _bounds(facts: Facts) -> tuple[dict[By, float], WindowRow | None]:
    """Lower bounds of the factor, what assumes least first, and the row of relative motion."""
    first, second = facts.first, facts.second
    tight = [(row, row.interval(MOTION_TAIL / len(facts.rows))[0]) for row in facts.rows]
    row, low = max(tight, key=lambda each: each[1], default=(None, 0.0))
    low = 0.0 if row is not None and _wide_rows(facts) else low
    bounds: dict[By, float] = {
        "any correlation": 0.0 if first is None else first.at_least,
        "relative motion": low,
        "averaging": 0.0 if second is None else second.low,
    }
    return bounds, row


def _convict(facts: Facts) -> Verdict | None:
    """Overconfident, by the evidence that assumes least, with its own bound."""
    bounds, row = _bounds(facts)
    by = next((name for name, bound in bounds.items() if bound > 1), None)
    if by is None:
        return None
    decided = row if by == "relative motion" else None
    return Verdict("overconfident", by, facts, at_least=bounds[by], row=decided)


def _whole_rows(facts: Facts) -> list[WindowRow]:
    return [row for row in facts.rows if not row.first_half]


def _wide_rows(facts: Facts) -> bool:
    """Whether the first two horizons both say that the covariance is too wide."""
    rows = _whole_rows(facts)[:2]
    return len(rows) > 1 and all(row.interval(TAIL)[1] < facts.own_share for row in rows)


def _by_motion(facts: Facts) -> Verdict:
    """What relative motion says of the horizons that it reaches, where nothing convicts."""
    rows = _whole_rows(facts)
    if any(row.interval(MOTION_TAIL / len(facts.rows))[0] > 1 for row in facts.rows):
        return _open(facts, "horizons disagree")
    if not rows or rows[-1].horizon < REACHED * facts.track_scans:
        return _open(facts, "not shown")
    ends = [row.interval(TAIL) for row in rows]
    if len(rows) > 1 and all(high < facts.own_share for _, high in ends):
        return Verdict("conservative", "relative motion", facts, row=rows[0])
    (low, high), longest = ends[0], ends[-1]
    if _is_near(facts, low, high) and longest[0] <= 1 <= longest[1]:
        return Verdict("consistent", "relative motion", facts, row=rows[0])
    return replace(_open(facts, "not shown"), row=rows[0])


def _by_averaging(facts: Facts) -> Verdict:
    """What errors that average out say, where nothing convicts and J is unknown."""
    second, first = facts.acquitting, facts.first
    if second is not None and _is_near(facts, second.low, second.high):
        return Verdict("consistent", "averaging", facts)
    wide = WIDE * facts.own_share
    if second is not None and not facts.is_fitted and second.surely_below < wide:
        return Verdict("conservative", "averaging", facts)
    if facts.decides:
        return _open(facts, "extrinsic or time offset")
    if first is not None and first.excusing_scans is not None:
        return _open(facts, "correlation")
    return _open(facts, "hidden by the fit" if facts.is_fitted else "not shown")


def _is_near(facts: Facts, low: float, high: float) -> bool:
    """Whether the factor on the estimate's own part of the variance is shown to be near 1."""
    own = facts.own_share
    return 1 + (low - 1) / own >= 1 / CONSISTENT and 1 + (high - 1) / own <= CONSISTENT
