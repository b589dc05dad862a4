"""A knob of the lab's own filter, swept: what its precision is worth."""

import pytest

from smfeval.compare.sweep import sweep_of, unearned_slope
from smfeval.evaluation import Options
from smfeval.studies.sweep import LabRuns, SweepPlan
from smfeval.summarise.number import Intervals
from smfeval_lab.sweep import points_of_lab

pytestmark = pytest.mark.slow

WALK_S, SEEDS = 25.0, (1, 2, 3)


@pytest.fixture
def effect_of(tmp_path):
    """The effect of a knob over three short walks, the other settings as given."""

    def effect_of(knob, values, *others):
        settings = tuple(((knob, value), *others) for value in values)
        lab = LabRuns(("college_short",), SEEDS, ("ieskf",), settings, duration_s=WALK_S)
        options = Options(intervals=Intervals(None))
        plan = SweepPlan("sweep", tmp_path, (), (), tmp_path / "results", options, lab=lab)
        points, failures = points_of_lab(plan)
        assert failures == ()
        (effect,) = sweep_of(points).effects
        return effect

    return effect_of


def test_precision_that_is_bought_with_the_noise_of_a_point_is_not_earned(effect_of):
    effect = effect_of("point_variance", ("1e-4", "1e-3", "1e-2"))
    assert effect.label == "not more accurate"
    assert effect.nees_slope.low < unearned_slope() < effect.nees_slope.high
    assert effect.nees_slope.low > 0.05


def test_noise_that_is_learned_from_residuals_makes_finer_voxels_worth_their_precision(effect_of):
    effect = effect_of("voxel_m", ("0.5", "1", "2"), ("noise", "residuals"))
    assert effect.reach_nats > 3
    assert effect.nees_slope.high < unearned_slope()
    assert effect.error_slope.high < 0


def test_noise_that_is_learned_from_residuals_leaves_the_configured_one_without_effect(effect_of):
    effect = effect_of("point_variance", ("1e-4", "1e-2"), ("noise", "residuals"))
    assert effect.label == "unmoved"
