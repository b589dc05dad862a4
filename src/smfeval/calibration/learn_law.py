"""How a growth law is learnt from poses with a reference, and proven on tracks that are left out.

Errors are those of relative motion over windows of 10, 20, 40 ... scans, up to half of a
track, which no alignment touches. Over a window from scan i to scan j, in world axes at p_j,

    Cov = sum_k a_k B_k,    B_k = sum over its steps of L (u_k E_k) L^T, and for F_i and F_j alike

with u_k the metres, radians or seconds of a step and L the lever to p_j (`calibration.law`): linear
in the eight variances a_k. So is the covariance that an alignment leaves of positions, which count
as one more length. The variances minimise the mean log score over tracks, lengths and windows, all
tracks and all lengths weighing the same. Windows overlap and share errors, which leaves the optimum
where it is; what they are worth as evidence is asked of tracks that are left out, never of windows.
A lever arm, a rotation between the bodies and a time offset are columns (`summarise.motion`) of
tracks where they are significant. Tails are longer than Gaussian where tracks differ: a last factor
makes the 90 % regions hold 90 % of what tracks that are left out have.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smfeval.align.joint import UP, Claim, Joint, lever
from smfeval.align.nuisance import solve_shortest
from smfeval.align.projection import fit_weights, projected_covariance
from smfeval.calibration.held_out import REGION_LEVEL, Fit
from smfeval.calibration.law import (
    LEAST_FLOOR_M2,
    LEAST_FLOOR_RAD2,
    law_covariance,
    turned_axes,
    white_covariance,
)
from smfeval.dataclass import dataclass
from smfeval.evaluation import AlignedTracks
from smfeval.evaluation.claim import UNFITTED
from smfeval.maths import normal, se3, so3
from smfeval.maths.arrays import Floats, Ints, spaced_indices
from smfeval.maths.special import chi_squared_tail_quantile
from smfeval.summarise.motion import pose_columns, relative_error
from smfeval.summarise.windows import Windows
from smfeval.track import AnyTrack, Track
from smfeval.why.causes import Why, loss

SHORTEST = 10  # scans in a window
LONGEST = 2  # parts of a track that the longest window is one of
MOST_WINDOWS = 60  # of each length, evenly along the track
ROUNDS = 2  # of columns and variances by turns, after one of variances alone
CHANCE = 1e-3  # that columns of tracks which have none are found significant
NEGLIGIBLE = 1e-6  # part of the variance of all windows, below which a variance is zero
REACH = 30.0  # of the search, in logarithms
FAR = 1e-12  # of the largest variance: a start for those that were zero


@dataclass(frozen=True)
class LawSample:
    """Errors of windows or scans, and what each unit variance makes of their covariance.

    Attributes
    ----------
    error, basis, columns, weight
        (m, d), (m, 8, d, d), (m, d, c) and (m,); d is 6 of poses, 3 of positions.
    short
        Windows of the shortest length, which come first, do not overlap, and are what columns are
        fitted to.
    """

    error: Floats
    basis: Floats
    columns: Floats
    weight: Floats
    short: int = 0

    @property
    def dimension(self) -> int:
        """Of the errors."""
        return int(self.error.shape[1])

    def covariance(self, variances: Floats) -> Floats:
        """Of every window. (8,) -> (m, d, d)."""
        return np.einsum("k,mkij->mij", variances, self.basis)

    def without_columns(self, covariance: Floats) -> Floats:
        """Errors less what is open between the bodies, where that is significant. (m, d).

        By generalised least squares. What is not significant stays: columns would take the drift of
        the whole track with them, which no long window then has.
        """
        if not self.columns.shape[2]:
            return self.error
        columns, error = self.columns[: self.short], self.error[: self.short]
        weighted = np.linalg.solve(covariance[: self.short], columns)
        curvature = np.einsum("mij,mik->jk", columns, weighted)
        theta, rank = solve_shortest(curvature, np.einsum("mij,mi->j", weighted, error))
        if theta @ curvature @ theta < chi_squared_tail_quantile(rank, CHANCE):
            return self.error
        return self.error - self.columns @ theta

    def reach(self, covariance: Floats) -> Floats:
        """NEES over that of the 90 % region. (m,)."""
        limit = chi_squared_tail_quantile(self.dimension, 1 - REGION_LEVEL)
        return normal.nees(self.without_columns(covariance), covariance) / limit

    def fit(self, covariance: Floats) -> Fit:
        """Mean log score, coverage and k over lengths and windows."""
        weight, d = self.weight / self.weight.sum(), self.dimension
        terms = normal.likelihood_terms(self.without_columns(covariance), covariance)
        limit = chi_squared_tail_quantile(d, 1 - REGION_LEVEL)
        return Fit(
            -float(weight @ normal.log_density(terms, d)),
            float(weight @ (terms.nees <= limit)),
            float(weight @ terms.nees) / d,
        )


@dataclass(frozen=True)
class LawTrack:
    """A track with its reference, or a part of it in time."""

    name: str
    recording: str
    pair: tuple[Track, AnyTrack]
    aligned: AlignedTracks
    steps: Floats  # metres, radians, seconds between matched scans (n, 3)
    doubts: tuple[Why, ...]
    ends: tuple[int, int] | None = None  # of a part: its first scan, and the one after its last

    @property
    def scans(self) -> slice:
        """Matched scans of it."""
        return slice(None) if self.ends is None else slice(*self.ends)

    @property
    def is_oriented(self) -> bool:
        """Whether relative poses can be seen in both."""
        estimate, reference = self.aligned.matched.estimate, self.aligned.reference
        return estimate.about.oriented and reference.about.oriented

    @property
    def lost(self) -> str | None:
        """Why the track counts as lost."""
        return loss(self.doubts)

    def samples(self, level: int) -> tuple[LawSample, LawSample]:
        """Relative motion over windows, and positions after the alignment, which is one length."""
        windows, placed = self.windows(level), self._positions(level)
        share = 1 / (len(self._lengths()) + 1)
        return (
            replace(windows, weight=(1 - share) * windows.weight),
            replace(placed, weight=share * placed.weight),
        )

    def _lengths(self) -> list[int]:
        """Scans in windows."""
        lengths = [SHORTEST]
        while 2 * lengths[-1] * LONGEST <= len(self.steps[self.scans]):
            lengths.append(2 * lengths[-1])
        return lengths

    def windows(self, level: int) -> LawSample:
        """Errors of relative motion, and what laws of a level make of them."""
        estimate, steps = self.aligned.matched.estimate[self.scans], self.steps[self.scans]
        lengths = self._lengths()
        count = len(estimate)
        starts = [SHORTEST * spaced_indices((count - 1) // SHORTEST, MOST_WINDOWS)]
        starts += [spaced_indices(count - length, MOST_WINDOWS) for length in lengths[1:]]
        first = np.concatenate(starts)
        second = first + np.repeat(lengths, [len(each) for each in starts])
        weight = np.concatenate([np.full(len(i), 1 / len(i) / len(lengths)) for i in starts])
        basis = _bases(estimate.position, steps, turned_axes(level), first, second)
        error, columns = self._errors(first, second)
        d = error.shape[1]
        return LawSample(error, basis[:, :, :d, :d], columns, weight, short=len(starts[0]))

    def _positions(self, level: int) -> LawSample:
        """Errors of positions after the alignment, and what laws of a level leave of them."""
        tracks, estimate = self.aligned, self.aligned.estimate
        inside = np.arange(len(self.steps))[self.scans]
        scans = inside[np.isin(inside, tracks.left)]
        scans = scans[spaced_indices(len(scans), MOST_WINDOWS)]
        x, y, z = (tracks.alignment.rotation @ np.array(UP)).tolist()
        fitted = None if tracks.kind in UNFITTED else tracks.alignment.fitted_scans
        fit = fit_weights(tracks.kind, estimate.position, fitted=fitted)
        bases = []
        for unit in np.eye(8):
            pose = estimate.position, estimate.rotation
            covariance = law_covariance(unit, turned_axes(level, (x, y, z)), self.steps, pose)
            joint = Joint("implied", level, (x, y, z), white=white_covariance(unit))
            bases.append(projected_covariance(fit, joint, Claim.of(*pose, covariance))[scans])
        error = tracks.reference.position[scans] - estimate.position[scans]
        weight = np.full(len(scans), 1 / len(scans))
        return LawSample(error, np.stack(bases, axis=1), np.zeros((len(scans), 3, 0)), weight)

    def _errors(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        """Errors of windows in world axes at p_j, and columns. (m, d), (m, d, c)."""
        raw, reference = self.aligned.matched.estimate[self.scans], self.aligned.reference
        reference, motion = reference[self.scans], self.aligned.motion[self.scans]
        if not self.is_oriented:  # in the reference's world, whose rotation the alignment took
            aligned = self.aligned.estimate.position[self.scans]
            moved = aligned[second] - aligned[first]
            columns = np.stack([np.cross(axis, moved) for axis in np.eye(3)], axis=2)
            return reference.position[second] - reference.position[first] - moved, columns
        pose, truth = (raw.position, raw.rotation), (reference.position, reference.rotation)
        turn = so3.matrix(raw.rotation[second])
        both = np.zeros((len(first), 6, 6))
        both[:, :3, :3] = both[:, 3:, 3:] = turn
        error = relative_error(pose, truth, first, second)
        found = Windows(0, first, second, error, both)
        columns = both @ pose_columns(found, Claim(*pose, np.zeros((len(raw), 21))), motion)
        return np.einsum("mij,mj->mi", both, error), columns


def _bases(position: Floats, steps: Floats, axes: Floats, first: Ints, second: Ints) -> Floats:
    """B_k of windows, in world axes at p_j, by running sums about one origin. (m, 8, 6, 6)."""
    arm, one = position - position.mean(axis=0), np.zeros((2, 6, 6))
    one[0, :3, :3], one[1, 3:, 3:] = np.eye(3), axes
    carried = se3.sandwich(lever(-arm)[:, None], one)  # (n, 2, 6, 6)
    left = np.cumsum(steps[:, None, :, None, None] * carried[:, :, None], axis=0)
    grown = (left[second] - left[first]).reshape(len(first), 6, 6, 6)
    grown = se3.sandwich(lever(arm[second])[:, None], grown)
    one[1, 3:, 3:] = np.eye(3)
    between = lever(position[second] - position[first])[:, None]
    return np.concatenate([grown, se3.sandwich(between, one) + one], axis=1)


# Variances


def fit_variances(samples: Sequence[LawSample], start: Floats | None = None) -> Floats:
    """The eight variances of least mean log score. -> (8,)."""
    size = np.sum([np.einsum("m,mkii->k", each.weight, each.basis) for each in samples], axis=0)
    known, least = np.flatnonzero(size > 0), np.zeros(8)
    least[6:] = LEAST_FLOOR_M2, LEAST_FLOOR_RAD2
    start = _start(samples) if start is None else start
    variances = np.where(size > 0, np.maximum(start, np.maximum(least, FAR * start.max())), 0.0)
    error = [each.error for each in samples]
    for left in range(ROUNDS, -1, -1):
        variances[known] = _search(samples, error, known, variances[known], least[known])
        if left:
            error = [each.without_columns(each.covariance(variances)) for each in samples]
    small = variances * size < NEGLIGIBLE * (variances @ size)
    return np.maximum(np.where(small, 0.0, variances), np.where(size > 0, least, 0.0))


def _start(samples: Sequence[LawSample]) -> Floats:
    """Each variance as if it alone made a tenth of the errors that it is in. (8,)."""
    square, own = np.zeros(8), np.zeros(8)
    for each in samples:
        rows = np.repeat([[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]], (3, 3, 1, 1), axis=0)
        for k, at in enumerate(rows):
            if at[-1] < each.dimension:
                square[k] += each.weight @ (each.error[:, at] ** 2).sum(axis=1)
                own[k] += each.weight @ each.basis[:, k, at, at].sum(axis=1)
    return np.where(own > 0, 0.1 * square / np.where(own > 0, own, 1.0), 0.0)


def _search(
    samples: Sequence[LawSample],
    errors: Sequence[Floats],
    known: Ints,
    start: Floats,
    least: Floats,
) -> Floats:
    """Variances of least mean log score, over their logarithms by its gradient."""
    from scipy.optimize import minimize  # noqa: PLC0415  slow to import

    stacks = []
    for d in {each.dimension for each in samples}:
        alike = [at for at, each in enumerate(samples) if each.dimension == d]
        weight = np.concatenate([samples[at].weight for at in alike])
        basis = np.concatenate([samples[at].basis for at in alike])[:, known]
        stacks.append((np.concatenate([errors[at] for at in alike]), basis, weight))

    def score(logs: Floats) -> tuple[float, Floats]:
        value, slope, variances = 0.0, np.zeros(len(logs)), np.exp(logs)
        for error, basis, weight in stacks:
            covariance = np.einsum("k,mkij->mij", variances, basis)
            inverse = np.linalg.inv(covariance)
            whitened = np.einsum("mij,mj->mi", inverse, error)
            nees = np.einsum("mi,mi->m", whitened, error)
            value += 0.5 * float(weight @ (np.linalg.slogdet(covariance)[1] + nees))
            inverse -= whitened[:, :, None] * whitened[:, None, :]
            slope += 0.5 * np.einsum("m,mij,mkij->k", weight, inverse, basis, optimize=True)
        return value, slope * variances

    logs = np.log(start)
    floor = np.where(least > 0, np.log(np.where(least > 0, least, 1.0)), logs - REACH)
    bounds = list(zip(floor, logs + REACH, strict=True))
    found = minimize(score, np.maximum(logs, floor), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.exp(found.x)


class Folds:
    """Variances learnt without some groups of tracks, each set of groups once."""

    def __init__(self, groups: Sequence[Sequence[LawSample]]) -> None:
        self.groups = groups
        self._known: dict[frozenset[int], Floats] = {}

    def without(self, *left_out: int) -> Floats:
        """Variances from all other groups; from the groups themselves if there is no other."""
        key = frozenset(left_out)
        if key not in self._known:
            others = [at for at in range(len(self.groups)) if at not in key]
            chosen = [each for at in others or sorted(key) for each in self.groups[at]]
            self._known[key] = fit_variances(chosen, self.without() if key else None)
        return self._known[key]

    def factor(self, *left_out: int) -> float:
        """On the covariance: 90 % regions hold 90 % of what groups left out in turn have."""
        turn = [at for at in range(len(self.groups)) if at not in left_out]
        reach, weight = [], []
        for at in turn or left_out:
            variances = self.without(at, *left_out)
            for each in self.groups[at]:
                reach.append(each.reach(each.covariance(variances)))
                weight.append(each.weight / len(self.groups[at]))
        order = np.argsort(np.concatenate(reach))
        share = np.cumsum(np.concatenate(weight)[order])
        holds = order[np.searchsorted(share, REGION_LEVEL * share[-1])]
        return float(np.concatenate(reach)[holds])

    def log_scores(self) -> list[float]:
        """Mean log score of each group under what the others give."""
        found = []
        for at, group in enumerate(self.groups):
            variances = self.without(at)
            scores = [each.fit(each.covariance(variances)).log_score for each in group]
            found.append(float(np.average(scores, weights=[each.weight.sum() for each in group])))
        return found
