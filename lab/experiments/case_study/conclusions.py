"""What the numbers of a case study say, in sentences."""

from collections.abc import Iterator
from itertools import chain
from math import comb

import numpy as np

from case_study.plan import NOISE_KNOB, OWN_FILTER, SMOOTHER
from case_study.result import CaseStudy
from smfeval import words
from smfeval.compare.sweep import MOVES_NATS, KnobEffect, unearned_slope
from smfeval.show.sweep import held_intervals

SIMILAR_FACTOR = 1.5  # errors within this factor of each other are called alike
SIGN_TEST_LEVEL = 0.05  # a sign test with a larger p decides nothing


def sentences(study: CaseStudy) -> tuple[str, ...]:
    """One or two sentences for each table that has rows."""
    return tuple(chain.from_iterable(topic(study) for topic in TOPICS))


def _overconfidence(study: CaseStudy) -> Iterator[str]:
    for name in dict.fromkeys(row.filter for row in study.scores):
        rows = [row for row in study.scores if row.filter == name and row.k is not None]
        if rows:
            k = [row.k.value for row in rows if row.k is not None]
            above = sum(row.verdict == "overconfident" for row in rows)
            yield (
                f"{name} is overconfident on {above} of {words.count(len(rows), 'track')}: "
                f"k is between {words.number(min(k))} and {words.number(max(k))}"
            )


def _knobs(study: CaseStudy) -> Iterator[str]:
    reach = study.credit_reach.items()
    moving = [f"{knob} ({words.fixed(nats, 1)} nat)" for knob, nats in reach if nats >= MOVES_NATS]
    still = [knob for knob, nats in reach if nats < MOVES_NATS]
    if moving:
        rest = f", not with {words.join(still)}" if still else ""
        yield f"what an update is credited with changes with {words.join(moving)}{rest}"
    noise = study.effect(NOISE_KNOB)
    if noise is not None and noise.nees_slope is not None:
        yield (
            f"as R shrinks, log10 NEES grows per nat by {_slopes(noise)}; errors that stay "
            f"give {words.fixed(unearned_slope(), 3)}"
        )
        yield held_intervals(noise, unearned_slope())
    for effect in () if study.sweep is None else study.sweep.effects:
        if effect.estimator == OWN_FILTER or effect.knob != NOISE_KNOB:
            continue
        if effect.nees_slope is None:
            yield f"{effect.estimator}: R no longer sets its precision"
        else:
            held = held_intervals(effect, unearned_slope())
            yield f"for {effect.estimator} it is {_slopes(effect)}; {held}"


def _slopes(effect: KnobEffect) -> str:
    """'0.116 to 0.154 (6 tracks)': where the knob moves the precision."""
    found = [each.nees_slope.value for each in effect.tracks if each.nees_slope is not None]
    return f"{words.number_range(found, places=3)} ({words.count(len(found), 'track')})"


def _credit(study: CaseStudy) -> Iterator[str]:
    rows = [explanation.credit for explanation in study.explanations.values()]
    differences = [abs(row.unexplained) for row in rows if row.unexplained is not None]
    if differences:
        off = max(differences)
        yield (
            f"a credit made of nothing but the number of points, their normals and R, added to the "
            f"prior, gives the reported precision within {words.number(off)} nat (largest median "
            "of a track)"
        )
        few = [row.effective_points for row in rows if row.effective_points is not None]
        many = [row.matched for row in rows]
        yield (
            f"{words.number_range(many)} matched points carry the information of "
            f"{words.number_range(few)} independent ones"
        )


def _degeneracy(study: CaseStudy) -> Iterator[str]:
    # the condition number comes first
    found = [explanation.degeneracy[0] for explanation in study.explanations.values()]
    if found:
        ends = [(each.slope.low, each.slope.high) for each in found]
        clear = sum(
            low is not None and high is not None and not low <= 0 <= high for low, high in ends
        )
        share = max(each.r_squared for each in found)
        yield (
            f"the condition number explains at most {words.share(share)} of the variance of log "
            f"NEES; its slope is not 0 on {clear} of {words.count(len(found), 'track')}"
        )


def _displacement(study: CaseStudy) -> Iterator[str]:
    found = [explanation.displacement for explanation in study.explanations.values()]
    rows = [
        (each.shown.sigma_m, each.needed_every_m)
        for each in found
        if each is not None and each.shown is not None and each.needed_every_m is not None
    ]
    if rows:
        shown, needed = [size for size, _ in rows], [size for _, size in rows]
        short = sum(low < high for low, high in zip(shown, needed, strict=True))
        yield (
            f"a displacement that all points of a scan share makes k = 1 if its sigma is "
            f"{words.length_range(min(needed), max(needed))}; innovations show "
            f"{words.length_range(min(shown), max(shown))}, too little on "
            f"{short} of {words.count(len(rows), 'track')}"
        )


def compare_smoother(study: CaseStudy) -> Iterator[str]:
    """Whether the smoother is less overconfident than the filter at similar accuracy."""
    rows = {
        (row.track, row.filter): (row.mae.value, row.k.value)
        for row in study.scores
        if row.k is not None and not row.lost
    }
    pairs = [
        (rows[track, SMOOTHER], rows[track, OWN_FILTER])
        for track in dict.fromkeys(track for track, _ in rows)
        if (track, SMOOTHER) in rows and (track, OWN_FILTER) in rows
    ]  # error and k of both, on tracks that both followed
    if not pairs:
        return
    alike = [(a, b) for a, b in pairs if max(a[0], b[0]) <= SIMILAR_FACTOR * min(a[0], b[0])]
    lower = sum(a[1] < b[1] for a, b in alike)
    answer = "yes" if 2 * lower > len(alike) else "no"
    if sign_test(lower, len(alike)) > SIGN_TEST_LEVEL:
        answer = "cannot tell"
    median, own_median = (float(np.median([pair[i][1] for pair in pairs])) for i in (0, 1))
    yield (
        f"is the smoother less overconfident at similar accuracy? {answer}: its error is within a "
        f"factor of {words.exact(SIMILAR_FACTOR)} of that of {OWN_FILTER} on {len(alike)} of "
        f"{words.count(len(pairs), 'track')}, and its k the lower one on {lower} of these (sign "
        f"test: p = {sign_test(lower, len(alike)):.2g}); over all, median k "
        f"{words.number(median)} against {words.number(own_median)}"
    )


def sign_test(lower: int, pairs: int) -> float:
    """Two-sided p of a sign test: `lower` of so many pairs have the lower value."""
    fewer = min(lower, pairs - lower)
    return min(1.0, 2 * sum(comb(pairs, i) for i in range(fewer + 1)) / 2**pairs)


TOPICS = (
    *(_overconfidence, _knobs, _credit, _degeneracy, _displacement),
    compare_smoother,
)
