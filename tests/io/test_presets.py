"""Each preset is complete, and says what its estimator's source says."""

import pytest

from smfeval.errors import OptionError
from smfeval.io.convention import CONVENTIONS, ORDERS
from smfeval.io.presets import PRESETS, preset_named
from smfeval.track import GAUGES


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


@pytest.mark.parametrize("name", ["point-lio", "i2ekf-lo", "glim", "kiss-icp", "lio-sam"])
def test_estimators_whose_stock_message_is_no_belief_carry_a_caution(name):
    assert PRESETS[name].caution


def test_no_preset_is_none_and_an_unknown_one_lists_the_known():
    assert preset_named(None) is None
    with pytest.raises(OptionError, match="'slam' is unknown; it is one of fast-lio2, faster-lio"):
        preset_named("slam")
