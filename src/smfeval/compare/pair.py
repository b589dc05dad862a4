"""One pair: the difference of two beliefs, scored under the sum of their covariances.

A pair is an evaluation of A against B where B is a reference with a covariance of its own:
d = t_A - t_B is N(0, S_A + S_B) if both are honest and their errors independent. A fit changes
that claim (`compare.difference`), and relative motion needs no fit (`compare.relative`).
"""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment
from smfeval.associate import Pairs
from smfeval.associate.nearest import gap_words
from smfeval.compare.difference import Difference, Joints, align_pair, joints_of
from smfeval.compare.frames import MatchedBeliefs, match_beliefs, name_of, rename_track
from smfeval.compare.hypothesis import Hypothesis, check_hypothesis
from smfeval.compare.orientation import PairSpace, compare_orientation
from smfeval.compare.relative import compare_motion
from smfeval.compare.sensitivity import (
    GaugeRow,
    PairClockRow,
    ParticleCounts,
    clock_sweep,
    gauge_sweep,
    particle_counts,
    share_of_a,
)
from smfeval.doubts import Doubt, doubts_beside, explanation
from smfeval.evaluation import REQUIRED_RULES, Options
from smfeval.evaluation.metrics import gap_risk_of
from smfeval.evaluation.result import ScoredScans
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.score import scores
from smfeval.score.spaces import path_axes
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import DOUBT, Bound
from smfeval.summarise.number import Intervals, Number, finite_or_none
from smfeval.summarise.quantities import is_rounding
from smfeval.summarise.relative import RelativeMotion
from smfeval.summarise.verdict import ENOUGH_SCANS, FEWEST_SCANS
from smfeval.summarise.windows import WindowRow
from smfeval.track import AnyTrack, ParticleTrack

PairLabel = Literal["overconfident", "cannot tell"]

WHATEVER_DEPENDENCE = 2.0  # the largest k_pair of two honest beliefs with opposed errors
NOT_SURELY = (
    "not surely above 1, which honest beliefs give and also dishonest ones that share their errors"
)


@dataclass(frozen=True)
class PairClaim:
    """The label, the sentence that gives its evidence, and the factor with its interval.

    `evidence` names what decided; `low` is what is sure (95 %): above 1, it convicts.
    """

    label: PairLabel
    sentence: str
    evidence: str = "none"
    factor: float | None = None
    low: float | None = None
    high: float | None = None

    def after_doubt(self, doubt: str | None) -> "PairClaim":
        """No verdict where something looks wrong that may explain it."""
        if doubt is None or self.label == "cannot tell":
            return self
        return PairClaim("cannot tell", f"cannot tell: {doubt} (as read, {self.sentence})")

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {
            name: finite_or_none(value) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class PairFinding:
    """One kind of evidence: the factor, the low end that is sure, and its sentence."""

    evidence: str
    factor: float
    low: float
    high: float | None
    sentence: str


def has_few_samples(k: Number) -> bool:
    """Whether too few independent scans stand behind an interval for it to convict."""
    return k.n_effective is not None and k.n_effective < ENOUGH_SCANS


@dataclass(frozen=True)
class PairEvidence:
    """What a claim rests on.

    `lower_bound` is the one-sided 95 % bound of k; None where scans share an error that their
    series does not show. `anyhow` is k with its limit, however scans depend on each other.
    """

    scans: int
    k: Number
    lower_bound: float | None
    negligible: bool  # the differences are rounding: both tracks are the same numbers
    anyhow: Bound
    motion: RelativeMotion
    shared: str | None = None  # why there is no lower bound

    def findings(self) -> list[PairFinding]:
        """All that was found; relative motion, where it can be judged, instead of k_pair."""
        rows = self.motion.usable
        found = [_by_row(row, DOUBT / len(rows)) for row in rows]
        if not rows and self.lower_bound is not None and not has_few_samples(self.k):
            found.append(_by_k(self.k, self.lower_bound))
        bounds = [*self.motion.evidence.bounds, self.anyhow]
        return found + [_by_bound(each) for each in bounds]


def _by_k(k: Number, bound: float) -> PairFinding:
    sure = f"k_pair = {words.number(k.value)}, above {words.number(bound)} with 95 % confidence"
    sentence = f"{sure}, where honest beliefs give 1 at most"
    return PairFinding("k_pair", k.value, bound, k.high, sentence)


def _by_row(row: WindowRow, doubt: float) -> PairFinding:
    low, high = row.interval(DOUBT)
    text = words.quantity(row.k, "1", low, high)
    found = f"relative motion over {row.horizon} scans has k_pair = {text}"
    sentence = f"{found}; honest beliefs give 1 at most"
    return PairFinding("relative motion", row.k, row.interval(doubt)[0], high, sentence)


def _by_bound(bound: Bound) -> PairFinding:
    over = "" if bound.horizon is None else f" over {bound.horizon} scans"
    size, limit = words.number(bound.k), words.number(bound.limit)
    sentence = (
        f"squared differences{over} are {size} times what both claim, which refutes honesty "
        f"however the scans depend on each other (above {limit})"
    )
    return PairFinding(bound.name, bound.k, bound.factor, None, sentence)


def claim(a: str, b: str, evidence: PairEvidence) -> PairClaim:
    """Judge a pair by the evidence whose low end is largest."""
    open_end = f"cannot tell about {a} and {b}"
    if evidence.scans < FEWEST_SCANS:
        shows = "scan shows" if evidence.scans == 1 else "scans show"
        return PairClaim("cannot tell", f"{open_end}: {evidence.scans} matched {shows} nothing")
    if evidence.k.value == 0 or evidence.negligible:
        same = "at least half of the differences are zero; are the two the same track?"
        return PairClaim("cannot tell", f"{open_end}: {same}")
    found = evidence.findings()
    best = max(found, key=lambda each: each.low, default=None)
    if best is not None and best.low > 1:
        guilty = f"at least one of {a} and {b} is overconfident: {best.sentence}"
        beyond = "; above 2, which no dependence between their errors explains"
        sentence = guilty + beyond * (best.low > WHATEVER_DEPENDENCE)
        return PairClaim("overconfident", sentence, best.evidence, best.factor, best.low, best.high)
    best = next((each for each in found if each.evidence in ("relative motion", "k_pair")), best)
    k = f"k_pair = {words.number(evidence.k.value)}"
    sentence = f"{open_end}: {k}, {_why_open(evidence, best)}"
    if best is None:
        return PairClaim("cannot tell", sentence)
    return PairClaim("cannot tell", sentence, best.evidence, best.factor, best.low, best.high)


def _why_open(evidence: PairEvidence, best: PairFinding | None) -> str:
    k = evidence.k
    if best is not None and best.evidence == "relative motion":
        return f"{best.sentence.partition(';')[0]}; {NOT_SURELY}"
    if best is not None and best.evidence == "k_pair":
        return f"lower bound {words.number(best.low)}; {NOT_SURELY}"
    if evidence.shared is not None:
        return f"but {evidence.shared}"
    if k.n_effective is not None and evidence.lower_bound is not None:
        few = words.number(k.n_effective)
        return f"but {few} independent scans are too few for a verdict"
    return f"but {k.reason or 'no interval was asked for'}"


RULES = ("energy", "log")
TWO_SIDED = 0.9  # level of the interval whose low end is a one-sided 95 % bound


@dataclass(frozen=True, repr=False)
class Pair:
    """Two beliefs, compared."""

    a: str
    b: str
    pairs: Pairs
    alignment: Alignment
    scored: ScoredScans
    nees_median: Number
    k: Number
    lower_bound: float | None  # of k, one-sided 95 %; None where `claim` says why
    difference: Difference
    motion: RelativeMotion
    k_by_axis: dict[str, float]
    spaces: tuple[PairSpace, ...]  # rotation and pose, where both tracks have them
    gauges: tuple[GaugeRow, ...]
    clock: tuple[PairClockRow, ...]
    hypothesis: Hypothesis | None
    claim: PairClaim
    doubts: tuple[Doubt, ...]  # what looks wrong in one of the tracks, or in both together
    notes: tuple[str, ...]
    no_bound: str | None  # why k has no lower bound
    intervals: Intervals

    def __repr__(self) -> str:
        return self.claim.sentence

    @cached_property
    def log(self) -> Number:
        """Mean log score of the difference."""
        return self.intervals.of(self.scored.series["log"], "mean", "nat")

    @cached_property
    def energy(self) -> Number:
        """Mean energy score of the difference."""
        return self.intervals.of(self.scored.series["energy"], "mean", "m")

    @cached_property
    def distance(self) -> Number:
        """Mean |d|."""
        return self.intervals.of(self.scored.series["ape"], "mean", "m")

    @cached_property
    def share_a(self) -> float:
        """Part of the summed variance that is A's, median over scans."""
        return float(np.median(share_of_a(self.scored.residuals)))

    @property
    def k_least(self) -> float:
        """The smallest k_pair over admissible gauges and clock offsets: what they cannot excuse."""
        gauges = [row.k for row in self.gauges if row.admissible and row.k is not None]
        return min([self.k.value, *gauges, *(row.k for row in self.clock)])

    @property
    def has_few_samples(self) -> bool:
        """Whether too few independent scans stand behind the lower bound."""
        return has_few_samples(self.k)


def compare_pair(
    a: AnyTrack,
    b: AnyTrack,
    *,
    options: Options | None = None,
    reference: AnyTrack | None = None,
    sweeps: bool = True,
) -> Pair:
    """Pair in time, align A to B, score the difference, and say what it proves.

    Both tracks are about one body (`frames.in_one_body`). A reference is used only to check the
    hypothesis of the bound. `sweeps` compares other gauges and clock offsets too.
    """
    options = replace(options or Options(), rules=RULES, reference_covariance=True)
    met = match_beliefs(a, b, options, reference)
    joints = joints_of((a, b), (met.a, met.b), options)
    difference = align_pair(met.a, met.b, met.kind, joints, options)
    scored = score_difference(difference, f"{name_of(a)} and {name_of(b)} together", options)
    counts = particle_counts(a, b).at(met.pairs.estimate, met.pairs.reference)
    kept = counts.at(scored.kept_scans, scored.kept_scans)

    median, k, bound = inflation(scored, kept, options.intervals)
    motion = compare_motion(difference, options.space)
    evidence = _evidence(difference, scored, (k, bound), motion)
    doubts = doubts_beside(a, b, met.under(difference.alignment))
    gauges, clock = _sweeps(met, joints, difference, counts, options) if sweeps else ((), ())
    return Pair(
        a=name_of(a),
        b=name_of(b),
        pairs=met.pairs,
        alignment=difference.alignment,
        scored=scored,
        nees_median=median,
        k=k,
        lower_bound=evidence.lower_bound,
        difference=difference,
        motion=motion,
        k_by_axis=inflation_by_axis(scored, kept, options),
        spaces=_spaces(a, b, difference, options),
        gauges=gauges,
        clock=clock,
        hypothesis=_hypothesis(met, reference, options),
        claim=_judge(met, scored, evidence, bound or k.value).after_doubt(explanation(doubts)),
        doubts=doubts,
        notes=(*met.notes, *_left_out_notes(scored)),
        no_bound=evidence.shared or k.reason,
        intervals=options.intervals,
    )


def _sweeps(
    met: MatchedBeliefs,
    joints: Joints,
    difference: Difference,
    counts: ParticleCounts,
    options: Options,
) -> tuple[tuple[GaugeRow, ...], tuple[PairClockRow, ...]]:
    """k_pair under other gauges and clock offsets."""
    at = met.pairs.estimate
    return (
        gauge_sweep(met.a, met.b, met.kind, options, joints=joints, counts=counts),
        clock_sweep(met.whole_a, difference, at, options, counts=counts),
    )


def _hypothesis(
    met: MatchedBeliefs, reference: AnyTrack | None, options: Options
) -> Hypothesis | None:
    if reference is None:
        return None
    return check_hypothesis((met.a, met.b), reference, met.kind, options)


def _judge(met: MatchedBeliefs, scored: ScoredScans, evidence: PairEvidence, k: float) -> PairClaim:
    """What is claimed; cannot tell where gaps that were not bridged may explain k_pair."""
    found = claim(*met.names, evidence)
    risk = gap_risk_of(scored, met.pairs, np.arange(len(met.pairs)))
    if found.label == "cannot tell" or risk is None or not risk.may_convict or k > risk.excuse:
        return found
    return PairClaim("cannot tell", f"cannot tell: {gap_words(risk)} ({found.sentence})")


def _spaces(
    a: AnyTrack, b: AnyTrack, difference: Difference, options: Options
) -> tuple[PairSpace, ...]:
    """Rotation and pose of two Gaussian beliefs; few particles have another law of the NEES."""
    if isinstance(a, ParticleTrack) or isinstance(b, ParticleTrack):
        return ()
    return compare_orientation(difference, options.intervals)


def score_difference(found: Difference, name: str, options: Options) -> ScoredScans:
    """Scores of the difference; scans with a singular covariance are refused or left out."""
    left, track = found.left, rename_track(found.a, name)
    residuals = found.residuals(options.space, left)
    good = options.space.regular_scans(track[left], residuals, options.singular)
    kept = left[good]
    if len(kept) < len(left):
        residuals = found.residuals(options.space, kept)
    series = scores(residuals, options.settings, {*options.rules, *REQUIRED_RULES})
    singular = len(left) - len(kept)
    return ScoredScans(kept, track[kept], found.b[kept], residuals, series, singular=singular)


def _evidence(
    found: Difference,
    scored: ScoredScans,
    k_and_bound: tuple[Number, float | None],
    motion: RelativeMotion,
) -> PairEvidence:
    (k, bound), shared = k_and_bound, None
    if found.alignment.kind == "first-pose":
        shared = "all scans share the error of the first, one sample of it"
    elif len(found.left) < len(found.a):
        shared = "all scans share the error of the fit at the start"
    elif found.how == "projected":
        shared = "no horizon of relative motion has enough windows that are independent"
    return PairEvidence(
        len(scored.residuals),
        k,
        None if shared else bound,
        is_rounding(scored.series["ape"], scored.reference.position),
        _however_dependent(k, scored.residuals.dimension),
        motion,
        shared,
    )


def _however_dependent(k: Number, dimension: int) -> Bound:
    """k and what it stays below for honest beliefs, however the scans depend on each other."""
    limit = chi_squared_tail_quantile(dimension, DOUBT / 2) / median_chi_squared(dimension)
    return Bound("any dependence", None, k.value, limit)


def inflation(
    scored: ScoredScans, counts: ParticleCounts, intervals: Intervals
) -> tuple[Number, Number, float | None]:
    """Median NEES, k_pair (relative to what honest beliefs have), and its lower bound."""
    nees = scored.series["nees"]
    relative = nees / counts.honest_median(scored.residuals)
    low = replace(intervals, level=TWO_SIDED).of(relative, "median", "1").low
    k = intervals.of(relative, "median", "1")
    return intervals.of(nees, "median", "1"), k, finite_or_none(low)


def inflation_by_axis(
    scored: ScoredScans, counts: ParticleCounts, options: Options
) -> dict[str, float]:
    """k of each scored axis of B's world; in space also along, across and above B's path."""
    residuals, d = scored.residuals, scored.residuals.dimension
    count = len(residuals)
    unit = dict(zip(options.axes, np.eye(d), strict=True))
    directions = {name: np.broadcast_to(axis, (count, d)) for name, axis in unit.items()}
    if options.space.is_whole:
        directions |= path_axes(scored.reference)
    found = {name: counts.inflation(residuals.along(way)) for name, way in directions.items()}
    return found | ({"vertical": found["z"]} if "along" in found else {})


def _left_out_notes(scored: ScoredScans) -> tuple[str, ...]:
    if not scored.singular:
        return ()
    return (f"scans left out because the summed covariance is singular: {scored.singular}",)
