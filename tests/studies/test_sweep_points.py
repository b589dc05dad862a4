"""Points of a sweep from files: every run is scored, and what is missing is told."""

import shutil

import numpy as np
import pytest

from smfeval.compare.sweep import sweep_of
from smfeval.errors import FormatError
from smfeval.show.sweep import text
from smfeval.studies.sweep import points_of_files, read_sweep
from smfeval.studies.task import evaluate_task
from support.study_folders import SIGMA_M, planned
from support.sweep_folders import PLAN, turned


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which every run is scored and kept."""
    folder = turned(tmp_path_factory.mktemp("made"))
    return folder, points_of_files(read_sweep(planned(folder, PLAN, "sweep.toml")), workers=1)


@pytest.fixture
def files(made, tmp_path):
    """The sweep in a copy of that folder."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    return read_sweep(tmp_path / "sweep.toml")


def test_each_run_has_the_numbers_that_were_put_in(made):
    points, failures = made[1]
    assert (len(points), failures) == (30, ())
    for point in points:
        factor = float(dict(point.settings)["R"])
        assert point.precision.value == pytest.approx(-3 * np.log(factor * SIGMA_M**2), rel=1e-9)
        size = 1.0 if point.estimator == "bold" else factor**0.5
        assert point.mae.value == pytest.approx(1.596 * size * SIGMA_M, rel=0.2)
        assert point.scored == 60
    assert points[0].source == "bold/one_R0.01.square"


def test_each_run_and_setting_has_k_of_the_rotation(made):
    points, _ = made[1]
    for point in points:
        honest = 1.0 if point.estimator == "honest" else 1 / float(dict(point.settings)["R"])
        assert point.k_rotation.value == pytest.approx(honest, rel=0.6)  # 60 scans
    for row in sweep_of(points).rows:
        honest = 1.0 if row.estimator == "honest" else 1 / float(dict(row.settings)["R"])
        assert row.k_rotation.value == pytest.approx(honest, rel=0.35)
        assert row.k_pose.value == pytest.approx(honest, rel=0.35)
    shown = text(sweep_of(points), verbose=True)
    assert "rotation k" in shown
    assert "pose k" in shown


def test_errors_that_follow_are_told_from_errors_that_stay(made):
    points, _ = made[1]
    bold, honest = sweep_of(points).effects
    assert (bold.estimator, bold.label) == ("bold", "not more accurate")
    assert (honest.estimator, honest.label) == ("honest", "more accurate")
    assert bold.nees_slope.value == pytest.approx(0.1448, abs=0.02)
    assert honest.error_slope.value == pytest.approx(-0.0724, abs=0.01)


def test_a_missing_run_is_a_failure_and_no_end(files, tmp_path):
    (tmp_path / "bold" / "two_R1.square").unlink()
    points, failures = points_of_files(files, workers=1)
    assert len(points) == 29
    assert [(each.track, each.settings, each.sentence) for each in failures] == [
        ("two", (("R", "1"),), "no file: bold/{track}_R1.square")
    ]


def test_a_broken_file_is_a_failure_and_no_end(files, tmp_path):
    (tmp_path / "bold" / "two_R1.square").write_text("#% nonsense\n1 2 3\n")
    points, failures = points_of_files(files, workers=1)
    assert len(points) == 29
    assert "two_R1.square" in failures[0].sentence


def test_a_value_without_any_file_stops_the_sweep(files, tmp_path):
    for path in (tmp_path / "bold").glob("*_R10.square"):
        path.unlink()
    with pytest.raises(FormatError, match=r"estimator bold R 10: .* matches no file on any track"):
        points_of_files(files, workers=1)


def test_a_sweep_that_was_stopped_goes_on_where_it_was(files, tmp_path, monkeypatch):
    """Runs that are kept are not scored again, and say the same, scan by scan."""
    shutil.rmtree(tmp_path / "sweep_results")
    heard = []

    def hear(done, failed, total):
        heard.append((done, failed, total))
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        points_of_files(files, workers=1, progress=hear)
    assert (heard[0], heard[-1]) == ((0, 0, 30), (7, 0, 30))
    scored = []

    def evaluated(task, key):
        scored.append(task.estimate.source)
        return evaluate_task(task, key)

    monkeypatch.setattr("smfeval.studies.task.evaluate_task", evaluated)
    whole, _ = points_of_files(files, workers=1)
    assert len(set(scored)) == 23
    again, _ = points_of_files(files, workers=1)
    assert (again, len(scored)) == (whole, 23)
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_array_equal(one.scans.log_nees, other.scans.log_nees)
    points_of_files(files, workers=1, fresh=True)
    assert len(scored) == 23 + 30
