"""Which of three or more is overconfident: who is in every pair that convicts.

A pair that convicts has a liar among its two, whatever the errors that estimators share. The liars
are therefore a set that has one of every convicting pair; who is in all of the smallest such sets
is overconfident, unless more of them are wrong together than need to be. Three estimators of which
two share their errors give no such pair, if all are honest.

How large each error is, the three-cornered hat tells, if the errors are uncorrelated: on common
scans, in one world and after one common fit, differences of i from two others have the covariance
of i in common,

    E[d_ij d_ik^T] = Cov(e_i),      k_i = sum_t w_t d_ij^T R_i^-1 d_ik / d  /  sum_t w_t

with R_i what i claims. A scan counts by w = 1 / variance of its term under the claims: where j or k
is unsure (an outage) it says little about i. Where all are dead reckoning, displacements over
windows take the place of scans. An error that j and k share is blamed on i, so that this k makes a
suspect and no more; (D_ij - S_j) / R_i is its part that no sharing makes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import Literal

import numpy as np

from smfeval.align.fit import Alignment, fit_alignment
from smfeval.align.projection import fit_weights, fitted_freedoms
from smfeval.associate import nearest_pairs
from smfeval.associate.moved import move
from smfeval.associate.origin import share_origin
from smfeval.compare.difference import (
    aligned_claim,
    at_body,
    information,
    joints_of,
    moved_alignment,
)
from smfeval.compare.frames import agree_on_body, as_gaussian, name_of, open_gauge
from smfeval.compare.pair import Pair, compare_pair
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError, PairingError
from smfeval.evaluation import Options
from smfeval.evaluation.claim import UNFITTED, AlignedClaim
from smfeval.maths import normal, so3
from smfeval.maths.arrays import Floats
from smfeval.results import Result
from smfeval.schema import AlignmentKind
from smfeval.summarise.motion import covariance_in_body
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.windows import FEWEST_WINDOWS, horizons
from smfeval.track import AnyTrack, GaussianTrack

FEWEST = 3  # with two, only the sum of the covariances is known
FEWEST_SCANS = 10  # common scans: fewer second moments are all noise
FALSE_ALARMS = 0.05  # chance that the hat suspects any of them, all honest and uncorrelated
LOST = 10.0  # mean square beside every other, over the largest among the others
LARGEST_ERROR = 1.0  # standard error of k under honest claims, above which k says nothing
REFITS = 3  # Gauss-Newton steps of the common fit, from the fit of each
SAME = 1e-6  # relative: covariances of copies
DEAD_RECKONING = 6  # freedoms: all of a pose

OwnLabel = Literal["overconfident", "suspect", "cannot tell", "not identifiable"]


@dataclass(frozen=True)
class EstimatorAttribution:
    """What pairs and differences say of one estimator; k is nan, with its reason, if nothing."""

    name: str
    label: OwnLabel
    sigma_m: float | None  # of its error, root mean over the axes, if errors are uncorrelated
    reported_m: float  # the same as claimed
    k: Number  # if errors are uncorrelated
    lower_bound: float | None  # of k, one-sided 95 % for all of them together
    k_if_shared: float | None  # the part of k that no error which others share makes
    at_least: float | None = None  # of the factor, by the pairs that convict it
    lost: bool = False  # far from all others, whose k is therefore found without it


@dataclass(frozen=True)
class Attribution:
    """Every estimator's own k; empty, with the reason, where it cannot be told."""

    scans: int
    gauge: str
    estimators: tuple[EstimatorAttribution, ...]
    horizon: int | None = None  # scans of the windows, where displacements are compared
    reason: str | None = None
    notes: tuple[str, ...] = ()  # on copies of a track, which count once


@dataclass(frozen=True)
class CommonErrors:
    """Positions (or displacements) of all estimators on common scans (windows), and their claims.

    `value` (N, n, d), `claimed` (N, n, d, d).
    """

    names: tuple[str, ...]
    value: Floats
    claimed: Floats


def attribute(
    tracks: Sequence[AnyTrack],
    *,
    options: Options | None = None,
    pairs: Sequence[Pair] | None = None,
) -> Attribution:
    """Who is overconfident by the pairs, and how large each one's error is against its claim.

    `pairs` are those of all tracks, in the order of `itertools.combinations`.
    """
    options, tracks = options or Options(), share_origin(*tracks)
    both = list(combinations(range(len(tracks)), 2))
    if pairs is None and len(tracks) >= FEWEST:
        pairs = [compare_pair(tracks[i], tracks[j], options=options, sweeps=False) for i, j in both]
    compared = dict(zip(both, pairs or (), strict=pairs is not None))
    kept, notes = _distinct(tracks, compared)
    nothing = Attribution(0, "", (), notes=notes)
    if len(kept) < FEWEST:
        reason = "two tracks tell only the sum of their covariances; three are needed"
        return replace(nothing, reason=reason)
    compared = {ij: compared[ij] for ij in combinations(kept, 2)}
    placed = place_tracks(
        [tracks[i] for i in kept], [compared[kept[0], j] for j in kept[1:]], options
    )
    nothing = replace(nothing, scans=len(placed.tracks[0]), gauge=placed.kind)
    if nothing.scans < FEWEST_SCANS:
        reason = f"{nothing.scans} scans are common to all; {FEWEST_SCANS} are needed"
        return replace(nothing, reason=reason)
    windows = _windows(placed) if options.space.is_whole else None
    if windows is None and placed.kind == "first-pose":
        reason = "all scans share the errors of the first pose, one sample of them"
        return replace(nothing, reason=reason)
    horizon, errors = (None, _scans(placed, options)) if windows is None else windows
    first = {ij: pair.claim.facts.first for ij, pair in compared.items()}
    away = find_lost({ij: 0.0 if each is None else each.excess for ij, each in first.items()})
    convicting = {ij: pair for ij, pair in compared.items() if pair.claim.at_least is not None}
    guilty, level, own = find_guilty(convicting), 1 - 2 * FALSE_ALARMS / len(kept), []
    near = [at for at, i in enumerate(kept) if i not in away]
    for at, i in enumerate(kept):  # one that is lost is held against all, the others without it
        members = list(range(len(kept))) if i in away else near
        hat = three_cornered_hat(at, members, errors, options.intervals, level, lost=i in away)
        if i in guilty:
            at_least = min(pair.claim.at_least or 0.0 for ij, pair in convicting.items() if i in ij)
            hat = replace(hat, label="overconfident", at_least=at_least)
        own.append(hat)
    return replace(nothing, estimators=tuple(own), horizon=horizon)


# By the pairs


def _distinct(
    tracks: Sequence[AnyTrack], compared: dict[tuple[int, int], Pair]
) -> tuple[list[int], tuple[str, ...]]:
    """The tracks without copies of others, and notes on these."""
    copies = {}
    for (i, j), pair in reversed(compared.items()):
        a, b = pair.difference.a.covariance, pair.difference.b.covariance
        if pair.claim.facts.same and np.allclose(a, b, rtol=SAME, atol=SAME * float(b.max())):
            copies[j] = i
    notes = tuple(
        f"{name_of(tracks[j])} is a copy of {name_of(tracks[i])}: they count once"
        for j, i in sorted(copies.items())
    )
    return [i for i in range(len(tracks)) if i not in copies], notes


def find_guilty(convicting: Iterable[tuple[int, int]]) -> set[int]:
    """Members of every smallest set that has one of each pair."""
    pairs = list(convicting)
    members = sorted({i for pair in pairs for i in pair})
    for size in range(len(members) + 1):
        sets = [
            set(chosen)
            for chosen in combinations(members, size)
            if all(i in chosen or j in chosen for i, j in pairs)
        ]
        if sets:
            return set.intersection(*sets)
    return set()


def find_lost(k: Mapping[tuple[int, int], float]) -> list[int]:
    """Estimators that are LOST times further from every other than the others from each other.

    `k` has the mean square of every pair.
    """
    left, lost = sorted({i for pair in k for i in pair}), list[int]()
    while len(left) > 2:
        apart = {}
        for i in left:
            own = [k[pair] for pair in combinations(left, 2) if i in pair]
            others = [k[pair] for pair in combinations(left, 2) if i not in pair]
            apart[i] = min(own) / max(1.0, *others)
        worst = max(apart, key=apart.__getitem__)
        if apart[worst] <= LOST:
            break
        left.remove(worst)
        lost.append(worst)
    return lost


# All in one world


@dataclass(frozen=True)
class PlacedTracks:
    """All tracks on common scans in the world of the first, after one common fit."""

    kind: AlignmentKind
    names: tuple[str, ...]
    tracks: list[GaussianTrack]
    claims: list[AlignedClaim]


def place_tracks(
    tracks: Sequence[AnyTrack], pairs: Sequence[Pair], options: Options
) -> PlacedTracks:
    """All tracks in the world of the first, on the scans of the first that all others meet.

    Each is moved to the body of the first that its pair with the first found, if the two agree in
    it, and fitted under the same weights, so that one fit is common to all.
    """
    gaussian = [as_gaussian(track)[0] for track in tracks]
    agree_on_body(gaussian)
    kind = open_gauge(gaussian, options)
    first, *others = _common_scans(gaussian, options)
    if "body" not in options.exact:
        others = [
            track if pair.body is None or pair.claim.at_least else at_body(track, pair.body)
            for track, pair in zip(others, pairs, strict=True)
        ]
    matched = [first, *others]
    fits = [fit_alignment(track, first, kind, options.fit_on)[0] for track in matched]
    weight = None
    if kind not in UNFITTED:
        sizes = [fit(t).position_covariance for fit, t in zip(fits, matched, strict=True)]
        weight = information(np.mean(sizes, axis=0))
        for _ in range(REFITS):
            fits = [_refit(fit, t, first, weight) for fit, t in zip(fits, matched, strict=True)]
    placed = [fit(track) for fit, track in zip(fits, matched, strict=True)]
    claims = [
        aligned_claim(track, joint, fit, weight)
        for track, joint, fit in zip(placed, joints_of(tracks, matched, options), fits, strict=True)
    ]
    return PlacedTracks(kind, tuple(map(name_of, tracks)), placed, claims)


def _common_scans(tracks: Sequence[GaussianTrack], options: Options) -> list[GaussianTrack]:
    """All tracks at scans of the first; moved over the gaps to these unless pairs are nearest."""
    first, others = tracks[0], tracks[1:]
    met = [nearest_pairs(track, first, options) for track in others]
    scans = reduce(np.intersect1d, [each.reference for each in met])
    if len(scans) == 0:
        raise PairingError("no scan is common to all tracks")
    found = [first[scans]]
    for track, each in zip(others, met, strict=True):
        kept = np.isin(each.reference, scans)
        at, gap_s = each.estimate[kept], each.gap_s[kept]
        nearest = options.association == "nearest"
        found.append(track[at] if nearest else as_gaussian(move(track, at, gap_s).track)[0])
    return found


def _refit(
    alignment: Alignment, track: GaussianTrack, first: GaussianTrack, weight: Floats
) -> Alignment:
    """A step of Gauss and Newton to the alignment of a track to the first under given weights."""
    position = alignment.aligned_position(track.position)
    fit = fit_weights(alignment.kind, position, weight=weight)  # type: ignore[arg-type]
    return moved_alignment(
        alignment, fit, fitted_freedoms(fit, position, first.position - position)
    )


# What is compared: scans, or displacements over windows


def _scans(placed: PlacedTracks, options: Options) -> CommonErrors:
    """Positions of all scans with what each claims after the fit, on the scored axes."""
    index = options.space.columns
    value = np.array([track.position[:, index] for track in placed.tracks])
    both = zip(placed.tracks, placed.claims, strict=True)
    every = [t.position_covariance if c.covariance is None else c.covariance for t, c in both]
    claimed = np.array(every)[:, :, index][:, :, :, index]
    regular = ~normal.is_singular(claimed.sum(axis=0))
    return CommonErrors(placed.names, value[:, regular], claimed[:, regular])


def _windows(placed: PlacedTracks) -> tuple[int, CommonErrors] | None:
    """Displacements over the shortest horizon, seen from the body; None unless all integrate it."""
    chosen = horizons(len(placed.tracks[0]))
    reckoned = all(each.joint.level == DEAD_RECKONING and each.oriented for each in placed.claims)
    if not (reckoned and chosen and placed.kind != "sim3"):
        return None
    first = np.arange(0, len(placed.tracks[0]) - chosen[0], chosen[0])
    second = first + chosen[0]
    value, claimed = [], []
    for each in placed.claims:
        moved = each.claim.position[second] - each.claim.position[first]
        value.append(so3.rotate_back(each.claim.rotation[first], moved))
        claimed.append(covariance_in_body(each.joint, each.claim, first, second))
    regular = ~np.any([normal.is_singular(each) for each in claimed], axis=0)
    if regular.sum() < FEWEST_WINDOWS:
        return None
    errors = CommonErrors(placed.names, np.array(value)[:, regular], np.array(claimed)[:, regular])
    return chosen[0], errors


# Each on its own


def three_cornered_hat(
    i: int,
    members: list[int],
    errors: CommonErrors,
    intervals: Intervals,
    level: float,
    *,
    lost: bool = False,
) -> EstimatorAttribution:
    """What differences from the other members say of one: a suspect where k is surely above 1.

    `level` is that of the interval whose low end is the bound.
    """
    name, own, others = errors.names[i], errors.claimed[i], [j for j in members if j != i]
    reported_m = float(np.sqrt(np.median(np.trace(own, axis1=1, axis2=2)) / own.shape[-1]))
    if len(members) < FEWEST:
        return _no_k(name, reported_m, "one of three is lost, and two tell only their sum")
    if normal.is_singular(own).any():
        return _no_k(name, reported_m, "its own covariance is singular on the axes")

    series, unshared, weight = _hat_series(i, others, errors)
    found, bound = intervals.of(series, "mean", "1"), None
    if intervals.method is not None:
        bound = replace(intervals, level=level).of(series, "mean", "1").low
    sure = bound is not None and bound > 1
    if not (lost or sure):
        if found.value <= 0 or (found.low is not None and found.low <= 0):
            reason = "its errors cannot be seen: those of others are shared, or far larger"
            return _no_k(name, reported_m, reason)
        if np.sqrt(len(series) / (found.n_effective or len(series)) / weight) > LARGEST_ERROR:
            reason = (
                "the others are too unsure, or too few scans are independent, to see its errors"
            )
            return _no_k(name, reported_m, reason)

    low, high = (None if end is None else max(end, 0.0) for end in (found.low, found.high))
    return EstimatorAttribution(
        name,
        "suspect" if lost or (sure and unshared > 1) else "cannot tell",
        reported_m * float(np.sqrt(max(found.value, 0.0))),
        reported_m,
        replace(found, low=low, high=high),
        None if bound is None else max(bound, 0.0),
        max(unshared, 0.0),
        lost=lost,
    )


def _hat_series(i: int, others: list[int], errors: CommonErrors) -> tuple[Floats, float, float]:
    """A series whose mean is k_i, the least (D_ij - S_j) / R_i, and the sum of the weights. (n,).

    The latter weighs scans by what i and j claim.
    """
    value, claimed = errors.value, errors.claimed
    own, d, trace = claimed[i], value.shape[2], np.einsum("inaa->in", claimed)
    wider = {j: 1 + trace[j] / trace[i] for j in others}
    squares = {j: normal.nees(value[i] - value[j], own) / d for j in others}

    weight, total = np.zeros((2, value.shape[1]))
    for j, k in combinations(others, 2):
        between = normal.nees(value[j] - value[k], own) / d
        # (1 + S_j/S_i)(1 + S_k/S_i) + 1: variance of the term times d, by the claims of all three
        precision = d / (wider[j] * wider[k] + 1)
        weight += precision
        total += precision * 0.5 * (squares[j] + squares[k] - between)
    mean = float(total.sum() / weight.sum())
    series = mean + (total - mean * weight) / weight.mean()

    unshared = []
    for j in others:
        theirs = np.einsum("nii->n", np.linalg.solve(own, claimed[j])) / d
        counts = wider[j] ** -2
        unshared.append(float(np.sum(counts * (squares[j] - theirs)) / np.sum(counts)))
    return series, min(unshared), float(weight.sum())


def _no_k(name: str, reported_m: float, reason: str) -> EstimatorAttribution:
    none = Number(float("nan"), "1", reason=reason)
    return EstimatorAttribution(name, "not identifiable", None, reported_m, none, None, None)


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
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed because not all tracks declare it."""
        found = {
            "one body": not all(track.about.body for track in self.tracks),
            "alignment": self.options.alignment is None
            and not all(track.about.gauge for track in self.tracks),
        }
        return tuple(name for name, holds in found.items() if holds)

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions, then notes of the tracks, of all pairs and of the attribution, each once."""
        notes = [f"assumed: {', '.join(self.assumptions)}"] if self.assumptions else []
        for track in self.tracks:
            source = track.provenance
            notes += [f"{source.name}: {note}" for note in (*source.notes, *source.remarks)]
        for track in self.tracks:
            notes += [
                f"{name_of(track)}: {left.count} rows left out: {left.reason} (first: {left.first})"
                for left in track.provenance.dropped
            ]
        notes += [note for pair in self.pairs for note in pair.notes]
        notes += [] if self.attribution is None else self.attribution.notes
        return tuple(dict.fromkeys(notes))


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
        raise OptionError("a time offset says nothing about more than two tracks")
    tracks = share_origin(*tracks)
    both = list(combinations(tracks, 2))
    pairs = []
    for done, (a, b) in enumerate(both, start=1):
        pairs.append(compare_pair(a, b, options=options, reference=reference))
        told(done, len(both))
    own = attribute(tracks, options=options, pairs=pairs) if len(tracks) >= FEWEST else None
    return Comparison(tuple(tracks), options, tuple(pairs), own)
