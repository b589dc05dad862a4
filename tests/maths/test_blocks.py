"""Replicates from prefix sums are the replicates of naive resampling with the same blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfeval.maths.blocks import SCHEMES, plan
from smfeval.maths.replicates import replicate_errors, replicate_means, replicate_quantile_ends


def resampled(series, replicates):
    """Rows of the series copied block by block."""
    rows = []
    for _, blocks in replicates.chunks():
        lengths = np.broadcast_to(blocks.length, blocks.start.shape)
        for starts, sizes in zip(blocks.start, lengths, strict=True):
            pieces = [np.arange(a, a + b) for a, b in zip(starts, sizes, strict=True)]
            rows.append(series[np.concatenate(pieces) % len(series)])
    return np.array(rows)


def some_plan(scheme, n, length, replicates=60):
    return plan(n, length, scheme=scheme, replicates=replicates, rng=np.random.default_rng(n))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("n", "length"), [(10, 1), (10, 10), (97, 7), (100, 10), (501, 40)])
def test_every_replicate_is_as_long_as_the_series(scheme, n, length):
    for _, blocks in some_plan(scheme, n, length).chunks():
        total = np.broadcast_to(blocks.length, blocks.start.shape).sum(axis=-1)
        assert np.all(total == n)
        assert blocks.start.min() >= 0
        assert blocks.start.max() < n


@pytest.mark.parametrize(("n", "length"), [(97, 7), (100, 10), (101, 101)])
def test_moving_blocks_stay_inside_the_series(n, length):
    for _, blocks in some_plan("moving", n, length).chunks():
        assert np.all(blocks.start + blocks.length <= n)


def test_stationary_blocks_have_the_wanted_mean_length():
    (_, blocks), *_ = some_plan("stationary", 100_000, 12.5, replicates=1).chunks()
    whole = blocks.length[blocks.length > 0][:-1]
    assert abs(whole.mean() - 12.5) < 4 * 12.5 / np.sqrt(whole.size)


def test_a_plan_draws_the_same_blocks_again():
    replicates = some_plan("stationary", 300, 9.5)
    first, again = ([b.start for _, b in replicates.chunks()] for _ in range(2))
    np.testing.assert_array_equal(np.concatenate(first), np.concatenate(again))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("n", "length"), [(12, 1), (97, 7), (500, 40), (40, 40)])
def test_replicate_means_are_those_of_naive_resampling(scheme, n, length):
    series = 5 + np.random.default_rng(3).standard_normal(n)
    replicates = some_plan(scheme, n, length)
    expected = resampled(series, replicates).mean(axis=-1)
    np.testing.assert_allclose(replicate_means(series, replicates), expected, rtol=1e-13)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_replicate_errors_are_those_of_the_blocks_as_samples(scheme):
    series = 5 + np.random.default_rng(8).standard_normal(200)
    replicates = some_plan(scheme, 200, 8)
    mean = replicate_means(series, replicates)
    square = np.zeros(replicates.replicates)
    for number, blocks in replicates.chunks():
        lengths = np.broadcast_to(blocks.length, blocks.start.shape)
        for row, starts, sizes in zip(number, blocks.start, lengths, strict=True):
            for start, size in zip(starts, sizes, strict=True):
                block = series[np.arange(start, start + size) % 200]
                square[row] += np.sum(block - mean[row]) ** 2
    found = replicate_errors(series, mean, replicates)
    np.testing.assert_allclose(found, np.sqrt(square) / 200, rtol=1e-10)


def test_replicate_means_of_whole_numbers_are_exact():
    series = np.random.default_rng(4).integers(-9, 9, 256).astype(float)
    series -= series.mean().round()
    series[0] -= series.sum()  # a mean of zero, so that nothing is rounded
    replicates = some_plan("circular", 256, 16)
    expected = resampled(series, replicates).mean(axis=-1)
    np.testing.assert_array_equal(replicate_means(series, replicates), expected)


@given(
    scheme=st.sampled_from(sorted(SCHEMES)),
    n=st.integers(10, 200),
    share=st.sampled_from([0.03, 0.1, 0.5, 0.77, 0.95]),
    ties=st.booleans(),
    data=st.data(),
)
def test_quantile_ends_are_exactly_those_of_naive_resampling(scheme, n, share, ties, data):
    length = data.draw(st.integers(1, n))
    series = np.random.default_rng(n).standard_normal(n)
    series = series.round(1) if ties else series
    replicates = some_plan(scheme, n, length, replicates=40)
    rows = resampled(series, replicates)
    expected = np.sort(np.quantile(rows, share, axis=-1, method="inverted_cdf"))
    ranks = (1, 3, 20, 38, 40)
    found = replicate_quantile_ends(series, share, replicates, ranks)
    np.testing.assert_array_equal(found, expected[[rank - 1 for rank in ranks]])


def test_chunks_do_not_change_the_replicates_of_a_long_series():
    series = np.random.default_rng(5).standard_normal(20_000)
    replicates = some_plan("circular", 20_000, 3, replicates=30)
    assert len(replicates.seeds) > 1
    expected = np.sort(np.quantile(resampled(series, replicates), 0.5, -1, method="inverted_cdf"))
    found = replicate_quantile_ends(series, 0.5, replicates, (1, 15, 30))
    np.testing.assert_array_equal(found, expected[[0, 14, 29]])
