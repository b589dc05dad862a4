"""One pair: the difference of two beliefs, scored under the sum of their covariances.

A pair is an evaluation of A against B where B is a reference with a covariance of its own:
d = t_A - t_B is N(0, S_A + S_B) if both are honest and their errors independent.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from smfeval import words
from smfeval.align.fit import Alignment
from smfeval.align.gauge import fit_alignment
from smfeval.associate import Pairs
from smfeval.associate.pairing import nearest_pairs
from smfeval.compare.frames import agree_on_body, as_gaussian, name_of, open_gauge, rename_track
from smfeval.compare.hypothesis import Hypothesis, check_hypothesis
from smfeval.compare.sensitivity import (
    GaugeRow,
    PairClockRow,
    ParticleCounts,
    clock_sweep,
    gauge_sweep,
    particle_counts,
    share_of_a,
)
from smfeval.evaluation import Options, score_scans
from smfeval.evaluation.result import ScoredScans
from smfeval.score.spaces import path_axes
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number, finite_or_none
from smfeval.summarise.numbers import is_rounding
from smfeval.summarise.verdict import ENOUGH_SCANS, FEWEST_SCANS, beyond_doubt
from smfeval.track import AnyTrack

PairLabel = Literal["overconfident", "no conclusion"]

WHATEVER_DEPENDENCE = 2.0  # the largest k_pair of two honest beliefs with opposed errors


@dataclass(frozen=True)
class PairClaim:
    """The label, and the sentence that gives its evidence."""

    label: PairLabel
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return {"label": self.label, "sentence": self.sentence}


def has_few_samples(k: Number) -> bool:
    """Whether too few independent scans stand behind an interval for it to convict."""
    return k.n_effective is not None and k.n_effective < ENOUGH_SCANS


@dataclass(frozen=True)
class PairEvidence:
    """What a claim rests on."""

    scans: int
    dimension: int
    k: Number
    lower_bound: float | None  # of k, one-sided
    negligible: bool  # the differences are rounding: both tracks are the same numbers

    @property
    def bound(self) -> float | None:
        """The lower bound, where enough independent scans stand behind it."""
        return None if has_few_samples(self.k) else self.lower_bound

    def beyond_doubt(self, excuse: float = 1.0) -> bool:
        """Whether the median NEES alone refutes honesty, however the scans depend on each other."""
        median = self.k.value * median_chi_squared(self.dimension)
        found = beyond_doubt(median / excuse, self.dimension)
        return found is not None and found[0] == "overconfident"


def claim(a: str, b: str, evidence: PairEvidence) -> PairClaim:
    """Judge a pair by the lower bound of k_pair, or by a median NEES that is beyond doubt."""
    open_end = f"no conclusion about {a} and {b}"
    if evidence.scans < FEWEST_SCANS:
        shows = "scan shows" if evidence.scans == 1 else "scans show"
        return PairClaim("no conclusion", f"{open_end}: {evidence.scans} matched {shows} nothing")
    if evidence.k.value == 0 or evidence.negligible:
        same = "at least half of the differences are zero; are the two the same track?"
        return PairClaim("no conclusion", f"{open_end}: {same}")
    found = f"k_pair = {words.number(evidence.k.value)}"
    if proof := _proof(evidence):
        guilty = f"at least one of {a} and {b} is overconfident"
        return PairClaim("overconfident", f"{guilty}: {found}, {proof}{_any_dependence(evidence)}")
    return PairClaim("no conclusion", f"{open_end}: {found}, {_why_open(evidence)}")


def _proof(evidence: PairEvidence) -> str | None:
    if evidence.bound is not None:
        sure = f"above {words.number(evidence.bound)} with 95 % confidence"
        return f"{sure}, where honest beliefs give 1 at most" if evidence.bound > 1 else None
    if evidence.beyond_doubt():
        return "which refutes honesty however the scans depend on each other"
    return None


def _any_dependence(evidence: PairEvidence) -> str:
    bound = evidence.bound
    beyond = evidence.beyond_doubt(WHATEVER_DEPENDENCE) if bound is None else bound > 2
    return "; above 2, which no dependence between their errors explains" if beyond else ""


def _why_open(evidence: PairEvidence) -> str:
    if evidence.bound is not None:
        return (
            f"lower bound {words.number(evidence.bound)}; not surely above 1, which honest "
            "beliefs give and also dishonest ones that share their errors"
        )
    if evidence.k.n_effective is not None and evidence.lower_bound is not None:
        return (
            f"but {words.number(evidence.k.n_effective)} independent scans are too few for a "
            "verdict"
        )
    return f"but {evidence.k.reason or 'no interval was asked for'}"


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
    lower_bound: float | None  # of k, one-sided 95 %
    k_by_axis: dict[str, float]
    log: Number
    energy: Number
    distance: Number  # mean |d|
    share_a: float  # of the summed variance, median over scans
    gauges: tuple[GaugeRow, ...]
    clock: tuple[PairClockRow, ...]
    hypothesis: Hypothesis | None
    claim: PairClaim
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return self.claim.sentence

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
    a: AnyTrack, b: AnyTrack, *, options: Options | None = None, reference: AnyTrack | None = None
) -> Pair:
    """Pair in time, align A to B, score the difference, and say what it proves.

    Both tracks are about one body (`frames.in_one_body`). A reference is used only to check the
    hypothesis of the bound.
    """
    options = replace(options or Options(), rules=RULES, reference_covariance=True)
    (first, first_notes), (second, second_notes) = as_gaussian(a), as_gaussian(b)
    body_notes = agree_on_body([first, second, *([] if reference is None else [reference])])
    kind, gauge_notes = open_gauge([first, second], options)

    pairs = nearest_pairs(first, second, options)
    ours, theirs = first[pairs.estimate], second[pairs.reference]
    alignment, _ = fit_alignment(ours, theirs, kind, options.fit_on)
    both = rename_track(alignment(ours), f"{name_of(a)} and {name_of(b)} together")  # type: ignore[arg-type]
    scored = score_scans(both, theirs, options)
    kept = scored.kept_scans
    counts = particle_counts(a, b).at(pairs.estimate[kept], pairs.reference[kept])

    median, k, bound = inflation(scored, counts, options.intervals)
    of = options.intervals.of
    return Pair(
        a=name_of(a),
        b=name_of(b),
        pairs=pairs,
        alignment=alignment,
        scored=scored,
        nees_median=median,
        k=k,
        lower_bound=bound,
        k_by_axis=inflation_by_axis(scored, counts, options),
        log=of(scored.series["log"], "mean", "nat"),
        energy=of(scored.series["energy"], "mean", "m"),
        distance=of(scored.series["ape"], "mean", "m"),
        share_a=float(np.median(share_of_a(scored.residuals))),
        gauges=gauge_sweep(ours[kept], theirs[kept], kind, options, counts=counts),
        clock=clock_sweep(first, theirs[kept], pairs.estimate[kept], kind, options, counts=counts),
        hypothesis=(
            None
            if reference is None
            else check_hypothesis((ours, theirs), reference, kind, options)
        ),
        claim=claim(name_of(a), name_of(b), _evidence(scored, k, bound)),
        notes=first_notes + second_notes + body_notes + gauge_notes + _left_out_notes(scored),
    )


def _evidence(scored: ScoredScans, k: Number, bound: float | None) -> PairEvidence:
    same = is_rounding(scored.series["ape"], scored.reference.position)
    found = scored.residuals
    return PairEvidence(len(found), found.dimension, k, bound, same)


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
