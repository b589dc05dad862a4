"""A cause is put into the measurement of an honest belief: the right alibi holds, in its size."""

import math

import numpy as np
import pytest

from smfeval.align.fit import Alignment
from smfeval.explain.alibis import ExtrinsicTolerance
from smfeval.maths import so3
from support.alibis import (
    WIDE,
    N,
    S,
    alibis_of,
    belief,
    heading,
    held,
    noise,
    reference,
    remembering,
    rows,
    times,
)

TURN = so3.matrix(so3.exp(np.array([0.02, -0.01, 0.4])))


def test_an_honest_belief_has_nothing_to_explain(rng):
    found = alibis_of(belief(noise(rng), S), reference())
    assert found.rows == ()
    assert found.sentence.startswith("there is nothing to explain: the verdict is 'consistent'")


def test_a_noisy_reference_is_found_with_its_sigma(rng):
    sigma = 0.015
    truth = reference(moved=sigma * rng.normal(size=(N, 3)))
    found = alibis_of(belief(noise(rng), S), truth)
    need = rows(found)["reference noise 2 mm"].need
    assert need.size == pytest.approx(sigma, rel=0.05)
    assert need.low < sigma < need.high
    assert need.high < 1.2 * sigma
    # the continuous reference smooths the noise away, and knows how much is left
    assert held(found) == {"reference noise 2 cm", "continuous reference"}
    assert found.sentence.startswith("an alibi holds: continuous reference")
    assert "; it depends on the reference: one of 2 cm, RTK, leaves k = 0.5" in found.sentence
    assert "; k = 1 needs a reference sigma of 1.5" in found.sentence


@pytest.mark.parametrize("gauge", ["fixed", "se3"])
def test_a_wrong_lever_arm_is_found_with_its_length(rng, gauge):
    arm = np.array([0.03, -0.04, 0.0])
    shift = so3.rotate(heading(times()), np.tile(arm, (N, 1)))
    wrong = belief(noise(rng) + shift, gauge=gauge)
    found = alibis_of(wrong, reference())
    assert "lever arm" not in held(found)  # one centimetre is granted, five are needed
    assert rows(found)["lever arm"].need.size == pytest.approx(0.05, rel=0.08)
    wider = alibis_of(wrong, reference(), ExtrinsicTolerance(0.06, 0.0))
    unproven = {"reference noise 2 cm"} if gauge == "se3" else set()  # only bounds convict there
    assert held(wider) == {"lever arm", "all at once"} | unproven
    assert rows(wider)["lever arm"].granted.endswith("best within 6 cm")
    assert float(rows(wider)["lever arm"].granted.split(" cm")[0]) == pytest.approx(5, rel=0.05)


def test_an_open_gauge_declared_fixed_is_found(rng):
    turned = Alignment("se3", TURN, np.array([0.1, 0.2, -0.1]))(belief(noise(rng)))
    found = alibis_of(turned, reference())
    assert {"gauge se3", "gauge sim3", "all at once"} <= held(found)
    assert all(name.startswith("gauge") for name in held(found) - {"all at once"})
    assert "gauge" in found.sentence
    assert rows(found)["gauge se3"].judgement.k.value == pytest.approx(1 / WIDE, abs=0.1)


def test_no_alibi_holds_for_a_covariance_that_is_too_tight(rng):
    sigma = 0.1
    made = belief(remembering(rng, N, sigma), sigma**2 / 100 * np.eye(3), gauge="se3")
    found = alibis_of(made, reference())
    assert held(found) == set()
    assert found.sentence.startswith("no alibi holds: all at once leave k = ")
    assert "k = 1 needs a reference sigma of" in found.sentence


def test_the_needed_sigma_is_the_closed_form_where_the_covariance_is_isotropic(rng):
    """|e|^2 / (s^2 + sigma^2) has k = 1 at sigma^2 = s^2 (k - 1)."""
    s = 0.01
    found = alibis_of(belief(remembering(rng, N, 0.1), s**2 * np.eye(3)), reference())
    k = found.scored.k.value
    assert rows(found)["reference noise 2 mm"].need.size == pytest.approx(
        s * math.sqrt(k - 1), rel=1e-6
    )
