"""Ranks of the reference by density, against a loop over all pairs of points."""

import numpy as np
import pytest

from smfeval.score import energy as energy_module
from smfeval.score.ranks import density_ranks
from smfeval.score.residuals import Ensemble

COUNTS = (6, 30, 9, 30, 71)


def cloud(d, rng, counts=COUNTS, *, equal=False):
    offset = np.concatenate([[0], np.cumsum(counts)])
    weights = [np.ones(m) if equal else rng.uniform(0.1, 1.0, m) for m in counts]
    p = np.concatenate([weight / weight.sum() for weight in weights])
    return Ensemble(offset, rng.normal(0.3, 1.0, size=(offset[-1], d)), p)


def double_loop(x, p, chance):
    """The density of the others at each of the K + 1 points, as the module defines it."""
    m, d = x.shape
    effective = 1 / sum(w * w for w in p)
    own = 1 / (1 + effective)
    points, weight = np.vstack([np.zeros(d), x]), np.append(own, p * (1 - own))
    inverse = np.linalg.inv(np.atleast_2d(np.cov(points.T, aweights=weight, ddof=0)))
    h = (4 / ((d + 2) * (effective + 1))) ** (1 / (d + 4))
    density = np.zeros(m + 1)
    for i in range(m + 1):
        for j in range(m + 1):
            if j != i:
                apart = points[i] - points[j]
                density[i] += weight[j] / (1 + apart @ inverse @ apart / h**2) ** 2
        density[i] /= 1 - weight[i]
    return weight[1:][density[1:] > density[0]].sum() + chance * own


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_ranks_are_those_of_a_double_loop(d, equal, rng):
    """Beyond K = d + 1 points no two have the same density, but for chance."""
    counts = tuple(count + d for count in COUNTS)
    seen = cloud(d, rng, counts, equal=equal)
    chance = np.random.default_rng(3).random(len(counts))
    parts = zip(seen.offset[:-1], seen.offset[1:], chance, strict=True)
    expected = [
        double_loop(seen.difference[start:end], seen.probability[start:end], each)
        for start, end, each in parts
    ]
    found = density_ranks(seen, rng=np.random.default_rng(3))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("pairs", "rows"), [(1, 1), (50, 64), (65_536, 3), (40, 7)])
def test_ranks_do_not_depend_on_how_many_pairs_fit_in_memory(pairs, rows, rng, monkeypatch):
    seen = cloud(3, rng)
    whole = density_ranks(seen, rng=np.random.default_rng(3))
    monkeypatch.setattr(energy_module, "PAIRS_AT_ONCE", pairs)
    monkeypatch.setattr(energy_module, "ROWS_AT_ONCE", rows)
    found = density_ranks(seen, rng=np.random.default_rng(3))
    np.testing.assert_allclose(found, whole, rtol=1e-13)


@pytest.mark.parametrize(("count", "d"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (3, 6), (5, 6)])
def test_points_of_a_regular_simplex_are_all_tied(count, d, rng):
    """Whitened, K + 1 points in K dimensions or more are equally far apart: chance alone ranks."""
    scans = 300
    x = np.eye(d)[:count] + 0.1 * rng.normal(size=(scans, count, d))
    offset, p = count * np.arange(scans + 1), np.full(scans * count, 1 / count)
    found = density_ranks(Ensemble(offset, x.reshape(-1, d), p), rng=np.random.default_rng(3))
    np.testing.assert_allclose(found, np.random.default_rng(3).random(scans), rtol=1e-9)


def test_a_particle_on_the_reference_is_tied_with_it(rng):
    seen = cloud(2, rng, (12,) * 50, equal=True)
    x = seen.difference.copy()
    x[seen.offset[:-1]] = 0.0
    on = Ensemble(seen.offset, x, seen.probability)
    low, high = (density_ranks(on, rng=Always(share)) for share in (0.0, 1.0))
    np.testing.assert_allclose(high - low, 2 / 13, rtol=1e-9)


class Always:
    """A generator whose draws are all the same."""

    def __init__(self, share):
        self.share = share

    def random(self, size):
        return np.full(size, self.share)


def test_noise_of_the_reference_along_one_line_alone(rng):
    """As of a reference that is interpolated along its path: no Cholesky factor."""
    seen, along = cloud(3, rng), np.zeros((len(COUNTS), 3, 3))
    along[:, 0, 0] = 1e-16
    plain = density_ranks(seen, rng=np.random.default_rng(3))
    noisy = density_ranks(seen, along, rng=np.random.default_rng(3))
    assert np.isfinite(noisy).all()
    assert np.abs(noisy - plain).max() < 1
