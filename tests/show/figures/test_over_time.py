import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Options, evaluate
from smfeval.score.pit import honest_median, honest_quantile, pit
from smfeval.score.residuals import Residuals
from smfeval.show.figures import draw, style
from smfeval.show.figures.errors import axis_errors, divergence_scan, error_and_sigma
from smfeval.show.series import sigma
from support.evaluations import (
    FAST,
    S,
    band_of,
    evaluated,
    gapped,
    legend_texts,
    line_of,
    particle_evaluation,
    plain,
    reference,
)
from support.known_errors import belief, normal


def test_sigma_is_the_rms_error_of_an_honest_belief(rng):
    found = evaluated(rng)
    draws = rng.multivariate_normal(np.zeros(3), S, size=200_000)
    rms = np.sqrt((draws**2).sum(axis=1).mean())
    np.testing.assert_allclose(sigma(found.position.residuals), rms, rtol=0.01)


def test_the_error_line_is_the_error_and_the_bands_end_at_one_two_and_three_sigma(rng):
    found = evaluated(rng)
    (axes,) = draw("error", found).axes
    line = line_of(axes, "made: error")
    estimate, reference = found.position.estimate, found.position.reference
    distance = np.linalg.norm(estimate.position - reference.position, axis=1)
    np.testing.assert_allclose(line.get_ydata(), distance, rtol=1e-12)
    np.testing.assert_allclose(line.get_xdata(), np.arange(60) / 10, atol=1e-9)
    assert axes.get_yscale() == "log"
    for times in (1, 2, 3):
        (polygon,) = band_of(axes, f"reported {times}")
        np.testing.assert_allclose(polygon[:, 1].max(), times * np.sqrt(np.trace(S)))


def test_lines_and_bands_are_not_drawn_across_a_gap(rng):
    (axes,) = draw("error", evaluated(rng, keep=gapped())).axes
    error = line_of(axes, "error").get_ydata()
    assert np.flatnonzero(np.isnan(error)).tolist() == [20]
    assert len(band_of(axes, "reported 3")) == 2


def test_a_scan_alone_between_gaps_is_a_dot(rng):
    found = evaluated(rng, keep=np.r_[0:20, 30, 40:60])
    (axes,) = draw("error", found).axes
    (dot,) = [line for line in axes.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dot.get_xdata(), [3.0])
    np.testing.assert_allclose(dot.get_ydata(), found.position.series["ape"][20])


def test_a_few_estimates_have_a_panel_each_with_bands_and_one_scale(rng):
    pair = [evaluated(rng, name="one"), evaluated(rng, name="two", tightness=4)]
    panels = draw("error", pair).axes
    assert [panel.get_ylim() for panel in panels] == 2 * [panels[0].get_ylim()]
    for name, each, panel in zip(("one", "two"), pair, panels, strict=True):
        np.testing.assert_allclose(
            line_of(panel, f"{name}: error").get_ydata(), each.position.series["ape"]
        )
        edges = [band.get_paths()[0].vertices[:, 1].max() for band in panel.collections]
        np.testing.assert_allclose(edges, sigma(each.position.residuals)[0] * np.array([1, 2, 3]))


def test_many_estimates_share_a_panel_with_their_sigma_as_dashed_lines_on_top(rng):
    many = [evaluated(rng, name=f"no{i}", tightness=i + 1) for i in range(5)]
    (axes,) = draw("error", many).axes
    errors = [line_of(axes, f"no{i}: error") for i in range(5)]
    assert len({line.get_color() for line in errors}) == 5
    for i, each in enumerate(many):
        line = line_of(axes, f"no{i}: reported")
        np.testing.assert_allclose(line.get_ydata(), sigma(each.position.residuals))
        assert line.get_zorder() > max(error.get_zorder() for error in errors)


def test_axes_that_do_not_fit_the_estimates_are_refused(rng):
    with pytest.raises(OptionError, match="2 axes to draw on; 3 estimates"):
        error_and_sigma(list(Figure().subplots(2)), [evaluated(rng) for _ in range(3)])


def test_plain_poses_beside_a_belief_have_an_error_and_no_bands(rng):
    bare, found = plain(rng), evaluated(rng)
    first, second = draw("error", [bare, found]).axes
    line = line_of(first, "poses: error; it reports no uncertainty")
    np.testing.assert_allclose(line.get_ydata(), bare.position.series["ape"])
    assert not first.collections
    assert len(second.collections) == 3


@pytest.mark.parametrize("name", ["nees", "coverage", "log"])
def test_plain_poses_take_no_shared_figure_from_the_others_nor_their_colour(name, rng):
    bare, found = plain(rng), evaluated(rng)
    both, alone = draw(name, [found, bare]).axes[0], draw(name, [bare, found]).axes[0]
    assert line_of(both, "made").get_color() == style.colour(0)
    assert line_of(alone, "made").get_color() == style.colour(1)
    assert not any("poses" in text for text in legend_texts(alone))


def test_particles_take_no_log_score_from_the_others(rng):
    above, _ = draw("log", [particle_evaluation(rng), evaluated(rng)]).axes
    assert line_of(above, "made").get_color() == style.colour(1)


def test_the_legend_of_a_divergence_counts_the_scans_outside(rng):
    error = normal(rng, 60)
    error[:15] += 1.0
    found = evaluate(belief(error), reference(60), options=FAST)
    (axes,) = draw("divergence", found).axes
    assert any(text.startswith("25 % of scans outside") for text in legend_texts(axes))


def test_an_honest_error_passes_three_sigma_once_in_169856():
    assert round(1 / stats.chi2(3).sf(3 * 3.0**2)) == 169_856


def test_the_time_of_several_estimates_begins_at_the_first_of_them(rng):
    early, late = evaluated(rng, name="early"), evaluated(rng, name="late", keep=np.r_[10:60])
    (axes,) = draw("nees", [early, late]).axes
    assert line_of(axes, "late").get_xdata()[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("outside", "scan"),
    [
        ("0011", 2),
        ("000001111111111", 5),
        ("0010000001111111111", 9),  # one before is outside
        ("00000111111111101111", 5),  # one after is inside
        ("1111", None),  # all along
        ("1101111111111", None),  # nearly all along: it left at no time
        ("0000", None),
        ("0101010101", None),
        ("0001110000", None),  # it came back
    ],
)
def test_a_divergence_has_few_outside_before_and_nearly_all_after(outside, scan):
    assert divergence_scan(np.array([letter == "1" for letter in outside])) == scan


def test_a_divergence_is_marked_where_it_begins(rng):
    found = evaluated(rng, tightness=1e6)
    (axes,) = draw("divergence", found).axes
    assert "outside all along" in legend_texts(axes)
    (honest_axes,) = draw("divergence", evaluated(rng, tightness=0.01)).axes
    assert any("no time after which" in text for text in legend_texts(honest_axes))
    assert axes.get_yscale() == "linear"
    (polygon,) = band_of(axes, "reported 3")
    np.testing.assert_allclose(polygon[:, 1].max(), 3e-3 * np.sqrt(np.trace(S)))


def test_a_single_missing_scan_breaks_no_band_and_a_lone_scan_has_a_bar(rng):
    keep = np.r_[0:20, 21:40, 50, 55:60]
    found = evaluated(rng, keep=keep, options=FAST)
    (axes,) = draw("error", found).axes
    stretches = band_of(axes, "reported 1")
    assert [round(p[:, 0].min(), 2) for p in stretches] == pytest.approx([0.0, 4.95, 5.5])
    assert [round(p[:, 0].max(), 2) for p in stretches] == pytest.approx([3.9, 5.05, 5.9])
    top = sigma(found.position.residuals)[list(keep).index(50)]
    assert stretches[1][:, 1].max() == pytest.approx(top)


def test_nees_is_drawn_over_the_chi_squared_band_with_both_medians(rng):
    found = evaluated(rng, tightness=9)
    (axes,) = draw("nees", found).axes
    errors = found.position.residuals.error
    nees = 9 * np.einsum("ni,ij,nj->n", errors, np.linalg.inv(S), errors)
    np.testing.assert_allclose(line_of(axes, "made").get_ydata(), nees, rtol=1e-9)
    heights = [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert heights == pytest.approx([np.median(nees), stats.chi2(3).median()])
    (band,) = [patch for patch in axes.patches if "95" in str(patch.get_label())]
    edges = band.get_y(), band.get_y() + band.get_height()
    assert edges == pytest.approx(stats.chi2(3).ppf([0.025, 0.975]))


def test_the_honest_quantile_undoes_the_pit(rng):
    residuals = particle_evaluation(rng).position.residuals
    np.testing.assert_allclose(honest_quantile(residuals, 0.5), honest_median(residuals))
    gaussian = Residuals(rng.normal(size=(5, 2)), np.tile(np.eye(2), (5, 1, 1)))
    np.testing.assert_allclose(honest_quantile(gaussian, 0.9), stats.chi2(2).ppf(0.9))
    k = 1 / residuals.ensemble.sum(residuals.ensemble.probability**2)
    scaled = honest_quantile(residuals, 0.9) * (k - 3) / ((k + 1) * 3)
    np.testing.assert_allclose(stats.f(3, k - 3).cdf(scaled), 0.9)
    assert (pit(residuals, seed=0) <= 1).all()


def test_particles_have_a_band_of_their_own(rng):
    cloud = particle_evaluation(rng)
    (axes,) = draw("nees", cloud).axes
    (polygon,) = band_of(axes, "particles")
    assert polygon[:, 1].max() == pytest.approx(
        honest_quantile(cloud.position.residuals, 0.975).max()
    )


def test_consistency_and_sharpness_add_up_to_the_log_score(rng):
    found = evaluated(rng)
    above, below = draw("log", found).axes
    parts = line_of(above, "made").get_ydata() + below.lines[0].get_ydata()
    truth = stats.multivariate_normal(np.zeros(3), S)
    np.testing.assert_allclose(
        parts + 1.5 * np.log(2 * np.pi), -truth.logpdf(found.position.residuals.error)
    )


def test_each_axis_has_its_error_and_bands(rng):
    found = evaluated(rng)
    figure = draw("axes", found)
    assert len(figure.axes) == 3
    for i, axes in enumerate(figure.axes):
        line = line_of(axes, "error")
        np.testing.assert_allclose(line.get_ydata(), found.position.residuals.error[:, i])
        for times in (1, 2, 3):
            (polygon,) = band_of(axes, f"±{times}")
            np.testing.assert_allclose(polygon[:, 1].max(), times * np.sqrt(S[i, i]))
        lowest = min(path.vertices[:, 1].min() for c in axes.collections for path in c.get_paths())
        np.testing.assert_allclose(lowest, -3 * np.sqrt(S[i, i]))


def test_scored_axes_decide_how_many_panels_there_are(rng):
    planar = evaluated(rng, options=Options(axes="xy", alignment="none", intervals=FAST.intervals))
    assert [axes.get_ylabel() for axes in draw("axes", planar).axes] == [
        "x error (m)",
        "y error (m)",
    ]
    with pytest.raises(OptionError, match="3 axes to draw on; the scored xy need 2"):
        axis_errors(list(Figure().subplots(3)), planar)


NEED_A_BELIEF = ("error", "divergence", "nees", "log", "axes", "coverage", "pit", "autocorrelation")


@pytest.mark.parametrize("name", NEED_A_BELIEF)
def test_plain_poses_have_no_figure_and_are_told_why(name, rng):
    with pytest.raises(SeriesError, match="poses reports no uncertainty"):
        draw(name, plain(rng))


@pytest.mark.parametrize("name", [*NEED_A_BELIEF, "track"])
def test_one_scan_makes_no_figure(name, rng):
    with pytest.raises(SeriesError, match="1 scored scan makes no line"):
        draw(name, evaluated(rng, keep=np.r_[5:6]))


@pytest.mark.parametrize("name", ["error", "nees", "log", "coverage"])
def test_no_evaluation_makes_no_figure(name):
    with pytest.raises(SeriesError, match="no evaluation"):
        draw(name, [])


def test_the_log_score_of_particles_does_not_split(rng):
    with pytest.raises(SeriesError, match="cloud has particles"):
        draw("log", particle_evaluation(rng))


def test_the_mark_of_a_divergence_stands_where_the_error_leaves_the_band(rng):
    error = normal(rng, 60)
    error[10] += 1.0  # outside, but not for good
    error[30:] += 1.0
    found = evaluate(belief(error), reference(60), options=FAST)
    (axes,) = draw("divergence", found).axes
    line = line_of(axes, "diverges at 3 s: 3.3 % outside before, 100 % after")
    assert line.get_xdata() == pytest.approx([3.0, 3.0])
    (dot,) = [each for each in axes.lines if each.get_marker() == "o"]
    assert dot.get_ydata()[0] == pytest.approx(found.position.series["ape"][30])


def test_an_estimate_without_errors_can_be_drawn(rng):
    found = evaluate(belief(np.zeros((30, 3))), reference(30), options=FAST)
    for name in ("error", "divergence", "nees", "log", "axes", "track"):
        draw(name, found).draw_without_rendering()
