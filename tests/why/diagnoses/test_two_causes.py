"""Several systematic causes at once: each by its name and size, and none besides."""

import numpy as np
import pytest

from smfeval.maths import so3
from smfeval.why.diagnoses.regression import (
    Cause,
    design_of,
    effect_of,
    select_causes,
)
from support.faults import Made


def both(lever_m, tau_s, seed=0):
    """A lever arm in body axes and stamps that are early, beside small errors."""
    made = Made(1500, 0.5, seed)
    arm = so3.rotate(made.rotation, np.tile(lever_m, (1500, 1)))
    made.error = 0.3 * made.error + arm + tau_s * made.velocity
    made.covariance = 0.09 * made.covariance
    return made


@pytest.mark.parametrize("alignment", ["none", "se3"])
@pytest.mark.parametrize(
    ("lever_m", "tau_s"), [((0.3, 0, 0), 0.05), ((0, 0.3, 0), 0.05), ((0.3, 0, 0), -0.05)]
)
def test_lever_arm_and_clock_are_both_named_with_their_sizes(lever_m, tau_s, alignment):
    found = both(lever_m, tau_s).diagnoses(alignment)
    assert set(found.names) == {"lever-arm bias", "time-offset bias"}
    numbers = {name: value for each in found.found for name, value in each.evidence.items()}
    for axis, metres in zip("xy", lever_m[:2], strict=True):
        assert numbers[f"body_{axis}_m"] == pytest.approx(metres, abs=0.06)
    assert numbers["tau_ms"] == pytest.approx(1e3 * tau_s, rel=0.2)
    assert 0.8 < found.systematic < 1


def test_what_each_bias_explains_is_shown_beside_the_others():
    found = both((0.3, 0, 0), 0.05).diagnoses()
    for each in found.found:
        assert "99 % with the other biases" in each.sentence


def sure(finding):
    return finding.probability < 1e-3


def test_causes_found_one_after_the_other_have_the_coefficients_of_the_joint_fit(rng):
    first = rng.normal(size=(800, 2, 1))
    second = first + rng.normal(size=(800, 2, 1))
    response = (2 * first - second)[..., 0] + 0.1 * rng.normal(size=(800, 2))
    causes = [Cause("first", first), Cause("second", second)]
    selection = select_causes(
        design_of(response, np.zeros((800, 2, 0)), causes), accept=sure, most=800
    )
    design = np.concatenate([first, second], axis=-1).reshape(-1, 2)
    expected, left = np.linalg.lstsq(design, response.ravel(), rcond=None)[:2]
    value = {each.name: each.effect.value[0] for each in selection.found}
    assert [value["first"], value["second"]] == pytest.approx(expected)
    assert selection.share == pytest.approx(1 - left[0] / np.sum(response**2))


def test_two_causes_that_hide_each_other_are_found(rng):
    shared, own = rng.normal(size=(800, 1, 1)), rng.normal(size=(800, 1, 1))
    response = own[..., 0] + 0.5 * rng.normal(size=(800, 1))
    one = shared + 0.05 * own
    other = shared - 0.05 * own  # the difference tells, neither does by itself
    causes = [Cause("one", one), Cause("other", other)]
    alone = [effect_of(response, each.columns, most=800) for each in causes]
    assert all(each.probability[0] > 1e-3 for each in alone)
    selection = select_causes(
        design_of(response, np.zeros((800, 1, 0)), causes), accept=sure, most=800
    )
    assert {each.name for each in selection.found} == {"one", "other"}


def test_a_cause_that_two_others_replace_is_dropped(rng):
    first, second, odd = (rng.normal(size=(800, 1, 1)) for _ in range(3))
    mixed = first + second + 0.5 * odd
    response = (first + second)[..., 0] + 0.3 * rng.normal(size=(800, 1))
    causes = [Cause("first", first), Cause("second", second), Cause("mixed", mixed)]
    base = np.zeros((800, 1, 0))
    selection = select_causes(design_of(response, base, causes), accept=sure, most=800)
    assert max(selection.alone.values(), key=lambda each: each.share).name == "mixed"
    assert {each.name for each in selection.found} == {"first", "second"}
