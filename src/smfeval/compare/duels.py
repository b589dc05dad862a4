"""Who is best, who is significantly worse, and who is marked.

Best is the contender with the least median loss. A track on which it has no value while another
has one counts as lost for that choice, so that nobody becomes best by failing on hard tracks.

Marked are the best and all that were tested against it and are not significantly worse, provided
that somebody is: a mark that everybody has says nothing.

Every two contenders are tested on the tracks that they share, and Holm's correction runs over all
pairs of the metric, not only over the duels of the best: the best was picked by the same tracks,
and picking favours it. With 8 equal contenders on 40 tracks a correction over the 7 duels alone
wrongly separates somebody in 8 to 10 % of studies, one over all pairs in 3 % (nominal: 5 %;
tests/power/test_across.py). A pair that cannot be tested is not separated.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from itertools import combinations
from math import ceil, comb, log2

import numpy as np

from smfeval import words
from smfeval.compare.hypothesis import HypothesisCount
from smfeval.compare.pooled import PooledK
from smfeval.dataclass import dataclass
from smfeval.maths.arrays import Floats, Ints
from smfeval.maths.special import normal_quantile
from smfeval.summarise.number import Number

LEVEL = 0.05  # of the tests, corrected over all pairs of a metric
POWER = 0.8  # probability with which that many tracks would separate the two
MOST_TRACKS = 10_000  # tracks; who would need more shows no sign of a difference
EXACT_UP_TO = 200  # tracks; beyond, the normal approximation with the variance sum(rank^2) / 4
DIGITS = 9  # two losses, or two differences, that agree to so many digits are tied
HUGE = 1e300  # stands for infinity, so that two failures are a tie
SMALLEST = 1e-290  # differences below are zero: their digits could not be told


@dataclass(frozen=True)
class MetricCell:
    """An estimator in one metric: the median over tracks of the per-track value."""

    estimator: str
    median: Number | None  # its interval is from resampling tracks; None: no track has a value
    values: tuple[tuple[str, float], ...]  # (track, value): what the median is of
    best: bool  # marked: the best contender, or one tested and not significantly worse
    reason: str | None = None  # why it is marked, or is not, where its median does not tell
    shared: Number | None = None  # median over the tracks that all share, where they are not all


@dataclass(frozen=True)
class Duel:
    """The best contender against another, by a paired Wilcoxon signed-rank test over tracks."""

    best: str
    other: str
    shared: int  # tracks on which both have a value
    ties: int  # of these, tracks on which both are equally good
    difference: float | None  # median over shared tracks of the loss of other minus that of best
    p: float | None  # two-sided; None: too few tracks to test, see `reason`
    p_holm: float | None  # corrected over all pairs of contenders of the metric
    beaten: bool
    further_tracks: int | None  # about so many more would separate the two; None: see `reason`
    reason: str | None = None  # why not tested, or not separated where it is not chance

    @property
    def is_tested(self) -> bool:
        """Whether there were tracks enough."""
        return self.p is not None

    @property
    def is_turned(self) -> bool:
        """Whether the best by the median is significantly worse on the tracks that both have."""
        return self.p_holm is not None and self.p_holm <= LEVEL and not self.beaten


@dataclass(frozen=True)
class Ranks:
    """Mean rank of each contender over the tracks that all share."""

    names: tuple[str, ...]  # best first
    mean_rank: tuple[float, ...]
    tracks: int
    cliques: tuple[tuple[str, ...], ...] = ()  # contenders that the tests do not separate
    reason: str | None = None  # why there is no test, or who was left out


@dataclass(frozen=True)
class Column:
    """One metric over all estimators."""

    metric: str
    cells: tuple[MetricCell, ...]  # in the order of the plan
    duels: tuple[Duel, ...]
    ranks: Ranks | None
    notes: tuple[str, ...] = ()
    shared_tracks: int | None = None  # on which all have a value; None: these are all tracks
    unmarked: str | None = None  # why nobody is marked, where estimators compete
    detail: str | None = None  # more about that


@dataclass(frozen=True)
class StudySection:
    """A table: one group of tracks, or all; all tracks or only those that converged."""

    group: str
    converged_only: bool
    tracks: int  # of the group; of these, for converged ones, those that somebody has a value on
    columns: tuple[Column, ...]
    diverged: tuple[tuple[str, int, int], ...]  # (estimator, diverged tracks, scored tracks)
    notes: tuple[str, ...] = ()
    pooled: tuple[PooledK, ...] = ()  # k of each estimator over these tracks
    hypotheses: tuple[HypothesisCount, ...] = ()  # of each pair that a reference was held against


def holm(p: Floats) -> Floats:
    """Corrected p-values: at most `level` with probability `level` if no effect is real. (m,).

    The i-th smallest of m counts (m - i + 1) times, and none less than a smaller one (Holm, 1979).
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(np.arange(len(p), 0, -1) * p[order])
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def side_probability(difference: Floats) -> float:
    """P(D + D' > 0), a tie counting half, over all pairs of tracks. (n,), n > 1."""
    ordered = np.sort(difference)
    # d_i + d_j > 0 is d_j > -d_i: counted by search, then the pairs i = j taken out again.
    above = len(ordered) - np.searchsorted(ordered, -ordered, side="right")
    level = np.searchsorted(ordered, -ordered, side="right") - np.searchsorted(ordered, -ordered)
    own = np.sum(ordered > 0) + 0.5 * np.sum(ordered == 0)
    pairs = len(ordered) * (len(ordered) - 1)
    return float((np.sum(above) + 0.5 * np.sum(level) - own) / pairs)


def tracks_needed(side: float, level: float) -> int | None:
    """Tracks for a two-sided test at a level; None: more than anyone will record."""
    reach = float(normal_quantile(1 - level / 2) + normal_quantile(POWER)) ** 2
    if reach > 3 * MOST_TRACKS * (side - 0.5) ** 2:
        return None
    return max(ceil(reach / (3 * (side - 0.5) ** 2)), fewest_tracks(level))


def fewest_tracks(level: float) -> int:
    """Tracks below which not even a clean sweep is significant: 2 / 2^n <= level; 6 for 0.05."""
    return ceil(1 - log2(level))


FEWEST = fewest_tracks(LEVEL)  # shared tracks that are no ties


@dataclass(frozen=True)
class SignedRank:
    """Outcome of a test; `lean` is 1 where differences tend to be positive, -1, or 0."""

    p: float  # two-sided
    signed: int  # tracks, or routes, that differ
    lean: int


def signed_rank(difference: Floats, routes: Ints | None = None) -> SignedRank:
    """Two-sided test that differences are symmetric about zero. (n,), finite.

    p is twice the probability that W+ (doubled) is at most the lesser of the two sums of ranks.
    Tracks of one route depend on each other: their differences change sign together, so that the
    sum of their signed ranks counts as one (after Rosner, Glynn and Lee, Biometrics 62, 2006).
    """
    signs = np.sign(difference).astype(np.int64)
    signed = signs * doubled_ranks(np.abs(difference))
    if routes is not None:
        _, place = np.unique(routes, return_inverse=True)
        signed = np.bincount(place, weights=signed).astype(np.int64)
    up, down = int(signed[signed > 0].sum()), -int(signed[signed < 0].sum())
    ranks, lesser = np.abs(signed[signed != 0]), min(up, down)
    if len(ranks) > EXACT_UP_TO:
        from scipy.special import ndtr  # noqa: PLC0415  slow to import

        spread = 0.5 * np.sqrt(np.sum(ranks.astype(np.float64) ** 2))
        chance = ndtr((lesser - 0.5 * ranks.sum()) / spread)
    else:
        chance = _null_distribution(tuple(np.sort(ranks).tolist()))[: lesser + 1].sum()
    return SignedRank(float(min(1.0, 2 * chance)), len(ranks), int(np.sign(up - down)))


def differences(loss: Floats, other: Floats) -> Floats:
    """`other` - `loss` on tracks that have both, 0 where they agree to rounding. (n,), (n,)."""
    shared = ~(np.isnan(loss) | np.isnan(other))
    a, b = (np.clip(each[shared], -HUGE, HUGE) for each in (loss, other))
    tied = np.abs(b - a) <= SMALLEST + 10.0**-DIGITS * np.maximum(np.abs(a), np.abs(b))
    return np.where(tied, 0.0, b - a)


def doubled_ranks(size: Floats) -> Ints:
    """Twice the midranks of numbers from 0 on, to `DIGITS` digits: integers from 2 on. (n,)."""
    scale = 10.0 ** (np.floor(np.log10(np.maximum(size, SMALLEST))) - DIGITS + 1)
    rounded = np.round(size / scale) * scale
    _, group, count = np.unique(rounded, return_inverse=True, return_counts=True)
    return (2 * np.cumsum(count) - count + 1)[group]


@lru_cache(maxsize=256)
def _null_distribution(ranks: tuple[int, ...]) -> Floats:
    """P(W+ = 0), P(W+ = 1) ... of a sum in which each rank counts with probability 1/2."""
    chance = np.zeros(sum(ranks) + 1)
    chance[0], top = 1.0, 0
    for rank in ranks:
        chance[rank : top + rank + 1] += chance[: top + 1].copy()
        chance[: top + rank + 1] *= 0.5
        top += rank
    return chance


@dataclass(frozen=True)
class PairTest:
    """Two contenders on the tracks that both have; differences are those of second minus first."""

    difference: Floats
    outcome: SignedRank
    p_holm: float | None  # None: not tested

    @property
    def is_significant(self) -> bool:
        """Whether the two are separated."""
        return self.p_holm is not None and self.p_holm <= LEVEL

    def from_side(self, first: bool) -> "PairTest":
        """The same test with the contenders in this order, or exchanged."""
        if first:
            return self
        outcome = SignedRank(self.outcome.p, self.outcome.signed, -self.outcome.lean)
        return PairTest(-self.difference, outcome, self.p_holm)


def best_of(losses: Floats) -> int | None:
    """Row of the contender with the least median loss; None: nobody has a value. (k, n).

    Equal ones: who has more tracks, then who comes first.
    """
    present = ~np.isnan(losses)
    if not present.any():
        return None
    missing_is_lost = np.where(present, losses, np.inf)[:, present.any(axis=0)]
    middle = np.median(missing_is_lost, axis=1)
    return int(np.lexsort((-present.sum(axis=1), middle))[0])


def all_tests(losses: Floats, routes: Ints | None = None) -> "Tests":
    """Every pair of rows i < j with a value, tested and corrected together. (k, n), (n,)."""
    present = ~np.isnan(losses)
    rows = np.flatnonzero(present.any(axis=1)).tolist()
    seen = {(i, j): differences(losses[i], losses[j]) for i, j in combinations(rows, 2)}
    found = {
        (i, j): signed_rank(each, None if routes is None else routes[present[i] & present[j]])
        for (i, j), each in seen.items()
    }
    tested = [pair for pair, outcome in found.items() if outcome.signed >= FEWEST]
    corrected = holm(np.array([found[pair].p for pair in tested]))
    p_holm = dict(zip(tested, corrected.tolist(), strict=True))
    return {pair: PairTest(seen[pair], found[pair], p_holm.get(pair)) for pair in seen}


Tests = dict[tuple[int, int], PairTest]  # by rows i < j


def duels(names: tuple[str, ...], losses: Floats, tests: Tests) -> tuple[Duel, ...]:
    """The best against every other contender that has a value, in their order. (k,), (k, n)."""
    best = best_of(losses)
    family = sum(test.p_holm is not None for test in tests.values())
    passed = sum(test.is_significant for test in tests.values())
    next_level = LEVEL / max(family - passed, 1)  # what Holm asks of the next pair
    return tuple(
        _duel((names[best], names[row]), test.from_side(best < row), family, next_level)
        for row in range(len(names))
        if best is not None and (test := tests.get((min(best, row), max(best, row)))) is not None
    )


def _duel(names: tuple[str, str], test: PairTest, family: int, next_level: float) -> Duel:
    shared, signed = len(test.difference), test.outcome.signed
    ties = int(np.sum(test.difference == 0))
    significant = test.is_significant
    beaten, needed, reason = significant and test.outcome.lean > 0, None, None
    if test.p_holm is None:
        tied = f", {ties} of them tied" if ties else ""
        tied += f", on {words.count(signed, 'route')} that differ" if signed < shared - ties else ""
        reason = (
            f"not tested against the best, {names[0]}: {words.count(shared, 'comparable track')}"
            f"{tied}; {FEWEST} that differ are needed"
        )
    elif significant and not beaten:
        reason = f"significantly better than {names[0]} on the tracks that both have"
    elif not significant:
        needed = tracks_needed(side_probability(test.difference), next_level)
        if 2.0 ** (1 - signed) * family > LEVEL:  # of the least p that so many can reach
            reason = (
                f"tracks that differ: {signed}; among {family} pairs no outcome of fewer than "
                f"{fewest_tracks(LEVEL / family)} is significant"
            )
        elif needed is None:
            reason = "no sign of a difference"
    return Duel(
        best=names[0],
        other=names[1],
        shared=shared,
        ties=ties,
        difference=float(np.median(test.difference)) if shared else None,
        p=None if test.p_holm is None else test.outcome.p,
        p_holm=test.p_holm,
        beaten=beaten,
        further_tracks=None if needed is None else max(needed - shared, 1),
        reason=reason,
    )


TOO_FEW_TRACKS = "too few comparable tracks to rank them"
ALONE = "one contender: nobody to compare it with"
ALL_ALIKE = "no contender is significantly worse than the best"


@dataclass(frozen=True)
class Marks:
    """Who is marked, and what the medians that are shown do not tell about it."""

    best: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)  # by contender
    unmarked: str | None = None  # why nobody is marked
    detail: str | None = None


def marks_of(fought: tuple[Duel, ...], shown: Mapping[str, float]) -> Marks:
    """Marks by the duels of the best; none where it is significantly better than nobody.

    `shown` has the loss of the median that a table shows of each contender: a mark on a worse one
    than that of a contender without a mark has its reason.
    """
    if not any(duel.beaten for duel in fought):
        return _no_marks(fought)
    best = {fought[0].best, *(duel.other for duel in fought if duel.is_tested and not duel.beaten)}
    reasons = {
        duel.other: duel.reason
        for duel in fought
        if duel.reason and (not duel.is_tested or duel.is_turned)
    }
    for name in best - reasons.keys():
        above = [d for d in fought if d.other not in best and shown[d.other] < shown[name]]
        worse = [duel.other for duel in above if duel.beaten]
        untested = [duel.other for duel in above if not duel.beaten]
        said = [f"significantly worse track by track: {words.join(worse)}"] if worse else []
        said += [f"not tested, on too few tracks: {words.join(untested)}"] if untested else []
        if said:
            reasons[name] = f"marked though other medians are better; {'; '.join(said)}"
    return Marks(frozenset(best), reasons)


def _no_marks(fought: tuple[Duel, ...]) -> Marks:
    """Why the best is significantly better than nobody."""
    if not fought:
        return Marks(unmarked=ALONE)
    met = [duel for duel in fought if duel.is_tested] or fought
    pairs = comb(len(met) + 1, 2)
    needed, most = fewest_tracks(LEVEL / pairs), max(duel.shared - duel.ties for duel in met)
    if most >= needed:
        return Marks(unmarked=ALL_ALIKE)
    many = words.count(pairs, "pair needs", "pairs need")
    return Marks(unmarked=TOO_FEW_TRACKS, detail=f"{most} that differ; {many} {needed}")
