"""One pair: the difference of two beliefs, scored and judged under the sum of their covariances.

A pair is an evaluation of A against B where B is a reference with a covariance of its own:
d = t_A - t_B is N(0, S_A + S_B) if both are honest and their errors independent. If the errors are
not opposed at any scan (C_AB + C_AB^T >= 0), its covariance is at most S_A + S_B, and at most twice
that whatever they do: the judge of a track convicts at least one of the two, and acquits neither.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from smfeval.align.fit import Alignment, fit_se3
from smfeval.align.nuisance import Nuisance, body_motion
from smfeval.associate import Pairs
from smfeval.associate.origin import share_origin
from smfeval.compare import sensitivity
from smfeval.compare.difference import Difference, align_pair, compare_motion, joints_of
from smfeval.compare.frames import MatchedBeliefs, match_beliefs, name_of, rename_track
from smfeval.compare.hypothesis import Hypothesis, check_hypothesis
from smfeval.dataclass import dataclass
from smfeval.errors import TrackError
from smfeval.evaluation import REQUIRED_RULES, Options
from smfeval.evaluation.claim import particle_tails
from smfeval.evaluation.judging import JudgedTracks, gap_risk_of, judge_fit
from smfeval.evaluation.motion import RelativeMotion
from smfeval.evaluation.result import ScoredScans
from smfeval.judge.decide import Facts, Verdict, decide
from smfeval.maths import normal, so3
from smfeval.maths.arrays import median_of
from smfeval.maths.symmetric import chunks
from smfeval.score import scores
from smfeval.score.pose import check_axes
from smfeval.score.spaces import PoseSpace, RotationSpace, path_axes
from smfeval.score.tangent import ClaimedAxes, find_claimed
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.quantities import is_rounding
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack
from smfeval.why.causes import Why, explanation
from smfeval.why.two_tracks import doubts_beside

RULES = ("energy", "log")
FEWEST_FITTED = 3  # poses that a fit needs


@dataclass(frozen=True)
class PairSpace:
    """The verdict on rotation or pose; its k is of what the kindest fit leaves."""

    name: str
    axes: tuple[str, ...]
    k: Number
    claim: Verdict


@dataclass(frozen=True, repr=False)
class Pair:
    """Two beliefs, compared."""

    a: str
    b: str
    pairs: Pairs
    alignment: Alignment
    scored: ScoredScans
    k: Number
    k_paper: float | None  # of the paper: under S_A + S_B after an unweighted fit of SE(3)
    difference: Difference
    motion: RelativeMotion
    k_by_axis: dict[str, float]
    spaces: tuple[PairSpace, ...]  # rotation and pose, where both tracks have them
    gauges: tuple[sensitivity.AlignmentRow, ...]
    clock: tuple[sensitivity.PairOffsetRow, ...]
    hypothesis: Hypothesis | None
    claim: Verdict  # on the position
    body: Nuisance | None  # pose of B's body in A's, and clock, by the kindest fit of poses
    doubts: tuple[Why, ...]  # what looks wrong in one of the tracks, or in both together
    notes: tuple[str, ...]
    intervals: Intervals

    def __repr__(self) -> str:
        return self.claim.sentence

    @cached_property
    def nees_median(self) -> Number:
        """Median NEES of the difference."""
        return self.intervals.of(self.scored.series["nees"], "median", "1")

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
        return float(np.median(sensitivity.share_of_a(self.scored.residuals)))

    @property
    def k_least(self) -> float:
        """The smallest k_pair over admissible gauges and clock offsets: what they cannot excuse."""
        gauges = [row.k for row in self.gauges if row.admissible and row.k is not None]
        return min([self.k.value, *gauges, *(row.k for row in self.clock)])

    @property
    def lower_bound(self) -> float | None:
        """What is sure of the factor: above 1 where one is convicted; None without evidence."""
        first = self.claim.facts.first
        if self.claim.at_least is not None or first is None:
            return self.claim.at_least
        return min(first.at_least, 1.0)


def compare_pair(
    a: AnyTrack,
    b: AnyTrack,
    *,
    options: Options | None = None,
    reference: AnyTrack | None = None,
    sweeps: bool = True,
) -> Pair:
    """Pair in time, align A to B, score the difference, and say what it proves.

    Both tracks are about one body (`frames.in_one_body`), as far as anybody knows. A reference is
    used only to check that errors are not opposed. `sweeps` compares other gauges and clocks too.
    """
    options = replace(options or Options(), rules=RULES, reference_covariance=True)
    a, b, *truth = share_origin(a, b, *([] if reference is None else [reference]))
    reference = truth[0] if truth else None
    met = match_beliefs(a, b, options, reference)
    joints = joints_of((a, b), (met.a, met.b), options)
    difference = align_pair(met.a, met.b, met.kind, joints, options)
    scored = score_difference(difference, f"{name_of(a)} and {name_of(b)} together", options)
    counts = sensitivity.particle_counts(a, b).at(met.pairs.estimate, met.pairs.reference)
    kept = counts.at(scored.kept_scans, scored.kept_scans)

    honest = kept.honest_median(scored.residuals)
    k = options.intervals.of(scored.series["nees"] / honest, "median", "1")

    facts = _facts(met, scored, k)
    judged = _judged(met, difference, options)
    fit = None if facts.same else judged.pose_fit
    body = None if fit is None else fit.values
    exact = {"body", "clock"} <= set(options.exact)
    motion = compare_motion(difference, options.space, *(() if exact else (judged.motion, body)))
    doubts = doubts_beside(a, b, met.under(difference.alignment))
    claim = _judge(judged, facts, motion, (a, b), float(np.median(honest)))
    singular = f"scans left out because the summed covariance is singular: {scored.singular}"
    left_out = (singular,) if scored.singular else ()
    return Pair(
        a=name_of(a),
        b=name_of(b),
        pairs=met.pairs,
        alignment=difference.alignment,
        scored=scored,
        k=k,
        k_paper=paper_inflation(met.a, met.b, options),
        difference=difference,
        motion=motion,
        k_by_axis=inflation_by_axis(scored, kept, options),
        spaces=_spaces(judged, facts, doubts),
        gauges=sensitivity.gauge_sweep(met, joints, options, counts=counts, k=k.value)
        if sweeps
        else (),
        clock=sensitivity.clock_sweep(met, difference, options, counts=counts) if sweeps else (),
        hypothesis=None if reference is None else check_hypothesis(met, reference, options),
        claim=claim.after_doubt(explanation(doubts)),
        body=body,
        doubts=doubts,
        notes=met.notes + left_out,
        intervals=options.intervals,
    )


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


def paper_inflation(a: GaussianTrack, b: GaussianTrack, options: Options) -> float | None:
    """k_pair as in the paper: nothing is granted; None for fewer poses than a fit needs.

    Median NEES of the difference under S_A + S_B after the unweighted fit of SE(3), over the median
    of chi-squared.
    """
    if len(a) < FEWEST_FITTED:
        return None
    fit, axes, found = fit_se3(a.position, b.position), options.space.columns, []
    turn = so3.quaternion(fit.rotation)
    for part in chunks(len(a)):
        error = fit.aligned_position(a.position[part]) - b.position[part]
        seen = (so3.compose(turn, a.rotation[part]), a), (b.rotation[part], b)
        own, other = (so3.rotate_covariance(q, of.triangle[part, :6]) for q, of in seen)
        summed = (own + other)[:, axes][:, :, axes]
        terms = normal.likelihood_terms(error[:, axes], summed)
        found.append(terms.nees[~terms.singular])
    nees = np.concatenate(found)
    return float(median_of(nees)) / median_chi_squared(len(axes)) if len(nees) else None


# The verdict


def _judged(met: MatchedBeliefs, found: Difference, options: Options) -> JudgedTracks:
    """The two as the judge sees an estimate and its reference; the former has the body."""
    own, other = (0, 1) if found.a.about.oriented or not found.b.about.oriented else (1, 0)
    whole, scans = met.whole[own], (met.pairs.estimate, met.pairs.reference)[own]
    motion = body_motion(whole.stamp, whole.position, whole.rotation)[scans]
    return JudgedTracks(
        found.claims[own],
        (found.a, found.b)[other],
        replace(motion, scale=found.alignment.scale if own == 0 else 1.0),
        found.left,
        "se3" if met.kind == "first-pose" else met.kind,
        options,
        pose_space=None if met.has_particles else _pose_space(found),
    )


def _pose_space(found: Difference) -> PoseSpace | None:
    """The axes that both claim; None where they share no rotation, or no axes to see it in."""
    a, b = found.a[found.left], found.b[found.left]
    if not (a.about.oriented and b.about.oriented):
        return None
    ours, theirs = (find_claimed(each.triangle, each.rotation) for each in (a, b))
    axes = ClaimedAxes(tuple(row for row in ours.rows if row in theirs.rows), ours.frame)
    if ours.frame != theirs.frame or not axes.of_rotation().rows:
        return None
    try:
        check_axes(axes.rows)
    except TrackError:
        return None
    return PoseSpace(axes)


def _facts(met: MatchedBeliefs, scored: ScoredScans, k: Number) -> Facts:
    risk = gap_risk_of(scored, met.pairs, np.arange(len(met.pairs)))
    return Facts(
        "position",
        len(scored.residuals),
        k,
        track_scans=len(met.pairs),
        is_fitted=met.kind != "none",
        same=is_rounding(scored.series["ape"], scored.reference.position),
        gap_factor=risk.factor if risk is not None and risk.may_convict else None,
        pair=met.names,
    )


def _judge(
    judged: JudgedTracks,
    facts: Facts,
    motion: RelativeMotion,
    tracks: tuple[AnyTrack, AnyTrack],
    honest: float,
) -> Verdict:
    """The verdict on the position; `honest` is the median NEES that honest beliefs have."""
    fit = None if facts.same else judged.fit(judged.options.space)
    if fit is None:
        return decide(facts)
    ratio = honest / median_chi_squared(fit.white.shape[1])  # 1, but for few particles
    fit = replace(fit, white=fit.white / np.sqrt(ratio))
    tails = max(particle_tails(t) if isinstance(t, ParticleTrack) else 1.0 for t in tracks)
    stamp = judged.reference.stamp[judged.left]
    return judge_fit(facts, fit, motion.all_rows, tails, stamp)


def _spaces(judged: JudgedTracks, facts: Facts, doubts: tuple[Why, ...]) -> tuple[PairSpace, ...]:
    """Rotation and pose, where both are claimed; by few particles the NEES has another law."""
    whole = judged.pose_space
    if not isinstance(whole, PoseSpace) or facts.same:
        return ()
    found = []
    for space in (RotationSpace(whole.claimed.of_rotation()), whole):
        fit = judged.fit(space)
        if fit is None:
            continue
        k = judged.options.intervals.of(
            fit.nees / median_chi_squared(space.dimension), "median", "1"
        )
        own = replace(facts, space=space.name, k=k)
        claim = judge_fit(own, fit, (), 1.0, judged.reference.stamp[judged.left])
        claim = claim.after_doubt(explanation(doubts))
        found.append(PairSpace(space.name, space.axis_names, k, claim))
    return tuple(found)


def inflation_by_axis(
    scored: ScoredScans, counts: sensitivity.ParticleCounts, options: Options
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
