"""Figures of a track by itself: its path and the sigma that it reports."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from smfeval.errors import SeriesError
from smfeval.show.figures import draw, gallery_of_track
from smfeval.show.figures.errors import extreme_sigmas, reported_sigma
from smfeval.show.figures.track import path_from_above
from smfeval.track import Track
from support.beliefs import gaussian


@pytest.fixture
def track(rng):
    return gaussian(40, rng)


def axes():
    return Figure().subplots()


def test_sigmas_are_roots_of_the_extreme_eigenvalues_in_any_axes(track):
    most, least = extreme_sigmas(track)
    world = np.linalg.svd(track.position_covariance, compute_uv=False)
    np.testing.assert_allclose(most, np.sqrt(world[:, 0]), rtol=1e-9)
    np.testing.assert_allclose(least, np.sqrt(world[:, -1]), rtol=1e-9)


def test_the_lines_are_those_sigmas(track):
    on = axes()
    reported_sigma(on, track)
    upper, lower = on.get_lines()[:2]
    np.testing.assert_array_equal(upper.get_ydata(), extreme_sigmas(track)[0])
    np.testing.assert_array_equal(lower.get_ydata(), extreme_sigmas(track)[1])


def test_the_path_is_drawn_where_the_track_is_with_ellipses_on_it(track):
    on = axes()
    path_from_above(on, track)
    np.testing.assert_array_equal(on.get_lines()[0].get_xdata(), track.position[:, 0])
    centres = [patch.get_center() for patch in on.patches if isinstance(patch, Ellipse)]
    assert centres
    assert {tuple(centre) for centre in centres} <= {tuple(xy) for xy in track.position[:, :2]}


def test_plain_poses_have_a_path_and_no_sigma(track):
    plain = Track(track.stamp, track.position, track.rotation)
    gallery = gallery_of_track(plain)
    assert list(gallery.figures) == ["path"]
    assert "reports no uncertainty" in gallery.refusals["sigma"]


def test_one_scan_has_no_figure(track):
    with pytest.raises(SeriesError, match="one scan makes no line"):
        draw("path", track[:1])
