"""Files of a plan become tasks; what is missing is known, what would count twice is refused."""

from pathlib import Path

import pytest

from smfeval.errors import FormatError, OptionError, SmfevalError
from smfeval.studies.find import MissingEstimate, find_tasks
from smfeval.studies.plan import natural_sort_key
from smfeval.studies.plan_file import read_plan
from smfeval.studies.result import TaskResult
from smfeval.studies.run import with_gaps
from smfeval.studies.task import Input
from support.study_folders import PLAN, estimate, planned, put, simple, truth


@pytest.fixture
def found(tmp_path):
    """What a plan about the simple folder finds."""
    simple(tmp_path)

    def look(text: str = PLAN):
        return find_tasks(read_plan(planned(tmp_path, text)))

    return look


@pytest.fixture
def refusal(found):
    def told(text: str, kind: type[SmfevalError]) -> str:
        with pytest.raises(kind) as caught:
            found(text)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return told


def where(tasks) -> list[tuple[str, str, int]]:
    return [(task.track, task.estimator, task.repeat) for task in tasks]


def test_each_estimator_on_each_track_is_a_task_track_by_track(found, tmp_path):
    result = found()
    assert where(result.tasks) == [
        ("one", "good", 0),
        ("one", "bold", 0),
        ("two", "good", 0),
        ("two", "bold", 0),
    ]
    first = result.tasks[0]
    assert first.estimate == Input(str(tmp_path / "good" / "one.square"))
    assert first.reference == Input(str(tmp_path / "truth" / "one.tum"))
    assert (first.group, first.extrinsic) == ("all", None)
    assert (result.pair_tasks, result.missing, result.notes) == ((), (), ())


def test_runs_are_repeats_and_two_comes_before_ten(found, tmp_path):
    for run in (10, 2, 1):
        put(estimate(run), tmp_path / "many" / "one" / f"run{run}.square")
    put(estimate(3), tmp_path / "many" / "two" / "run1.square")
    put(estimate(3), tmp_path / "many" / "two" / ".hidden.square")
    (tmp_path / "many" / "two" / "notes").mkdir()
    tasks = found(PLAN + '[[estimators]]\nname = "many"\npath = "many/{track}/*"\n').tasks
    many = [task for task in tasks if task.estimator == "many"]
    assert where(many) == [("one", "many", i) for i in range(3)] + [("two", "many", 0)]
    names = [Path(task.estimate.source).stem for task in many]
    assert names == ["run1", "run2", "run10", "run1"]


def test_numbers_in_names_are_sorted_as_numbers():
    names = ["run10", "run9", "a", "run9b", "10", "9"]
    assert sorted(names, key=natural_sort_key) == ["9", "10", "a", "run9", "run9b", "run10"]


def test_a_missing_estimate_is_a_gap_and_an_estimator_without_any_stops(found, tmp_path, refusal):
    (tmp_path / "bold" / "two.square").unlink()
    result = found()
    assert result.missing == (MissingEstimate("bold", "all", "two", "bold/{track}.square"),)
    assert len(result.tasks) == 3
    (tmp_path / "bold" / "one.square").unlink()
    assert refusal(PLAN, FormatError) == (
        "estimator bold: 'bold/{track}.square' matches no file on any track; for track one "
        f"it means {tmp_path / 'bold' / 'one.square'}"
    )


def test_gaps_stand_among_the_results_where_the_plan_has_them(found, tmp_path):
    (tmp_path / "good" / "two.square").unlink()
    result = found()
    plan = read_plan(tmp_path / "study.toml")
    done = [
        TaskResult(t.estimator, t.group, t.track, t.repeat, "key", "file", None)
        for t in result.tasks
    ]
    rows = with_gaps(plan, done, result.missing)
    assert rows[2].source == "good/{track}.square"
    assert [(row.track, row.estimator, row.failure) for row in rows] == [
        ("one", "good", None),
        ("one", "bold", None),
        ("two", "good", "no file"),
        ("two", "bold", None),
    ]


def test_all_missing_references_are_told_at_once(found, tmp_path, refusal):
    for name in ("one", "two"):
        (tmp_path / "truth" / f"{name}.tum").unlink()
    told = refusal(PLAN, FormatError)
    assert told.startswith("2 of 2 tracks have no reference: one (")
    assert str(tmp_path / "truth" / "two.tum") in told
    many = ", ".join(f'"t{i}"' for i in range(9))
    told = refusal(PLAN.replace('"one", "two"', many), FormatError)
    assert told.endswith(" and 4 more")


def test_a_reference_may_be_found_by_a_star_if_there_is_one(found, tmp_path, refusal):
    starred = PLAN.replace("truth/{track}.tum", "truth/{track}.*")
    assert found(starred).tasks[0].reference.source == str(tmp_path / "truth" / "one.tum")
    put(truth(), tmp_path / "truth" / "one.txt")
    assert "track one: 'truth/{track}.*' finds 2 references" in refusal(starred, OptionError)


def test_a_star_that_reaches_into_another_track_is_refused(tmp_path, refusal):
    for name in ("run1", "run10"):
        put(truth(), tmp_path / "truth" / f"{name}.tum")
        put(estimate(1), tmp_path / "good" / f"{name}.square")
        put(estimate(2), tmp_path / "bold" / f"{name}.square")
    text = PLAN.replace('"one", "two"', '"run1", "run10"').replace("good/{track}.", "good/{track}*")
    told = refusal(text, OptionError)
    assert "run10.square is found for track run1 and for track run10" in told
    assert "reaches too far" in told


def test_two_estimators_with_the_same_files_are_refused_unless_they_read_them_differently(
    found, refusal
):
    same = PLAN.replace("bold/{track}", "good/{track}")
    told = refusal(same, OptionError)
    assert "estimators good and bold read the same file in the same way" in told
    notes = found(same.replace('"bold"\n', '"bold"\nconvention = "left"\n')).notes
    assert notes == ("estimators good and bold read the same files, in different ways",)


def test_an_estimate_that_is_a_reference_is_refused(refusal):
    told = refusal(PLAN.replace("good/{track}.square", "./truth/{track}.tum"), OptionError)
    assert "is a reference of track one" in told


def test_inputs_and_output_do_not_share_a_folder(refusal):
    assert "is in the output folder" in refusal(f'output = "good"\n{PLAN}', OptionError)
    assert "track one: " in refusal(f'output = "truth"\n{PLAN}', OptionError)


def test_names_with_glob_signs_are_taken_literally(tmp_path):
    folder = simple(tmp_path / "[a]", ("x[1]", "x1"))
    text = PLAN.replace('"one", "two"', '"x[1]", "x1"').replace(
        "good/{track}.square", "good/{track}.*"
    )
    tasks = find_tasks(read_plan(planned(folder, text))).tasks
    assert [Path(task.estimate.source).name for task in tasks[::2]] == ["x[1].square", "x1.square"]


def test_a_tilde_is_the_home_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(simple(tmp_path / "elsewhere")))
    text = PLAN.replace('"truth/', '"~/truth/').replace('"good/', '"~/good/')
    text = text.replace('"bold/', f'"{tmp_path}/elsewhere/bold/')
    assert len(find_tasks(read_plan(planned(tmp_path, text))).tasks) == 4
    with pytest.raises(FormatError, match=r"no reference: one .*~nobody-at-all/truth/one\.tum"):
        find_tasks(read_plan(planned(tmp_path, text.replace('"~/truth', '"~nobody-at-all/truth'))))


def test_groups_and_absolute_paths_are_filled_in(tmp_path):
    put(truth(), tmp_path / "in" / "a" / "ref.tum")
    put(estimate(1), tmp_path / "in" / "a" / "x.square")
    text = (
        '[[tracks]]\nname = "a"\ngroup = "in"\nreference = "{group}/{track}/ref.tum"\n'
        f'[[estimators]]\nname = "x"\npath = "{tmp_path}/{{group}}/{{track}}/x.square"\n'
    )
    (task,) = find_tasks(read_plan(planned(tmp_path, text))).tasks
    assert task.estimate.source == str(tmp_path / "in" / "a" / "x.square")
    assert task.reference.source == str(tmp_path / "in" / "a" / "ref.tum")
    assert task.group == "in"


def test_bags_keep_their_topic(found, tmp_path):
    (tmp_path / "bags" / "two").mkdir(parents=True)
    (tmp_path / "bags" / "one").mkdir()
    (tmp_path / "bags" / "one" / "metadata.yaml").write_text("a ROS 2 bag is a folder")
    (tmp_path / "bags" / "two.mcap").write_text("bytes")
    entry = '[[estimators]]\nname = "bag"\npath = "bags/{track}*:/odom"\n'
    result = found(PLAN + entry)
    sources = [task.estimate.source for task in result.tasks if task.estimator == "bag"]
    assert sources == [f"{tmp_path}/bags/one:/odom", f"{tmp_path}/bags/two.mcap:/odom"]
    entry = '[[estimators]]\nname = "bag"\npath = "bags/{track}.mcap:/odom"\n'
    result = found(PLAN + entry)
    assert result.tasks[-1].estimate.source == f"{tmp_path}/bags/two.mcap:/odom"
    assert [gap.track for gap in result.missing] == ["one"]


def test_second_files_are_found_or_missing_for_each_track(found, tmp_path, refusal):
    (tmp_path / "good" / "one.cov").write_text("numbers")
    told = PLAN.replace('"good"\n', '"good"\ncovariance = "good/{track}.cov"\n')
    result = found(told)
    reading = (("covariance", str(tmp_path / "good" / "one.cov")),)
    assert result.tasks[0].estimate.reading == reading
    assert result.missing == (MissingEstimate("good", "all", "two", "good/{track}.cov"),)
    lost = PLAN.replace("reference", 'times = "{track}.times"\nreference')
    assert "2 of 2 tracks have no reference: one ({track}.times)" in refusal(lost, FormatError)


def test_extrinsics_are_numbers_or_files_and_are_read_before_anything_runs(
    found, tmp_path, refusal
):
    still = "0,0,0,0,0,0,1"
    numbers = found(PLAN.replace('"good"\n', f'"good"\nextrinsic = "{still}"\n')).tasks
    assert [task.extrinsic for task in numbers] == [still, None, still, None]
    by_track = PLAN.replace('"good"\n', '"good"\nextrinsic = "{track}.json"\n')
    (tmp_path / "one.json").write_text('{"R": [1,0,0,0,1,0,0,0,1], "t": [0,0,1]}')
    told = refusal(by_track, FormatError)
    assert told == f"estimator good, extrinsic: {tmp_path / 'two.json'}: there is no such file"
    (tmp_path / "two.json").write_text('{"R": [1,0,0,0,1,0,0,0,1], "t": [0,0,1]}')
    assert found(by_track).tasks[2].extrinsic == str(tmp_path / "two.json")
    wrong = PLAN.replace('"good"\n', '"good"\nextrinsic = "1,2,3"\n')
    assert "seven numbers are needed" in refusal(wrong, FormatError)


def test_pairs_meet_run_by_run_with_the_options_that_a_pair_has(found, tmp_path):
    for run in range(2):
        put(estimate(run), tmp_path / "many" / "one" / f"{run}.square")
    text = (
        'pairs = true\n[options]\noffset = 1\nfit_on = "2s"\nhorizons = [5]\naxes = "xy"\n'
        f'{PLAN}[[estimators]]\nname = "many"\npath = "many/{{track}}/*"\n'
        'extrinsic = "0,0,1,0,0,0,1"\n'
    )
    result = found(text)
    pairs = [(task.track, task.a, task.b, task.repeat) for task in result.pair_tasks]
    assert pairs == [
        ("one", "good", "bold", 0),
        ("one", "good", "many", 0),
        ("one", "bold", "many", 0),
        ("two", "good", "bold", 0),
    ]
    options = result.pair_tasks[0].options
    assert (options.offset_s, options.fit_on, options.horizons) == (0.0, None, ())
    assert options.axes == "xy"
    assert result.pair_tasks[1].extrinsics == (None, "0,0,1,0,0,0,1")
    assert result.notes == (
        "pairs: the time offset to the reference (1 s) is not used; between two estimators it is "
        "taken as 0",
        "pairs: aligned over all matched scans, not on the first 2 s",
        "pairs: 2 runs have no partner; one estimator has fewer repeats",
    )
    assert [gap.estimator for gap in result.missing] == ["many"]


def test_pairs_say_that_a_clock_offset_that_is_to_be_found_is_not_used(found):
    result = found(f'pairs = true\n[options]\noffset = "auto"\n{PLAN}')
    assert result.pair_tasks[0].options.offset_s == 0.0
    note, _ = result.notes
    assert note.startswith("pairs: the time offset to the reference (auto) is not used")
    assert found(f'[options]\noffset = "auto"\n{PLAN}').notes == ()


def test_pairs_of_a_continuous_reference_are_matched_by_stamps(found):
    result = found(f'pairs = true\n[options]\nassociation = "gp"\n{PLAN}')
    assert result.tasks[0].options.association == "gp"
    assert result.pair_tasks[0].options.association == "interpolated"
    assert result.notes == ("pairs are matched by nearest stamps within 5 ms",)


def test_an_estimator_may_have_a_reference_of_its_own(found, tmp_path, refusal):
    own = "pairs = true\n" + PLAN.replace(
        '"bold"\n', '"bold"\nreference = "lidar/{track}.tum"\nreference_body = "lidar"\n'
    )
    told = refusal(own, FormatError)
    missing = tmp_path / "lidar" / "one.tum"
    assert told == f"estimator bold, track one: there is no reference {missing}"
    for name in ("one", "two"):
        put(truth(), tmp_path / "lidar" / f"{name}.tum")
    result = found(own)
    references = [task.reference for task in result.tasks[:2]]
    assert references[0] == Input(str(tmp_path / "truth" / "one.tum"))
    assert references[1] == Input(str(missing), (("body", "lidar"),))
    assert result.pair_tasks == ()
    assert len(result.notes) == 1
    assert result.notes[0].startswith("pairs: bold has a reference of its own")

    joined = own.replace("reference_body", 'pair_extrinsic = "0,0,1,0,0,0,1"\nreference_body')
    result = found(joined)
    assert result.pair_tasks[0].extrinsics == (None, "0,0,1,0,0,0,1")
    assert result.notes == ()


def test_the_body_of_a_reference_is_part_of_its_reading(found):
    text = PLAN.replace("reference", 'body = "imu"\nreference')
    assert found(text).tasks[0].reference.reading == (("body", "imu"),)
