"""Results kept by content: what changes a key, what does not, and files that are damaged."""

import json
import os
import shutil
import time
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import pytest

from smfeval import write
from smfeval.align.quantities import ReferenceSigma
from smfeval.errors import FormatError, OptionError
from smfeval.evaluation import Options
from smfeval.io.formats import FORMATS, Format, Sidecar
from smfeval.score import RuleSettings
from smfeval.studies import cache
from smfeval.studies import task as task_module
from smfeval.studies.cache import Cache, canonical, digest_path
from smfeval.studies.result import PairResult, TaskResult
from smfeval.studies.run import run_tasks
from smfeval.studies.task import Input, load_or_evaluate, task_key
from smfeval.summarise.number import Number
from support.beliefs import gaussian, poses, with_cross
from support.study_plans import BODY, files_below, pairs_of, quick, tasks_of


@pytest.fixture
def plan(tmp_path):
    return quick(tmp_path / "study", tracks=2, scans=50)


def task_of(plan):
    return tasks_of(plan)[0]


def test_a_second_run_does_nothing_and_writes_the_same_bytes(plan, monkeypatch):
    tasks, pairs = tasks_of(plan), pairs_of(plan)
    first = run_tasks(plan, tasks, pairs, workers=1)
    written = files_below(plan.output)
    monkeypatch.setattr(task_module, "evaluate_task", None)  # whoever calls it fails
    monkeypatch.setattr(task_module, "evaluate_pair", None)
    second = run_tasks(plan, tasks, pairs, workers=1)
    assert (first.cached, second.cached) == (0, 6)
    assert second.results == first.results
    assert second.pair_results == first.pair_results
    assert files_below(plan.output) == written


def test_only_what_changed_is_done_again(plan):
    tasks, pairs = tasks_of(plan), pairs_of(plan)
    run_tasks(plan, tasks, pairs, workers=1)
    path = Path(tasks[0].estimate.source)
    path.write_text(path.read_text().rpartition("\n17")[0] + "\n")  # one scan less
    ran = run_tasks(plan, tasks, pairs, workers=1)
    assert ran.cached == 4  # the task and its pair are new
    assert ran.results[0].scans == 49


def test_fresh_does_all_again(plan):
    run_tasks(plan, tasks_of(plan), workers=1)
    assert run_tasks(plan, tasks_of(plan), workers=1, fresh=True).cached == 0


def test_a_failure_is_not_kept(plan):
    task = task_of(plan)
    good = Path(task.estimate.source).read_bytes()
    Path(task.estimate.source).write_text("#%FORMAT SQUARE/0.3\n")
    assert run_tasks(plan, [task], workers=1).results[0].failure is not None
    assert run_tasks(plan, [task], workers=1).cached == 0
    Path(task.estimate.source).write_bytes(good)
    assert run_tasks(plan, [task], workers=1).results[0].failure is None


def test_a_study_that_was_moved_finds_its_results(plan, tmp_path):
    first = run_tasks(plan, tasks_of(plan), pairs_of(plan), workers=1)
    shutil.move(plan.folder, tmp_path / "elsewhere")
    moved = replace(plan, folder=tmp_path / "elsewhere", output=tmp_path / "elsewhere" / "out")
    again = run_tasks(moved, tasks_of(moved), pairs_of(moved), workers=1)
    assert (again.cached, again.results) == (6, first.results)


@pytest.mark.parametrize(
    "damaged",
    ["", "{", "[]", "null", "7", '{"schema": "smfeval.cache/1"}', "number", "schema", "scans"],
)
def test_a_damaged_file_is_done_again(damaged, plan):
    task = task_of(plan)
    first = run_tasks(plan, [task], workers=1)
    written = files_below(plan.output)
    (entry,) = (plan.output / "cache").glob("*/*.json")
    if damaged == "scans":
        entry.with_suffix(".parquet").unlink()
        entry.with_suffix(".parquet").write_bytes(b"PAR1 and then nothing")
    elif damaged in ("number", "schema"):
        document = json.loads(entry.read_text())
        if damaged == "number":
            document["found"]["numbers"][0][1]["value"] *= 2
        else:
            document["schema"] = "smfeval.cache/0"
        entry.write_text(json.dumps(document))
    else:
        entry.write_text(damaged)
    again = run_tasks(plan, [task], workers=1)
    assert (again.cached, again.results) == (0, first.results)
    assert run_tasks(plan, [task], workers=1).cached == 1
    assert files_below(plan.output) == written


def test_the_same_content_under_two_names_is_told_under_both(plan):
    a, b = tasks_of(plan)[:2]
    shutil.copy(a.estimate.source, b.estimate.source)
    ran = run_tasks(plan, [a, b], workers=1)
    assert ran.cached == 1
    assert [each.estimator for each in ran.results] == ["honest", "tight"]
    assert [each.source for each in ran.results] == ["honest/00.square", "tight/00.square"]
    assert ran.results[0].numbers == ran.results[1].numbers


OTHER_OPTIONS = {
    "axes": Options(axes="xy"),
    "tolerance": Options(tolerance_s=0.001),
    "beta": Options(settings=RuleSettings(beta=1.5)),
    "reference noise": Options(ref_sigma=ReferenceSigma(0.01)),
    "shared reference error": Options(ref_shared=ReferenceSigma(0.01)),
    "extrinsic": Options(extrinsic=(np.zeros(3), np.array([0, 0, 0, 1.0]))),
    "lever": Options(extrinsic=(np.array([0, 0, 1e-9]), np.array([0, 0, 0, 1.0]))),
}


def test_every_option_counts(plan):
    task = task_of(plan)
    keys = [task_key(replace(task, options=options)) for options in OTHER_OPTIONS.values()]
    assert len({*keys, task_key(task)}) == len(OTHER_OPTIONS) + 1
    same = replace(OTHER_OPTIONS["lever"], axes="xyz")
    assert task_key(replace(task, options=same)) == keys[-1]


def test_the_way_of_reading_counts(plan):
    task = task_of(plan)
    other = replace(task, estimate=replace(task.estimate, reading=(("gauge", "fixed"),)))
    assert task_key(other) != task_key(task)


def test_the_version_counts(plan, monkeypatch):
    before = task_key(task_of(plan))
    monkeypatch.setattr(task_module, "code_version", lambda: "9.9.9")
    assert task_key(task_of(plan)) != before


@pytest.mark.parametrize("library", ["numpy", "scipy", "polars", "rosbags"])
def test_the_version_of_a_library_counts(library, plan, monkeypatch):
    before = task_key(task_of(plan))
    known = dict(cache.library_versions())
    other = tuple((known | {library: "0.0.0"}).items())
    monkeypatch.setattr(task_module, "library_versions", lambda: other)
    assert set(known) == {"numpy", "scipy", "polars", "rosbags"}
    assert task_key(task_of(plan)) != before


def swap_while_reading(monkeypatch, path, other, *, back):
    """Put other bytes in place of a file after its key is made, and back after it was read."""
    evaluate, kept = task_module.evaluate_task, path.read_bytes()

    def swapped(task, key):
        path.write_bytes(other)
        try:
            return evaluate(task, key)
        finally:
            if back:
                path.write_bytes(kept)

    monkeypatch.setattr(task_module, "evaluate_task", swapped)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("which", ["estimate", "reference", "extrinsic"])
def test_a_file_that_is_swapped_while_it_is_read_leaves_nothing_in_the_cache(
    back, which, plan, tmp_path, monkeypatch
):
    extrinsic = tmp_path / "extrinsic.json"
    extrinsic.write_text('{"R": [1, 0, 0, 0, 1, 0, 0, 0, 1], "t": [0, 0, 0]}')
    task = replace(task_of(plan), extrinsic=str(extrinsic))
    path = Path(extrinsic if which == "extrinsic" else getattr(task, which).source)
    whole = path.read_bytes()
    shorter = b"\n".join(whole.splitlines()[:40]) + b"\n"
    other = whole.replace(b"[0, 0, 0]", b"[9, 9, 9]") if which == "extrinsic" else shorter
    first = run_tasks(plan, [task], workers=1).results[0]
    with monkeypatch.context() as patched:
        swap_while_reading(patched, path, other, back=back)
        swapped = run_tasks(plan, [task], workers=1, fresh=True).results[0]
    assert "changed while it was read; run again" in swapped.failure
    path.write_bytes(whole)
    again = run_tasks(plan, [task], workers=1)
    assert (again.cached, again.results[0]) == (1, first)
    assert run_tasks(plan, [task], workers=1, fresh=True).results[0] == first


def test_digests_by_a_coarse_clock_are_forgotten_between_runs(plan, monkeypatch):
    """On some file systems a file can change and keep its size and its times."""
    task = task_of(plan)
    path = Path(task.estimate.source)
    later_ns = time.time_ns() + 10 * cache.COARSE_STEP_NS
    monkeypatch.setattr(cache.time, "time_ns", lambda: later_ns)
    monkeypatch.setattr(cache, "_state", lambda found: (1, 2, 3, 4 * 10**9, 5 * 10**9))
    before = run_tasks(plan, [task], workers=1).results[0]
    words = path.read_text()
    path.write_text(words.replace("\n17", "\n18", 1))
    assert path.read_text() != words
    after = run_tasks(plan, [task], workers=1).results[0]
    assert after.key != before.key


@pytest.mark.parametrize(
    ("after_ns", "fine", "coarse"), [(10**7, 2, 2), (10**9, 1, 2), (10**10, 1, 1)]
)
def test_a_file_is_hashed_again_within_some_steps_of_its_clock(
    after_ns, fine, coarse, tmp_path, monkeypatch
):
    hashed = []
    hash_file = cache._hash_file
    monkeypatch.setattr(cache, "_hash_file", lambda path: hashed.append(path) or hash_file(path))
    path = tmp_path / "a"
    path.write_text("1")
    now_ns = 5 * 10**9
    monkeypatch.setattr(cache.time, "time_ns", lambda: now_ns + after_ns)
    for changed_ns, times in ((now_ns + 4321, fine), (now_ns, coarse)):
        state = (1, 2, 3, changed_ns, changed_ns)
        monkeypatch.setattr(cache, "_state", lambda found, state=state: state)
        cache.forget_digests(f"run {changed_ns} {after_ns}")
        hashed.clear()
        assert cache.digest_path(path) == cache.digest_path(path)
        assert len(hashed) == times


def test_files_that_rest_are_not_read_by_the_next_run_and_its_known_tasks_need_no_worker(
    plan, monkeypatch
):
    later_ns = time.time_ns() + 10 * cache.COARSE_STEP_NS
    monkeypatch.setattr(cache.time, "time_ns", lambda: later_ns)
    jobs = [task_of(plan), *tasks_of(plan)[1:]]
    first = run_tasks(plan, jobs, workers=1)
    hashed = []
    hash_file = cache._hash_file
    monkeypatch.setattr(cache, "_hash_file", lambda path: hashed.append(path) or hash_file(path))
    monkeypatch.setattr("smfeval.studies.workers.run_in_processes", None)
    again = run_tasks(plan, jobs, workers=2)
    assert again.results == first.results
    assert again.cached == len(jobs)
    scans = [path for path in hashed if path.suffix == ".parquet"]  # were only written before
    assert hashed == scans
    hashed.clear()
    run_tasks(plan, jobs, workers=2)
    assert not hashed


@pytest.mark.parametrize("text", ["", "[[1, 2]]", '[[[1], "a"]', "{}"])
def test_damaged_digests_are_as_none(text, plan):
    first = run_tasks(plan, [task_of(plan)], workers=1)
    (plan.output / "cache" / "digests.json").write_text(text)
    assert run_tasks(plan, [task_of(plan)], workers=1).results == first.results


def test_an_extrinsic_counts_by_what_its_file_says(plan, tmp_path):
    file = tmp_path / "extrinsic.json"
    task = replace(task_of(plan), extrinsic=str(file))
    keys = set()
    for metres in (0, 1):
        file.write_text(json.dumps({"R": [1, 0, 0, 0, 1, 0, 0, 0, 1], "t": [metres, 0, 0]}))
        keys.add(task_key(task))
    moved = tmp_path / "far" / "extrinsic.json"
    moved.parent.mkdir()
    shutil.copy(file, moved)
    keys.add(task_key(replace(task, extrinsic=str(moved))))
    assert len(keys) == 2
    assert task_key(replace(task, extrinsic="1,0,0,0,0,0,1")) not in keys


@pytest.mark.parametrize("beside", ["a.times.txt", "times.txt"])
def test_a_file_that_a_format_finds_unasked_counts(beside, plan, tmp_path, rng):
    write(poses(5, rng), tmp_path / "a.kitti")
    (tmp_path / "a.times.txt").rename(tmp_path / beside)
    task = replace(task_of(plan), estimate=Input(str(tmp_path / "a.kitti")))
    before = task_key(task)
    text = (tmp_path / beside).read_text()
    (tmp_path / beside).write_text(text.replace(".400", ".500"))
    assert text != (tmp_path / beside).read_text()
    assert task_key(task) != before


def test_a_deviation_beside_an_estimate_of_openvins_counts(plan, tmp_path):
    (tmp_path / "state_estimate.txt").write_text("1\n")
    task = replace(task_of(plan), estimate=Input(str(tmp_path / "state_estimate.txt")))
    before = task_key(task)
    (tmp_path / "state_deviation.txt").write_text("1\n")
    assert task_key(task) != before


def test_cross_covariances_beside_a_square_file_count(plan, tmp_path, rng):
    track = with_cross(gaussian(5, rng), rng)[0]
    write(track, tmp_path / "a.square")
    task = replace(task_of(plan), estimate=Input(str(tmp_path / "a.square")))
    keys = {task_key(task)}
    write(track.with_cross(None), tmp_path / "a.square")
    keys.add(task_key(task))
    assert len(keys) == 2


def test_a_sidecar_of_a_format_that_is_new_counts(plan, tmp_path, monkeypatch):
    beside = Sidecar("clock", lambda path: (path.with_suffix(".clk"),))
    made_up = Format("made-up", "Made-up", "nowhere.read", sidecars=(beside,))
    monkeypatch.setitem(FORMATS, "made-up", made_up)
    (tmp_path / "a.xyz").write_text("1\n")
    task = replace(task_of(plan), estimate=Input(str(tmp_path / "a.xyz")))
    keys = [task_key(task)]
    for text in ("1\n", "2\n"):
        (tmp_path / "a.clk").write_text(text)
        keys.append(task_key(task))
    (tmp_path / "other.clk").write_text("2\n")
    named = Input(str(tmp_path / "a.xyz"), (("clock", tmp_path / "other.clk"),))
    keys.append(task_key(replace(task, estimate=named)))
    assert len(set(keys)) == 4


def test_a_file_that_changes_within_a_step_of_the_clock_is_looked_at_again(tmp_path):
    file = tmp_path / "a.txt"
    digests = set()
    for text in ("1", "2", "3"):
        file.write_text(text)
        os.utime(file, ns=(10**18, 10**18))
        digests.add(digest_path(file))
    assert len(digests) == 3


def test_a_file_that_rests_is_hashed_once(tmp_path, monkeypatch):
    file = tmp_path / "a.txt"
    file.write_text("1")
    later_ns = time.time_ns() + 10 * cache.COARSE_STEP_NS
    monkeypatch.setattr(cache.time, "time_ns", lambda: later_ns)
    hashed = []
    monkeypatch.setattr(cache, "_hash_file", lambda path: hashed.append(path) or "abc")
    assert [digest_path(file) for _ in range(5)] == ["abc"] * 5
    assert hashed == [file]


def test_a_named_file_counts_by_its_content_and_not_by_its_folder(plan, tmp_path):
    keys = []
    for folder, text in (("one", "1\n"), ("two", "1\n"), ("three", "2\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "c.txt").write_text(text)
        given = Input(task_of(plan).estimate.source, (("covariance", tmp_path / folder / "c.txt"),))
        keys.append(task_key(replace(task_of(plan), estimate=given)))
    assert keys[0] == keys[1] != keys[2]


def test_a_folder_counts_by_all_of_its_files(plan, tmp_path):
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "metadata.yaml").write_text("a")
    (bag / "b.db3").write_bytes(b"1")
    task = replace(task_of(plan), estimate=Input(f"{bag}:/odometry"))
    before = task_key(task)
    (bag / "b.db3").write_bytes(b"22")
    assert task_key(task) != before
    assert task_key(replace(task, estimate=Input(f"{bag}:/other"))) != task_key(task)


def test_a_file_that_is_gone_has_no_key(plan, tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        task_key(replace(task_of(plan), estimate=Input(str(tmp_path / "gone"))))


def test_a_value_without_one_text_is_refused():
    with pytest.raises(TypeError, match="no canonical text for set"):
        canonical({1, 2})


@pytest.mark.parametrize("value", [inf, -inf, nan, 0.1 + 0.2, -0.0, 5e-324])
def test_numbers_come_back_exactly(value, tmp_path):
    number = Number(value, "m", low=0.1, high=inf, n_effective=None, reason="why")
    result = TaskResult("e", "g", "t", 0, "abc", "s", None, 5, 4, "v", (("mae", number),), ("n",))
    Cache(tmp_path).save(result, None)
    blank = TaskResult("e", "g", "t", 0, "abc", "s", None)
    found = Cache(tmp_path).load(blank)
    ((_, again),) = found.numbers
    assert again.value.hex() == value.hex() if not isnan(value) else isnan(again.value)
    assert replace(again, value=0.0) == replace(number, value=0.0)
    assert replace(found, numbers=()) == replace(result, numbers=())
    text = next(tmp_path.glob("ab/abc.json")).read_text()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_a_pair_comes_back_exactly(tmp_path):
    k = Number(1.5, "1", low=None, high=None, n_effective=3.25, reason="too short")
    blank = PairResult("a", "b", "g", "t", 0, "abc", None)
    result = replace(blank, matched=7, verdict="cannot tell", k_pair=k)
    Cache(tmp_path).save(result, None)
    assert Cache(tmp_path).load(blank) == result


def test_a_folder_that_a_worker_does_not_see_stops_the_study(plan, tmp_path):
    with pytest.raises(OptionError, match="every worker must see the inputs and the output"):
        load_or_evaluate(task_of(plan), Cache(tmp_path / "unseen"))


def test_a_cache_that_cannot_be_written_stops_the_study(plan):
    task = task_of(plan)
    (plan.output / "cache").mkdir(parents=True)
    (plan.output / "cache" / task_key(task)[:2]).touch()
    with pytest.raises(OptionError, match="cannot be made"):
        run_tasks(plan, [task], workers=1)


def test_a_worker_of_another_version_stops_the_study(plan, tmp_path):
    with pytest.raises(OptionError, match=r"the study is run by 9\.9"):
        load_or_evaluate(task_of(plan), Cache(tmp_path), version="9.9")


def test_a_reference_that_changed_is_read_again(plan):
    task = replace(task_of(plan), reference=Input(task_of(plan).reference.source, BODY))
    before = run_tasks(plan, [task], workers=1).results[0]
    path = Path(task.reference.source)
    path.write_text("\n".join(path.read_text().splitlines()[:40]) + "\n")
    after = run_tasks(plan, [task], workers=1).results[0]
    assert (before.scored, after.scored) == (50, 40)
