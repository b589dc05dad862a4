"""Statistics over tracks by simulation: coverage of medians, false bolding, power, ranks.

Limits leave room for chance: three standard errors of a rate that is just on target.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import cauchy, norm

from smfeval.compare.across import (
    Entrants,
    expanded_tail,
    median_ends,
    metric_column,
)
from smfeval.compare.duels import (
    LEVEL,
    POWER,
    all_tests,
    best_of,
    duels,
    holm,
    marks_of,
    signed_rank,
    tracks_needed,
)
from smfeval.compare.pooled import pool_tracks
from smfeval.evaluation import Options, evaluate
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import TaskResult
from smfeval.studies.tables import sections, track_k
from smfeval.studies.task import motion_guard, track_evidence, why_withheld
from smfeval.summarise.number import Intervals
from smfeval.summarise.numbers import NUMBERS, metrics
from support import drifting
from support.studies import inflated, reference_of

pytestmark = pytest.mark.slow

INFLATION = (1.0, 1.0, 2.0, 4.0, 10.0, 100.0, 1e4, 0.1)  # of eight estimators
TRACKS = 40

# Values per track with median 0.
KINDS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "log-normal": lambda rng, size: rng.lognormal(0, 1, size) - 1,
    "log-normal over decades": lambda rng, size: rng.lognormal(0, 3, size) - 1,
    "Cauchy": lambda rng, size: rng.standard_t(1, size),
    "easy and hard": lambda rng, size: rng.choice([-1, 1], size) * rng.gamma(4, 1, size),
}


def most(rate, studies):
    return rate + 3 * np.sqrt(rate * (1 - rate) / studies)


def covered(values, tail):
    return np.mean([low <= 0 <= high for low, high in (median_ends(row, tail) for row in values)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tracks", [6, 7, 8, 10, 11, 13, 20, 40])
def test_the_interval_of_a_median_covers(tracks, kind, rng):
    values = KINDS[kind](rng, (2000, tracks))
    # the lowest is 93.5 %, of 11 tracks: few tracks have few places where an end can lie
    assert covered(values, expanded_tail(tracks, 0.025)) >= 0.92
    assert covered(values, expanded_tail(tracks, 0.025)) <= 0.995


@pytest.mark.parametrize(("tracks", "most_covered"), [(7, 0.90), (13, 0.93)])
def test_plain_percentiles_of_few_tracks_do_not_cover(tracks, most_covered, rng):
    assert covered(KINDS["log-normal"](rng, (2000, tracks)), 0.025) < most_covered


def losses_of(rng, shift, tracks, noise="normal", missing=0.0):
    """Hard and easy tracks, contenders apart by `shift`, each with noise of its own. (k, n)."""
    size = (len(shift), tracks)
    losses = rng.normal(size=tracks) + np.array(shift)[:, None] + KINDS[noise](rng, size)
    return np.where(rng.random(size) < missing, np.nan, losses)


def not_bold(losses):
    """Who has no mark while others have one."""
    names = tuple(str(i) for i in range(len(losses)))
    shown = dict(zip(names, np.nanmedian(losses, axis=1).tolist(), strict=True))
    best = marks_of(duels(names, losses, all_tests(losses)), shown).best
    return {*range(len(losses))} - {int(name) for name in best} if best else set()


def falsely_not_bold(rng, shift, tracks, studies, **more):
    """Share of studies in which a contender that is as good as the best is not bold."""
    equals = set(np.flatnonzero(np.array(shift) == min(shift)).tolist())
    return np.mean(
        [bool(not_bold(losses_of(rng, shift, tracks, **more)) & equals) for _ in range(studies)]
    )


@pytest.mark.parametrize(
    ("contenders", "tracks", "more"),
    [
        (2, 12, {}),
        (3, 40, {}),
        (8, 15, {}),
        (8, 40, {}),
        (8, 40, {"noise": "Cauchy"}),
        (8, 40, {"missing": 0.3}),
        (20, 40, {}),
    ],
)
def test_equals_are_all_bold_in_19_of_20_studies(contenders, tracks, more, rng):
    studies = 600 if contenders < 20 else 200
    rate = falsely_not_bold(rng, [0.0] * contenders, tracks, studies, **more)
    assert rate <= most(LEVEL, studies)


@pytest.mark.parametrize("worse", [0.15, 0.5, 1.5])
def test_equals_stay_bold_among_worse_ones(worse, rng):
    shift = [0.0, 0.0, 0.0, 0.0, worse, worse, 2 * worse, 2 * worse]
    assert falsely_not_bold(rng, shift, TRACKS, 500) <= most(LEVEL, 500)


@pytest.mark.parametrize("lead", [0.05, 0.2, 0.5])
def test_the_truly_best_is_bold(lead, rng):
    assert falsely_not_bold(rng, [0.0] + 7 * [lead], TRACKS, 500) <= most(LEVEL, 500)


def test_a_correction_over_the_duels_of_the_best_alone_would_not_hold_the_level(rng):
    studies, wrong = 1000, 0
    for _ in range(studies):
        losses = losses_of(rng, [0.0] * 8, TRACKS)
        best = best_of(losses)
        p = [test.outcome.p for pair, test in all_tests(losses).items() if best in pair]
        wrong += (holm(np.array(p)) <= LEVEL).any()
    assert wrong / studies > most(LEVEL, studies)


# P(D + D' > 0) of shifted differences: D + D' is of the same kind, shifted twice as far.
SIDE = {
    "normal": lambda shift: norm.cdf(np.sqrt(2) * shift),
    "Cauchy": cauchy.cdf,
}


@pytest.mark.parametrize("shift", [0.25, 0.5, 0.8])
@pytest.mark.parametrize("level", [0.05, 0.05 / 28])
@pytest.mark.parametrize("kind", SIDE)
def test_the_tracks_named_separate_two_in_four_of_five_studies(shift, level, kind, rng):
    tracks = tracks_needed(SIDE[kind](shift), level)
    found = [signed_rank(shift + KINDS[kind](rng, tracks)).p <= level for _ in range(1500)]
    assert POWER - 0.03 <= np.mean(found) <= POWER + 0.15  # more for clear differences


def holds_truth(cells):
    return [
        cell.median.low <= truth <= cell.median.high
        for cell, truth in zip(cells, INFLATION, strict=True)
    ]


def test_a_study_of_known_inflations_holds_the_truth_and_the_honest_are_bold(rng):
    """Repeated: 8 estimators, 40 tracks; k per track scatters by a factor of 2 about the truth."""
    names = tuple("ABCDEFGH")
    entrants = Entrants(names, (True,) * 8, tuple(str(i) for i in range(TRACKS)))
    loss, studies = NUMBERS["k"].loss, 300
    held, false_bold, lost = np.zeros(8), 0, 0
    for _ in range(studies):
        track = rng.normal(0, 0.3, size=TRACKS)
        k = np.array(INFLATION)[:, None] * np.exp(track + rng.normal(0, 0.6, size=(8, TRACKS)))
        cells = metric_column("k", entrants, k, unit="1", loss=loss, level=0.95).cells
        held += holds_truth(cells)
        bold = {cell.estimator for cell in cells if cell.best}
        lost += not bold >= {"A", "B"}
        false_bold += bool(bold & set("DEFGH"))
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / studies)
    assert (held / studies >= least).all()
    assert (held / studies <= 0.995).all()
    assert lost / studies <= most(LEVEL, studies)
    assert false_bold / studies <= LEVEL  # four times too tight, seen on 40 tracks, is not missed


def test_a_study_from_tracks_to_tables_holds_the_truth(rng):
    names = tuple("ABCDEFGH")
    plan = Plan(
        "made",
        Path(),
        tuple(PlannedTrack(f"t{i}", "ref.tum") for i in range(TRACKS)),
        tuple(PlannedEstimator(name, "{track}") for name in names),
        Path("out"),
    )
    options = Options(alignment="none", intervals=Intervals(None), rules=("log",))
    reference, results = reference_of(300), []
    for track in plan.tracks:
        for name, inflation in zip(names, INFLATION, strict=True):
            belief = inflated(rng.normal(size=(300, 3)), inflation)
            evaluation = evaluate(belief, reference, options=options)
            blank = TaskResult(name, "all", track.name, 0, "", "", None)
            numbers = ((m, evaluation.get(metric.name)) for m, metric in metrics().items())
            found = tuple((m, number) for m, number in numbers if number is not None)
            results.append(replace(blank, numbers=found, scored_under="reported"))
    columns = {each.metric: each for each in sections(plan, results)[0].columns}
    cells = columns["k"].cells
    assert sum(holds_truth(cells)) >= 6  # of 8, each with 95 %
    assert [cell.median.value for cell in cells] == pytest.approx(INFLATION, rel=0.05)
    for metric in ("k", "log", "coverage_90"):  # A and B are alike: one of 20 beats the other
        bold = {cell.estimator for cell in columns[metric].cells if cell.best}
        assert bold
        assert bold <= {"A", "B"}
    assert not any(cell.best for cell in columns["mae"].cells)  # nobody is worse: nobody is marked


def track_result(make, gauge, factor, seed, scans=300):
    """A run on one track of a simulated world, the reported covariance times `factor`."""
    estimate, reference = make(np.random.default_rng(seed), scans).scaled(factor).tracks()
    found = evaluate(estimate, reference, options=Options(alignment=gauge, rules=()))
    numbers = ((name, found.get(name)) for name in ("k", "relative_k"))
    return TaskResult(
        *("A", "all", str(seed[-1]), 0, "", "", None),
        verdict=found.verdict.label,
        numbers=tuple((name, number) for name, number in numbers if number is not None),
        scored_under=found.claim.how,
        withheld=why_withheld(found),
        evidence=track_evidence(found),
        guard=motion_guard(found),
    )


def pooled_labels(make, gauge, factor, studies, seed):
    """Verdicts over the first 3, 6 and 12 tracks of each study {tracks: labels}."""
    labels = {3: [], 6: [], 12: []}
    for study in range(studies):
        runs = [track_result(make, gauge, factor, [seed, study, i]) for i in range(12)]
        for count, found in labels.items():
            each = [track_k(run.track, [run]) for run in runs[:count]]
            found.append(pool_tracks("A", each, is_fitted=gauge != "none").label)
    return labels


CELLS = [
    (drifting.dead_reckoning, "se3"),
    (drifting.heavy_tails, "se3"),
    (drifting.random_walk, "se3"),
    (drifting.inertial, "se3"),
    (drifting.quieter_half, "se3"),
    (drifting.dead_reckoning, "none"),
    (drifting.steady_filter, "none"),
    (drifting.outages, "none"),
    (drifting.weak_filter, "none"),
    (drifting.loop_closures, "none"),
    (drifting.weak_positions, "none"),
    (drifting.weak_positions, "se3"),
]


@pytest.mark.parametrize(("make", "gauge"), CELLS)
def test_honest_estimators_are_rarely_overconfident_over_a_study(make, gauge):
    for labels in pooled_labels(make, gauge, 1.0, 200, 2611).values():
        assert np.mean([label == "overconfident" for label in labels]) <= most(LEVEL, 200)
        assert np.mean([label == "conservative" for label in labels]) <= most(LEVEL, 200)


@pytest.mark.parametrize(("make", "gauge"), CELLS)
def test_beliefs_four_times_too_tight_are_overconfident_over_a_study(make, gauge):
    for count, labels in pooled_labels(make, gauge, 0.25, 200, 2612).items():
        rate = np.mean([label == "overconfident" for label in labels])
        assert rate >= (0.6 if count == 3 else 0.95)


@pytest.mark.parametrize("tracks", [12, 40])
def test_who_fails_on_hard_tracks_is_not_shown_as_better_on_shared_ones(tracks, rng):
    """As good as the other wherever it runs; it fails on the harder half of the tracks."""
    entrants = Entrants(("whole", "fails"), (True, True), tuple(map(str, range(tracks))))
    own, shared, studies = 0, 0, 400
    for _ in range(studies):
        hard = rng.normal(0, 1, size=tracks)
        values = np.exp(hard + rng.normal(0, 0.2, size=(2, tracks)))
        values[1, hard > np.median(hard)] = np.nan
        column = metric_column("mae", entrants, values, unit="m", loss=float, level=0.95)
        whole, fails = column.cells
        own += fails.median.value < whole.median.value
        shared += fails.shared.value < whole.shared.value
    assert own / studies > 0.9
    assert abs(shared / studies - 0.5) <= 3 * np.sqrt(0.25 / studies)
