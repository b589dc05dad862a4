import numpy as np
import pytest

from smfeval.compare.across import expanded_tail, median_ends
from smfeval.compare.duels import Ranks
from smfeval.compare.slopes import Line
from smfeval.compare.sweep import SweepLine, earned_error_slope, sweep_of, unearned_slope
from smfeval.errors import SeriesError
from smfeval.maths import normal
from smfeval.show.figures import draw
from smfeval.show.figures.gallery import gallery_of_sweep
from smfeval.show.figures.nees import MAX_POINTS, fit_log_line
from support.evaluations import legend_texts
from support.sweep_points import line as swept

STUDY = {
    "a_$x$": [("one", 10.0, 5.0, 30.0), ("two", 2.0, None, None)],
    "b": [("two", 4.0, 3.0, 6.0)],
}


def test_a_forest_has_a_row_per_track_and_an_interval_per_estimator():
    (axes,) = draw("forest", STUDY).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["one", "two"]
    first, hollow, second = axes.lines[0], axes.lines[1], axes.lines[2]
    assert first.get_xdata().tolist() == [10.0]
    assert round(first.get_ydata()[0]) == 0
    assert hollow.get_xdata().tolist() == [2.0]
    assert hollow.get_markerfacecolor() == "white"
    assert second.get_xdata().tolist() == [4.0]
    assert round(second.get_ydata()[0]) == 1
    bars = [bar.get_segments()[0][:, 0].tolist() for bar in axes.collections]
    assert bars == [[5.0, 30.0], [3.0, 6.0]]
    assert axes.get_xscale() == "log"
    assert legend_texts(axes) == [r"a_\$x\$", "b", "k if consistent", "hollow: no CI"]


def test_an_estimator_of_a_forest_has_one_entry_also_without_intervals():
    (axes,) = draw("forest", {"a": [("one", 2.0, None, None)]}).axes
    assert legend_texts(axes) == ["a", "k if consistent", "hollow: no CI"]


def test_a_forest_refuses_what_has_no_logarithm_and_no_tracks():
    with pytest.raises(SeriesError, match=r"value of a 0 \(number 1\) has no logarithm"):
        draw("forest", {"a": [("one", 0.0, None, None)]})
    with pytest.raises(SeriesError, match="no track"):
        draw("forest", {})


def runs(estimator, precision, nees, error, *, knob="R", track="one", values=None, credit=None):
    values = values or tuple(str(10**i) for i in range(len(precision)))
    line = Line(np.array(precision), np.log10(nees), np.log10(error), (), values, credit)
    return SweepLine(estimator, knob, track, line, values[len(values) // 2])


def test_estimators_have_a_colour_and_predictions_knobs_a_marker():
    x = np.array([1.0, 2.0, 3.0])
    lines = [
        runs("a", x, x, x),
        runs("a", x, 2 * x, x, track="two"),
        runs("a", x, x, x, knob="voxel"),
        runs("b", x, 3 * x, x),
    ]
    for axes in draw("sweep", lines).axes:
        names = [text for text in legend_texts(axes) if text != "median if consistent"]
        assert names == ["a", "b", "R", "voxel", "errors shrink as reported", "errors stay"]
        marks = [
            line for line in axes.lines if line.get_marker() != "None" and len(line.get_xdata())
        ]
        first, second, third, other = ((line.get_color(), line.get_marker()) for line in marks)
        assert first == second
        assert first[0] == third[0] != other[0]
        assert first[1] == other[1] != third[1]
        dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
        assert sum(len(line.get_xdata()) > 0 for line in dashed) == 2


def test_with_telemetry_the_precision_is_drawn_over_the_setting_beside_the_credit():
    precision, credit = np.array([50.0, 40.0, 30.0]), np.array([49.0, 39.5, 28.0])
    line = runs("a", precision, 1 + precision, precision, credit=credit, values=("1", "10", "100"))
    first, above, below = draw("sweep", [line, runs("b", precision, precision, precision)]).axes
    drawn = [each for each in first.lines if len(each.get_xdata())]
    reported, given = drawn  # of the one whose credit is known
    np.testing.assert_allclose(reported.get_xdata(), [0.1, 1, 10])
    np.testing.assert_allclose(reported.get_ydata(), precision)
    np.testing.assert_allclose(given.get_ydata(), credit)
    assert "credit of the points" in legend_texts(first)
    assert above.get_xlim() == below.get_xlim() != first.get_xlim()
    words = runs("a", precision, precision, precision, credit=credit, values=("low", "mid", "high"))
    assert len(draw("sweep", [words]).axes) == 2  # nothing to place on an axis


def ranks(names, mean, cliques=()):
    return Ranks(tuple(names), tuple(mean), 5, tuple(cliques))


def test_every_metric_has_a_panel_of_ranks():
    diagrams = {f"by {name}": ranks("ab", (1.0, 2.0)) for name in ("k", "mae")}
    figure = draw("ranks", diagrams)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["by k", "by mae"]


def test_a_spread_has_a_mark_for_each_track_and_the_median_with_its_interval():
    study = {"a": [(f"t{i}", 2.0**i, None, None) for i in range(7)], "b": [("t0", 3.0, None, None)]}
    (axes,) = draw("spread", study, title="k after SE(3) alignment").axes
    assert axes.figure.get_suptitle() == "k after SE(3) alignment"
    marks = [line for line in axes.lines if line.get_marker() in ("o", "s")]
    assert [line.get_xdata().tolist() for line in marks] == [[2.0**i for i in range(7)], [3]]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "|"] == [8, 3]
    (interval,) = axes.collections[0].get_segments()
    assert (interval[0, 0], interval[1, 0]) == median_ends(
        2.0 ** np.arange(7), expanded_tail(7, 0.025)
    )
    assert len(axes.collections) == 1  # one track has no interval
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b"]


def test_ranks_stand_at_their_place_and_bars_join_groups():
    names, mean = ["a", "b_$1$", "c"], [2.5, 1.2, 2.3]
    figure = draw("ranks", {"by k": ranks(names, mean, (("a", "c"),))})
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert {"a (2.50)", r"b_\$1\$ (1.20)", "c (2.30)"} <= set(texts)
    elbows = sorted(line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 3)
    assert elbows == sorted(mean)
    (bar,) = [line for line in axes.lines if line.get_linewidth() == 2.5]
    assert bar.get_xdata()[0] < 2.3
    assert bar.get_xdata()[1] > 2.5


def test_the_names_of_ranks_do_not_overlap_and_stay_on_the_page():
    names = [f"estimator_{i}" for i in range(9)]
    figure = draw("ranks", {"by k": ranks(names, np.linspace(1.5, 8.5, 9))})
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    for i, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize(
    ("names", "mean", "groups", "words"),
    [
        (["a"], [1.0], [], "two or more"),
        (["a", "b"], [1.0], [], "2 names and 1 mean ranks"),
        (["a", "b"], [0.5, 2.0], [], "at least 1"),
        (["a", "b"], [1.0, 2.0], [["b", "c"]], "c is in a group"),
    ],
)
def test_ranks_that_cannot_be_are_refused(names, mean, groups, words):
    with pytest.raises(SeriesError, match=words):
        draw("ranks", {"by k": ranks(names, mean, groups)})


@pytest.mark.parametrize("d", [2, 3])
def test_the_predicted_slopes_are_those_of_a_scaled_covariance(d, rng):
    root = rng.normal(size=(d, d))
    S, e = root @ root.T + np.eye(d), rng.normal(size=(2000, d))
    scale = np.array([0.01, 0.1, 1.0, 10.0])
    fits = [normal.likelihood_terms(e, np.tile(c * S, (2000, 1, 1))) for c in scale]
    precision = [-np.median(each.logdet) for each in fits]
    nees = [np.median(each.nees) for each in fits]
    assert np.polyfit(precision, np.log10(nees), 1)[0] == pytest.approx(unearned_slope(d))
    error = [np.linalg.norm(np.sqrt(c) * e, axis=1).mean() for c in scale]
    assert np.polyfit(precision, np.log10(error), 1)[0] == pytest.approx(earned_error_slope(d))


def test_the_slopes_in_space_are_those_of_the_paper():
    assert unearned_slope() == pytest.approx(0.145, abs=5e-4)
    assert earned_error_slope() == pytest.approx(-0.072, abs=5e-4)


def test_a_sweep_shows_its_runs_and_the_two_predictions():
    precision, nees = np.array([40.0, 30.0, 35.0]), np.array([500.0, 5.0, 50.0])
    above, below = draw("sweep", [runs("filter_1", precision, nees, nees / 100)]).axes
    expected = {above: (1, (0.0, unearned_slope())), below: (100, (earned_error_slope(), 0.0))}
    for axes, (unit, slopes) in expected.items():
        drawn = [line for line in axes.lines if len(line.get_xdata())]
        marks = next(line for line in drawn if line.get_marker() != "None")
        assert marks.get_xdata().tolist() == [30, 35, 40]
        np.testing.assert_allclose(marks.get_ydata() * unit, [5, 50, 500])
        for dashes, slope in zip(("--", ":"), slopes, strict=True):
            line = next(line for line in drawn if line.get_linestyle() == dashes)
            rise = np.diff(np.log10(line.get_ydata())) / np.diff(line.get_xdata())
            assert rise[0] == pytest.approx(slope, abs=1e-12)
            assert np.log10(line.get_ydata()).mean() == pytest.approx(np.log10(50 / unit))


def test_the_ends_of_the_longest_line_have_the_values_of_the_knob_beside_them():
    one = np.ones(3)
    line = runs("f", [40.0, 35.0, 30.0], [500.0, 50.0, 5.0], one, values=("x0.1", "x1", "$1"))
    short = runs("f", [36.0, 35.0, 34.0], [60.0, 50.0, 40.0], one, knob="voxel")
    above, below = draw("sweep", [short, line]).axes
    found = {text.get_text(): tuple(np.round(text.xy, 6)) for text in above.texts}
    assert found == {"x0.1": (40.0, 500.0), r"\$1": (30.0, 5.0)}
    assert not below.texts


def test_knobs_that_move_nothing_are_not_drawn_and_that_is_said():
    still = swept(0.1, estimator="b", reach=0.02)
    gallery = gallery_of_sweep(sweep_of([*swept(0.1, estimator="a"), *still]))
    assert list(gallery.figures) == ["sweep"]
    assert gallery.notes == ("R: the precision of b moves by 0.02 nat at most: not drawn",)
    assert max(np.ptp(axes.get_xlim()) for axes in gallery.figures["sweep"].axes) > 10
    alone = gallery_of_sweep(sweep_of(still))
    assert not alone.figures
    assert "no setting moves the precision" in alone.refusals["sweep"]


def test_the_fit_of_degeneracy_is_that_of_the_logarithms(rng):
    condition = 10 ** rng.uniform(0, 3, size=300)
    nees = 4 * condition**0.7 * rng.lognormal(size=300)
    slope, offset = fit_log_line(condition, nees)
    np.testing.assert_allclose(
        [slope, offset], np.polyfit(np.log10(condition), np.log10(nees), 1), rtol=1e-9
    )
    (axes,) = draw("degeneracy", condition, nees).axes
    points, line = axes.lines[:2]
    np.testing.assert_allclose(points.get_ydata(), nees)
    rise = np.diff(np.log10(line.get_ydata())) / np.diff(np.log10(line.get_xdata()))
    assert rise[0] == pytest.approx(slope)


def test_many_points_are_counted_in_hexagons(rng):
    n = MAX_POINTS + 1
    axes = draw("degeneracy", rng.lognormal(size=n), rng.lognormal(size=n)).axes[0]
    (hexagons,) = axes.collections
    assert hexagons.get_array().sum() == n


def test_degeneracy_that_cannot_be_is_refused():
    with pytest.raises(SeriesError, match="never changes"):
        draw("degeneracy", np.ones(5), np.ones(5))
    with pytest.raises(SeriesError, match="5 and 4 numbers"):
        draw("degeneracy", np.ones(5), np.ones(4))
    with pytest.raises(SeriesError, match="no condition number"):
        draw("degeneracy", np.ones(0), np.ones(0))
