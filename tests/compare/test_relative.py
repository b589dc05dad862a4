"""Relative motion of two estimates: the sum of two claims, against an independent formula."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.align.joint import Joint, relative_covariance
from smfeval.maths import se3, so3
from smfeval.summarise.windows import halves
from support import drifting_pairs

DEAD_RECKONING = Joint("implied", 6)
HORIZON = 10


@pytest.fixture
def pair(rng):
    a, b = drifting_pairs.PAIRS["dead reckoning"](rng, 400)
    seen = a.seen(DEAD_RECKONING, "none", truth=b.claim.pose)
    return a, b, replace(seen, beside=(DEAD_RECKONING, b.claim), steady=10.0)


def in_body_at_start(claim, first, second):
    """R_ij S R_ij^T with S of the translation of T_ij, seen from the body at j."""
    turn = so3.matrix(so3.compose(so3.inverse(claim.rotation[first]), claim.rotation[second]))
    known = relative_covariance(DEAD_RECKONING, claim, first, second)[:, :3, :3]
    return turn @ known @ np.swapaxes(turn, 1, 2)


def test_windows_of_a_pair_have_the_sum_of_both_claims_widened_by_their_guard(pair):
    a, b, seen = pair
    found = seen.windows(HORIZON)
    first = np.arange(0, 400 - HORIZON, HORIZON)
    each = [in_body_at_start(world.claim, first, first + HORIZON) for world in (a, b)]
    expected = sum(claimed / halves(claimed)[0] ** 2 for claimed in each)
    np.testing.assert_allclose(found.every[0], expected, rtol=1e-6, atol=1e-12)
    assert found.every[1].tolist() == (first + HORIZON).tolist()
    assert not found.assumed
    assert not found.shared


def test_the_error_of_a_pair_is_the_difference_of_relative_motions(pair):
    a, b, seen = pair
    found = seen.windows(HORIZON)
    ours, theirs = (
        se3.compose(
            se3.inverse((world.position[found.first], world.rotation[found.first])),
            (world.position[found.second], world.rotation[found.second]),
        )[0]
        for world in (a, b)
    )
    np.testing.assert_allclose(found.error, theirs - ours, atol=1e-9)


def test_claims_that_are_not_steady_have_no_windows_and_a_pair_no_first_half(pair):
    _, _, seen = pair
    assert replace(seen, steady=1.0).windows(HORIZON) is None
    rows = seen.rows()
    assert rows
    assert not any(row.first_half for row in rows)
    assert {row.horizon for row in rows} == {10, 20}
