"""Which of three or more is overconfident: estimated against reported covariance, for each.

On the scans common to all, in the world of the first, each difference is whitened by the mean of
the reported covariances of its scan. The hat turns the moments of the differences into an error
covariance S_i of each; R_i is the mean of what it reported, whitened alike, and

    k_i = tr(R_i^-1 S_i) / d

is 1 for an honest belief. It is a ratio of second moments, so rare large errors count in full,
unlike in k_pair, which is a median. The errors are assumed to be uncorrelated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Literal

import numpy as np

from smfeval.align.gauge import fit_alignment
from smfeval.associate.pairing import nearest_pairs
from smfeval.compare.frames import agree_on_body, as_gaussian, name_of, open_gauge
from smfeval.compare.pair import TWO_SIDED, Pair, compare_pair, has_few_samples
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Options
from smfeval.maths import normal
from smfeval.maths.arrays import Floats
from smfeval.maths.symmetric import symmetrise
from smfeval.summarise.number import Intervals, Number
from smfeval.track import AnyTrack, GaussianTrack

FEWEST = 3  # with two, only the sum of the covariances is known
STEPS = 2000
CONVERGED = 1e-13  # relative change of a step


def unconstrained_hat(difference: Floats) -> Floats:
    """Least squares without constraint. (N, N, ...) symmetric in the pair -> (N, ...).

    Linear, so it may also be applied to the terms of each scan.
    """
    count = len(difference)
    row = np.array([sum(difference[i, j] for j in range(count) if j != i) for i in range(count)])
    total = row.sum(axis=0) / (2 * (count - 1))
    return (row - total) / (count - 2)


def cornered_hat(difference: Floats) -> Floats:
    """Least squares with every covariance positive semi-definite. (N, N, d, d) -> (N, d, d).

    Projected gradient on a convex problem whose Hessian has eigenvalues N - 2 and 2 N - 2.
    """
    count = len(difference)
    own = unconstrained_hat(difference)
    row = (count - 2) * own + own.sum(axis=0)
    found = _semidefinite(own)
    for _ in range(STEPS):
        slope = (count - 2) * found + found.sum(axis=0) - row
        new = _semidefinite(found - slope / (2 * count - 2))
        change = np.abs(new - found).max()
        found = new
        if change <= CONVERGED * np.abs(found).max():
            break
    return found


def misfit(difference: Floats, own: Floats) -> float:
    """What the covariances leave unexplained: |S_i + S_j - D_ij| over |D_ij|, Frobenius."""
    first, second = np.triu_indices(len(own), 1)
    wanted = difference[first, second]
    return float(np.linalg.norm(own[first] + own[second] - wanted) / np.linalg.norm(wanted))


def _semidefinite(matrix: Floats) -> Floats:
    """The nearest positive semi-definite matrices. (..., d, d)."""
    values, vectors = np.linalg.eigh(symmetrise(matrix))
    return (vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


SHARED_PART = 0.5  # part of their error variance that two estimators are supposed to share
FEWEST_SCANS = 10  # common scans: fewer second moments are all noise
INDEFINITE = -1e-9  # relative: below this the free fit was not a covariance

OwnLabel = Literal["overconfident", "suspect", "no conclusion", "not identifiable"]


@dataclass(frozen=True)
class EstimatorAttribution:
    """What the differences say of one estimator."""

    name: str
    label: OwnLabel
    sigma_m: float | None  # of its error, root mean over the axes
    reported_m: float  # the same as reported
    k: Number
    lower_bound: float | None  # of k, one-sided 95 %
    projected: bool  # whether the free fit was indefinite and had to be moved
    k_if_shared: tuple[float, float] | None  # smallest and largest k if two share SHARED


@dataclass(frozen=True)
class Attribution:
    """Every estimator's own k; empty, with the reason, where it cannot be told."""

    scans: int
    gauge: str
    estimators: tuple[EstimatorAttribution, ...]
    misfit: float | None  # None for three, which always fit but for the projection
    reason: str | None = None


@dataclass(frozen=True)
class CommonScans:
    """Differences and reported covariances of all estimators on common scans.

    `white` are the differences i - j, whitened by the mean reported covariance, (N, N, n, d);
    `reported` the mean of the reported covariances, whitened alike, (N, d, d).
    """

    white: Floats
    reported: Floats
    variance: Floats  # (n,): mean reported variance of a scan, per axis
    gauge: str

    @cached_property
    def moments(self) -> Floats:
        """Second moments of the whitened differences. (N, N, d, d)."""
        return np.einsum("ijnd,ijne->ijde", self.white, self.white) / self.white.shape[2]


def attribute(tracks: Sequence[AnyTrack], *, options: Options | None = None) -> Attribution:
    """Estimate each estimator's own error covariance and compare it with what it reports."""
    options = options or Options()
    if len(tracks) < FEWEST:
        reason = "two tracks tell only the sum of their covariances; three are needed"
        return Attribution(0, "", (), None, reason)
    common = common_scans([as_gaussian(track)[0] for track in tracks], options)
    scans = common.white.shape[2]
    if scans < FEWEST_SCANS:
        reason = f"{scans} scans are common to all; {FEWEST_SCANS} are needed"
        return Attribution(scans, common.gauge, (), None, reason)
    moments = common.moments
    covariances = cornered_hat(moments)
    own = tuple(
        _attribute_one(i, name_of(track), common, covariances, options.intervals)
        for i, track in enumerate(tracks)
    )
    unexplained = misfit(moments, covariances) if len(tracks) > FEWEST else None
    return Attribution(scans, common.gauge, own, unexplained)


def common_scans(tracks: Sequence[GaussianTrack], options: Options) -> CommonScans:
    """All tracks in the world of the first, on the scans of the first that all others meet."""
    agree_on_body(tracks)
    kind, _ = open_gauge(tracks, options)
    first, others = tracks[0], tracks[1:]
    met = [nearest_pairs(track, first, options) for track in others]
    scans = reduce(np.intersect1d, [each.reference for each in met])
    if len(scans) == 0:
        raise PairingError("no scan is common to all tracks")
    base = first[scans]
    placed = [base]
    for track, each in zip(others, met, strict=True):
        chosen = track[each.estimate[np.isin(each.reference, scans)]]
        alignment, _ = fit_alignment(chosen, base, kind, options.fit_on)
        placed.append(alignment(chosen))  # type: ignore[arg-type]
    return _whiten_tracks(placed, kind, options)


def _whiten_tracks(placed: list[GaussianTrack], kind: str, options: Options) -> CommonScans:
    index = options.space.columns
    alone = replace(options, reference_covariance=False)
    covariance = np.array([alone.space.residuals(t, t).covariance for t in placed])
    mean = covariance.mean(axis=0)
    good = ~normal.is_singular(mean)
    position = np.array([track.position[:, index] for track in placed])[:, good]
    mean, covariance = mean[good], covariance[:, good]

    count, scans, d = position.shape
    white = np.zeros((count, count, scans, d))
    for i in range(count):
        for j in range(i):
            white[i, j] = normal.whiten(position[i] - position[j], mean)
            white[j, i] = -white[i, j]
    reported = np.array([_mean_whitened(each, mean) for each in covariance])
    variance = np.trace(mean, axis1=1, axis2=2) / d
    return CommonScans(white, reported, variance, kind)


def _mean_whitened(covariance: Floats, by: Floats) -> Floats:
    """Mean over scans of M^(-1/2) S M^(-1/2). (n, d, d) twice -> (d, d)."""
    half = _whiten_columns(covariance, by).swapaxes(1, 2)
    return symmetrise(_whiten_columns(half, by).mean(axis=0))


def _whiten_columns(matrix: Floats, by: Floats) -> Floats:
    columns = (np.ascontiguousarray(matrix[:, :, k]) for k in range(matrix.shape[-1]))
    return np.stack([normal.whiten(column, by) for column in columns], axis=-1)


def _attribute_one(
    i: int, name: str, common: CommonScans, covariances: Floats, intervals: Intervals
) -> EstimatorAttribution:
    reported = common.reported[i]
    d = len(reported)
    reported_m = _sigma(common, reported)
    if bool(normal.is_singular(reported[None])[0]):
        none = Number(float("nan"), "1", reason="its own covariance is singular on the axes")
        return EstimatorAttribution(
            name, "not identifiable", None, reported_m, none, None, False, None
        )

    inverse = np.linalg.inv(reported)
    free = unconstrained_hat(common.moments)[i]
    projected = bool(np.linalg.eigvalsh(free)[0] < INDEFINITE * np.linalg.norm(free))
    series = (
        unconstrained_hat(np.einsum("ijnd,de,ijne->ijn", common.white, inverse, common.white))[i]
        / d
    )
    k = replace(
        _not_negative(intervals.of(series, "mean", "1")),
        value=float(np.trace(inverse @ covariances[i])) / d,
    )
    bound = _not_negative(replace(intervals, level=TWO_SIDED).of(series, "mean", "1")).low
    return EstimatorAttribution(
        name,
        _label(k, bound, projected=projected),
        _sigma(common, covariances[i]),
        reported_m,
        k,
        bound,
        projected,
        _range_if_shared(i, common, inverse),
    )


def _label(k: Number, bound: float | None, *, projected: bool) -> OwnLabel:
    """Overconfident if k is surely above 1; suspect if too few independent scans say so."""
    if bound is not None and bound > 1:
        return "suspect" if has_few_samples(k) else "overconfident"
    return "not identifiable" if projected else "no conclusion"


def _not_negative(number: Number) -> Number:
    """The part of an interval where a ratio of covariances can lie."""
    low, high = (None if end is None else max(end, 0.0) for end in (number.low, number.high))
    return replace(number, low=low, high=high)


def _range_if_shared(i: int, common: CommonScans, inverse: Floats) -> tuple[float, float]:
    """k_i if any one pair shares part of its error: D_jk then shows 1 - SHARED of S_j + S_k."""
    found = []
    moments = common.moments
    for j in range(len(moments)):
        for k in range(j):
            more = moments.copy()
            more[j, k] /= 1 - SHARED_PART
            more[k, j] /= 1 - SHARED_PART
            found.append(float(np.trace(inverse @ cornered_hat(more)[i])) / len(inverse))
    return min(found), max(found)


def _sigma(common: CommonScans, white: Floats) -> float:
    """A whitened covariance as a length per axis, at the median reported size."""
    return float(np.sqrt(np.median(common.variance) * np.trace(white) / len(white)))


@dataclass(frozen=True, repr=False)
class Comparison:
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
