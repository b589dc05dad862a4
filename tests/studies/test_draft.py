"""A plan from a folder: it finds every estimate, and says what it does not take."""

from pathlib import Path

import numpy as np
import pytest

from smfeval import CrossCovariance
from smfeval.errors import OptionError
from smfeval.studies.draft import guess_preset, plan_of_folder
from smfeval.studies.find import find_tasks
from smfeval.studies.plan_file import read_plan
from support.study_folders import estimate, planned, put, simple, truth


@pytest.fixture
def drafted(tmp_path):
    """The plan that a folder is given, and what is left aside, without the folder's name."""

    def look(folder: Path, start: str | None = None):
        draft = plan_of_folder(folder, start=start)
        plan = read_plan(planned(tmp_path, draft.text, "drafted.toml"))
        return plan, [f"{what}: {why}".replace(f"{folder}/", "") for what, why in draft.skipped]

    return look


def files(plan) -> set[tuple[str, str, str]]:
    """Estimator, track and file of every task."""
    return {
        (task.estimator, task.track, Path(task.estimate.source).name)
        for task in find_tasks(plan).tasks
    }


def test_the_layout_of_ov_eval_gives_repeats(tmp_path, drafted):
    folder = tmp_path / "euroc"
    for track in ("V1_01", "V1_02"):
        put(truth(), folder / "truth" / f"{track}.txt")
        for algorithm in ("open_vins", "okvis"):
            for run in range(3):
                put(estimate(run), folder / "algorithms" / algorithm / track / f"{run}_est.txt")
    plan, aside = drafted(folder)
    assert aside == []
    assert [each.name for each in plan.estimators] == ["okvis", "open_vins"]
    assert [track.name for track in plan.tracks] == ["V1_01", "V1_02"]
    assert len(files(plan)) == 12
    assert {task.repeat for task in find_tasks(plan).tasks} == {0, 1, 2}
    assert dict(plan.estimators[1].reading) == {"preset": "openvins"}
    assert plan.estimators[0].reading == ()


def test_cross_covariances_are_no_estimates(tmp_path, drafted):
    folder = tmp_path / "made"
    for track in ("a", "b"):
        put(truth(), folder / track / "truth.tum")
        believed = estimate(1)
        cross = CrossCovariance(np.array([[0, 1]]), 0.1 * believed.covariance[:1])
        put(believed.with_cross(cross), folder / track / "mine.square")
    plan, aside = drafted(folder)
    assert files(plan) == {("mine", track, "mine.square") for track in "ab"}
    assert aside == [
        f"{track}/mine.cross: these are the cross-covariances of a SQUARE file" for track in "ab"
    ]


def test_algorithms_may_stand_beside_the_truth_with_a_file_for_each_track(tmp_path, drafted):
    folder = simple(tmp_path / "made", ("a", "b"))
    (folder / "truth").rename(folder / "GroundTruth")
    plan, aside = drafted(folder)
    assert aside == []
    assert files(plan) == {
        (name, track, f"{track}.square") for name in ("good", "bold") for track in "ab"
    }


def test_files_with_different_endings_are_found_by_one_pattern(tmp_path, drafted):
    folder = simple(tmp_path / "made", ("a", "b"))
    put(estimate(1), folder / "mixed" / "a.square")
    put(estimate(1), folder / "mixed" / "b.tum")
    put(truth(), folder / "truth" / "c.txt")
    put(estimate(1), folder / "mixed" / "c.square.gz")
    plan, aside = drafted(folder)
    assert aside == []
    mixed = {row for row in files(plan) if row[0] == "mixed"}
    assert {row[2] for row in mixed} == {"a.square", "b.tum", "c.square.gz"}
    assert len(find_tasks(plan).missing) == 2  # good and bold have no c


def test_what_is_no_track_is_left_aside_with_the_reason(tmp_path, drafted):
    folder = simple(tmp_path / "made", ("a", "b"))
    (folder / "good" / "a.notes.txt").write_text("1 2 3\n")
    (folder / "good" / "README").write_text("words of one line\n")
    put(estimate(1), folder / "good" / "c.square")
    put(truth(), folder / "truth" / "d.tum")
    put(truth(), folder / "truth" / "a.txt")
    plan, aside = drafted(folder)
    assert len(files(plan)) == 4
    assert aside == [
        "truth/a.txt: a second reference of a",
        "good/README: no reference of this name",
        "good/a.notes.txt: no reference of this name",
        "good/c.square: no reference of this name",
        "truth/d.tum: no estimate",
    ]


def test_runs_beside_other_files_are_found_alone(tmp_path, drafted):
    folder = tmp_path / "made"
    put(truth(), folder / "truth" / "a.tum")
    for run in (1, 2):
        put(estimate(run), folder / "x" / "a" / f"run{run}.square")
        (folder / "x" / "a" / f"run{run}.log.txt").write_text("1 2 3\n")
    plan, aside = drafted(folder)
    assert {row[2] for row in files(plan)} == {"run1.square", "run2.square"}
    assert [line.partition(":")[0] for line in aside] == ["x/a/run1.log.txt", "x/a/run2.log.txt"]


def tracks_in_groups(folder: Path) -> Path:
    for group, track in (("easy", "walk_2"), ("easy", "walk_10"), ("hard", "tunnel")):
        place = folder / group / track
        put(truth(), place / "reference.tum.gz")
        put(truth(), place / "reference_lidar.tum.gz")
        for name in ("fastlio2", "i2ekf", "mine"):
            put(estimate(1), place / f"{name}.square")
        (place / "fastlio2.nmatch.txt").write_text("1 2 3 4\n")
        (place / "meta.json").write_text("{}")
    return folder


def test_folders_of_tracks_in_groups_are_found_without_their_side_files(tmp_path, drafted):
    folder = tracks_in_groups(tmp_path / "campaign")
    put(truth(), folder / "lone" / "reference.tum")
    put(estimate(1), folder / "lone" / "mine.square")
    plan, aside = drafted(folder)
    assert [(track.group, track.name) for track in plan.tracks] == [
        ("easy", "walk_2"),
        ("easy", "walk_10"),
        ("hard", "tunnel"),
    ]
    assert [each.name for each in plan.estimators] == ["fastlio2", "i2ekf", "mine"]
    assert len(files(plan)) == 9
    assert aside[0] == "lone: a track without a group"
    assert sum("fastlio2.nmatch.txt: " in line for line in aside) == 3
    assert sum("meta.json: " in line for line in aside) == 3
    assert len(aside) == 7


def test_a_known_estimator_gets_its_preset_and_the_reference_about_its_body(tmp_path, drafted):
    plan, _ = drafted(tracks_in_groups(tmp_path / "campaign"))
    fast, i2ekf, mine = plan.estimators
    assert (fast.reading, fast.reference) == ((("preset", "fast-lio2"),), None)
    assert i2ekf.reading == (("preset", "i2ekf-lo"),)
    assert i2ekf.reference_body == "lidar"
    assert (mine.reading, mine.reference) == ((), None)
    used = {task.estimator: Path(task.reference.source).name for task in find_tasks(plan).tasks}
    assert used == {
        "fastlio2": "reference.tum.gz",
        "i2ekf": "reference_lidar.tum.gz",
        "mine": "reference.tum.gz",
    }


def test_a_plan_whose_presets_align_differently_says_so(tmp_path):
    folder = tracks_in_groups(tmp_path / "campaign")
    assert "different alignments" not in plan_of_folder(folder).text
    put(estimate(1), folder / "hard" / "tunnel" / "pointlio.square")
    assert "different alignments (gravity_yaw, se3)" in plan_of_folder(folder).text


def test_a_reference_for_nobody_is_told(tmp_path, drafted):
    folder = tmp_path / "made"
    put(truth(), folder / "a" / "reference_imu.tum")
    put(truth(), folder / "a" / "reference_prism.tum")
    put(estimate(1), folder / "a" / "mine.square")
    plan, aside = drafted(folder)
    assert plan.tracks[0].body == "imu"
    assert plan.groups == ("all",)
    assert aside == ["{track}/reference_prism.tum: a reference for no estimator"]


def test_tracks_of_the_same_name_in_two_groups_stay_apart(tmp_path, drafted):
    folder = tmp_path / "made"
    for group in ("g1", "g2"):
        put(truth(), folder / group / "00" / "gt.tum")
        put(estimate(1), folder / group / "00" / "x.square")
    plan, _ = drafted(folder)
    assert [(track.group, track.name) for track in plan.tracks] == [
        ("g1", "g1/00"),
        ("g2", "g2/00"),
    ]
    assert len(find_tasks(plan).tasks) == 2


def test_names_that_patterns_would_misread_still_find_their_files(tmp_path, drafted):
    folder = tmp_path / "da[t]a"
    put(truth(), folder / "truth" / "a[1]*.tum")
    put(estimate(1), folder / "x[y]" / "a[1]*.square")
    put(estimate(1), folder / 'say "hi"' / "a[1]*" / "run.square")
    plan, aside = drafted(folder)
    assert aside == []
    assert files(plan) == {
        ("x[y]", "a[1]*", "a[1]*.square"),
        ('say "hi"', "a[1]*", "run.square"),
    }


def test_names_that_a_plan_cannot_have_are_left_aside(tmp_path, drafted):
    folder = simple(tmp_path / "made")
    put(estimate(1), folder / "{odd}" / "one.square")
    put(estimate(1), folder / "spaced " / "one.square")
    put(truth(), folder / "truth" / "three .tum")
    plan, aside = drafted(folder)
    assert len(find_tasks(plan).tasks) == 4
    assert sorted(aside) == [
        "spaced : its name cannot stand in a plan",
        "truth/three .tum: its name cannot stand in a plan",
        "{odd}: its name cannot stand in a plan",
    ]


def test_the_plan_calls_the_folder_as_it_is_told(tmp_path, drafted):
    simple(tmp_path / "made")
    plan, _ = drafted(tmp_path / "made", start="made")
    assert plan.tracks[0].reference == "made/truth/{track}.tum"
    assert len(find_tasks(plan).tasks) == 4
    text = plan_of_folder(tmp_path / "made", start=".").text
    assert 'reference = "truth/{track}.tum"' in text
    assert 'names = ["one", "two"]' in text


def test_the_results_of_a_study_are_no_estimates(tmp_path, drafted):
    folder = simple(tmp_path / "made")
    put(estimate(1), folder / "made_results" / "one.square")
    (folder / "made_results" / "cache").mkdir()
    plan, _ = drafted(folder)
    assert [each.name for each in plan.estimators] == ["bold", "good"]


def test_a_folder_without_a_known_layout_is_refused(tmp_path):
    put(estimate(1), tmp_path / "some" / "a.square")
    with pytest.raises(OptionError, match="no estimates with references are found; they may lie"):
        plan_of_folder(tmp_path / "some")
    with pytest.raises(OptionError, match="there is no such folder"):
        plan_of_folder(tmp_path / "nowhere")
    simple(tmp_path / "{x}")
    with pytest.raises(OptionError, match="cannot name a folder with braces"):
        plan_of_folder(tmp_path / "{x}")


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("fastlio2", "fast-lio2"),
        ("Fast_LIO2", "fast-lio2"),
        ("fasterlio_upstream", "faster-lio"),
        ("i2ekf", "i2ekf-lo"),
        ("kiss-icp-2", "kiss-icp"),
        ("fast", None),
        ("ours", None),
        ("", None),
    ],
)
def test_presets_are_guessed_from_names_that_mean_one(name, preset):
    found = guess_preset(name)
    assert (found and found.name) == preset


def test_the_real_campaign_is_understood(shared_data, drafted):
    plan, aside = drafted(shared_data / "campaign")
    assert plan.groups == ("control", "easy", "hard")
    assert len(plan.tracks) == 10
    names = {each.name for each in plan.estimators}
    assert names == {"fastlio2", "fasterlio", "fasterlio_upstream", "pointlio", "i2ekf"}
    found = find_tasks(plan)
    assert len(found.tasks) == 3 * 2 + 7 * 4 + 1
    assert len(found.missing) == 10 * 5 - len(found.tasks)
    assert "sweep: a track without a group" in aside
    lidar = {task.estimator for task in found.tasks if "_lidar." in task.reference.source}
    assert lidar == {"i2ekf"}
