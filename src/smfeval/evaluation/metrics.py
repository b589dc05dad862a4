"""What an evaluation says beside the scores: gap risk, relative errors, the verdict."""

from dataclasses import dataclass, replace

import numpy as np

from smfeval import words
from smfeval.align.extent import Extent
from smfeval.associate import GapRisk, Pairs, gap_risk
from smfeval.associate.nearest import gap_words, speeds
from smfeval.errors import OptionError
from smfeval.evaluation.result import ScoredScans, SpaceScores
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats, Ints, median_of
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.maths.symmetric import chunks
from smfeval.options import Options
from smfeval.score import Residuals
from smfeval.score.ranks import largest_rank
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.judgement import CONSISTENT, judge
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.quantities import K_AT_95, is_rounding
from smfeval.summarise.relative import (
    RelativeError,
    RelativeMotion,
    close_pairs,
    relative_error,
    summarise_relative,
)
from smfeval.summarise.verdict import (
    FALSE_VERDICT_RATE,
    Verdict,
    verdict,
    verdict_after_fit,
)
from smfeval.summarise.windows import TOLERANCE

NO_RISK = GapRisk(median=0.0, p95=0.0, largest=0.0, above_limit=0.0, not_moved=0.0, excuse=1.0)


def gap_risk_of(
    scored: ScoredScans, pairs: Pairs, left: Ints, *, granted: bool = True
) -> GapRisk | None:
    """What the gaps between stamps leave open, in claimed sigmas; None without a belief.

    `granted` says whether the reference's covariance entered the prediction.
    """
    covariance = scored.residuals.covariance
    if covariance is None:
        return None
    variance = np.einsum("nii->n", covariance) / scored.residuals.dimension
    if not variance.min() > 0:
        return None
    gap_s = pairs.gap_s[left][scored.kept_scans]
    if not gap_s.any():  # the usual case of common stamps: nothing moves within no time
        return NO_RISK
    speed = speeds(scored.reference.stamp, scored.reference.position)
    open_m = None if pairs.open_m is None else pairs.open_m[left][scored.kept_scans]
    least = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[:, 0], 0.0))
    if not least.min() > 0:
        return None
    return gap_risk(speed, gap_s, np.sqrt(variance), least, open_m=open_m, granted=granted)


def rotation_deg(scored: ScoredScans) -> Floats | None:
    """Angle between estimated and reference rotation; None where a track has none. (n,)."""
    if not _is_oriented(scored):
        return None
    off = so3.angle_between(scored.reference.rotation, scored.estimate.rotation)
    return np.degrees(off, out=off)


def relative_errors(scored: ScoredScans, options: Options) -> tuple[RelativeError, ...]:
    """Relative pose error over every horizon that was asked for."""
    return tuple(
        _relative_error(scored, horizon, options.intervals) for horizon in options.horizons
    )


def _relative_error(scored: ScoredScans, horizon: Extent, intervals: Intervals) -> RelativeError:
    reference = scored.reference
    progress = horizon.progress(reference.stamp, reference.position)
    i, j, dropped = close_pairs(progress, horizon.size)
    if len(i) == 0 and dropped:
        raise OptionError(
            f"no two scans are {horizon} apart: {words.count(dropped, 'pair')} span more than "
            f"{words.exact(TOLERANCE)} times that"
        )
    if len(i) == 0:
        raise OptionError(
            f"no two scans are {horizon} apart; the track has {words.number(progress[-1])}"
        )
    errors = relative_error(
        (scored.estimate.position, scored.estimate.rotation),
        (reference.position, reference.rotation),
        (i, j),
        oriented=_is_oriented(scored),
    )
    travelled = progress[j] - progress[i] if horizon.unit == "m" else None
    return summarise_relative(str(horizon), errors, travelled, intervals, dropped=dropped)


def _is_oriented(scored: ScoredScans) -> bool:
    return scored.estimate.about.oriented and scored.reference.about.oriented


FAR = 1e6  # a factor that stands for any
SQUARED = 2.0  # a squared error forgets twice as fast as the error itself


@dataclass(frozen=True)
class FittedFreedoms:
    """What was fitted before the scans were scored."""

    freedoms: int  # of the alignment
    from_start: bool  # fitted on scans before those that are scored
    clock: bool  # and a clock offset was found

    @property
    def absorbed_freedoms(self) -> int:
        """Freedoms that took errors of the scored scans away; a clock does as an alignment does."""
        return (0 if self.from_start else self.freedoms) + self.clock


def judge_track(
    position: SpaceScores, fit: FittedFreedoms, motion: RelativeMotion | None
) -> Verdict:
    """The verdict: two-sided by k where nothing was fitted, else by what the claim allows.

    Where k cannot tell, for errors that wander have few independent scans, relative motion may.
    """
    if motion is not None and fit.freedoms:
        return _judge_by_claim(position, motion)
    residuals, left = position.residuals, 1.0
    if position.has_belief and not fit.from_start:
        left = remaining_k_ratio(residuals, position.numbers[K_AT_95], fit.freedoms)
    by_k = verdict(
        len(residuals),
        residuals.dimension,
        position.numbers,
        same=is_rounding(position.series["ape"], position.reference.position),
        fitted=fit.absorbed_freedoms,
        from_start=fit.from_start,
        left=left,
        most=most_rank_k(residuals),
    )
    by_k = judge_reference(by_k, residuals)
    if motion is None or by_k.label != "cannot tell":
        return by_k
    by_motion = _judge_by_claim(position, motion)
    return by_k if by_motion.label == "cannot tell" else by_motion


def most_rank_k(residuals: Residuals) -> float | None:
    """k of particles whose reference lies outside all of them: ranks tell no more; else None."""
    if residuals.ensemble is None:
        return None
    outside = float(median_of(largest_rank(residuals.ensemble)))
    tail = chi_squared_tail_quantile(residuals.dimension, 1 - outside)
    return tail / median_chi_squared(residuals.dimension)


SHARED_REFERENCE = "the reference's own error, if all scans share it, may explain it"


def judge_reference(found: Verdict, residuals: Residuals) -> Verdict:
    """The verdict that an uncertain reference allows.

    Its covariance says how large its errors are, not whether scans share them, as those of GNSS or
    of a registration do. In the worst case one error is common to all scans: k is then judged with
    that error granted, and what is too wide, or near enough to 1, by the estimate's own part of the
    predicted variance.
    """
    if residuals.noise is None or found.evidence not in ("k", "ranks") or found.factor is None:
        return found
    own = _own_share(residuals)
    low, high = found.low or found.factor, found.high or found.factor
    if found.label == "overconfident":
        holds = low * _k_ratio_of_shared(residuals) > 1
    elif found.label == "conservative":
        holds = high < own
    else:
        within = max((high - 1) / own + 1, 1 / max((low - 1) / own + 1, 1 / FAR))
        holds = found.label == "cannot tell" or within < CONSISTENT
    if holds:
        return found
    coverage = found.sentence.rpartition("; ")[2]
    sentence = f"cannot tell: k = {words.number(found.factor)}, but {SHARED_REFERENCE}; {coverage}"
    short = f"cannot tell: {SHARED_REFERENCE}"
    return replace(found, label="cannot tell", sentence=sentence, short=short)


def _own_share(residuals: Residuals) -> float:
    """The estimate's part of the predicted variance, median over the scans."""
    assert residuals.noise is not None
    whole = np.einsum("nii->n", residuals.predicted_covariance)
    share = 1 - np.einsum("nii->n", residuals.noise) / whole
    return max(float(median_of(share)), 1 / FAR)


def _k_ratio_of_shared(residuals: Residuals) -> float:
    """k with the mean error granted to the reference, as far as its covariance explains it, over k.

    Explained is what an error of the reference reaches with a chance of 2.5 %.
    """
    assert residuals.noise is not None
    regular = ~normal.is_singular(residuals.predicted_covariance)
    error, predicted = residuals.error[regular], residuals.predicted_covariance[regular]
    if not len(error):
        return 1.0
    mean, noise = error.mean(axis=0), residuals.noise[regular].mean(axis=0)
    size = float(mean @ np.linalg.pinv(noise, hermitian=True) @ mean)
    limit = chi_squared_tail_quantile(residuals.dimension, FALSE_VERDICT_RATE / 2)
    granted = mean * min(1.0, np.sqrt(limit / size)) if size else mean
    before = float(median_of(residuals.likelihood_terms.nees[regular]))
    after = float(median_of(normal.nees(error - granted, predicted)))
    return after / before if before else 1.0


def judge_gaps(found: Verdict, risk: GapRisk | None) -> Verdict:
    """The verdict that gaps between stamps allow: no gap convicts, and no grant acquits.

    A k whose low end is beyond what the gaps explain at most convicts nevertheless.
    """
    if risk is None or found.label == "cannot tell":
        return found
    if found.label == "overconfident":
        if not risk.may_convict or (found.low or found.factor or 0.0) > risk.excuse:
            return found
    elif not risk.may_acquit:
        return found
    size = "" if found.factor is None else f"k = {words.number(found.factor)}, but "
    coverage = found.sentence.rpartition("; ")[2]
    sentence = f"cannot tell: {size}{gap_words(risk)}; {coverage}"
    return replace(
        found,
        label="cannot tell",
        sentence=sentence,
        evidence="gaps",
        short="cannot tell: the stamps of estimate and reference are too far apart",
    )


def _judge_by_claim(position: SpaceScores, motion: RelativeMotion) -> Verdict:
    return verdict_after_fit(
        len(position.residuals),
        position.numbers,
        judge(motion.evidence),
        same=is_rounding(position.series["ape"], position.reference.position),
    )


def remaining_k_ratio(residuals: Residuals, k: Number, freedoms: int) -> float:
    """k with the alignment's own error granted, over k: 1 where that changes nothing."""
    if freedoms == 0:
        return 1.0
    independent = max((k.n_effective or float(len(residuals))) / SQUARED, 1.0)
    part = freedoms / residuals.dimension / independent
    shared = part * residuals.predicted_covariance.mean(axis=0)
    granted = np.empty(len(residuals))
    for scans in chunks(len(residuals)):
        granted[scans] = normal.nees(
            residuals.error[scans], residuals.predicted_covariance[scans] + shared
        )
    before = float(median_of(residuals.likelihood_terms.nees))
    return float(median_of(granted)) / before if before else 1.0
