from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.patches import Ellipse

from smfeval.errors import OptionError
from smfeval.evaluation import Options, evaluate
from smfeval.show.figures import draw
from smfeval.show.figures.track import (
    error_scale,
    evenly_spaced_scans,
    magnification,
    principal_axes,
)
from smfeval.track.beliefs import Provenance
from support.evaluations import FAST, S, evaluated, gapped, legend_texts, line_of, plain


def segments(axes):
    (lines,) = [each for each in axes.collections if isinstance(each, LineCollection)]
    return lines


def test_ellipses_have_the_axes_and_angle_of_the_covariance():
    turn = np.radians(30)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    radius, angle = principal_axes((R @ np.diag([9.0, 4.0]) @ R.T)[None])
    np.testing.assert_allclose(radius, [[3 * 2.4477, 2 * 2.4477]], rtol=1e-4)
    assert angle[0] % 180 == pytest.approx(30)


def test_an_ellipse_holds_the_position_95_times_in_100(rng):
    covariance = np.array([[2.0, 1.2], [1.2, 1.5]])
    (radius,), (angle,) = principal_axes(covariance[None])
    ellipse = Ellipse((0, 0), *(2 * radius), angle=angle)
    draws = rng.multivariate_normal([0, 0], covariance, size=20_000)
    assert ellipse.get_path().contains_points(
        ellipse.get_patch_transform().inverted().transform(draws)
    ).mean() == pytest.approx(0.95, abs=0.006)


def test_ellipses_on_the_track_are_magnified_as_the_legend_says(rng):
    found = evaluated(rng)
    figure = draw("track", found)
    axes = figure.axes[0]
    first, *_ = axes.patches
    at = evenly_spaced_scans(found.position.estimate)
    position = found.position.estimate.position[at, :2]
    np.testing.assert_allclose([each.center for each in axes.patches], position)
    words = next(text for text in legend_texts(axes) if "ellipses" in text)
    factor = float(words.split()[-1].replace(",", ""))
    assert factor > 1
    assert first.width == pytest.approx(factor * 2 * 2.4477 * np.sqrt(S[1, 1]), rel=1e-3)
    assert first.height == pytest.approx(factor * 2 * 2.4477 * np.sqrt(S[0, 0]), rel=1e-3)
    assert first.angle % 180 == pytest.approx(90)


@pytest.mark.parametrize(
    ("radius", "factor"),
    [(0.02, 1), (0.0101, 1), (0.009, 2), (0.003, 10), (0.001, 20), (5e-6, 5000)],
)
def test_magnification_is_round_and_only_where_needed(radius, factor):
    variance = radius**2 / -2 / np.log(0.05)  # the chi-squared quantile of two dimensions
    covariance = variance * np.array([np.eye(2), 0.1 * np.eye(2)])
    assert magnification(covariance, 1.0) == pytest.approx(factor)


def test_ellipses_of_all_panels_have_one_factor(rng):
    found = [evaluated(rng, name="a"), evaluated(rng, name="b", tightness=100)]
    figure = draw("track", found)
    first, second, _ = figure.axes
    assert first.patches[0].width == pytest.approx(10 * second.patches[0].width)
    assert sum("ellipses" in text for text in legend_texts(first)) == 1


def test_large_ellipses_are_to_scale(rng):
    axes = draw("track", evaluated(rng, tightness=1e-4)).axes[0]
    assert any("to scale" in text for text in legend_texts(axes))


def test_segments_are_the_positions_coloured_by_the_error_at_their_ends(rng):
    found = evaluated(rng)
    lines = segments(draw("track", found).axes[0])
    drawn = np.array(lines.get_segments())
    position = found.position.estimate.position[:, :2]
    np.testing.assert_allclose(drawn[:, 0], position[:-1])
    np.testing.assert_allclose(drawn[:, 1], position[1:])
    np.testing.assert_allclose(lines.get_array(), found.position.series["ape"][1:])
    assert lines.get_cmap().name == "viridis"


def test_no_segment_crosses_a_gap(rng):
    found = evaluated(rng, keep=gapped())
    drawn = np.array(segments(draw("track", found).axes[0]).get_segments())
    position = found.position.estimate.position[:, :2]
    expected = np.delete(np.stack([position[:-1], position[1:]], axis=1), 19, axis=0)
    np.testing.assert_allclose(drawn, expected)


def test_plain_poses_have_a_track_without_ellipses(rng):
    axes = draw("track", plain(rng)).axes[0]
    assert len(axes.patches) == 0
    assert len(segments(axes).get_segments()) == 59


def test_the_reference_is_wide_grey_and_below_the_estimate(rng):
    found = evaluated(rng)
    axes = draw("track", found).axes[0]
    line = line_of(axes, "reference")
    np.testing.assert_allclose(line.get_xdata(), found.position.reference.position[:, 0])
    assert line.get_linewidth() > 2 * segments(axes).get_linewidth()[0]
    assert line.get_color() == "0.8"


def test_errors_of_many_magnitudes_have_a_logarithmic_scale_of_colours(rng):
    errors = rng.uniform(1, 2, size=1000)
    assert not isinstance(error_scale(errors), LogNorm)
    scale = error_scale(errors ** rng.choice([1, 10], size=1000))
    assert isinstance(scale, LogNorm)
    assert (error_scale(np.zeros(5)).vmin, error_scale(np.zeros(0)).vmax) == (0, 1)


def test_one_scale_of_colours_with_unit_for_all_panels(rng):
    found = [evaluated(rng, name="a"), evaluated(rng, name="b")]
    first, second, bar = draw("track", found).axes
    assert bar.get_ylabel() == "position error (m)"
    errors = np.concatenate([each.position.series["ape"] for each in found])
    for axes in (first, second):
        assert segments(axes).get_clim() == pytest.approx((0, np.quantile(errors, 0.98)))
        assert axes.get_aspect() == 1


def test_a_track_needs_x_and_y(rng):
    found = evaluated(rng, options=Options(axes="xz", alignment="none", intervals=FAST.intervals))
    with pytest.raises(OptionError, match="needs the axes x and y; xz was scored"):
        draw("track", found)


def test_all_estimates_are_in_one_figure_and_a_lost_one_does_not_shrink_it(rng):
    near = evaluated(rng, name="near")
    estimate, truth = near.estimate, near.reference
    away = estimate.position + np.linspace(0, 1, 60)[:, None] ** 2 * np.array([5e4, 0, 0])
    lost = replace(estimate, position=away, provenance=Provenance(name="lost"))
    far = evaluate(lost, truth, options=FAST)
    first, second, _ = draw("track", [near, far]).axes
    extent = np.ptp(truth.position[:, :2], axis=0).max()
    beyond = int((far.position.series["ape"] > 0.5 * extent).sum())
    assert second.get_title(loc="left") == f"lost ({beyond} scans beyond the axes)"
    assert len(segments(second).get_segments()) == 59
    for axes in (first, second):
        assert np.diff(axes.get_xlim())[0] < 3 * np.ptp(truth.position[:, 0])
        assert segments(axes).get_clim()[1] < 0.5 * extent  # nor the scale of colours
