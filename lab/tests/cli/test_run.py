"""`smfeval lab run`: from a recording on disk to a belief track and telemetry."""

import numpy as np
import polars as pl
import pytest

from lab_support import room
from lab_support.documents import checked
from smfeval import read, read_innovations
from smfeval.errors import OptionError
from smfeval_lab.filters.run import Run
from smfeval_lab.recording import write_recording
from smfeval_lab.show import text
from support.commands import files_in, refused, run


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab") / "room"
    write_recording(room.recording(3, duration_s=3.0, count=800, sweep=True), folder)
    return folder


def test_a_run_writes_belief_and_telemetry_and_says_how_it_went(recorded, tmp_path, capsys):
    belief, told = tmp_path / "est.square", tmp_path / "told.parquet"
    table = tmp_path / "innovations.parquet"
    outcome = run(
        capsys, "lab", "run", recorded, "-o", belief, "--telemetry", told, "--innovations", table
    )
    assert outcome.code == 0, outcome.err
    assert "19 of 30" in outcome.out
    for word in ("CPU", "times real time", "matched", "sigma", "10 scans left out"):
        assert word in outcome.out
    track, table = read(belief), pl.read_parquet(told)
    assert (track.about.body, track.about.gauge, track.about.algorithm) == ("imu", "se3", "ieskf")
    assert table["stamp"].to_list() == track.stamp.tolist()
    np.testing.assert_allclose(
        table["posterior_yx"], track.position_covariance[:, 1, 0], atol=1e-12, rtol=1e-6
    )
    assert table.columns[:2] == ["stamp", "matched"]
    (lidar,) = read_innovations(tmp_path / "innovations.parquet").sensors
    assert lidar.stamp.tolist() == track.stamp.tolist()[-len(lidar) :]
    assert (lidar.sensor, lidar.dimension) == ("lidar", 6)
    assert np.median(lidar.nis[5:]) / 6 < 10


def test_settings_change_the_belief_and_are_echoed(recorded, tmp_path, capsys):
    told = {}
    for value in ("1e-3", "1e-5"):
        outcome = run(
            capsys, "lab", "run", recorded, "-o", tmp_path / f"{value}.square",
            "--set", f"point_variance={value}", "--json",
        )  # fmt: skip
        told[value] = checked(outcome.out, "run.json")
        assert told[value]["settings"] == [f"point_variance={value}"]
    assert told["1e-5"]["sigma_m"] < 0.5 * told["1e-3"]["sigma_m"]


def test_cross_covariances_are_written_beside_the_belief(recorded, tmp_path, capsys):
    target = tmp_path / "est.square"
    words = ("lab", "run", recorded, "-o", target, "--set", "cross_lags=2", "-q")
    outcome = run(capsys, *words)
    assert outcome.out == f"wrote {target} and {tmp_path / 'est.cross'}: 19 scans\n"
    assert files_in(tmp_path) == {"est.square", "est.cross"}
    assert len(read(target).cross) == 18 + 17
    target.unlink()
    assert "est.cross: the file exists; --force overwrites it" in refused(capsys, *words)


def test_quiet_is_one_line_and_verbose_tells_of_the_residuals(recorded, tmp_path, capsys):
    target = tmp_path / "est.square"
    quiet = run(capsys, "lab", "run", recorded, "-o", target, "-q")
    assert quiet.out == f"wrote {target}: 19 scans\n"
    verbose = run(capsys, "lab", "run", recorded, "-o", target, "--force", "-v")
    assert "innovation" in verbose.out
    assert "NIS" in verbose.out


def test_filters_and_their_settings_are_listed(capsys):
    assert "point_variance" in run(capsys, "lab", "run", "--list").out
    listed = checked(run(capsys, "lab", "run", "--list", "--json").out, "filters.json")
    settings = {each["name"]: each["settings"] for each in listed["filters"]}
    assert settings["ieskf"]["noise"] == "fixed"


def test_mistakes_are_one_sentence_and_leave_no_file(recorded, tmp_path, capsys):
    target = tmp_path / "est.square"
    for words, sentence in (
        ([recorded], "name a recording and where to write"),
        ([recorded, "-o", target, "--filter", "eskf"], "'eskf' is unknown"),
        ([recorded, "-o", target, "--set", "R=1"], "'R' is unknown"),
        ([recorded, "-o", target, "--set", "map=known"], "map=known needs the map"),
        ([tmp_path / "none", "-o", target], "there is no such file"),
        ([recorded, "-o", target, "--lidar-topic", "/points"], "for bags"),
        ([recorded, "-o", target, "--set", "standing_s=30"], "no scan ends while the IMU runs"),
        ([recorded, "-o", target, "--set", "point_variance=inf"], "must be from 1e-10 to 10000"),
        ([recorded, "-o", target, "--imu-noise", "1,2,3"], "four positive densities"),
        ([recorded, "-o", target, "--imu-noise", "1,2,3,-4"], "four positive densities"),
        ([recorded, "-o", target, "--no-point-times"], "no_point_times is for bags"),
    ):
        assert sentence in refused(capsys, "lab", "run", *words)
    assert files_in(tmp_path) == set()


def test_files_are_not_overwritten_unasked(recorded, tmp_path, capsys):
    target = tmp_path / "est.square"
    target.write_text("precious")
    assert "--force overwrites" in refused(capsys, "lab", "run", recorded, "-o", target)
    assert target.read_text() == "precious"


def test_a_filter_without_covariance_and_telemetry_is_shown_as_one():
    recording = room.recording(3, duration_s=1.0)
    done = text.FinishedRun("plain", (), recording, Run(recording.reference, None, 0.5), ())
    shown = text.run_text(done, verbose=True)
    assert "none: the filter reports no covariance" in shown
    assert "not known" in shown
    assert text.run_document(done)["sigma_m"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-o", "no/est.square"], "there is no folder"),
        (["-o", "est.tum"], "would lose the covariance"),
        (["-o", "est.square", "--telemetry", "no/told.parquet"], "there is no folder"),
        (["-o", "est.square", "--telemetry", "told.csv"], "written to a .parquet file"),
        (["-o", "est.square", "--innovations", "told.txt"], "innovations are .csv, .parquet"),
        (["-o", "est.parquet", "--telemetry", "est.parquet"], "two outputs of this command"),
        (["-o", "est.square", "--telemetry", "a.parquet"], "this is a folder"),
        (["-o", "est.square", "--telemetry", "b.parquet", "--filter", "kiss-icp"], "no telemetry"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_run(
    recorded, tmp_path, capsys, monkeypatch, words, sentence
):
    def never(*_):
        raise AssertionError("it ran")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.parquet").mkdir()
    monkeypatch.setattr("smfeval_lab.filters.Filter.run", never)
    assert sentence in refused(capsys, "lab", "run", recorded, *words)
    assert files_in(tmp_path) == {"a.parquet"}


def test_belief_and_telemetry_are_written_both_or_none(recorded, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OptionError("the disk is full")

    monkeypatch.setattr("smfeval_lab.cli.run_filter.write", full)
    words = ("-o", tmp_path / "est.square", "--telemetry", tmp_path / "told.parquet")
    assert "the disk is full" in refused(capsys, "lab", "run", recorded, *words)
    assert files_in(tmp_path) == set()


def test_the_noise_of_the_imu_can_be_told(recorded, tmp_path, capsys):
    sigma = {}
    for noise in ("1e-3,1e-2,1e-5,1e-4", "1e-1,1,1e-3,1e-2"):
        target = tmp_path / f"{noise}.square"
        run(capsys, "lab", "run", recorded, "-o", target, "--imu-noise", noise)
        sigma[noise] = np.median(np.trace(read(target).position_covariance, axis1=1, axis2=2))
    small, large = sigma.values()
    assert large > 1.2 * small
