"""Who is best, and whom the best was tested against and does not beat.

Best is the contender with the least median loss. A track on which it has no value while another
has one counts as lost for that choice, so that nobody becomes best by failing on hard tracks.

Every two contenders are tested on the tracks that they share, and Holm's correction runs over all
pairs of the metric, not only over the duels of the best: the best was picked by the same tracks,
and picking favours it. With 8 equal contenders on 40 tracks a correction over the 7 duels alone
wrongly separates somebody in 8 to 10 % of studies, one over all pairs in 3 % (nominal: 5 %;
tests/power/test_across.py). A pair that cannot be tested is not separated.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from smfeval.compare.across.holm import holm
from smfeval.compare.across.power import fewest_tracks, side_probability, tracks_needed
from smfeval.compare.across.result import Duel
from smfeval.compare.across.signed_rank import SignedRank, differences, least_p, signed_rank
from smfeval.maths.arrays import Floats

LEVEL = 0.05
FEWEST = fewest_tracks(LEVEL)  # shared tracks that are no ties


@dataclass(frozen=True)
class Trial:
    """Two contenders on the tracks that both have; differences are those of second minus first."""

    difference: Floats
    outcome: SignedRank
    p_holm: float | None  # None: not tested

    def seen_from(self, first: bool) -> "Trial":
        """The same test with the contenders in this order, or exchanged."""
        if first:
            return self
        outcome = SignedRank(self.outcome.p, self.outcome.signed, -self.outcome.lean)
        return Trial(-self.difference, outcome, self.p_holm)


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


def all_tests(losses: Floats) -> dict[tuple[int, int], Trial]:
    """Every pair of rows i < j with a value, tested and corrected together. (k, n)."""
    rows = np.flatnonzero((~np.isnan(losses)).any(axis=1)).tolist()
    seen = {(i, j): differences(losses[i], losses[j]) for i, j in combinations(rows, 2)}
    found = {pair: signed_rank(each) for pair, each in seen.items()}
    tested = [pair for pair, outcome in found.items() if outcome.signed >= FEWEST]
    corrected = holm(np.array([found[pair].p for pair in tested]))
    p_holm = dict(zip(tested, corrected.tolist(), strict=True))
    return {pair: Trial(seen[pair], found[pair], p_holm.get(pair)) for pair in seen}


def duels(names: tuple[str, ...], losses: Floats) -> tuple[Duel, ...]:
    """The best against every other contender that has a value, in their order. (k,), (k, n)."""
    best = best_of(losses)
    tests = all_tests(losses)
    family = sum(test.p_holm is not None for test in tests.values())
    passed = sum(test.p_holm is not None and test.p_holm <= LEVEL for test in tests.values())
    next_level = LEVEL / max(family - passed, 1)  # what Holm asks of the next pair
    return tuple(
        _duel((names[best], names[row]), test.seen_from(best < row), family, next_level)
        for row in range(len(names))
        if best is not None and (test := tests.get((min(best, row), max(best, row)))) is not None
    )


def _duel(names: tuple[str, str], test: Trial, family: int, next_level: float) -> Duel:
    significant = test.p_holm is not None and test.p_holm <= LEVEL
    beaten = significant and test.outcome.lean > 0
    needed = None if significant or test.p_holm is None else _needed(test, next_level)
    shared = len(test.difference)
    return Duel(
        best=names[0],
        other=names[1],
        shared=shared,
        ties=shared - test.outcome.signed,
        difference=float(np.median(test.difference)) if shared else None,
        p=None if test.p_holm is None else test.outcome.p,
        p_holm=test.p_holm,
        beaten=beaten,
        further_tracks=None if needed is None else max(needed - shared, 1),
        reason=None if beaten else _reason(names, test, family, needed),
    )


def _needed(test: Trial, level: float) -> int | None:
    return tracks_needed(side_probability(test.difference), level)


def _reason(names: tuple[str, str], test: Trial, family: int, needed: int | None) -> str | None:
    """Why two are not separated, where it is not just that the difference is small."""
    shared, signed = len(test.difference), test.outcome.signed
    if test.p_holm is None:
        tied = f", {shared - signed} of them tied" if signed < shared else ""
        few = f"shared tracks: {shared}{tied}; {FEWEST} that differ are needed"
        return f"not tested against the best: {few}"
    if test.p_holm <= LEVEL:
        return f"on the tracks that both have, {names[1]} is significantly better than {names[0]}"
    if least_p(signed) * family > LEVEL:
        fewest = fewest_tracks(LEVEL / family)
        return (
            f"tracks that differ: {signed}; among {family} pairs no outcome of fewer than {fewest} "
            "is significant"
        )
    return "no sign of a difference" if needed is None else None
