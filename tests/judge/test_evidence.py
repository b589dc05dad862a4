"""What speaks for a verdict: the theorem, degrees of freedom by spectrum and by spread."""

import numpy as np
import pytest

from smfeval.align.nuisance import BestCaseFit, MatchedPoses, Nuisance, body_motion
from smfeval.judge import evidence
from smfeval.judge.evidence import (
    AnyCorrelation,
    TrackEvidence,
    any_correlation,
    averaging,
    pool_evidence,
)
from smfeval.judge.levels import LEVEL, largest_mean
from smfeval.maths.special import chi_squared_quantile

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def left(white, freedoms=()):
    """A fit that leaves these whitened errors of a body at rest."""
    n, d = white.shape
    zero, turned = np.zeros((n, 3)), np.tile(IDENTITY, (n, 1))
    still = body_motion(np.arange(n), zero, turned)
    covariance = np.broadcast_to(np.eye(6), (n, 6, 6))
    poses = MatchedPoses(zero, turned, still, zero, turned, covariance, tuple(range(d)))
    return BestCaseFit(freedoms, Nuisance(np.zeros(3)), white, poses)


def test_limits_are_those_of_one_error_for_all_scans():
    limits = [largest_mean(d) for d in (1, 2, 3, 6)]
    assert limits == pytest.approx([5.024, 3.689, 3.116, 2.408], abs=1e-3)


@pytest.mark.parametrize("degrees", [1, 1.5, 2.3, 7.7, 59.5, 60.5, 300])
def test_quantiles_of_any_degrees_are_those_of_scipy(degrees):
    chi2 = pytest.importorskip("scipy.stats").chi2
    assert chi_squared_quantile(degrees, 0.975) == pytest.approx(
        chi2.ppf(0.975, degrees), rel=0.013
    )
    if degrees > 5:
        expected = chi2.ppf(0.025, degrees)
        assert chi_squared_quantile(degrees, 0.025) == pytest.approx(expected, rel=0.003)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_no_correlation_exceeds_the_limit_more_often_than_one_error(d, rng):
    """The theorem, by draws: mean squares with eigenvalues in [0, 1] that sum to d."""
    for count in (d, d + 1, 2 * d, 50):
        weight = rng.dirichlet(np.ones(count), size=20) * d
        weight = np.minimum(weight, 1.0)
        total = rng.chisquare(1, size=(20_000, count)) @ weight.T
        assert (total > d * largest_mean(d)).mean(axis=0).max() < 0.025 + 4 * 0.0011


def test_memory_that_would_excuse_the_excess():
    found = [AnyCorrelation(T, 3, 600, T).excusing_scans for T in (1.5, 2.0, 2.5, 3.0)]
    assert found == pytest.approx([23, 81, 150, 225], rel=0.02)
    assert AnyCorrelation(0.9, 3, 600, 0.9).excusing_scans is None
    assert AnyCorrelation(1.0001, 3, 600, 1.0).excusing_scans is None
    assert AnyCorrelation(3.2, 3, 600, 3.0).excusing_scans is None  # no memory excuses that


def test_tails_raise_the_limit():
    plain, far = AnyCorrelation(4.0, 3, 600, 4.0), AnyCorrelation(4.0, 3, 600, 4.0, tails=2.0)
    assert plain.at_least == pytest.approx(2 * far.at_least)
    assert plain.at_least > 1 > far.at_least


def test_a_few_scans_that_carry_it_are_named(rng):
    white = rng.normal(size=(400, 3))
    white[:8] *= 25
    found = any_correlation(left(white))
    assert found.at_least > 1
    assert found.by_few_scans
    assert not any_correlation(left(4 * rng.normal(size=(400, 3)))).by_few_scans


def test_lines_are_orthonormal_cosine_transforms(rng):
    fft = pytest.importorskip("scipy.fft")
    series = rng.normal(size=(77, 3))
    expected = np.sum(fft.dct(series, axis=0, norm="ortho") ** 2, axis=1)
    np.testing.assert_allclose(evidence._lines([series])[0], expected, atol=1e-12)
    assert evidence._lines([series])[0].sum() == pytest.approx(np.sum(series**2))


def test_white_errors_have_many_degrees_of_freedom_and_one_error_few(rng):
    white = averaging(left(rng.normal(size=(600, 3))))
    assert white.degrees > 50
    assert white.low < 1 < white.high
    constant = averaging(
        left(np.tile(rng.normal(size=3), (600, 1)) + 1e-3 * rng.normal(size=(600, 3)))
    )
    assert constant.degrees == pytest.approx(1, abs=0.01)  # one line: the first evidence decides


def test_a_size_fixed_for_the_track_is_seen_by_the_spread(rng):
    """One vector of flipping sign: white in every correlation between scans."""
    sign = rng.choice([-1.0, 1.0], size=(600, 1))
    found = averaging(left(sign * rng.normal(size=3)))
    assert found is None or found.degrees == pytest.approx(3, abs=0.1)


def test_columns_may_have_absorbed_slow_errors(rng):
    series = np.cumsum(rng.normal(size=(600, 3)), axis=0) / 10
    free, fitted = (
        averaging(left(series, freedoms)) for freedoms in ((), ("translation", "rotation"))
    )
    assert free is None or free.absorbed == 0.0
    assert fitted is None or fitted.absorbed > 0.0
    white = averaging(left(rng.normal(size=(600, 3)), ("translation", "rotation")))
    assert 1 < white.absorbed / (6 / 1800) < 10  # the upper end of what six columns take


def test_few_scans_have_no_second_evidence(rng):
    assert averaging(left(rng.normal(size=(20, 3)))) is None


def test_tracks_are_pooled_with_the_same_weight():
    tracks = [TrackEvidence(T, 20.0, 0.1, 3) for T in (1.0, 2.0, 3.0)]
    first, second = pool_evidence(tracks)
    assert first.excess == pytest.approx(2.0)
    assert first.limit == pytest.approx(largest_mean(9))
    degrees = 36 / (14 / 20)
    assert second.degrees == pytest.approx(degrees)
    assert second.low == pytest.approx(2 * degrees / chi_squared_quantile(degrees, LEVEL))
    assert pool_evidence([]) == (None, None)


def test_many_tracks_convict_what_one_does_not():
    assert AnyCorrelation(2.0, 3, 600, 2.0).at_least < 1
    first, _ = pool_evidence([TrackEvidence(2.0, 3.0, 0.0, 3)] * 12)
    assert first.at_least > 1
