import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfeval.show import series
from smfeval.show.figures.style import (
    isolated_points,
)
from smfeval.show.series import (
    breaks,
    gap_mask,
    polyline,
    stretch_index,
    thin_scans,
    time_series,
)
from support.costs import hottest_line

COLUMNS = 10


@st.composite
def tracks(draw):
    """Stamps with some gaps and two rough series, long enough to be thinned."""
    n = draw(st.integers(50, 400))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    step = np.full(n - 1, 100)
    step[rng.random(n - 1) < draw(st.sampled_from([0.0, 0.02, 0.2]))] = 1000
    stamp = 7 + np.concatenate([[0], np.cumsum(step)])
    series = np.round(rng.standard_cauchy(size=(2, n)), draw(st.sampled_from([0, 6])))
    return stamp, series[0], series[1]


def column_of(stamp):
    share = (stamp - stamp[0]) / (stamp[-1] - stamp[0])
    return np.minimum((share * COLUMNS).astype(int), COLUMNS - 1)


@given(tracks())
def test_the_extremes_of_every_column_survive_at_their_stamps(track):
    stamp, *series = track
    kept = thin_scans(stamp, *series, columns=COLUMNS)
    column = column_of(stamp)
    for values in series:
        for c in np.unique(column):
            inside = np.flatnonzero(column == c)
            left = np.intersect1d(kept, inside)
            for extreme in (np.argmin, np.argmax):
                first = inside[extreme(values[inside])]
                assert first in left


@given(tracks())
def test_gaps_survive_and_no_others_appear(track):
    stamp, first, second = track
    kept = thin_scans(stamp, first, second, columns=COLUMNS)
    before = np.flatnonzero(np.diff(stamp) == 1000)
    if len(before) < len(stamp) / 2:  # else the long step is the usual one
        assert np.isin(before, kept).all()
        assert np.isin(before + 1, kept).all()
        assert stretch_index(stamp)[-1] == len(before)
        (drawn,) = polyline(stamp, first)
        assert np.isnan(drawn).sum() == breaks(stamp).sum()


@given(tracks())
def test_what_is_left_is_in_order_and_has_both_ends(track):
    stamp, *series = track
    kept = thin_scans(stamp, *series, columns=COLUMNS)
    assert (np.diff(kept) > 0).all()
    assert kept[0] == 0
    assert kept[-1] == len(stamp) - 1


def test_few_scans_are_all_kept(rng):
    stamp = np.arange(40) * 10
    assert np.array_equal(thin_scans(stamp, rng.normal(size=40), columns=10), np.arange(40))


def test_a_line_is_broken_in_the_middle_of_a_gap():
    stamp = np.array([0, 1, 2, 3, 10, 11]) * 10**9
    time_s, values = time_series(stamp, np.arange(6.0))
    np.testing.assert_array_equal(time_s, [0, 1, 2, 3, 6.5, 10, 11])
    np.testing.assert_array_equal(values, np.tile([0, 1, 2, 3, np.nan, 4, 5], (3, 1)))
    np.testing.assert_array_equal(*polyline(stamp, np.arange(6.0)), values[1])


@given(tracks())
def test_bins_hold_least_median_and_greatest_value_and_cross_no_break(track):
    stamp, values, _ = track
    stamp = stamp * 10**7  # ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series, "TIME_BINS", 20)
        time_s, curve = time_series(stamp, values)
    assert np.isnan(time_s).sum() == 0
    assert np.isnan(curve[1]).sum() == breaks(stamp).sum()
    stretch = np.concatenate([[0], np.cumsum(breaks(stamp))])
    bins = (stamp - stamp[0]) // ((stamp[-1] - stamp[0]) // 20 + 1)
    assert bins[-1] == 19
    both = sorted(set(zip(stretch, bins, strict=True)))
    groups = [values[(stretch == s) & (bins == b)] for s, b in both]
    expected = [(g.min(), np.median(g), g.max()) for g in groups]
    np.testing.assert_array_equal(curve[:, ~np.isnan(curve[1])].T, expected)


def test_a_pause_of_two_steps_is_no_gap_and_one_of_three_is():
    assert gap_mask(np.array([0, 10, 20, 40, 50, 60])).tolist() == [False] * 5
    assert gap_mask(np.array([0, 10, 20, 50, 60, 70])).tolist() == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_a_scan_between_two_breaks_is_alone():
    nan = np.nan
    assert isolated_points(np.array([1, nan, 2, 3, nan, 4])).tolist() == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def test_a_million_scans_become_a_few_thousand_with_the_same_extremes(rng):
    n = 1_000_000
    stamp, values = np.arange(n) * 10**8, rng.normal(size=n)
    kept = thin_scans(stamp, values)
    assert len(kept) < 9000
    assert values[kept].max() == values.max()
    assert values[kept].min() == values.min()


def test_thinning_has_no_loop_over_scans(rng):
    def thinning(n):
        stamp, values = np.arange(n) * 10**8, rng.normal(size=n)
        return lambda: thin_scans(stamp, values, columns=50)

    per_scan, line = hottest_line(thinning, 5_000)
    assert per_scan < 0.01, line


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_scans_are_drawn_as_they_are(n):
    time_s, values = time_series(np.arange(n) * 10**9, np.ones(n))
    assert time_s.tolist() == list(range(n))
    assert values.tolist() == 3 * [n * [1.0]]
