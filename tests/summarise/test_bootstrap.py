"""Replicates from prefix sums are the replicates of naive resampling with the same blocks."""

import numpy as np
import pytest
from arch.bootstrap import CircularBlockBootstrap, StationaryBootstrap
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from smfeval.summarise.bootstrap import (
    SCHEMES,
    SEGMENT,
    plan_bootstrap,
    replicate_means,
    replicate_quantile_ends,
)


def pieces(replicates):
    """Replicate, start and length of every block."""
    columns = [
        (
            np.repeat(blocks.replicate, blocks.count),
            blocks.origin + blocks.offset,
            np.broadcast_to(blocks.length, blocks.offset.shape),
        )
        for blocks in replicates.blocks()
    ]
    return [np.concatenate(column) for column in zip(*columns, strict=True)]


def resampled(series, replicates):
    """Rows of the series copied block by block."""
    rows = [[] for _ in range(replicates.replicates)]
    for row, start, size in zip(*pieces(replicates), strict=True):
        rows[row].extend(series[np.arange(start, start + size) % len(series)])
    return np.array(rows)


def some_plan(scheme, n, length, replicates=60):
    return plan_bootstrap(
        n, length, scheme=scheme, replicates=replicates, rng=np.random.default_rng(n)
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("n", "length"), [(10, 1), (10, 10), (97, 7), (100, 10), (501, 40)])
def test_every_replicate_is_as_long_as_the_series(scheme, n, length):
    replicate, start, size = pieces(some_plan(scheme, n, length))
    assert np.all(np.bincount(replicate, size, minlength=60) == n)
    assert start.min() >= 0
    assert start.max() < n
    assert size.min() >= 0


def test_stationary_blocks_have_the_wanted_mean_length():
    _, _, size = pieces(some_plan("stationary", 100_000, 12.5, replicates=1))
    whole = size[size > 0][:-1]
    assert abs(whole.mean() - 12.5) < 4 * 12.5 / np.sqrt(whole.size)


def test_a_plan_draws_the_same_blocks_again():
    replicates = some_plan("stationary", 300, 9.5)
    np.testing.assert_array_equal(pieces(replicates), pieces(replicates))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("n", "length"), [(12, 1), (97, 7), (500, 40), (40, 40)])
def test_replicate_means_are_those_of_naive_resampling(scheme, n, length):
    series = 5 + np.random.default_rng(3).standard_normal(n)
    replicates = some_plan(scheme, n, length)
    expected = resampled(series, replicates).mean(axis=-1)
    np.testing.assert_allclose(replicate_means(series, replicates), expected, rtol=1e-13)


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


LONG = SEGMENT + 9_000  # scans: two segments, the second one short


def spread(count, expected, deviation):
    """How many standard deviations is a count from what is expected?"""
    return np.abs(np.asarray(count) - expected) / deviation


@pytest.mark.parametrize("scheme", SCHEMES)
def test_blocks_start_anywhere_alike_and_chance_shares_them_among_the_segments(scheme):
    replicate, start, size = pieces(some_plan(scheme, LONG, 50, replicates=400))
    replicate, start = replicate[size > 0], start[size > 0]
    share, total = SEGMENT / LONG, len(start)

    bins = np.histogram(start, bins=20, range=(0, LONG))[0]
    assert np.all(spread(bins, total / 20, np.sqrt(total / 20)) < 4)
    blocks = np.bincount(replicate)
    early = np.bincount(replicate[start < SEGMENT])
    score = spread(early, blocks * share, np.sqrt(blocks * share * (1 - share)))
    assert abs(np.mean(score**2) - 1) < 4 * np.sqrt(2 / 400)


def test_the_length_of_a_stationary_block_is_geometric_wherever_it_starts():
    _, start, size = pieces(some_plan("stationary", LONG, 20, replicates=100))
    whole = size > 0
    start, size = start[whole], size[whole]
    for some in (start < SEGMENT, start >= SEGMENT):
        for at_least in (2, 21, 60, 120):
            p, n = (1 - 1 / 20) ** (at_least - 1), some.sum()
            assert spread(np.sum(size[some] >= at_least), n * p, np.sqrt(n * p * (1 - p))) < 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_replicate_means_have_the_law_of_those_of_arch(scheme):
    series = np.cumsum(np.random.default_rng(6).standard_normal(LONG)) / 100
    ours = replicate_means(series, some_plan(scheme, LONG, 700, replicates=2000))
    peer = {
        "circular": CircularBlockBootstrap,
        "stationary": StationaryBootstrap,
    }
    theirs = peer[scheme](700, series, seed=1).apply(np.mean, 500)[:, 0]
    assert ks_2samp(ours, theirs).pvalue > 0.01


@pytest.mark.parametrize("scheme", SCHEMES)
def test_segments_and_chunks_change_no_replicate_of_a_long_series(scheme):
    series = np.random.default_rng(5).standard_normal(LONG)
    replicates = some_plan(scheme, LONG, 3, replicates=6)
    assert len(list(replicates.blocks())) > 2
    rows = resampled(series, replicates)
    np.testing.assert_allclose(replicate_means(series, replicates), rows.mean(axis=-1), rtol=1e-10)
    expected = np.sort(np.quantile(rows, 0.5, axis=-1, method="inverted_cdf"))
    found = replicate_quantile_ends(series, 0.5, replicates, (1, 3, 6))
    np.testing.assert_array_equal(found, expected[[0, 2, 5]])


@pytest.mark.parametrize("kind", ["drift", "few values", "two heaps"])
def test_quantile_ends_are_exact_where_the_normal_guess_is_poor(kind):
    chance = np.random.default_rng(9)
    series = {
        "drift": np.arange(600.0) ** 3,
        "few values": chance.integers(0, 3, 600).astype(float),
        "two heaps": np.repeat([-1.0, 1.0], 300) + 1e-3 * chance.standard_normal(600),
    }[kind]
    replicates = some_plan("circular", 600, 150, replicates=300)
    rows = resampled(series, replicates)
    expected = np.sort(np.quantile(rows, 0.5, axis=-1, method="inverted_cdf"))
    ranks = (1, 8, 100, 293, 300)
    found = replicate_quantile_ends(series, 0.5, replicates, ranks)
    np.testing.assert_array_equal(found, expected[[rank - 1 for rank in ranks]])
