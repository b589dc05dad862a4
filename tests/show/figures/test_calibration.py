from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from smfeval.errors import SeriesError
from smfeval.evaluation import evaluate
from smfeval.maths.autocovariance import block_length
from smfeval.show.figures import draw
from smfeval.show.figures.calibration import BINS, consistent_band
from smfeval.show.figures.nees import correlation, scans_per_effective
from smfeval.show.series import LEVELS, coverage_curve, empirical_coverages
from support.evaluations import EXACT, FAST, evaluated, legend_texts, line_of, reference
from support.known_errors import S, belief, normal


def test_the_coverage_curve_counts_the_scans_inside(rng):
    found = evaluated(rng, tightness=4)
    (axes,) = draw("coverage", found).axes
    curve = line_of(axes, "made")
    nominal = np.concatenate([[0], LEVELS, [1]])
    np.testing.assert_allclose(curve.get_xdata(), nominal)
    pit = found.position.series["pit"]
    np.testing.assert_allclose(curve.get_ydata(), [(pit <= p).mean() for p in nominal[:-1]] + [1])


def test_the_legend_of_a_coverage_stands_inside_where_no_curve_is(rng):
    tight, wide = evaluated(rng, tightness=9), evaluated(rng, tightness=0.1)
    for found, corner in ((tight, "upper left"), (wide, "lower right")):
        figure = draw("coverage", found)
        figure.draw_without_rendering()
        (axes,) = figure.axes
        box, inside = axes.get_legend().get_window_extent(), axes.get_window_extent()
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1, corner
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1, corner
        curve = axes.transData.transform(line_of(axes, "made").get_xydata())
        assert not any(box.contains(*point) for point in curve)
    assert draw("coverage", [tight, wide]).axes[0].get_legend() is None  # below, like all others


def test_coverage_and_its_interval_are_those_of_the_evaluation(rng):
    found = evaluated(rng, n=300, tightness=2, options=EXACT)
    assert found.position.has_belief
    for level in (0.5, 0.9):
        (coverage,), same = empirical_coverages(found, [level]), found[f"coverage_{100 * level:g}"]
        assert (coverage.value, coverage.unit) == (same.value, same.unit)
        assert (coverage.low, coverage.high) == pytest.approx((same.low, same.high), rel=1e-9)


def test_the_band_of_the_coverage_is_the_pointwise_interval(rng):
    found = evaluated(rng, n=400, options=EXACT)
    (axes,) = draw("coverage", found).axes
    (band,) = axes.collections
    vertices = np.concatenate([path.vertices for path in band.get_paths()])
    (middle,) = empirical_coverages(found, [float(LEVELS[19])])
    at = np.isclose(vertices[:, 0], LEVELS[19])
    ends = vertices[at, 1].min(), vertices[at, 1].max()
    assert ends == pytest.approx((middle.low, middle.high))


def test_levels_without_an_interval_have_that_of_their_neighbours_and_no_edge():
    short = evaluated(np.random.default_rng(0), n=60, options=EXACT)
    own = empirical_coverages(short, LEVELS)
    lost = np.array([each.low is None for each in own])
    assert 0 < lost.sum() < len(LEVELS)
    curve = coverage_curve(short)
    for at, each in enumerate(own):
        below = [o.low for o in own[: at + 1] if o.low is not None]
        above = [o.high for o in own[at:] if o.high is not None]
        assert curve.low[at] == (below[-1] if below else 0.0)
        assert curve.high[at] == (above[0] if above else 1.0)
        assert each.low is None or (curve.low[at], curve.high[at]) == (each.low, each.high)
    (axes,) = draw("coverage", short).axes
    assert "made" in legend_texts(axes)
    for end, line in zip((curve.low, curve.high), axes.lines[1:3], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.where(lost, np.nan, end))
    (band,) = axes.collections
    assert len(band.get_paths()) == 1  # no hole


@pytest.mark.slow
def test_intervals_of_neighbours_hold_the_true_coverage(rng):
    """Of 300 short honest tracks, at levels that have no interval of their own."""
    held = []
    for _ in range(300):
        found = evaluated(rng, n=40, options=EXACT)
        curve = coverage_curve(found)
        lost = [each.low is None for each in empirical_coverages(found, LEVELS[[1, 2, 36, 37]])]
        inside = (curve.low <= LEVELS) & (curve.high >= LEVELS)
        held += list(inside[[1, 2, 36, 37]][lost])
    assert len(held) > 100
    assert np.mean(held) > 0.93


def test_errors_that_wander_have_no_band(rng):
    wandering = np.cumsum(normal(rng, 300), axis=0)
    found = evaluate(belief(wandering), reference(300), options=EXACT)
    (axes,) = draw("coverage", found).axes
    assert "made (no CI)" in legend_texts(axes)
    assert not axes.collections


def test_the_histogram_has_the_counts_of_the_pit(rng):
    found = evaluated(rng, n=200)
    (axes,) = draw("pit", found).axes
    (steps,) = [patch for patch in axes.patches if patch.get_label() == "scans"]
    density, edges, _ = steps.get_data()
    pit = found.position.series["pit"]
    expected = [((pit >= a) & (pit < b)).mean() * BINS for a, b in pairwise(edges)]
    np.testing.assert_allclose(density, expected)
    np.testing.assert_allclose(edges, np.linspace(0, 1, BINS + 1))


def test_the_band_of_the_histogram_holds_honest_bars(rng):
    low, high = consistent_band(200.0)
    bars = rng.multinomial(200, np.full(BINS, 1 / BINS), size=4000) * BINS / 200
    share = ((bars >= low) & (bars <= high)).mean()
    assert 0.95 <= share < 0.985


def test_a_band_needs_to_know_how_many_scans_are_independent(rng):
    assert consistent_band(None) is None
    (axes,) = draw("pit", evaluated(rng)).axes
    assert "effective sample size unknown" in axes.get_title(loc="left")


def test_independent_scans_give_a_band_for_all_of_them(rng):
    n = 1000
    found = evaluate(belief(normal(rng, n), S), reference(n), options=EXACT)
    (axes,) = draw("pit", found).axes
    assert 500 < float(axes.get_title(loc="left").split()[1].replace(",", "")) <= n


def test_autocorrelation_is_the_sum_over_lagged_products(rng):
    series = rng.normal(size=50).cumsum()
    centred = series - series.mean()
    expected = [(centred[: 50 - k] * centred[k:]).sum() / (centred**2).sum() for k in range(6)]
    np.testing.assert_allclose(correlation(series, 5), expected, rtol=1e-9)


def test_autocorrelation_marks_block_length_and_scans_per_effective_one(rng):
    found = evaluated(rng, n=400, options=EXACT)
    (axes,) = draw("autocorrelation", found).axes
    lengths = [block_length(found.position.series[name]).geometric for name in ("ape", "nees")]
    k = found["k"]
    marks = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert marks == pytest.approx([*lengths, 400 / k.n_effective])
    for name, series in (("error", "ape"), ("NEES", "nees")):
        drawn = line_of(axes, name).get_ydata()
        lags = len(drawn) - 1
        np.testing.assert_allclose(drawn, correlation(found.position.series[series], lags))


def test_the_effective_sample_size_is_unknown_without_an_interval(rng):
    assert scans_per_effective(evaluated(rng)) is None


def test_too_few_scans_or_none_that_vary_have_no_autocorrelation(rng):
    with pytest.raises(SeriesError, match="19 scans are too few"):
        draw("autocorrelation", evaluated(rng, n=19))
    still = evaluate(belief(np.full((40, 3), 0.01), S, name="still"), reference(40), options=FAST)
    frozen = replace(
        still,
        position=replace(still.position, series={**still.position.series, "ape": np.ones(40)}),
    )
    with pytest.raises(SeriesError, match="still: the error never changes"):
        draw("autocorrelation", frozen)
