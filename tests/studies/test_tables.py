"""From results of tasks to sections: what is counted, kept, left out and said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smfeval.evaluation import Options, evaluate
from smfeval.studies.plan import Plan, PlannedEstimator, PlannedTrack
from smfeval.studies.result import PairResult, TaskResult
from smfeval.studies.tables import pair_sections, sections
from smfeval.summarise.number import Intervals, Number
from smfeval.summarise.numbers import NUMBERS, metrics
from support.studies import inflated, reference_of

NAMES = ("good", "bad", "base")


def plan_of(groups, names=NAMES, **more):
    """Tracks a0, a1 ... of group a and so on; the estimator "base" is a baseline."""
    tracks = tuple(
        PlannedTrack(f"{group}{i}", "ref.tum", group)
        for group, n in groups.items()
        for i in range(n)
    )
    roles = {name: "baseline" if name == "base" else "contender" for name in names}
    estimators = tuple(PlannedEstimator(name, "{track}", role) for name, role in roles.items())
    return Plan("made", Path(), tracks, estimators, Path("out"), **more)


def result(name, track, repeat=0, failure=None, **values):
    numbers = tuple(
        (metric, Number(value, NUMBERS[metric].unit)) for metric, value in values.items()
    )
    return TaskResult(
        name, track.group, track.name, repeat, "key", "file", failure, numbers=numbers
    )


def scored(plan, rng, mae=(1.0, 2.0, 0.5)):
    """One result per estimator and track: MAE as given, k = 2, each with some spread."""
    return [
        result(each.name, track, mae=size * rng.lognormal(0, 0.1), k=2 * rng.lognormal(0, 0.1))
        for each, size in zip(plan.estimators, mae, strict=True)
        for track in plan.tracks
    ]


def column_of(section, metric):
    return next(column for column in section.columns if column.metric == metric)


def cell_of(section, metric, name):
    return next(cell for cell in column_of(section, metric).cells if cell.estimator == name)


def changed(results, name, track, **fields):
    """The results, one of them replaced."""
    return [
        replace(each, **fields) if (each.estimator, each.track) == (name, track) else each
        for each in results
    ]


def mae_of(value):
    return (("mae", Number(value, "m")),)


def test_groups_come_first_then_all_then_the_same_on_converged_tracks(rng):
    plan = plan_of({"a": 3, "b": 2})
    found = sections(plan, scored(plan, rng))
    shown = [(each.group, each.converged_only, each.tracks) for each in found]
    assert shown == [
        ("a", False, 3),
        ("b", False, 2),
        ("all", False, 5),
        ("a", True, 3),
        ("b", True, 2),
        ("all", True, 5),
    ]


def test_one_group_is_shown_once(rng):
    plan = plan_of({"all": 4})
    assert [each.group for each in sections(plan, scored(plan, rng))] == ["all", "all"]


def test_a_group_called_all_beside_another_is_not_taken_for_all(rng):
    plan = plan_of({"all": 2, "b": 2})
    assert [each.group for each in sections(plan, scored(plan, rng))][:3] == [
        "all",
        "b",
        "all tracks",
    ]


def test_a_cell_is_the_median_over_the_tracks_of_its_group(rng):
    plan = plan_of({"a": 3, "b": 8})
    results = scored(plan, rng)
    found = cell_of(sections(plan, results)[1], "mae", "bad")
    wanted = [
        dict(r.numbers)["mae"].value for r in results if (r.estimator, r.group) == ("bad", "b")
    ]
    assert found.median.value == np.median(wanted)
    assert [value for _, value in found.values] == wanted
    assert [track for track, _ in found.values] == [f"b{i}" for i in range(8)]


def test_only_metrics_with_values_have_a_column(rng):
    plan = plan_of({"a": 3})
    assert [each.metric for each in sections(plan, scored(plan, rng))[0].columns] == ["mae", "k"]


def test_the_better_contender_is_bold_and_the_baseline_never(rng):
    plan = plan_of({"a": 10})
    section = sections(plan, scored(plan, rng))[0]
    assert [cell.best for cell in column_of(section, "mae").cells] == [True, False, False]
    assert [cell.best for cell in column_of(section, "k").cells] == [False, False, False]
    assert column_of(section, "k").unmarked == "no contender is significantly worse than the best"
    assert column_of(section, "k").notes == (
        "k: who is closest to 1 wins, as a ratio, track by track",
    )


def test_runs_of_one_track_count_once_by_their_median(rng):
    plan = plan_of({"a": 2}, names=("good",))
    first, second = plan.tracks
    results = [result("good", first, i, mae=value) for i, value in enumerate([1.0, 2.0, 9.0])]
    results += [result("good", second, mae=4.0)]
    cell = cell_of(sections(plan, results)[0], "mae", "good")
    assert cell.values == (("a0", 2.0), ("a1", 4.0))
    assert cell.median.value == 3.0


def test_failed_runs_beside_good_ones_are_counted(rng):
    plan = plan_of({"a": 1}, names=("good",))
    (track,) = plan.tracks
    results = [result("good", track, mae=1.0), result("good", track, 1, failure="no file")]
    section = sections(plan, results)[0]
    assert cell_of(section, "mae", "good").values == (("a0", 1.0),)
    assert "failed runs on tracks that other runs scored: 1" in section.notes


@pytest.mark.parametrize("way", ["failed", "absent"])
def test_failed_tracks_are_counted_and_said(way, rng):
    plan = plan_of({"a": 9})
    results = scored(plan, rng)
    lost = [f"a{i}" for i in range(5)]
    if way == "absent":
        results = [r for r in results if r.estimator != "good" or r.track not in lost]
    for track in lost:
        results = changed(results, "good", track, failure="no file", numbers=())
    section = sections(plan, results)[0]
    assert len(cell_of(section, "mae", "good").values) == 4
    assert section.diverged == (("good", 0, 4), ("bad", 0, 9), ("base", 0, 9))
    (duel,) = column_of(section, "mae").duels
    assert (duel.best, duel.other, duel.shared, duel.p) == ("bad", "good", 4, None)
    assert not any(cell.best for cell in column_of(section, "mae").cells)  # nobody was tested


def test_diverged_tracks_are_counted_and_left_out_of_the_second_table(rng):
    plan = plan_of({"a": 9}, diverged_m=3.0)
    results = scored(plan, rng)
    results = changed(results, "good", "a1", numbers=mae_of(3.01))
    results = changed(results, "good", "a2", numbers=mae_of(np.inf))
    results = changed(results, "bad", "a2", numbers=mae_of(3.0))  # on the limit: converged
    whole, converged = sections(plan, results)
    counts = (("good", 2, 9), ("bad", 0, 9), ("base", 0, 9))
    assert whole.diverged == converged.diverged == counts
    assert len(cell_of(whole, "mae", "good").values) == 9
    kept = [track for track, _ in cell_of(converged, "mae", "good").values]
    assert kept == ["a0", "a3", "a4", "a5", "a6", "a7", "a8"]
    assert len(cell_of(converged, "mae", "bad").values) == 9
    assert column_of(converged, "mae").duels[0].shared == 7
    assert "left out: tracks of an estimator whose MAE there is above 3 m" in converged.notes


def test_where_none_diverged_the_second_table_says_so(rng):
    plan = plan_of({"a": 7})
    whole, converged = sections(plan, scored(plan, rng))
    assert whole.columns == converged.columns
    assert any(note.endswith("5 m; there are none") for note in converged.notes)


def test_a_track_that_diverged_for_all_is_not_counted_as_converged(rng):
    plan = plan_of({"a": 4}, names=("good",))
    results = [result("good", track, mae=1.0 if i else 80.0) for i, track in enumerate(plan.tracks)]
    whole, converged = sections(plan, results)
    assert (whole.tracks, converged.tracks) == (4, 3)


def test_what_is_not_a_number_is_left_out_and_counted(rng):
    plan = plan_of({"a": 7})
    results = changed(scored(plan, rng), "bad", "a3", numbers=mae_of(np.nan))
    section = sections(plan, results)[0]
    assert len(cell_of(section, "mae", "bad").values) == 6
    assert "mae: not a number in 1 runs, left out" in section.notes


def test_the_level_of_the_intervals_is_that_of_the_plan(rng):
    options = Options(intervals=Intervals(level=0.9))
    plan = plan_of({"a": 5}, options=options)
    section = sections(plan, scored(plan, rng))[0]
    assert cell_of(section, "mae", "good").median.low is not None  # 5 tracks suffice for 90 %
    assert "[90 % interval" in section.notes[0]
    assert "none below 5 tracks" in section.notes[0]


def test_nobody_competes_among_baselines(rng):
    plan = plan_of({"a": 7}, names=("base",))
    section = sections(plan, scored(plan, rng, mae=(1.0,)))[0]
    assert column_of(section, "mae").duels == ()
    assert "every estimator is a baseline: there is nothing to compare" in section.notes


def test_a_study_in_which_everything_failed_has_empty_tables():
    plan = plan_of({"a": 2})
    results = [result(n, track, failure="no file") for n in NAMES for track in plan.tracks]
    whole, _ = sections(plan, results)
    assert whole.columns == ()
    assert whole.diverged == (("good", 0, 0), ("bad", 0, 0), ("base", 0, 0))


def pair(track, k, a="good", b="bad", failure=None):
    number = None if k is None else Number(k, "1")
    return PairResult(a, b, track.group, track.name, 0, "key", failure, 9, "", number, number)


def test_pairs_count_where_both_converge(rng):
    plan = plan_of({"a": 9}, diverged_m=3.0)
    results = changed(scored(plan, rng), "good", "a0", numbers=mae_of(99.0))
    results = changed(results, "bad", "a1", failure="no file", numbers=())
    pairs = [pair(track, float(i)) for i, track in enumerate(plan.tracks)]
    pairs[2] = pair(plan.tracks[2], None, failure="they do not meet")
    (section,) = pair_sections(plan, results, pairs)
    cell = cell_of(section, "k_pair", "good | bad")
    assert [track for track, _ in cell.values] == ["a3", "a4", "a5", "a6", "a7", "a8"]
    assert cell.median.value == 5.5
    assert cell.median.low is not None
    assert not cell.best
    assert column_of(section, "nees_median").cells[0].median.value == 5.5
    assert section.converged_only


def test_opposed_errors_are_counted_over_tracks(rng):
    """Two runs on a track count once; tracks on which one diverged, or no reference, do not."""
    plan = plan_of({"a": 9}, diverged_m=3.0)
    results = changed(scored(plan, rng), "good", "a0", numbers=mae_of(99.0))
    factors = {"a0": 1.4, "a1": 1.0, "a2": 1.1, "a3": 1.3, "a4": 1.0, "a5": 1.0}
    pairs = [
        replace(
            pair(track, 2.0),
            opposed=Number(factors[track.name], "1") if track.name in factors else None,
            k_pair_reference=Number(3.0 + i, "1") if track.name in factors else None,
            opposed_p={"a3": Number(0.01, "1"), "a4": None}.get(track.name, Number(0.3, "1")),
            unchecked=None if track.name in factors else "too few scans meet",
        )
        for i, track in enumerate(plan.tracks)
    ]
    pairs.append(replace(pairs[1], repeat=1, opposed=Number(1.0, "1")))
    (section,) = pair_sections(plan, results, pairs)
    (counted,) = section.hypotheses
    assert (counted.holds, counted.refuted, counted.tested, counted.tracks) == (3, 1, 4, 5)
    assert counted.opposed == (("a2", 1.1), ("a3", 1.3))
    assert counted.sentence == (
        "good | bad: the symmetric cross-covariance is positive semidefinite on 3 of 5 tracks; "
        "negative beyond chance on 1 of 4 tested tracks; "
        "not tested on 1 track, autocorrelated over the whole track; "
        "k_pair could be 1.3 times too large at most"
    )
    assert [column.metric for column in section.columns] == [
        "k_pair", "nees_median", "k_pair_reference",
    ]  # fmt: skip
    assert cell_of(section, "k_pair_reference", "good | bad").median.value == 6.0
    why = "the reference says nothing about the errors in 3 of 10 comparisons: too few scans meet"
    assert why in section.notes


def test_pairs_without_a_reference_have_no_count_of_opposed_errors(rng):
    plan = plan_of({"a": 9})
    (section,) = pair_sections(plan, scored(plan, rng), [pair(t, 1.0) for t in plan.tracks])
    assert section.hypotheses == ()
    assert [column.metric for column in section.columns] == ["k_pair", "nees_median"]


def test_pairs_come_in_groups_too(rng):
    plan = plan_of({"a": 2, "b": 3})
    pairs = [
        pair(track, 1.0, *names)
        for names in [("good", "bad"), ("bad", "base")]
        for track in plan.tracks
    ]
    found = pair_sections(plan, scored(plan, rng), pairs)
    assert [(each.group, each.tracks) for each in found] == [("a", 2), ("b", 3), ("all", 5)]
    assert [cell.estimator for cell in found[0].columns[0].cells] == ["good | bad", "bad | base"]
    assert pair_sections(plan, scored(plan, rng), []) == ()


def test_known_inflations_come_out_of_real_evaluations(rng):
    plan = plan_of({"a": 8}, names=("honest", "tight", "base"))
    inflation = {"honest": 1.0, "tight": 9.0, "base": 1.0}
    options = Options(alignment="none", intervals=Intervals(None), rules=("energy", "log"))
    results = []
    for track in plan.tracks:
        reference, errors = reference_of(400), rng.normal(size=(3, 400, 3))
        for (name, factor), error in zip(inflation.items(), errors, strict=True):
            evaluation = evaluate(inflated(error, factor), reference, options=options)
            numbers = {m: evaluation.get(metric.name) for m, metric in metrics().items()}
            found = tuple((m, number) for m, number in numbers.items() if number is not None)
            results.append(replace(result(name, track), numbers=found))
    section = sections(plan, results)[0]
    for name, factor in inflation.items():
        median = cell_of(section, "k", name).median
        assert median.value == pytest.approx(factor, rel=0.1)
        assert median.low <= factor <= median.high
    for metric in ("k", "log", "coverage_90"):
        assert [cell.best for cell in column_of(section, metric).cells] == [True, False, False]
    assert [cell.best for cell in column_of(section, "precision").cells] == [False] * 3
