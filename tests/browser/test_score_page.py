import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys

from smfeval.evaluation import evaluate
from smfeval.show.page.scores import score_page
from smfeval.show.score import Findings
from support.evaluations import EXACT, reference
from support.known_errors import belief, remembering

SCANS = 300
LEANING = 1e-4 * np.array([[1.0, 0.6, -0.3], [0.6, 2.0, 0.4], [-0.3, 0.4, 0.5]])  # m^2


@pytest.fixture(scope="module")
def evaluation():
    """Errors three times as large as reported; the covariance leans in every direction."""
    rng = np.random.default_rng(3)
    estimate = belief(remembering(rng, SCANS, 0.8, LEANING), LEANING / 9, name="made")
    return evaluate(estimate, reference(SCANS), options=EXACT)


@pytest.fixture(scope="module")
def tab(opened, evaluation):
    return opened(score_page([Findings(evaluation)], command="smfeval score")).unfolded()


def slide(tab, scan):
    tab.do(
        f"const slider = document.getElementById('scan'); slider.value = {scan};"
        "slider.dispatchEvent(new Event('input'))"
    )


def cursors(tab):
    """The instants at which the plots over time have their line."""
    return tab.js("[...document.querySelectorAll('.cursor')].map((e) => Number(e.dataset.instant))")


def test_the_page_says_its_verdict_draws_every_scan_and_asks_nobody(tab):
    assert "times the reported sigma" in tab.js("document.body.innerText")
    assert tab.names("over-time") == ["error", "reported sigma"]
    assert len(tab.data("over-time", 0, "x")) == SCANS
    assert tab.js("document.querySelectorAll('#over-time .scatterlayer .trace').length") == 2
    assert tab.js("document.querySelectorAll('#scene canvas').length") > 0
    assert tab.complaints == []
    assert tab.requests() == [tab.url]


def test_what_is_drawn_is_what_was_scored(tab, evaluation):
    position = next(n for n, name in enumerate(tab.names("nees")) if name.startswith("position"))
    ratio = evaluation.position.series["nees"] / 2.36597  # chi-squared, three axes
    assert tab.data("nees", position, "y") == pytest.approx(ratio, rel=1e-5)
    curve = tab.names("curve").index("made")
    level, share = (tab.data("curve", curve, c) for c in "xy")
    held = evaluation["coverage_90"].value
    assert share[int(np.argmin(np.abs(np.array(level) - 0.9)))] == pytest.approx(held)


def test_the_path_from_above_has_the_colour_of_error_over_sigma(tab, evaluation):
    path = tab.names("top-view").index("made")
    x = tab.data("top-view", path, "x")
    assert x == pytest.approx(evaluation.position.estimate.position[:, 0], abs=1e-4)
    residuals = evaluation.position.residuals
    sigma = np.sqrt(np.trace(residuals.predicted_covariance, axis1=1, axis2=2))
    ratio = np.linalg.norm(residuals.error, axis=1) / sigma
    assert tab.data("top-view", path, "marker.color") == pytest.approx(np.log10(ratio), abs=1e-4)
    bar = f"document.getElementById('top-view').data[{path}].marker.colorbar"
    assert tab.js(f"{bar}.title.text") == "error / sigma"
    assert "1" in tab.js(f"{bar}.ticktext")


def test_the_slider_moves_the_ellipsoid_the_words_and_the_line(tab, evaluation):
    last = len(tab.names("scene")) - 1
    before = np.array(tab.data("scene", last, "x"), dtype=float)
    slide(tab, 120)
    after = np.array([tab.data("scene", last, c) for c in "xyz"], dtype=float)
    assert not np.allclose(before, after[0], equal_nan=True)
    centre = np.nanmean(after[:, :49], axis=1)  # of the first circle, closed
    assert centre == pytest.approx(evaluation.position.estimate.position[120], abs=0.2)
    assert "Scan 121 of 300, 12.0 s" in tab.js("document.getElementById('readout').textContent")
    assert cursors(tab) == pytest.approx([12.0] * 3)  # error, NEES and rotation


def test_the_scan_under_the_pointer_is_marked_in_all_plots(tab, evaluation):
    slide(tab, 5)
    tab.point_at_the_middle("over-time")
    tab.wait("Number(document.getElementById('scan').value) > 100")
    scan = tab.js("Number(document.getElementById('scan').value)")
    assert scan == pytest.approx(SCANS / 2, abs=3)  # the pointer is in the middle
    assert cursors(tab) == pytest.approx([scan / 10] * 3)
    mark = len(tab.names("scene")) - 2
    marked = [tab.data("scene", mark, c)[0] for c in "xyz"]
    position = evaluation.position.estimate.position[scan]
    assert marked == pytest.approx(position, abs=1e-4)
    above = [tab.data("top-view", len(tab.names("top-view")) - 1, c)[0] for c in "xy"]
    assert above == pytest.approx(position[:2], abs=1e-4)


def test_ellipsoids_have_the_colour_of_their_nees(tab, evaluation):
    along = next(n for n, name in enumerate(tab.names("scene")) if name.startswith("95 %"))
    drawn = np.array(tab.data("scene", along, "intensity")).reshape(24, -1)
    assert np.ptp(drawn, axis=1).max() == 0  # one colour each
    scans = np.round(np.arange(24) * (SCANS - 1) / 23).astype(int)
    ratio = evaluation.position.series["nees"][scans] / 2.36597  # chi-squared, three axes
    assert drawn[:, 0] == pytest.approx(np.log10(ratio), abs=1e-4)


def test_the_close_up_is_the_95_percent_region_to_scale(tab, evaluation):
    slide(tab, 57)
    unit = tab.js("document.getElementById('close-up').layout.scene.xaxis.title.text")
    scale = {"x (m)": 1.0, "x (cm)": 1e-2, "x (mm)": 1e-3}[unit]
    surface = scale * np.array([tab.data("close-up", 0, c) for c in "xyz"]).T
    precision = np.linalg.inv(evaluation.position.residuals.predicted_covariance[57])
    nees = np.einsum("ni,ij,nj->n", surface, precision, surface)
    assert nees == pytest.approx(7.8147, rel=1e-3)  # chi-squared, three axes
    reference = scale * np.array([tab.data("close-up", 2, c)[1] for c in "xyz"])
    error = evaluation.position.residuals.error[57]
    assert reference == pytest.approx(-error, rel=1e-4, abs=1e-7)
    inside = evaluation.position.series["nees"][57] <= 7.8147
    assert tab.names("close-up")[2] == f"reference ({'inside' if inside else 'outside'})"


def test_buttons_go_to_the_worst_scans(tab, evaluation):
    tab.do("document.getElementById('to-nees').click()")
    worst = int(np.argmax(evaluation.position.series["nees"]))
    assert tab.js("Number(document.getElementById('scan').value)") == worst


def test_words_are_explained_to_keyboard_and_mouse_and_escape_closes(tab):
    tip = "document.getElementById('tip')"
    tab.do("document.getElementById('theme').focus()")
    ActionChains(tab.chrome).send_keys(Keys.TAB).perform()  # to the first word: the label
    assert tab.js(f"{tip}.hidden") is False
    assert "larger than the reported covariance" in tab.js(f"{tip}.textContent")
    ActionChains(tab.chrome).send_keys(Keys.ESCAPE).perform()
    assert tab.js(f"{tip}.hidden") is True
    word = tab.chrome.find_element("link text", "median NEES")
    ActionChains(tab.chrome).move_to_element(word).perform()
    assert "half of the scans exceed" in tab.js(f"{tip}.textContent")
    left, right = tab.js(f"(({{left, right}}) => [left, right])({tip}.getBoundingClientRect())")
    assert 0 <= left < right <= tab.js("innerWidth")


def test_the_button_turns_page_and_plots_dark_and_back(tab):
    def press():
        tab.do("document.getElementById('theme').click()")
        return (
            tab.js("getComputedStyle(document.body).backgroundColor"),
            tab.js("document.getElementById('over-time').layout.font.color"),
        )

    dark, light = press(), press()
    assert dark[0] != light[0]
    assert dark[1] != light[1]
    tab.do("delete document.documentElement.dataset.theme")


def test_the_plots_follow_the_dark(tab):
    def scheme(value):
        feature = {"name": "prefers-color-scheme", "value": value}
        tab.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        tab.settle()
        return tab.js("document.getElementById('over-time').layout.font.color")

    light, dark = scheme("light"), scheme("dark")
    scheme("light")
    assert light != dark
