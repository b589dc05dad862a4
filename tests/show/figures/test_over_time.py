import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from smfeval.errors import OptionError, SeriesError
from smfeval.evaluation import Options, evaluate
from smfeval.score.pit import honest_median, honest_quantile, pit
from smfeval.score.residuals import Residuals
from smfeval.show.figures import draw, style
from smfeval.show.figures.errors import axis_errors, divergence_scan
from smfeval.show.series import TIME_BINS, nees_ratio, sigma
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


def test_the_error_is_a_line_sigma_a_dashed_one_and_a_band_reaches_from_it_to_three(rng):
    found = evaluated(rng)
    (axes,) = draw("error", found).axes
    line = line_of(axes, "error")
    estimate, reference = found.position.estimate, found.position.reference
    distance = np.linalg.norm(estimate.position - reference.position, axis=1)
    np.testing.assert_allclose(line.get_ydata(), distance, rtol=1e-12)
    np.testing.assert_allclose(line.get_xdata(), np.arange(60) / 10, atol=1e-9)
    assert axes.get_yscale() == "log"
    np.testing.assert_allclose(line_of(axes, "reported").get_ydata(), np.sqrt(np.trace(S)))
    (polygon,) = band_of(axes, "to 3")
    ends = polygon[:, 1].min(), polygon[:, 1].max()
    np.testing.assert_allclose(ends, np.sqrt(np.trace(S)) * np.array([1, 3]))


def test_lines_and_bands_are_not_drawn_across_a_gap(rng):
    (axes,) = draw("error", evaluated(rng, keep=gapped())).axes
    for words in ("error", "reported"):
        drawn = line_of(axes, words).get_ydata()
        assert np.flatnonzero(np.isnan(drawn)).tolist() == [20]
    assert len(band_of(axes, "to 3")) == 2


def test_a_scan_alone_between_gaps_is_a_dot(rng):
    found = evaluated(rng, keep=np.r_[0:20, 30, 40:60])
    (axes,) = draw("error", found).axes
    (dot,) = [line for line in axes.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dot.get_xdata(), [3.0])
    np.testing.assert_allclose(dot.get_ydata(), found.position.series["ape"][20])


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (5, (2, 3))])
def test_each_estimate_has_a_panel_and_all_share_scale_and_legend(count, shape, rng):
    found = [evaluated(rng, name=f"no{i}", tightness=4.0**i) for i in range(count)]
    figure = draw("error", found)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    assert {panel.get_ylim() for panel in panels} == {panels[0].get_ylim()}
    assert len(figure.legends) == 1
    for name, each, panel in zip((f"no{i}" for i in range(count)), found, panels, strict=True):
        assert panel.get_title(loc="left").startswith(f"{name}: ")
        np.testing.assert_allclose(line_of(panel, "error").get_ydata(), each.position.series["ape"])
        (polygon,) = band_of(panel, "to 3")
        np.testing.assert_allclose(polygon[:, 1].max(), 3 * sigma(each.position.residuals)[0])


def test_a_panel_with_none_below_it_has_the_labels_of_the_time(rng):
    figure = draw("error", [evaluated(rng, name=f"no{i}") for i in range(5)])
    figure.draw_without_rendering()
    labelled = [bool(axes.get_xlabel()) for axes in figure.axes if axes.get_visible()]
    assert labelled == [False, False, True, True, True]
    for axes, named in zip(figure.axes, labelled, strict=False):
        assert any(tick.label1.get_visible() for tick in axes.xaxis.get_major_ticks()) == named


def test_panels_over_time_share_their_origin(rng):
    early, late = evaluated(rng, name="early"), evaluated(rng, name="late", keep=np.r_[10:60])
    first, second = draw("error", [early, late]).axes
    assert line_of(first, "error").get_xdata()[0] == 0.0
    assert line_of(second, "error").get_xdata()[0] == pytest.approx(1.0)


def test_plain_poses_have_an_error_and_no_sigma(rng):
    bare, found = plain(rng), evaluated(rng)
    first, second = draw("error", [bare, found]).axes
    np.testing.assert_allclose(line_of(first, "error").get_ydata(), bare.position.series["ape"])
    assert "no" in first.get_title(loc="left")
    assert not first.collections
    assert len(second.collections) == 1


def test_many_scans_are_drawn_by_the_median_and_range_of_bins(rng):
    found = evaluated(rng, n=10 * TIME_BINS)
    (axes,) = draw("error", found).axes
    error = found.position.series["ape"].reshape(TIME_BINS, 10)
    np.testing.assert_allclose(line_of(axes, "error").get_ydata(), np.median(error, axis=1))
    (polygon,) = band_of(axes, "range over 1 s")
    assert polygon[:, 1].max() == error.max()
    assert polygon[:, 1].min() == error.min()


def test_a_gap_too_short_to_be_seen_does_not_break_the_line(rng):
    n = 6 * TIME_BINS
    short = evaluated(rng, n=n, keep=np.r_[0:200, 202:n])
    seen = evaluated(rng, n=n, keep=np.r_[0:200, 210:n])
    breaks = [
        int(np.isnan(line_of(draw("error", each).axes[0], "error").get_ydata()).sum())
        for each in (short, seen)
    ]
    assert breaks == [0, 1]


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


def test_the_title_of_an_error_has_the_share_beyond_three_sigma(rng):
    error = normal(rng, 60)
    error[:15] += 1.0
    found = evaluate(belief(error), reference(60), options=FAST)
    (axes,) = draw("error", found).axes
    assert axes.get_title(loc="left").endswith("25 % beyond 3\N{GREEK SMALL LETTER SIGMA}")


def test_an_honest_error_passes_three_sigma_once_in_169856():
    assert round(1 / stats.chi2(3).sf(3 * 3.0**2)) == 169_856


def test_the_time_of_several_estimates_begins_at_the_first_of_them(rng):
    early, late = evaluated(rng, name="early"), evaluated(rng, name="late", keep=np.r_[10:60])
    axes = draw("nees", [early, late]).axes[0]
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


def test_a_single_missing_scan_breaks_no_band_and_a_lone_scan_has_a_bar(rng):
    keep = np.r_[0:20, 21:40, 50, 55:60]
    found = evaluated(rng, keep=keep, options=FAST)
    (axes,) = draw("error", found).axes
    stretches = band_of(axes, "to 3")
    assert [round(p[:, 0].min(), 2) for p in stretches] == pytest.approx([0.0, 4.95, 5.5])
    assert [round(p[:, 0].max(), 2) for p in stretches] == pytest.approx([3.9, 5.05, 5.9])
    top = sigma(found.position.residuals)[list(keep).index(50)]
    assert stretches[1][:, 1].max() == pytest.approx(3 * top)


def test_nees_is_drawn_over_the_chi_squared_band_and_its_median(rng):
    found = evaluated(rng, tightness=9)
    axes = draw("nees", found).axes[0]
    errors = found.position.residuals.error
    nees = 9 * np.einsum("ni,ij,nj->n", errors, np.linalg.inv(S), errors)
    np.testing.assert_allclose(line_of(axes, "made").get_ydata(), nees, rtol=1e-9)
    heights = [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert heights == pytest.approx([stats.chi2(3).median()])
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
    axes = draw("nees", cloud).axes[0]
    (polygon,) = band_of(axes, "95 % if consistent")
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
        for times in (1, 3):
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


NEED_A_BELIEF = ("nees", "boxes", "log", "axes", "coverage", "pit", "autocorrelation")


@pytest.mark.parametrize("name", NEED_A_BELIEF)
def test_plain_poses_have_no_figure_and_are_told_why(name, rng):
    with pytest.raises(SeriesError, match="poses reports no uncertainty"):
        draw(name, plain(rng))


@pytest.mark.parametrize("name", [*NEED_A_BELIEF, "error", "track"])
def test_one_scan_makes_no_figure(name, rng):
    with pytest.raises(SeriesError, match="1 scored scan makes no line"):
        draw(name, evaluated(rng, keep=np.r_[5:6]))


@pytest.mark.parametrize("name", ["error", "nees", "boxes", "log", "coverage"])
def test_no_evaluation_makes_no_figure(name):
    with pytest.raises(SeriesError, match="no evaluation"):
        draw(name, [])


def test_the_log_score_of_particles_does_not_split(rng):
    with pytest.raises(SeriesError, match="cloud has particles"):
        draw("log", particle_evaluation(rng))


def test_an_error_that_leaves_the_band_for_good_is_marked(rng):
    error = normal(rng, 60)
    error[10] += 1.0  # outside, but not for good
    error[30:] += 1.0
    found = evaluate(belief(error), reference(60), options=FAST)
    (axes,) = draw("error", found).axes
    assert line_of(axes, "for good").get_xdata() == pytest.approx([3.0, 3.0])
    assert axes.get_title(loc="left").endswith(", all after 3 s")
    (never,) = draw("error", evaluated(rng, tightness=0.01)).axes
    assert not [line for line in never.lines if "for good" in line.get_label()]


def test_an_estimate_without_errors_can_be_drawn(rng):
    found = evaluate(belief(np.zeros((30, 3))), reference(30), options=FAST)
    for name in ("error", "nees", "boxes", "log", "axes", "track"):
        draw(name, found).draw_without_rendering()


def test_nees_has_a_panel_for_each_space_with_its_own_band(rng):
    found = evaluated(rng)
    panels = draw("nees", [found]).axes
    assert [panel.get_title(loc="left") for panel in panels] == ["position", "rotation", "pose"]
    for panel, scored, d in zip(panels, found.spaces, (3, 3, 6), strict=True):
        np.testing.assert_allclose(line_of(panel, "made").get_ydata(), scored.series["nees"])
        (band,) = [patch for patch in panel.patches if "95" in str(patch.get_label())]
        edges = band.get_y(), band.get_y() + band.get_height()
        assert edges == pytest.approx(stats.chi2(d).ppf([0.025, 0.975]))


def test_a_box_holds_half_of_the_scans_and_its_line_is_the_median(rng):
    found = [plain(rng), evaluated(rng, tightness=9)]
    above, below = draw("boxes", found).axes
    assert [tick.get_text() for tick in above.get_yticklabels()] == ["poses", "made"]
    for axes, values in (
        (above, found[1].position.series["ape"]),
        (below, nees_ratio(found[1].position)),
    ):
        box = axes.patches[-1].get_path().vertices
        ends = box[:, 0].min(), box[:, 0].max()
        np.testing.assert_allclose(ends, np.quantile(values, [0.25, 0.75]))
        middles = [line.get_xdata()[0] for line in axes.lines if line.get_linewidth() == 1.4]
        assert middles[-1] == pytest.approx(np.median(values))
        assert np.allclose(box[:, 1].mean(), 1, atol=0.2)
    assert (len(above.patches), len(below.patches)) == (2, 1)  # plain poses have no NEES
