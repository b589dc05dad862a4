"""Noether's numbers by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from smfeval.compare.duels import MOST_TRACKS, fewest_tracks, side_probability, tracks_needed


def test_the_side_probability_is_that_of_all_pairs_of_tracks(rng):
    for difference in (rng.normal(0.5, size=30), rng.integers(-2, 4, size=25).astype(float)):
        i, j = np.triu_indices(len(difference), 1)
        sums = difference[i] + difference[j]
        wanted = np.mean(sums > 0) + 0.5 * np.mean(sums == 0)
        assert side_probability(difference) == pytest.approx(wanted, abs=1e-12)


def test_the_side_probability_of_a_shifted_normal(rng):
    # D + D' ~ N(2 shift, 2)
    wanted = norm.cdf(2 * 0.3 / np.sqrt(2))
    assert side_probability(rng.normal(0.3, size=4000)) == pytest.approx(wanted, abs=0.02)


def test_the_formula_of_noether():
    wanted = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / (3 * 0.15**2)
    assert tracks_needed(0.65, 0.05) == int(np.ceil(wanted)) == 117
    assert tracks_needed(0.35, 0.05) == 117
    assert tracks_needed(0.65, 0.05 / 28) > 117


def test_no_difference_needs_more_tracks_than_anyone_records():
    assert tracks_needed(0.5, 0.05) is None
    just = 0.5 + np.sqrt((norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / (3 * MOST_TRACKS))
    assert tracks_needed(just - 1e-9, 0.05) is None
    assert tracks_needed(just + 1e-9, 0.05) == MOST_TRACKS


@pytest.mark.parametrize(("level", "wanted"), [(0.05, 6), (0.05 / 28, 11), (0.03125, 6)])
def test_a_clean_sweep_of_the_fewest_tracks_is_just_significant(level, wanted):
    assert fewest_tracks(level) == wanted
    assert 2 * 0.5**wanted <= level < 2 * 0.5 ** (wanted - 1)
