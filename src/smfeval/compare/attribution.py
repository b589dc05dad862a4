"""Which of three or more is overconfident: error against claimed covariance, for each.

On the scans common to all, in one world and after one common fit, the differences of i from two
others have the covariance of i in common, if the errors of the three are uncorrelated:

    E[d_ij d_ik^T] = Cov(e_i),      k_i = sum_t w_t d_ij^T R_i^-1 d_ik / d  /  sum_t w_t

with R_i what i claims (`compare.difference`). This is the three-cornered hat, scan by scan. A scan
counts by w = 1 / variance of its term under the claims: where j or k is unsure (an outage) it says
little about i. Where all joint covariances are known, displacements over windows take the place of
scans. k_i is a ratio of second moments, so rare large errors count in full, unlike in k_pair.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Literal

import numpy as np

from smfeval.align.joint import Joint, align_joint, is_first_order
from smfeval.align.projection import (
    FitWeights,
    fit_weights,
    granted_covariance,
    is_determined,
    projected_covariance,
)
from smfeval.associate import Pairs
from smfeval.associate.moved import move
from smfeval.associate.pairing import nearest_pairs
from smfeval.choices import AlignmentKind
from smfeval.compare.difference import (
    align_pair,
    claim_of,
    fit_part,
    fitted_freedoms,
    information,
    joints_of,
    moved_alignment,
)
from smfeval.compare.frames import agree_on_body, as_gaussian, name_of, open_gauge
from smfeval.compare.pair import Pair, compare_pair, has_few_samples
from smfeval.compare.relative import motion_covariance, seen_displacement
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Options
from smfeval.evaluation.claim import UNFITTED
from smfeval.maths import normal
from smfeval.maths.arrays import Bools, Floats
from smfeval.results import Result
from smfeval.summarise.inflation import median_chi_squared
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.windows import FEWEST_WINDOWS, horizons
from smfeval.track import AnyTrack, GaussianTrack

FEWEST = 3  # with two, only the sum of the covariances is known
SHARED_PART = 0.5  # part of their error variance that two estimators are supposed to share
FEWEST_SCANS = 10  # common scans: fewer second moments are all noise
FALSE_ALARMS = 0.05  # chance that any of them is called overconfident, all being honest
LOST = 10.0  # k_pair with every other, over the largest among the others: one that is lost
LARGEST_ERROR = 1.0  # standard error of k under honest claims, above which k says nothing
REFITS = 3  # Gauss-Newton steps of the common fit, from the fit of each

OwnLabel = Literal["overconfident", "suspect", "cannot tell", "not identifiable"]


@dataclass(frozen=True)
class EstimatorAttribution:
    """What the differences say of one estimator; k is nan, with its reason, where they say nothing.

    `k_if_shared` are the smallest and largest k if two of the estimators share SHARED_PART.
    """

    name: str
    label: OwnLabel
    sigma_m: float | None  # of its error, root mean over the axes
    reported_m: float  # the same as claimed
    k: Number
    lower_bound: float | None  # of k, one-sided 95 % for all of them together
    k_if_shared: tuple[float, float] | None
    lost: bool = False  # far from all others, which are therefore judged without it


@dataclass(frozen=True)
class Attribution:
    """Every estimator's own k; empty, with the reason, where it cannot be told."""

    scans: int
    gauge: str
    estimators: tuple[EstimatorAttribution, ...]
    horizon: int | None = None  # scans of the windows, where displacements are compared
    reason: str | None = None


@dataclass(frozen=True)
class CommonErrors:
    """Positions (or displacements) of all estimators on common scans (windows), and their claims.

    `value` (N, n, d), `claimed` (N, n, d, d).
    """

    value: Floats
    claimed: Floats

    def without(self, lost: Sequence[int]) -> "CommonErrors":
        """The same of the others."""
        kept = [i for i in range(len(self.value)) if i not in lost]
        return CommonErrors(self.value[kept], self.claimed[kept])


def attribute(tracks: Sequence[AnyTrack], *, options: Options | None = None) -> Attribution:
    """Estimate each estimator's own error covariance and compare it with what it claims."""
    options = options or Options()
    if len(tracks) < FEWEST:
        reason = "two tracks tell only the sum of their covariances; three are needed"
        return Attribution(0, "", (), reason=reason)
    placed = place_tracks(tracks, options)
    scans = len(placed.tracks[0])
    if scans < FEWEST_SCANS:
        reason = f"{scans} scans are common to all; {FEWEST_SCANS} are needed"
        return Attribution(scans, placed.kind, (), reason=reason)
    windows = _windows(placed) if options.space.is_whole else None
    if windows is None and placed.kind == "first-pose":
        reason = "all scans share the errors of the first pose, one sample of them"
        return Attribution(scans, placed.kind, (), reason=reason)
    horizon, errors = (None, _scans(placed, options)) if windows is None else windows
    names = [name_of(track) for track in tracks]
    found = _attribute_all(names, errors, options.intervals)
    return Attribution(scans, placed.kind, found, horizon)


# All in one world


@dataclass(frozen=True)
class PlacedTracks:
    """All tracks on common scans in the world of the first, after one common fit."""

    kind: AlignmentKind
    tracks: tuple[GaussianTrack, ...]
    joints: tuple[Joint, ...]
    fits: tuple[FitWeights, ...]

    @property
    def is_known(self) -> bool:
        """Whether relative motion of every track is known."""
        return all(joint.kind == "implied" for joint in self.joints)


def place_tracks(tracks: Sequence[AnyTrack], options: Options) -> PlacedTracks:
    """All tracks in the world of the first, on the scans of the first that all others meet."""
    gaussian = [as_gaussian(track)[0] for track in tracks]
    agree_on_body(gaussian)
    kind, _ = open_gauge(gaussian, options)
    matched = _common_scans(gaussian, options)
    joints = joints_of(tracks, matched, options)
    pairs = [
        align_pair(t, matched[0], kind, (j, joints[0]), options)
        for t, j in zip(matched[1:], joints[1:], strict=True)
    ]
    placed = [matched[0], *(pair.a for pair in pairs)]
    turned = [joints[0][0], *(pair.joints[0][0] for pair in pairs)]
    if kind not in UNFITTED:
        placed, turned = _refit(kind, placed, turned)
    weight = None if kind in UNFITTED else _common_weight(placed)
    fits = tuple(fit_weights(kind, track.position, weight=weight) for track in placed)
    return PlacedTracks(kind, tuple(placed), tuple(turned), fits)


def _common_scans(tracks: Sequence[GaussianTrack], options: Options) -> list[GaussianTrack]:
    first, others = tracks[0], tracks[1:]
    met = [nearest_pairs(track, first, options) for track in others]
    scans = reduce(np.intersect1d, [each.reference for each in met])
    if len(scans) == 0:
        raise PairingError("no scan is common to all tracks")
    return [
        first[scans],
        *(
            _at_stamps_of_first(track, each, np.isin(each.reference, scans), options)
            for track, each in zip(others, met, strict=True)
        ),
    ]


def _at_stamps_of_first(
    track: GaussianTrack, met: Pairs, kept: Bools, options: Options
) -> GaussianTrack:
    """The scans of a track that were kept, moved over the gaps to those of the first track."""
    at, gap_s = met.estimate[kept], met.gap_s[kept]
    if options.association == "nearest":
        return track[at]
    return move(track, at, gap_s).track  # type: ignore[return-value]


def _common_weight(placed: Sequence[GaussianTrack]) -> Floats:
    return information(np.mean([track.position_covariance for track in placed], axis=0))


def _refit(
    kind: AlignmentKind, placed: list[GaussianTrack], joints: list[Joint]
) -> tuple[list[GaussianTrack], list[Joint]]:
    """Every track fitted to the first under the same weights, so that one fit is common to all."""
    base = placed[0]
    weight = _common_weight(placed)
    out, turned = [base], [joints[0]]
    for track, joint in zip(placed[1:], joints[1:], strict=True):
        for _ in range(REFITS):
            fit = fit_weights(kind, track.position, weight=weight)
            step = fitted_freedoms(fit, track.position, base.position - track.position)
            motion = moved_alignment(None, fit, step)
            track = motion(track)  # type: ignore[assignment]  # noqa: PLW2901
            joint = align_joint(joint, motion.rotation, motion.scale)  # noqa: PLW2901
        out.append(track)
        turned.append(joint)
    return out, turned


# What is compared: scans, or displacements over windows


def _scans(placed: PlacedTracks, options: Options) -> CommonErrors:
    """Positions of all scans with what each claims after the fit, on the scored axes."""
    index = options.space.columns
    value = np.array([track.position[:, index] for track in placed.tracks])
    claimed = np.array([_claimed(placed, i) for i in range(len(placed.tracks))])
    claimed = claimed[:, :, index][:, :, :, index]
    regular = ~normal.is_singular(claimed.sum(axis=0))
    return CommonErrors(value[:, regular], claimed[:, regular])


def _claimed(placed: PlacedTracks, i: int) -> Floats:
    """What one claims about its residuals. (n, 3, 3)."""
    track, joint, fit = placed.tracks[i], placed.joints[i], placed.fits[i]
    claim = claim_of(track)
    if placed.kind == "none":
        return track.position_covariance
    if is_determined(fit, joint, len(claim)) and is_first_order(claim.covariance):
        return projected_covariance(fit, joint, claim)
    if placed.kind == "first-pose":
        return granted_covariance(fit, claim)
    return track.position_covariance + fit_part(fit, claim)


def _windows(placed: PlacedTracks) -> tuple[int, CommonErrors] | None:
    """Displacements over the shortest horizon, where every joint covariance is known."""
    chosen = horizons(len(placed.tracks[0]))
    oriented = all(track.about.oriented for track in placed.tracks)
    if not (placed.is_known and oriented and chosen and placed.kind != "sim3"):
        return None
    horizon = chosen[0]
    first = np.arange(0, len(placed.tracks[0]) - horizon, horizon)
    claims = [claim_of(track) for track in placed.tracks]
    value = np.array([seen_displacement(claim, first, first + horizon) for claim in claims])
    claimed = np.array(
        [
            motion_covariance(joint, claim, first, first + horizon)
            for joint, claim in zip(placed.joints, claims, strict=True)
        ]
    )
    regular = ~np.any([normal.is_singular(each) for each in claimed], axis=0)
    if regular.sum() < FEWEST_WINDOWS:
        return None
    return horizon, CommonErrors(value[:, regular], claimed[:, regular])


# Each on its own


def _attribute_all(
    names: list[str], errors: CommonErrors, intervals: Intervals
) -> tuple[EstimatorAttribution, ...]:
    """Each of all; one that is lost is judged against all, and the others without it."""
    lost = find_lost(errors)
    others = errors.without(lost)
    level = 1 - 2 * FALSE_ALARMS / len(names)
    place = {i: at for at, i in enumerate(i for i in range(len(names)) if i not in lost)}
    return tuple(
        _attribute_one(name, i, errors, intervals, level, lost=True)
        if i in lost
        else _attribute_one(name, place[i], others, intervals, level)
        for i, name in enumerate(names)
    )


def find_lost(errors: CommonErrors) -> list[int]:
    """Estimators that are LOST times further from every other than the others from each other."""
    left, lost = list(range(len(errors.value))), []
    k = _pair_factors(errors)
    while len(left) > 2:
        apart = {
            i: min(k[i, j] for j in left if j != i)
            / max(1.0, *(k[p, q] for p, q in combinations([j for j in left if j != i], 2)))
            for i in left
        }
        worst = max(apart, key=apart.__getitem__)
        if apart[worst] <= LOST:
            break
        left.remove(worst)
        lost.append(worst)
    return lost


def _pair_factors(errors: CommonErrors) -> Floats:
    """k_pair of all pairs. (N, N)."""
    count, _, d = errors.value.shape
    k = np.zeros((count, count))
    for i, j in combinations(range(count), 2):
        total = errors.claimed[i] + errors.claimed[j]
        good = ~normal.is_singular(total)
        nees = normal.nees((errors.value[i] - errors.value[j])[good], total[good])
        k[i, j] = k[j, i] = float(np.median(nees)) / median_chi_squared(d) if len(nees) else 0.0
    return k


def _attribute_one(
    name: str,
    i: int,
    errors: CommonErrors,
    intervals: Intervals,
    level: float,
    *,
    lost: bool = False,
) -> EstimatorAttribution:
    reported_m = _size(errors.claimed[i])
    if len(errors.value) < FEWEST:
        return _no_k(name, reported_m, "one of three is lost, and two tell only their sum")
    good = ~normal.is_singular(errors.claimed[i])
    if not good.all():
        return _no_k(name, reported_m, "its own covariance is singular on the axes")
    terms = [_term(errors, i, j, k) for j, k in combinations(_others(errors, i), 2)]
    weight = np.sum([term.weight for term in terms], axis=0)
    total = np.sum([term.weight * term.product for term in terms], axis=0)
    value = float(total.sum() / weight.sum())
    series = value + (total - value * weight) / weight.mean()  # its mean is k, scan by scan
    k = intervals.of(series, "mean", "1")
    bound = _lower_bound(series, intervals, level)
    if bound is not None and bound > 1:
        label: OwnLabel = "suspect" if has_few_samples(k) else "overconfident"
    else:
        reason = None if lost else _why_not(errors, i, k, float(weight.sum()))
        if reason is not None:
            return _no_k(name, reported_m, reason)
        label = "suspect" if lost else "cannot tell"
    return EstimatorAttribution(
        name,
        label,
        reported_m * float(np.sqrt(max(k.value, 0.0))),
        reported_m,
        _not_negative(k),
        None if bound is None else max(bound, 0.0),
        _range_if_shared(i, terms),
        lost,
    )


def _lower_bound(series: Floats, intervals: Intervals, level: float) -> float | None:
    if intervals.method is None:
        return None
    return replace(intervals, level=level).of(series, "mean", "1").low


def _no_k(name: str, reported_m: float, reason: str) -> EstimatorAttribution:
    none = Number(float("nan"), "1", reason=reason)
    return EstimatorAttribution(name, "not identifiable", None, reported_m, none, None, None)


def _others(errors: CommonErrors, i: int) -> list[int]:
    return [j for j in range(len(errors.value)) if j != i]


@dataclass(frozen=True)
class _Term:
    """d_ij^T R_i^-1 d_ik / d of every scan, its weight, and the squares that it is made of."""

    pair: tuple[int, int]
    product: Floats
    weight: Floats
    squares: tuple[float, float, float]  # weighted sums of |d_ij|^2, |d_ik|^2, |d_jk|^2 under R_i


def _term(errors: CommonErrors, i: int, j: int, k: int) -> _Term:
    value, claimed = errors.value, errors.claimed
    d = value.shape[2]
    size = np.einsum("inaa->in", claimed)
    # (1 + S_j/S_i)(1 + S_k/S_i) + 1: variance of the term times d, by the claims of all three
    spread = (1 + size[j] / size[i]) * (1 + size[k] / size[i]) + 1
    weight = d / spread
    ij, ik, jk = (
        normal.nees(value[p] - value[q], claimed[i]) / d for p, q in ((i, j), (i, k), (j, k))
    )
    squares = tuple(float(np.sum(weight * each)) for each in (ij, ik, jk))
    return _Term((j, k), 0.5 * (ij + ik - jk), weight, squares)  # type: ignore[arg-type]


def _why_not(errors: CommonErrors, i: int, k: Number, information_sum: float) -> str | None:
    """Why the differences say nothing of one; None where they do."""
    if k.value <= 0 or (k.low is not None and k.low <= 0):
        return "its errors cannot be told from none: those of others are shared, or far larger"
    effective = k.n_effective or float(errors.value.shape[1])
    error = np.sqrt(errors.value.shape[1] / effective / information_sum)
    if error > LARGEST_ERROR:
        return "the others are too unsure, or too few scans are independent, to see its errors"
    return None


def _not_negative(number: Number) -> Number:
    """The part of an interval where a ratio of covariances can lie."""
    low, high = (None if end is None else max(end, 0.0) for end in (number.low, number.high))
    return replace(number, low=low, high=high)


def _range_if_shared(i: int, terms: Sequence[_Term]) -> tuple[float, float]:
    """k_i if any one pair shares part of its error: D_jk then shows 1 - SHARED of S_j + S_k."""
    weight = sum(float(term.weight.sum()) for term in terms)
    among = sorted({i, *(member for term in terms for member in term.pair)})
    found = []
    for shared in combinations(among, 2):
        total = 0.0
        for term in terms:
            j, k = term.pair
            ij, ik, jk = (
                square / (1 - SHARED_PART if tuple(sorted(pair)) == shared else 1.0)
                for square, pair in zip(term.squares, ((i, j), (i, k), (j, k)), strict=True)
            )
            total += 0.5 * (ij + ik - jk)
        found.append(max(total / weight, 0.0))
    return min(found), max(found)


def _size(covariance: Floats) -> float:
    """A length per axis, of the median scan."""
    trace = np.trace(covariance, axis1=1, axis2=2)
    return float(np.sqrt(np.median(trace) / covariance.shape[-1]))


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Every pair of the tracks, in their order; the attribution is None for two."""

    tracks: tuple[AnyTrack, ...]
    options: Options
    pairs: tuple[Pair, ...]
    attribution: Attribution | None

    def __repr__(self) -> str:
        return "\n".join(pair.claim.sentence for pair in self.pairs)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the tracks and of all pairs, each once."""
        told = [
            f"{name_of(track)}: {note}"
            for track in self.tracks
            for note in (*track.provenance.notes, *track.provenance.remarks)
        ]
        told += [
            f"{name_of(track)}: {left.count} rows left out: {left.reason} (first: {left.first})"
            for track in self.tracks
            for left in track.provenance.dropped
        ]
        told += [note for pair in self.pairs for note in pair.notes]
        return tuple(dict.fromkeys(told))


def compare_all(
    tracks: Sequence[AnyTrack],
    *,
    options: Options | None = None,
    reference: AnyTrack | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Compare every two of the tracks; `told` hears how many pairs of how many are done."""
    options = options or Options()
    if len(tracks) < 2:
        raise OptionError("a pair needs two tracks")
    if len(tracks) > 2 and options.offset_s:
        raise OptionError("an offset of the clock says nothing about more than two tracks")
    both = list(combinations(tracks, 2))
    pairs = []
    for done, (a, b) in enumerate(both, start=1):
        pairs.append(compare_pair(a, b, options=options, reference=reference))
        told(done, len(both))
    attribution = attribute(tracks, options=options) if len(tracks) >= FEWEST else None
    return Comparison(tuple(tracks), options, tuple(pairs), attribution)
