"""Each preset is complete, and says what its estimator's source says."""

import pytest

from smfeval.errors import OptionError
from smfeval.io import read, write
from smfeval.io.convention import CONVENTIONS
from smfeval.io.presets import PRESETS, preset_named
from smfeval.schema import GAUGES, ORDERS
from support.beliefs import gaussian


def test_the_estimators_of_the_case_study_and_the_common_ones_are_known():
    assert list(PRESETS) == [
        "fast-lio2",
        "faster-lio",
        "point-lio",
        "i2ekf-lo",
        "glim",
        "kiss-icp",
        "lio-sam",
        "openvins",
        "robot-localization",
        "amcl",
        "slam-toolbox",
        "rtabmap",
        "autoware",
        "fuse",
        "kiss-slam",
        "dlio",
        "mola",
    ]


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_a_row_is_complete_and_says_where_it_was_read(preset):
    assert preset.convention in CONVENTIONS
    assert {preset.state_order, preset.message_order} <= set(ORDERS)
    assert preset.gauge is None or preset.gauge in GAUGES
    assert preset.topics
    assert all(topic.startswith("/") for topic in preset.topics)
    assert preset.reason
    repository = preset.read_in.split(":")[0]
    assert repository.count("/") == 1


def test_stock_fast_lio2_publishes_rotation_first_and_one_scan_late():
    for name in ("fast-lio2", "faster-lio"):
        preset = PRESETS[name]
        assert (preset.message_order, preset.lag) == ("rotation-first", 1)
        assert preset.state_order == "translation-first"


def test_only_the_nodes_that_publish_before_they_fill_have_a_lag():
    assert {name for name, preset in PRESETS.items() if preset.lag} == {"fast-lio2", "faster-lio"}


def test_filters_on_r3_x_so3_are_world_position_and_gtsam_is_right():
    kinds = {name: preset.convention for name, preset in PRESETS.items()}
    world = {name for name, kind in kinds.items() if kind == "world-position"}
    assert world == {"fast-lio2", "faster-lio", "point-lio", "i2ekf-lo", "openvins"}
    assert {name for name, kind in kinds.items() if kind == "right"} == {"glim", "lio-sam"}


@pytest.mark.parametrize("name", ["point-lio", "i2ekf-lo", "glim", "kiss-icp", "lio-sam",
                                  "slam-toolbox", "rtabmap", "kiss-slam", "dlio"])  # fmt: skip
def test_estimators_whose_stock_message_is_no_belief_carry_a_caution(name):
    assert PRESETS[name].caution


def test_no_preset_is_none_and_an_unknown_one_lists_the_known():
    assert preset_named(None) is None
    with pytest.raises(OptionError, match="'xyz' is unknown; it is one of fast-lio2, faster-lio"):
        preset_named("xyz")


@pytest.mark.parametrize("name", ["fast_lio2_belief", "FAST-LIO2", "Fast LIO 2 (ours)"])
def test_a_preset_is_suggested_by_the_algorithm_of_the_header(name, tmp_path, rng):
    """Where the file is read in another convention, and nobody said which one is meant."""
    write(gaussian(4, rng).with_about(algorithm=name), tmp_path / "a.square")
    found = read(tmp_path / "a.square")
    (remark,) = found.provenance.remarks
    assert remark.startswith(f"the header says {name}, whose own covariance is world-position")
    assert "--from fast-lio2" in remark
    for said in ({"preset": "fast-lio2"}, {"convention": "right"}):
        assert read(tmp_path / "a.square", **said).provenance.remarks == ()


@pytest.mark.parametrize("name", ["made", "slow_lio", "glim", "fused_lio", "molasses"])
def test_no_preset_is_suggested_for_an_unknown_estimator_or_one_that_agrees(name, tmp_path, rng):
    write(gaussian(4, rng).with_about(algorithm=name), tmp_path / "a.square")
    assert read(tmp_path / "a.square").provenance.remarks == ()


def test_one_rule_says_who_decides(tmp_path, rng):
    """Option, file, preset; of the convention, option, preset, file."""
    write(gaussian(4, rng).with_about(body="lidar", gauge="fixed"), tmp_path / "a.square")
    found = read(tmp_path / "a.square", preset="i2ekf-lo")  # rotation-first, lidar, se3
    assert (found.about.body, found.about.gauge) == ("lidar", "fixed")
    assert "(the preset i2ekf-lo); translation-first (the header)" in found.provenance.convention
    overruled = {note.partition(":")[0] for note in found.provenance.notes if " wins; " in note}
    assert overruled == {"covariance convention", "block order", "gauge"}
    said = {"convention": "left", "order": "rotation-first", "body": "imu", "gauge": "sim3"}
    found = read(tmp_path / "a.square", preset="i2ekf-lo", **said)
    assert (found.about.body, found.about.gauge) == ("imu", "sim3")
    assert found.provenance.convention.count("(the option)") == 2
