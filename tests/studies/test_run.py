"""Running a study: order, failures, processes that die, and runs that are cut."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest

from smfeval import evaluate, read, write
from smfeval.compare import compare_pair
from smfeval.errors import OptionError
from smfeval.judge.evidence import TrackEvidence
from smfeval.studies import task
from smfeval.studies.cache import Cache
from smfeval.studies.find import find_tasks
from smfeval.studies.run import run_tasks
from smfeval.studies.task import Input, evaluate_pair, evaluate_task, task_key
from smfeval.studies.workers import PROCESS_DIED, run_in_processes
from smfeval.summarise.numbers import metrics
from support.study_plans import (
    BODY,
    PLAIN,
    deadly,
    deadly_once,
    files_below,
    made_study,
    pairs_of,
    quick,
    reading,
    tasks_of,
    threads_of,
)


def test_a_task_says_what_evaluate_says(tmp_path):
    plan = made_study(tmp_path, tracks=1)
    task = tasks_of(plan)[1]
    result, frame = evaluate_task(task)
    alone = evaluate(read(task.estimate.source), read(task.reference.source, body="imu"))
    assert dict(result.numbers) == {
        name: number
        for name, metric in metrics().items()
        if (number := alone.get(metric.name)) is not None
    }
    assert (result.failure, result.verdict) == (None, alone.verdict.label)
    assert (result.gauge, result.joint) == (alone.alignment.kind, alone.claim.joint.kind)
    assert result.scored_under == alone.claim.how == "after a fit"
    assert (result.withheld, result.is_proper) == (None, alone.comparable)
    assert result.at_least == alone.verdict.at_least
    assert (result.scans, result.scored) == (100, 100)
    np.testing.assert_array_equal(frame["energy"], alone.position.series["energy"])


@pytest.mark.parametrize("alignment", ["none", "se3"])
def test_what_the_kindest_fit_leaves_of_a_task_is_told(tmp_path, alignment):
    task = tasks_of(made_study(tmp_path, tracks=1))[1]
    options = replace(task.options, alignment=alignment)
    result, _ = evaluate_task(replace(task, options=options))
    estimate, reference = read(task.estimate.source), read(task.reference.source, body="imu")
    facts = evaluate(estimate, reference, options=options).verdict.facts
    assert result.evidence == TrackEvidence(
        facts.first.excess, facts.second.degrees, facts.second.absorbed, 3
    )


def test_an_extrinsic_moves_the_estimate_to_the_reference_body(tmp_path):
    plan = quick(tmp_path, tracks=1)
    task = tasks_of(plan)[0]
    moved = replace(task, extrinsic="1,0,0,0,0,0,1", reference=Input(task.reference.source))
    extrinsic = (np.array([1.0, 0, 0]), np.array([0, 0, 0, 1.0]))
    alone = evaluate(
        read(task.estimate.source),
        read(task.reference.source),
        options=replace(PLAIN, extrinsic=extrinsic),
    )
    assert dict(evaluate_task(moved)[0].numbers)["mae"].value == alone["mae"].value
    assert alone["mae"].value > 1.5 * dict(evaluate_task(task)[0].numbers)["mae"].value


def test_a_pair_says_what_compare_pair_says(tmp_path):
    plan = made_study(tmp_path, tracks=1)
    task = pairs_of(plan)[0]
    result = evaluate_pair(task)
    alone = compare_pair(read(task.first.source), read(task.second.source))
    assert (result.k_pair, result.nees_median) == (alone.k, alone.nees_median)
    assert (result.matched, result.verdict, result.failure) == (100, alone.claim.label, None)


def checked_pair(tmp_path):
    plan = made_study(tmp_path, tracks=1)
    return find_tasks(replace(plan, pairs=True)).pair_tasks[0]


def test_a_reference_is_held_against_a_pair(tmp_path):
    task = checked_pair(tmp_path)
    tracks = [read(each.source) for each in (task.first, task.second)]
    found = compare_pair(*tracks, reference=read(task.reference.source, body="imu")).hypothesis
    result = evaluate_pair(task)
    assert (result.k_pair_reference.value, result.opposed.value) == (found.k_pair, found.factor)
    assert result.unchecked is None


def test_the_clock_offset_of_a_plan_moves_the_pair_to_the_reference(tmp_path):
    """Stamps of the reference 0.5 s late, made good by an offset of 0.5 s."""
    task = checked_pair(tmp_path)
    late = tmp_path / "late.tum"
    write(read(task.reference.source, body="imu").shift_stamps(500_000_000), late)
    reference = Input(str(late), (("body", "imu"),))
    moved = replace(task, reference=reference, reference_offset_s=0.5)
    result = evaluate_pair(task)
    assert evaluate_pair(moved).k_pair_reference.value == pytest.approx(
        result.k_pair_reference.value, rel=1e-6
    )
    keys = {task_key(each) for each in (moved, replace(moved, reference_offset_s=0.0))}
    assert len(keys) == 2


def test_a_pair_is_compared_where_its_reference_says_nothing(tmp_path):
    task = checked_pair(tmp_path)
    short = tmp_path / "short.tum"
    write(read(task.reference.source)[:5], short)
    result = evaluate_pair(replace(task, reference=Input(str(short))))
    assert result.k_pair == evaluate_pair(task).k_pair
    assert (result.failure, result.k_pair_reference, result.opposed) == (None, None, None)
    assert result.unchecked.startswith("5 scans of the pair match the reference; 10 are needed")


def test_an_offset_found_run_by_run_holds_no_reference_against_pairs(tmp_path):
    plan = made_study(tmp_path, tracks=1)
    found = find_tasks(replace(plan, pairs=True, options=replace(plan.options, offset_s="auto")))
    assert [task.reference for task in found.pair_tasks] == [None]
    assert any("whose time offset is found run by run" in note for note in found.notes)


def test_results_come_in_the_order_of_the_plan_whoever_computes_them(tmp_path):
    plan = quick(tmp_path, tracks=4)
    tasks = tasks_of(plan)[::-1]
    heard = []
    one = run_tasks(
        plan, tasks, pairs_of(plan), workers=1, progress=lambda *told: heard.append(told)
    )
    assert [(each.track, each.estimator) for each in one.results] == [
        (task.track, task.estimator) for task in tasks
    ]
    assert [each.track for each in one.pair_results] == ["00", "01", "02", "03"]
    assert heard == [(done, 0, 12) for done in range(13)]
    written = files_below(plan.output)
    assert len(written) == 2 + 8

    two = run_tasks(plan, tasks, pairs_of(plan), workers=2, fresh=True)
    assert (two.cached, two.results, two.pair_results) == (0, one.results, one.pair_results)
    assert files_below(plan.output) == written


def test_sources_are_named_from_the_folder_of_the_plan(tmp_path):
    plan = quick(tmp_path / "plan", tracks=1)
    far = tmp_path / "far.square"
    far.write_bytes((plan.folder / "tight" / "00.square").read_bytes())
    tasks = [tasks_of(plan)[0], reading(tasks_of(plan)[1], far)]
    assert [each.source for each in run_tasks(plan, tasks, workers=1).results] == [
        "honest/00.square",
        str(far),
    ]


def test_a_failing_task_is_told_and_stops_nothing(tmp_path):
    plan = quick(tmp_path, tracks=2)
    tasks = tasks_of(plan)
    Path(tasks[0].estimate.source).write_text("#%FORMAT SQUARE/0.3\n1 2 3\n")
    tasks[3] = reading(tasks[3], tmp_path / "gone.square")
    heard = []
    ran = run_tasks(plan, tasks, workers=1, progress=lambda *told: heard.append(told))
    assert [each.failure is None for each in ran.results] == [False, True, True, False]
    assert ran.results[0].failure.startswith("00.square:")
    assert ran.results[3].failure == "gone.square: there is no such file"
    assert heard[-1] == (4, 2, 4)
    assert str(tmp_path) not in " ".join(each.failure or "" for each in ran.results)


def test_no_result_names_a_folder_of_the_machine(tmp_path):
    plan = quick(tmp_path, tracks=1)
    task = tasks_of(plan)[0]
    twice = read(task.reference.source)
    path = Path(task.reference.source)
    first = path.read_text().splitlines()[-1]
    path.write_text(f"{path.read_text()}{first}\n")
    kept = replace(task, reference=Input(str(path), (*BODY, ("duplicates", "first"))))
    result, _ = evaluate_task(kept)
    assert len(twice) == 100
    assert any("00.tum" in note for note in result.notes), result.notes
    assert str(tmp_path) not in " ".join(result.notes)


def test_a_bug_of_ours_stops_nothing(tmp_path, monkeypatch):
    plan = quick(tmp_path, tracks=2)

    def broken(estimate, reference, *, options):
        if "00" in estimate.provenance.name:
            raise ZeroDivisionError("oh")
        return evaluate(estimate, reference, options=options)

    monkeypatch.setattr(task, "evaluate", broken)
    ran = run_tasks(plan, tasks_of(plan), workers=1)
    bug = "a bug of ours: ZeroDivisionError: oh"
    assert [each.failure for each in ran.results] == [bug, bug, None, None]
    assert [each.key != "" for each in ran.results] == [True] * 4


def test_a_task_that_kills_its_process_fails_alone(tmp_path):
    plan = quick(tmp_path, tracks=4, scans=50)
    tasks = tasks_of(plan)[::2]
    step = partial(deadly, cache=Cache(tmp_path), victims=("01",))
    found = dict(run_in_processes(step, tasks, workers=2))
    assert [found[i].result.failure for i in range(4)] == [None, PROCESS_DIED, None, None]


def test_a_process_that_dies_by_accident_costs_no_task(tmp_path):
    plan = quick(tmp_path, tracks=3, scans=50)
    step = partial(deadly_once, cache=Cache(tmp_path), mark=tmp_path / "mark")
    found = dict(run_in_processes(step, tasks_of(plan), workers=2))
    assert (tmp_path / "mark").exists()
    assert [found[i].result.failure for i in range(6)] == [None] * 6


def test_a_worker_uses_one_thread_and_our_own_variables_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    plan = quick(tmp_path, tracks=1, scans=50)
    found = dict(run_in_processes(threads_of, tasks_of(plan), workers=2))
    assert {done.result.failure for done in found.values()} == {"1 1"}
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert "POLARS_MAX_THREADS" not in os.environ


UNGUARDED = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from smfeval.studies.run import run_tasks as run
from support.study_plans import made_study, tasks_of
plan = made_study(Path({folder!r}), tracks=2, scans=50)
ran = run(plan, tasks_of(plan), workers=2)
print(len(ran.results), {{each.failure for each in ran.results}}, __file__)
"""


@pytest.mark.slow
def test_a_script_needs_no_guard_and_is_run_once(tmp_path):
    script = tmp_path / "script.py"
    tests = str(Path(__file__).parents[1])
    script.write_text(UNGUARDED.format(tests=tests, folder=str(tmp_path / "study")))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"\d+ \{{None\}} {re.escape(str(script))}\n", done.stdout)


CUT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from smfeval.studies.run import run_tasks as run
from support.study_plans import quick, tasks_of
plan = quick(Path({folder!r}), tracks=12)
run(plan, tasks_of(plan), workers=2)
"""


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_run_that_was_cut_goes_on_where_it_stopped(how, tmp_path):
    folder = tmp_path / "study"
    script = CUT.format(tests=str(Path(__file__).parents[1]), folder=str(folder))
    started = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    kept = folder / "out" / "cache"
    _wait_until(lambda: len(list(kept.glob("*/*.json"))) >= 4, started)
    workers = psutil.Process(started.pid).children(recursive=True)
    os.kill(started.pid, how)
    started.communicate(timeout=30)
    psutil.wait_procs(workers, timeout=10)
    assert not [each for each in workers if each.is_running()]

    known = len(list(kept.glob("*/*.json")))
    assert 4 <= known < 24
    plan = quick(folder, tracks=12)  # the same files again
    ran = run_tasks(plan, tasks_of(plan), workers=1)
    assert ran.cached == known
    assert [each.failure for each in ran.results] == [None] * 24
    assert pl.read_parquet(plan.output / "tasks.parquet").height == 24


def _wait_until(condition, started: subprocess.Popen) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert started.poll() is None, started.stderr.read().decode()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_two_tasks_of_one_name_are_refused(tmp_path):
    plan = quick(tmp_path, tracks=1)
    with pytest.raises(OptionError, match="estimator honest on track 00 of lab stands twice"):
        run_tasks(plan, [tasks_of(plan)[0]] * 2, workers=1)


@pytest.mark.parametrize(("workers", "scheduler"), [(0, None), (2, "tcp://127.0.0.1:1")])
def test_workers_that_cannot_be_are_refused(workers, scheduler, tmp_path):
    plan = quick(tmp_path, tracks=1)
    with pytest.raises(OptionError, match="workers"):
        run_tasks(plan, tasks_of(plan), workers=workers, scheduler=scheduler)


def test_an_output_folder_that_cannot_be_made_is_named(tmp_path):
    plan = quick(tmp_path, tracks=1)
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"file/out: cannot be made"):
        run_tasks(replace(plan, output=tmp_path / "file" / "out"), tasks_of(plan), workers=1)


def test_a_reference_is_read_once_for_all_estimators(tmp_path, monkeypatch):
    plan = quick(tmp_path, tracks=3)
    names = []

    def counted(source, **options):
        names.append(Path(source).name)
        return read(source, **options)

    monkeypatch.setattr(task, "read", counted)
    run_tasks(plan, sorted(tasks_of(plan), key=lambda task: task.estimator), workers=1)
    assert sorted(names) == sorted(
        ["00.tum", "01.tum", "02.tum", *2 * ["00.square"]]
        + 2
        * [
            "01.square",
            "02.square",
        ]
    )


def test_a_study_without_tasks_writes_empty_tables(tmp_path):
    plan = quick(tmp_path, tracks=1)
    ran = run_tasks(plan, [])
    assert (ran.results, ran.pair_results, ran.cached) == ((), (), 0)
    assert pl.read_parquet(plan.output / "tasks.parquet").height == 0


def test_keys_differ_by_estimator_and_track(tmp_path):
    plan = quick(tmp_path, tracks=2)
    assert len({task_key(task) for task in [*tasks_of(plan), *pairs_of(plan)]}) == 6
