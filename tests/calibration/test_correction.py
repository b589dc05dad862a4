"""A correction: what it does to covariances, and which tracks it may be applied to."""

import json
from dataclasses import replace

import numpy as np
import pytest

from smfeval import ConventionError, FormatError, OptionError, TrackError
from smfeval.calibration.correction import Correction, LearntOn, ScanColumns, TelemetryTerm
from smfeval.io import read, write
from smfeval.io.documents import read_correction, read_telemetry_columns, write_correction
from smfeval.maths import so3
from smfeval.show.calibration import noise_line
from smfeval.track import CrossCovariance, Track
from support.beliefs import gaussian

LEARNT = LearntOn(
    estimator="lio",
    convention=None,
    body="imu",
    gauge="se3",
    axes="xyz",
    scored_under=("after a fit",),
    tracks=("a", "b"),
    left_out=("c",),
    version="0.1.0",
)
SCALE = Correction("scale", (9.0, 9.0, 9.0), 9.0, LEARNT)


@pytest.fixture
def track(rng):
    return gaussian(20, rng).with_about(body="imu", algorithm="lio")


def test_one_factor_multiplies_everything_also_between_scans(track, rng):
    block = 0.1 * track.covariance[:3]
    track = track.with_cross(CrossCovariance(np.array([[0, 1], [1, 2], [2, 3]]), block))
    made = SCALE.apply(track)
    assert np.allclose(made.covariance, 9 * track.covariance, rtol=1e-14)
    assert np.allclose(made.cross.block, 9 * track.cross.block, rtol=1e-14)
    assert np.array_equal(made.position, track.position)


def test_a_floor_is_added_to_the_position_in_every_direction(track):
    made = replace(SCALE, floor_m2=0.04).apply(track)
    added = made.position_covariance - 9 * track.position_covariance
    assert np.allclose(added, 0.04 * np.eye(3), atol=1e-12)
    assert np.allclose(made.covariance[:, 3:], 9 * track.covariance[:, 3:])


def test_factors_of_axes_are_those_of_the_body(track):
    made = replace(SCALE, factors=(4.0, 1.0, 16.0), rotation=1.0).apply(track)
    root = so3.matrix(track.rotation) * np.array([2.0, 1.0, 4.0])
    expected = root @ track.covariance[:, :3, :3] @ root.swapaxes(1, 2)
    assert np.allclose(made.position_covariance, expected, rtol=1e-12)


def test_a_factor_follows_a_column(track):
    term = TelemetryTerm("matched", slope=-0.5, mean=np.log(100), spread=2.0)
    table = ScanColumns(track.stamp, ("matched",), np.linspace(10, 1000, 20)[:, None])
    made = replace(SCALE, telemetry=(term,)).apply(track, table)
    factor = 9 * np.exp(-0.25 * np.log(np.linspace(10, 1000, 20) / 100))
    assert np.allclose(made.covariance, factor[:, None, None] * track.covariance, rtol=1e-12)
    with pytest.raises(OptionError, match="needs telemetry"):
        replace(SCALE, telemetry=(term,)).apply(track)
    late = replace(table, stamp=table.stamp + 10_000_000)
    with pytest.raises(OptionError, match="20 of 20 scans lack a row"):
        replace(SCALE, telemetry=(term,)).apply(track, late)


def test_another_body_or_convention_is_refused_and_another_estimator_doubted(track):
    with pytest.raises(ConventionError, match="learnt on body 'imu', and this is 'lidar'"):
        SCALE.apply(track.with_about(body="lidar"))
    left = replace(SCALE, learnt=replace(LEARNT, convention="left"))
    said = "right (the option)"
    other = track.with_arrays({}, provenance=replace(track.provenance, convention=said))
    with pytest.raises(ConventionError, match="learnt on convention 'left', and this is 'right'"):
        left.apply(other)
    same = replace(SCALE, learnt=replace(LEARNT, convention="right"))
    assert np.allclose(same.apply(other).covariance, 9 * track.covariance, rtol=1e-14)
    assert (
        "this is of vio: doubtful"
        in SCALE.apply(track.with_about(algorithm="vio")).provenance.notes[0]
    )
    assert "does not say whose" in SCALE.apply(track.with_about(algorithm=None)).provenance.notes[0]
    assert not any("doubtful" in note for note in SCALE.apply(track).provenance.notes)
    planar = replace(SCALE, learnt=replace(LEARNT, axes="xy"))
    assert "axes xy: doubtful on others" in planar.apply(track).provenance.notes[0]


def test_a_track_is_corrected_once_also_through_a_file(track, tmp_path):
    write(SCALE.apply(track), tmp_path / "better.square")
    again = read(tmp_path / "better.square")
    with pytest.raises(ConventionError, match="corrected already"):
        SCALE.apply(again)


def test_poses_without_covariance_are_refused(track):
    with pytest.raises(TrackError, match="has no covariances"):
        SCALE.apply(Track(track.stamp, track.position, track.rotation))


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_files_keep_every_number(tmp_path, ending):
    term = TelemetryTerm("n", -0.1, 3.0, 0.7)
    whole = Correction("telemetry", (1 / 3, 2.0, 3.0), 0.1, LEARNT, 1e-3, (term,))
    for correction in (SCALE, whole):
        write_correction(correction, tmp_path / f"c.{ending}")
        assert read_correction(tmp_path / f"c.{ending}") == correction


def test_what_slam_toolbox_takes_stands_in_the_file(tmp_path):
    write_correction(SCALE, tmp_path / "c.json")
    found = json.loads((tmp_path / "c.json").read_text())["parameters"]
    assert found["position_covariance_scale"] == found["measurement_noise_factor"] == 9.0
    assert replace(SCALE, floor_m2=1.0).parameters() == {}
    assert "measurement_noise_factor" not in replace(SCALE, rotation=2.0).parameters()


@pytest.mark.parametrize(
    ("estimator", "expected", "line"),
    [
        ("FAST_LIO2", {"measurement_noise_factor": 9.0, "LASER_POINT_COV": 0.009},
         "in FAST_LIO2: LASER_POINT_COV 0.009 instead of 0.001"),
        ("point-lio", {}, "in point-lio: not by lidar_meas_cov, which changes the errors"),
        ("lio", {"measurement_noise_factor": 9.0}, "R times 9 does nearly the same where errors"),
    ],
)  # fmt: skip
def test_the_factor_goes_into_r_where_covariances_follow_it_and_errors_do_not(
    estimator, expected, line
):
    known = replace(SCALE, learnt=replace(LEARNT, estimator=estimator))
    found = known.parameters()
    assert {name: found[name] for name in found if "scale" not in name} == pytest.approx(expected)
    assert line in noise_line(known)[0]
    assert noise_line(replace(known, rotation=2.0)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "other/1"},
        {"factors": [1, 2]},
        {"factors": [1, 2, 0]},
        {"rotation": float("nan")},
        {"floor_m2": -1},
        {"learnt_on": {}},
        {"telemetry": [{"column": "n", "slope": 1, "mean": 0, "spread": 0}]},
    ],
)
def test_files_that_hold_no_correction_are_refused(tmp_path, change):
    (tmp_path / "c.json").write_text(json.dumps(SCALE.to_dict() | change))
    with pytest.raises(FormatError, match=r"c\.json"):
        read_correction(tmp_path / "c.json")


def test_tables_of_telemetry_are_read_as_text(tmp_path):
    (tmp_path / "t.txt").write_text("# timestamp n R\n1.5 20 0.1\n2.5 30 0.2\n")
    found = read_telemetry_columns(tmp_path / "t.txt")
    assert found.columns == ("n", "R")
    assert np.allclose(found.at(np.array([2_500_000_000]), ("R",)), np.log(0.2))
    for text in ("", "# t n\n1 2 3\n", "# t n\n2 1\n1 1\n", "# t\n1\n"):
        (tmp_path / "t.txt").write_text(text)
        with pytest.raises(FormatError, match=r"t\.txt"):
            read_telemetry_columns(tmp_path / "t.txt")
