"""One k over the tracks of a study: the estimate, its intervals, and what may be said."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2, t

from smfeval.compare.pooled import (
    COUNT_DOUBT,
    TrackK,
    between_variance,
    chance_of_convictions,
    pool,
    pool_tracks,
)
from smfeval.evaluation import Options, evaluate
from smfeval.judge.evidence import TrackEvidence
from smfeval.judge.levels import TAIL
from smfeval.studies.result import TaskResult
from smfeval.studies.tables import track_k
from smfeval.studies.task import UNMET_STAMPS, track_evidence, why_withheld
from smfeval.summarise.number import Number
from support import drifting, unmatched


def tracks(values, *, half=0.4, overconfident=0):
    """k of each track, with a 95 % interval a factor exp(1.96 half) to either side."""
    reach = exp(1.959964 * half)
    return [
        TrackK(f"t{i}", Number(k, "1", k / reach, k * reach), None, i < overconfident)
        for i, k in enumerate(values)
    ]


def test_with_equal_errors_the_interval_is_that_of_student(rng):
    y, s = rng.normal(0.5, 1.0, size=9), np.full(9, 0.2)
    k, _, tau = pool(y, s)
    reach = t.ppf(0.975, 8) * y.std(ddof=1) / 3
    assert log(k.value) == pytest.approx(y.mean())
    assert [log(k.low), log(k.high)] == pytest.approx([y.mean() - reach, y.mean() + reach])
    assert tau == pytest.approx(np.sqrt(y.var(ddof=1) - 0.04))


def test_the_variance_between_tracks_solves_its_equation(rng):
    y, s = rng.normal(0, 1.0, size=7), rng.uniform(0.1, 0.8, size=7)

    def q(tau2):
        w = 1 / (s**2 + tau2)
        return np.sum(w * (y - np.average(y, weights=w)) ** 2) - 6

    assert between_variance(y, s) == pytest.approx(brentq(q, 0, 100), rel=1e-6)


def test_tracks_that_agree_have_no_variance_between_and_no_narrower_interval():
    s = np.array([0.3, 0.4, 0.5, 0.3])
    k, _, tau = pool(np.full(4, 0.7), s)
    assert tau == 0
    reach = t.ppf(0.975, 3) / np.sqrt(np.sum(1 / s**2))
    assert log(k.high) == pytest.approx(0.7 + reach)


def test_a_precise_track_weighs_more():
    k, _, _ = pool(np.log([1.0, 4.0, 4.0]), np.array([0.05, 2.0, 2.0]))
    assert k.value < 1.1


def test_a_study_speaks_where_no_track_can():
    found = pool_tracks("A", tracks([3.0, 2.6, 3.5, 3.2, 2.8, 3.1, 3.0, 2.9, 3.3], half=0.8))
    assert all(each.k.low < 1 for each in tracks([3.0], half=0.8))
    assert found.label == "overconfident"
    assert found.sentence.startswith("overconfident over the study, k 3.0")
    assert "9 tracks; k of a new track: " in found.sentence


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ([1.0, 1.1, 0.9, 1.0, 1.05, 0.95], "consistent"),
        ([0.2, 0.25, 0.3, 0.2, 0.22, 0.3], "conservative"),
        ([0.1, 10.0, 0.2, 5.0], "cannot tell"),
    ],
)
def test_labels(values, label):
    assert pool_tracks("A", tracks(values, half=0.1)).label == label


def test_two_tracks_are_too_few():
    found = pool_tracks("A", tracks([5.0, 5.0], half=0.1))
    assert found.label == "cannot tell"
    assert found.k.low is None
    assert found.k.reason == "tracks with an interval of k: 2; 3 are needed"


def test_tracks_without_a_two_sided_k_are_left_out_and_named():
    one_sided = TrackK("x", None, "one-sided")
    endless = TrackK("y", Number(0.3, "1", reason="too few"))
    found = pool_tracks("A", [*tracks([1.0, 1.0, 1.0], half=0.05), one_sided, endless])
    assert (found.tracks, found.judged) == (3, 5)
    assert found.left_out == (("one-sided", ("x",)), ("too few", ("y",)))
    assert found.k.value == pytest.approx(1.0)


def test_one_sided_tracks_convict_by_their_number_and_never_acquit():
    quiet = [TrackK(str(i), None, "one-sided") for i in range(7)]
    assert pool_tracks("A", quiet).label == "cannot tell"
    loud = [TrackK(str(i), None, "one-sided", i < 3) for i in range(7)]
    assert pool_tracks("A", loud).label == "overconfident"
    assert "overconfident on 3 of 7 tracks, each by itself" in pool_tracks("A", loud).sentence
    two = [TrackK(str(i), None, "one-sided", i < 2) for i in range(7)]
    assert pool_tracks("A", two).label == "cannot tell"  # happens to 4.4 % of honest ones
    assert chance_of_convictions(3, 7) < COUNT_DOUBT < chance_of_convictions(2, 7)


def test_the_chance_of_convictions_is_binomial():
    for judged in (1, 3, 7, 40):
        for overconfident in range(judged + 1):
            wanted = binom.sf(overconfident - 1, judged, 0.05)
            assert chance_of_convictions(overconfident, judged) == pytest.approx(wanted)


def wandering(excess, *, count=6, degrees=3.0, absorbed=0.0):
    """Tracks without a two-sided k, each with the same T."""
    evidence = TrackEvidence(excess, degrees, absorbed, 3)
    return [TrackK(str(i), None, "one-sided", evidence=evidence) for i in range(count)]


def test_tracks_that_wander_convict_by_what_the_kindest_fits_leave():
    """One error per track, repeated at every scan: three degrees of freedom each, and no more."""
    most = chi2.isf(TAIL, 18) / 18
    assert pool_tracks("A", wandering(0.999 * most)).label == "cannot tell"
    found = pool_tracks("A", wandering(2 * most))
    assert found.label == "overconfident"
    assert found.at_least == pytest.approx(2)
    assert found.sentence == ("overconfident over the study; at least 2 whatever the correlations")


def test_errors_that_average_out_convict_sooner():
    found = pool_tracks("A", wandering(1.5, degrees=100.0))
    assert found.label == "overconfident"
    assert found.at_least == pytest.approx(1.5 * 600 / chi2.isf(TAIL, 600), rel=1e-4)
    assert "if the errors of each track average out" in found.sentence


def test_aligned_tracks_acquit_as_far_as_they_can_show():
    found = pool_tracks("A", wandering(1.0, degrees=100.0))
    assert found.label == "consistent"
    assert "as far as aligned tracks can show" in found.sentence
    assert pool_tracks("A", wandering(1.0, degrees=100.0, absorbed=0.6)).label == "cannot tell"
    wide = wandering(0.1, degrees=100.0)  # a fit may have absorbed the rest
    assert pool_tracks("A", wide).label == "cannot tell"


def test_tracks_without_evidence_leave_that_of_the_others():
    found = pool_tracks("A", [*wandering(4.0), TrackK("x", None, "one-sided")])
    assert found.label == "overconfident"
    assert found.at_least == pytest.approx(4 * 18 / chi2.isf(TAIL, 18))


@pytest.mark.parametrize("shares", [(9, 0), (8, 2), (6, 6), (3, 12), (3, 60), (0, 18), (0, 90)])
def test_no_dependence_between_scans_exceeds_the_limit_more_often(shares, rng):
    """Three tracks: weights of at most 1 on squares of normal numbers, together 9."""
    whole, part = shares
    weight = np.r_[np.ones(whole), np.full(part, (9 - whole) / max(part, 1))]
    exceeded = rng.chisquare(1, size=(20_000, whole + part)) @ weight > chi2.isf(TAIL, 9)
    assert exceeded.mean() <= TAIL + 3 * np.sqrt(TAIL / 20_000)


def test_what_all_tracks_may_share_is_not_averaged_out():
    """A joint covariance that is only assumed: k may be 1.4 times too large on every track."""
    shared = [
        replace(each, k=replace(each.k, low=each.k.low / 1.4), guard=(1 / 1.4, 1.0))
        for each in tracks([1.2, 1.25, 1.15, 1.2] * 6, half=0.1)
    ]
    plain = pool_tracks("A", tracks([1.2, 1.25, 1.15, 1.2] * 6, half=0.1))
    assert plain.label == "overconfident"
    found = pool_tracks("A", shared)
    assert found.label == "consistent"
    assert found.k.value == pytest.approx(plain.k.value)
    assert (found.k.low, found.k.high) == pytest.approx((plain.k.low / 1.4, plain.k.high))
    assert found.predicted == pytest.approx((plain.predicted[0] / 1.4, plain.predicted[1]))
    wide = [replace(each, k=Number(4.0, "1", 2.0, 5.6)) for each in shared]
    assert pool_tracks("A", wide).label == "overconfident"


def test_the_evidence_of_a_track_is_that_of_its_kindest_run():
    """Runs share the data of a track; one whose verdict is withheld withholds the track's."""
    runs = [
        TaskResult(*("A", "all", "t", i, "", "", None), evidence=TrackEvidence(T, 20.0, 0.1, 3))
        for i, T in enumerate((3.0, 1.2, 2.0))
    ]
    assert track_k("t", runs).evidence == runs[1].evidence
    assert track_k("t", [*runs, replace(runs[0], withheld=UNMET_STAMPS)]).evidence is None
    assert track_k("t", [*runs, replace(runs[0], evidence=None)]).evidence is None


def test_gaps_between_stamps_convict_nobody_over_a_study():
    found = []
    for i in range(6):
        rng = np.random.default_rng([1609, i])
        truth = unmatched.drive(rng, 21.0, 15.0)
        stamps = 0.1 * np.arange(200)
        late = stamps + rng.uniform(-0.002, 0.002, 200)
        estimate = unmatched.absolute(rng, truth, late, 0.02)
        options = Options(alignment="none", association="nearest", rules=())
        done = evaluate(estimate, unmatched.reference(truth, stamps), options=options)
        run = TaskResult(
            *("A", "all", str(i), 0, "", "", None),
            verdict=done.verdict.label,
            numbers=(("k", done["k"]),),
            scored_under=done.claim.how,
            withheld=why_withheld(done),
            evidence=track_evidence(done),
        )
        found.append(track_k(str(i), [run]))
    pooled = pool_tracks("A", found)
    assert pooled.label == "cannot tell"
    assert pooled.left_out == ((UNMET_STAMPS, tuple("012345")),)
    ungated = [replace(each, k=Number(1.3, "1", 1.1, 1.6)) for each in found]
    assert pool_tracks("A", ungated).label == "overconfident"  # what k alone would have said


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_a_few_tracks_of_odometry_from_evaluation_to_verdict(factor):
    """tests/power/test_across.py has 200 studies of each of nine worlds."""
    found = []
    for i in range(6):
        world = drifting.dead_reckoning(np.random.default_rng([26, i]), 200).scaled(factor)
        done = evaluate(*world.tracks(), options=Options(alignment="se3", rules=()))
        numbers = (("k", done.get("k")), ("relative_k", done.get("relative_k")))
        run = TaskResult(
            *("A", "all", str(i), 0, "", "", None),
            verdict=done.verdict.label,
            numbers=numbers,
            scored_under=done.claim.how,
        )
        found.append(track_k(str(i), [run]))
    pooled = pool_tracks("A", found)
    assert pooled.label == ("consistent" if factor == 1 else "overconfident")
    assert pooled.k.low < 1 / factor < pooled.k.high
    assert pooled.tracks >= 5  # one may have no horizon whose windows are independent


@pytest.mark.parametrize(("count", "tau"), [(3, 0.6), (12, 0.0)])
def test_the_intervals_hold_the_mean_and_a_new_track(count, tau, rng):
    """Standard errors are themselves estimated, from some ten independent scans each."""
    held, new, studies = 0, 0, 120
    for _ in range(studies):
        true = rng.uniform(0.2, 0.8, size=count)
        y = rng.normal(0.3, tau, size=count) + true * rng.normal(size=count)
        k, predicted, _ = pool(y, true * np.sqrt(rng.chisquare(10, size=count) / 10))
        held += k.low <= exp(0.3) <= k.high
        new += predicted[0] <= exp(rng.normal(0.3, tau)) <= predicted[1]
    assert held / studies >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / studies)
    assert new / studies >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / studies)


@pytest.mark.parametrize("count", [86, 220, 300, 2000])
def test_a_new_track_of_a_large_study_is_where_the_others_are(count, rng):
    y, s = rng.normal(0.3, 0.5, size=count), np.full(count, 0.2)
    _, predicted, tau = pool(y, s)
    expected = np.exp(y.mean() + tau * t.ppf([0.025, 0.975], count - 1))
    assert predicted == pytest.approx(expected, rel=0.05)
