"""Several estimates of every kind on one page, a long track, and pairs."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.compare import compare_all
from smfeval.compare.sweep import sweep_of
from smfeval.evaluation import evaluate
from smfeval.show.page import plots
from smfeval.show.page.pairs import pairs_page
from smfeval.show.page.report import check_page
from smfeval.show.page.scores import score_page
from smfeval.show.page.study import sweep_page
from smfeval.show.score import Findings, best_first
from smfeval.why.one_track import examine
from support import drifting
from support.evaluations import (
    EXACT,
    FAST,
    evaluated,
    gapped,
    particle_evaluation,
    plain,
    reference,
)
from support.known_errors import S, belief, normal, remembering
from support.sweep_points import line

NASTY = "<script>alert(1)</script>"
LOUD = "<b>loud&lt;"
VISIBLE_PANELS = (
    "[...document.querySelectorAll('.panel')].filter((p) => !p.hidden).map((p) => p.dataset.of)"
)


@pytest.fixture(scope="module")
def several():
    """Every kind of estimate; the last two are one dead reckoning, honest and too tight."""
    rng = np.random.default_rng(3)
    world = drifting.dead_reckoning(np.random.default_rng(4), 200)
    stamp = reference(200).stamp
    honest, truth = (replace(each, stamp=stamp) for each in world.tracks())
    tight = replace(honest, covariance=world.covariance / 9)
    return [
        evaluated(rng, name=NASTY, options=FAST),
        evaluated(rng, name=LOUD, options=FAST),
        plain(rng),
        particle_evaluation(rng, n=30),
        evaluated(rng, name="gapped", keep=gapped(), options=FAST),
        evaluated(rng, name="lone", keep=np.array([7]), options=FAST),
        evaluated(rng, 70, name="of 70", options=FAST),
        *(evaluate(each, truth, options=EXACT) for each in (honest, tight)),
    ]


@pytest.fixture(scope="module")
def tab(opened, several):
    return opened(score_page([Findings(each) for each in several], command=NASTY)).unfolded()


def test_names_are_text_everywhere_and_run_nothing(tab, several):
    looked_at(tab, several, 0)
    assert NASTY in tab.js("document.querySelector('.panel:not([hidden]) .verdict').innerText")
    assert NASTY in tab.js("document.querySelector('footer').innerText")
    legend = "document.querySelector('#curve .legend')"
    assert LOUD in tab.js(f"{legend}.textContent")
    assert tab.js(f"{legend}.querySelectorAll('tspan[style*=bold]').length") == 0
    assert tab.complaints == []


def looked_at(tab, several, at):
    """Look at one of several; the page has the best first. Returns its place there."""
    place = list(map(id, best_first(several)[0])).index(id(several[at]))
    tab.choose("chosen", place)
    return place


def test_several_are_drawn_as_rolling_medians_and_bands(tab, several):
    names = tab.names("over-time")
    assert names.count("reported sigma") == 1
    at = names.index("of 70")
    low, high, middle = (np.array(tab.data("over-time", at + n, "y"), float) for n in (-2, -1, 0))
    known = np.isfinite(middle)
    assert (low[known] <= middle[known]).all()
    assert (middle[known] <= high[known]).all()
    error = several[6].position.series["ape"]
    assert np.median(middle[known]) == pytest.approx(np.median(error), rel=0.2)


def test_poses_have_words_for_a_close_up_and_their_error_for_a_colour(tab, several):
    shown = "[...document.querySelectorAll('#close-up, .instead')].map((e) => e.offsetHeight > 0)"
    title = "document.getElementById('top-view').data.at(-2).marker.colorbar.title.text"
    looked_at(tab, several, 2)
    assert tab.js(shown) == [False, True]
    assert tab.js(title) == "error"
    looked_at(tab, several, 0)
    assert tab.js(shown) == [True, False]
    assert tab.js(title) == "error / sigma"


def test_one_of_several_is_chosen_by_the_list_or_by_its_row(tab, several):
    first = looked_at(tab, several, 0)
    assert set(tab.js(VISIBLE_PANELS)) == {str(first)}
    place = looked_at(tab, several, 6)
    tab.choose("chosen", first)
    tab.do(f"document.querySelectorAll('#overview tbody tr')[{place}].click()")
    assert set(tab.js(VISIBLE_PANELS)) == {str(place)}
    assert tab.js("document.getElementById('chosen').value") == str(place)
    assert tab.js("document.querySelector('.looked-at').textContent").startswith("of 70")
    assert tab.js("document.getElementById('scan').max") == "69"
    assert "of 70" in tab.js("document.getElementById('readout').textContent")
    scan = tab.js("Number(document.getElementById('scan').value)")
    centre = np.nanmean(np.array(tab.data("scene", len(tab.names("scene")) - 1, "x"), dtype=float))
    assert centre == pytest.approx(several[6].position.estimate.position[scan, 0], abs=0.5)


def test_rotation_and_the_nees_of_every_space_are_drawn_for_who_is_looked_at(tab, several):
    for at in (7, 8):
        looked_at(tab, several, at)
        names, drifted = tab.names("nees"), several[at]
        for space, k in (("position", "k"), ("rotation", "k_rotation"), ("pose", "k_pose")):
            line = next(n for n, name in enumerate(names) if name.startswith(f"{space} ("))
            drawn = tab.data("nees", line, "y")
            assert np.median(drawn) == pytest.approx(drifted[k].value, rel=1e-5)
    lines = [
        np.array(tab.data("rotation", n, "y"), dtype=float)
        for n, name in enumerate(tab.names("rotation"))
        if name.endswith(": rotation error")
    ]
    angle = np.degrees(np.linalg.norm(several[8].rotation.residuals.error, axis=1))
    assert any(len(each) == 200 and np.allclose(each, angle, rtol=1e-5) for each in lines)
    assert tab.complaints == []


def test_gaps_and_a_lone_scan_are_drawn(opened):
    rng = np.random.default_rng(3)
    gap = opened(score_page([Findings(evaluated(rng, keep=gapped(), options=FAST))], command=""))
    x = gap.data("over-time", 0, "x")
    assert len(x) == 51
    assert x[20] is None
    one = evaluated(rng, keep=np.array([7]), options=FAST)
    lone = opened(score_page([Findings(one)], command=""))
    assert lone.js("document.getElementById('over-time').data[0].mode") == "lines+markers"
    assert lone.complaints == []


def test_a_lost_track_does_not_shrink_the_others(opened):
    rng = np.random.default_rng(6)
    world = drifting.steady_filter(rng, 60)
    found, truth = world.tracks()
    away = world.position + np.linspace(0, 1, 60)[:, None] ** 3 * np.array([4000.0, 0, 0])
    lost = replace(found, position=away)
    both = [evaluate(each, truth, options=EXACT) for each in (found, lost)]
    tab = opened(score_page([Findings(each) for each in both], command="")).unfolded()
    ranges = "(({xaxis, scene}) => (scene?.xaxis ?? xaxis).range)"
    across, above = (
        f"((a) => a[1] - a[0])({ranges}(document.getElementById('{place}').layout))"
        for place in ("scene", "top-view")
    )
    extent = np.ptp(world.truth_position, axis=0).max()
    assert tab.js(across) < 2 * extent
    assert tab.js(above) < 4 * extent  # a flat plot to scale may be wider than the path
    error = tab.js("document.getElementById('over-time').layout.yaxis.range")
    assert error[1] < 3.5  # decades: no more than the errors of the two need
    told = "document.getElementById('out-of-view')"
    assert "far from the reference" in tab.js(f"{told}.innerText")
    tab.do(f"{told}.querySelector('button').click()")
    assert tab.js(across) > 2000
    assert tab.js(above) > 2000
    assert tab.complaints == []


def test_many_scans_are_thinned_and_show_more_when_zoomed(opened, monkeypatch):
    monkeypatch.setattr(plots, "MOST", 4_000)
    long = evaluated(np.random.default_rng(5), 10_000, name="long", options=FAST)
    tab = opened(score_page([Findings(long)], command="")).unfolded()
    error = tab.names("over-time").index("error")
    whole = np.array(tab.data("over-time", error, "y"))
    assert 2_000 < len(whole) < 4_000
    peaks = long.position.series["ape"].astype(np.float32).reshape(100, -1).max(axis=1)
    assert np.isin(peaks, whole.astype(np.float32)).mean() > 0.95  # a column may cross a boundary
    tab.do("Plotly.relayout('over-time', {'xaxis.range[0]': 500, 'xaxis.range[1]': 510})")
    near = np.array(tab.data("over-time", error, "x"))
    assert 1 < near[-1] - near[0] < 12
    assert len(near) > 30  # of the hundred scans in these ten seconds, those that are on the page
    other = tab.js("document.getElementById('rotation').layout.xaxis.range")
    assert other == pytest.approx([500, 510])  # plots over time are zoomed together
    tab.do("Plotly.relayout('rotation', {'xaxis.autorange': true})")
    assert len(tab.data("over-time", error, "y")) == len(whole)


def test_a_pair_is_chosen_and_drawn_alone(opened):
    rng = np.random.default_rng(4)
    tracks = [belief(remembering(rng, n, 0.5), S, name=f"of {n}") for n in (60, 70, 80)]
    tab = opened(pairs_page(compare_all(tracks), command=""))
    tab.choose("chosen", 2)
    assert tab.names("over-time") == ["difference", "summed sigma"]
    assert len(tab.data("over-time", 0, "x")) == 70
    assert "of 70 and of 80" in tab.names("top-view")
    assert tab.complaints == []


def test_a_checked_track_is_drawn_with_its_sigma_and_pointing_marks_the_scan(opened, rng):
    track = belief(normal(rng, 80), S, name=LOUD)
    tab = opened(check_page(examine(track), command=""))
    x = tab.data("top-view", 0, "x")
    assert x == pytest.approx(track.position[:, 0], abs=1e-4)
    sigma = np.sqrt(np.trace(track.position_covariance, axis1=1, axis2=2))
    assert tab.data("top-view", 0, "marker.color") == pytest.approx(sigma, rel=1e-5)
    eigenvalue = np.linalg.eigvalsh(track.position_covariance)
    drawn = [tab.data("over-time", n, "y") for n in (0, 1)]
    assert drawn[0] == pytest.approx(np.sqrt(eigenvalue[:, -1]), rel=1e-5)
    assert drawn[1] == pytest.approx(np.sqrt(eigenvalue[:, 0]), rel=1e-5)
    tab.point_at_the_middle("over-time")
    instant = "Number(document.querySelector('.cursor').dataset.instant)"
    tab.wait(f"{instant} > 1")
    scan = round(10 * tab.js(instant))
    assert scan == pytest.approx(40, abs=2)  # of 80
    mark = [tab.data("top-view", len(tab.names("top-view")) - 1, c)[0] for c in "xy"]
    assert mark == pytest.approx(track.position[scan, :2].tolist(), abs=1e-4)
    assert tab.complaints == []


def test_the_marks_of_a_sweep_have_the_value_of_the_knob(opened):
    swept = sweep_of([*line(0.1, estimator=NASTY), *line(0.0, estimator="b")], name="turned")
    tab = opened(sweep_page(swept, command=""))
    first = [point for point in swept.points if point.estimator == NASTY]
    values = [f"R {dict(point.settings)['R']}" for point in first]
    assert tab.data("sweep", 1, "text") == values
    assert tab.data("sweep", 1, "y") == pytest.approx([p.nees_median.value for p in first])
    assert tab.data("sweep", 3, "y") == pytest.approx([p.mae.value for p in first])
    assert tab.complaints == []
