"""The variance of a residual, learned from residuals whose variance is known."""

import numpy as np
import pytest

from lab_support.filter_states import some_state
from smfeval_lab.filters.ieskf.update import (
    NOISE_ESTIMATORS,
    Linearisation,
    Update,
    compute_information,
    design_effect,
    patches,
)

N, PER_PATCH = 600, 20
OWN, SHARED = 0.02, 0.02  # m: sigma of a point, and of the patch that it lies on


def seen(rng, variance, shared=SHARED):
    """A look at patches, 20 points each, whose residuals share an error."""
    patch = np.repeat(np.arange(N // PER_PATCH), PER_PATCH)
    normal = np.eye(3)[patch % 3]
    place = 10.0 * patch[:, None] + rng.uniform(0.5, 1.5, (N, 3))
    H = np.hstack([normal, np.cross(place - place.mean(axis=0), normal)])
    residual = rng.normal(0, OWN, N) + rng.normal(0, shared, N // PER_PATCH + 1)[patch]
    return Linearisation(residual, H, place, compute_information(residual, H, variance))


def update_of(look, variance, rng):
    prior = some_state(rng)
    return Update(prior, prior, look, look, look.residual, N, variance, 1)


def test_patches_are_places_near_each_other_that_face_alike(rng):
    group = patches(seen(rng, 1e-3))
    assert len(np.unique(group)) == N // PER_PATCH
    assert (group.reshape(-1, PER_PATCH) == group[::PER_PATCH, None]).all()


def test_the_design_effect_is_one_plus_the_relatives_times_their_correlation(rng):
    alike = SHARED**2 / (OWN**2 + SHARED**2)
    found = [
        design_effect(look.residual, patches(look))
        for look in (seen(rng, 1e-3) for _ in range(100))
    ]
    assert np.mean(found) == pytest.approx(1 + (PER_PATCH - 1) * alike, rel=0.07)


def test_without_a_shared_error_the_design_effect_is_one(rng):
    looks = [seen(rng, 1e-3, shared=0.0) for _ in range(100)]
    found = np.array([design_effect(look.residual, patches(look)) for look in looks])
    # a correlation that comes out negative by chance, half of the time, counts as none
    assert 0.35 < np.mean(found == 1.0) < 0.65
    assert np.mean(found) < 1.2


def test_residuals_that_are_all_alike_have_no_design_effect():
    assert design_effect(np.zeros(6), np.array([0, 0, 0, 1, 1, 1])) == 1.0


def test_residuals_lead_the_variance_to_spread_times_design_effect(rng):
    variance = 1.0
    for _ in range(150):
        variance = NOISE_ESTIMATORS["residuals"](update_of(seen(rng, variance), variance, rng))
    alike = SHARED**2 / (OWN**2 + SHARED**2)
    expected = (OWN**2 + SHARED**2) * (1 + (PER_PATCH - 1) * alike)
    assert variance == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("noise", list(NOISE_ESTIMATORS))
def test_a_scan_without_matches_teaches_nothing(rng, noise):
    state = some_state(rng)
    blind = Update(state, state, None, None, np.empty(0), 10, 1e-3, 0)
    assert NOISE_ESTIMATORS[noise](blind) == 1e-3


def test_a_fixed_variance_stays(rng):
    assert NOISE_ESTIMATORS["fixed"](update_of(seen(rng, 1e-3), 1e-3, rng)) == 1e-3
