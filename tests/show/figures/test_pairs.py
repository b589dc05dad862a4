from dataclasses import replace

import numpy as np
import pytest

from smfeval.compare import compare_all
from smfeval.errors import SeriesError
from smfeval.show.figures import draw
from support.evaluations import legend_texts, line_of
from support.known_errors import S, belief, normal


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(5)
    names = {"a$1$.square": 1.0, "b_2": 16.0, "c": 0.1}
    return compare_all(
        [belief(normal(rng, 300), S / tight, name=name) for name, tight in names.items()]
    )


def test_the_matrix_holds_k_of_every_pair_twice(comparison):
    axes = draw("pairs", comparison).axes[0]
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert np.isnan(np.diag(shown)).all()
    ab, ac, bc = (pair.k.value for pair in comparison.pairs)
    np.testing.assert_allclose(shown, shown.T)
    np.testing.assert_allclose(shown[[0, 0, 1], [1, 2, 2]], [ab, ac, bc])


def test_a_star_marks_what_is_proven(comparison):
    axes = draw("pairs", comparison).axes[0]
    starred = [text.get_text().endswith("*") for text in axes.texts[::2]]
    assert starred == [pair.lower_bound > 1 for pair in comparison.pairs]
    assert any(starred)
    assert not all(starred)


def test_the_names_of_the_tracks_are_escaped(comparison):
    axes = draw("pairs", comparison).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [r"a\$1\$", "b_2", "c"]


def test_the_time_offset_figure_shows_the_sweep_of_each_pair(comparison):
    (axes,) = draw("time_offset", comparison.pairs).axes
    for line, pair in zip(axes.lines, comparison.pairs, strict=False):
        np.testing.assert_allclose(line.get_xdata(), [row.offset_ms for row in pair.clock])
        np.testing.assert_allclose(line.get_ydata(), [row.k for row in pair.clock])
    assert legend_texts(axes)[0] == r"a\$1\$, b_2"


def test_the_time_offset_figure_takes_rows():
    (axes,) = draw("time_offset", [(-10.0, 3.0), (0.0, 2.0), (10.0, 4.0)]).axes
    np.testing.assert_allclose(line_of(axes, "k").get_ydata(), [3, 2, 4])


def test_the_alignment_figure_shows_what_exists_and_how_it_counts(comparison):
    pair = comparison.pairs[0]
    hidden = [replace(row, k=None) if row.gauge == "sim3" else row for row in pair.gauges]
    strict = [replace(row, admissible=row.gauge != "yaw") for row in hidden]
    (axes,) = draw("alignment", replace(pair, gauges=tuple(strict))).axes
    line, full, hollow, ring = axes.lines[:4]
    rows = [row for row in strict if row.k is not None]
    np.testing.assert_allclose(line.get_ydata(), [row.k for row in rows])
    np.testing.assert_allclose(full.get_ydata(), [row.k for row in rows if row.admissible])
    np.testing.assert_allclose(hollow.get_ydata(), [row.k for row in rows if not row.admissible])
    assert hollow.get_markerfacecolor() == "white"
    np.testing.assert_allclose(ring.get_ydata(), [row.k for row in rows if row.chosen])
    ticks = [tick.get_text() for tick in axes.get_xticklabels()]
    assert ticks == ["none", "yaw", "SE(3)", "Sim(3)", "first-pose"]
    assert "too few degrees of freedom" in legend_texts(axes)


def test_the_alignment_figure_takes_rows():
    (axes,) = draw("alignment", [("yaw", 3.0), ("se3", 2.0)]).axes
    np.testing.assert_allclose(line_of(axes, "k").get_ydata(), [3, 2])


def test_a_sweep_without_rows_is_refused(comparison):
    for name in ("time_offset", "alignment"):
        with pytest.raises(SeriesError, match="no row of a sweep"):
            draw(name, [])
    with pytest.raises(SeriesError, match="too few scans for a sweep"):
        draw("time_offset", replace(comparison.pairs[0], clock=()))
