"""Several estimates of every kind on one page, a long track, and pairs."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.compare import compare_all
from smfeval.compare.sweep import sweep_of
from smfeval.evaluation import evaluate
from smfeval.show import page
from smfeval.show.page import plots
from smfeval.show.score import Findings
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
    return opened(page.score_page([Findings(each) for each in several], command=NASTY))


def test_names_are_text_everywhere_and_run_nothing(tab):
    assert NASTY in tab.js("document.querySelector('.verdict').innerText")
    assert NASTY in tab.js("document.querySelector('footer').innerText")
    legend = "document.querySelector('#curve .legend')"
    assert LOUD in tab.js(f"{legend}.textContent")
    assert tab.js(f"{legend}.querySelectorAll('tspan[style*=bold]').length") == 0
    assert tab.complaints == []


def test_poses_particles_gaps_and_a_lone_scan_are_drawn(tab):
    names = tab.names("over-time")
    scans = [
        len(tab.data("over-time", names.index(f"{n}: error"), "x")) for n in ("poses", "cloud")
    ]
    assert scans == [60, 30]
    gapped_x = tab.data("over-time", names.index("gapped: error"), "x")
    assert len(gapped_x) == 51
    assert gapped_x[20] is None
    lone = f"document.getElementById('over-time').data[{names.index('lone: error')}].mode"
    assert tab.js(lone) == "lines+markers"


def test_poses_have_words_for_a_close_up_and_leave_the_honest_band_to_others(tab):
    shown = "[...document.querySelectorAll('#close-up, .instead')].map((e) => e.offsetHeight > 0)"
    tab.choose("chosen", 2)
    assert tab.js(shown) == [False, True]
    assert "NEES if honest: 95 %" in tab.names("over-time")
    tab.choose("chosen", 0)
    assert tab.js(shown) == [True, False]


def test_one_of_several_is_chosen_by_the_list_or_by_its_row(tab, several):
    assert set(tab.js(VISIBLE_PANELS)) == {"0"}
    tab.do("document.querySelectorAll('#overview tbody tr')[6].click()")
    assert set(tab.js(VISIBLE_PANELS)) == {"6"}
    assert tab.js("document.getElementById('chosen').value") == "6"
    assert tab.js("document.querySelector('.looked-at').textContent").startswith("of 70")
    assert tab.js("document.getElementById('scan').max") == "69"
    assert "of 70" in tab.js("document.getElementById('readout').textContent")
    scan = tab.js("Number(document.getElementById('scan').value)")
    centre = np.nanmean(np.array(tab.data("scene", len(tab.names("scene")) - 1, "x"), dtype=float))
    assert centre == pytest.approx(several[6].position.estimate.position[scan, 0], abs=0.5)


def test_rotation_and_the_nees_of_every_space_are_drawn_for_who_is_looked_at(tab, several):
    names = tab.names("orientation")
    for at in (7, 8):
        tab.choose("chosen", at)
        names, drifted = tab.names("orientation"), several[at]
        for space, k in (("position", "k"), ("rotation", "k_rotation"), ("pose", "k_pose")):
            line = next(n for n, name in enumerate(names) if f"NEES of {space} (" in name)
            drawn = tab.data("orientation", line, "y")
            assert np.median(drawn) == pytest.approx(drifted[k].value, rel=1e-5)
    lines = [
        np.array(tab.data("orientation", n, "y"), dtype=float)
        for n, name in enumerate(names)
        if name.endswith(": rotation error")
    ]
    angle = np.degrees(np.linalg.norm(several[8].rotation.residuals.error, axis=1))
    assert any(len(each) == 200 and np.allclose(each, angle, rtol=1e-5) for each in lines)
    assert tab.complaints == []


def test_a_lost_track_does_not_shrink_the_others(opened):
    rng = np.random.default_rng(6)
    world = drifting.steady_filter(rng, 60)
    found, truth = world.tracks()
    away = world.position + np.linspace(0, 1, 60)[:, None] ** 3 * np.array([4000.0, 0, 0])
    lost = replace(found, position=away)
    both = [evaluate(each, truth, options=EXACT) for each in (found, lost)]
    tab = opened(page.score_page([Findings(each) for each in both], command=""))
    across = "((a) => a.range[1] - a.range[0])(document.getElementById('scene').layout.scene.xaxis)"
    extent = np.ptp(world.truth_position, axis=0).max()
    assert tab.js(across) < 2 * extent
    error = tab.js("document.getElementById('over-time').layout.yaxis.range")
    assert error[1] < 3.5  # decades: no more than the errors of the two need
    told = "document.getElementById('out-of-view')"
    assert "far from the reference" in tab.js(f"{told}.innerText")
    tab.do(f"{told}.querySelector('button').click()")
    assert tab.js(across) > 2000
    assert tab.complaints == []


def test_many_scans_are_thinned_and_show_more_when_zoomed(opened, monkeypatch):
    monkeypatch.setattr(plots, "MOST", 4_000)
    long = evaluated(np.random.default_rng(5), 10_000, name="long", options=FAST)
    tab = opened(page.score_page([Findings(long)], command=""))
    error = tab.names("over-time").index("long: error")
    whole = np.array(tab.data("over-time", error, "y"))
    assert 2_000 < len(whole) < 4_000
    peaks = long.position.series["ape"].astype(np.float32).reshape(100, -1).max(axis=1)
    assert np.isin(peaks, whole.astype(np.float32)).mean() > 0.95  # a column may cross a boundary
    tab.do("Plotly.relayout('over-time', {'xaxis.range[0]': 500, 'xaxis.range[1]': 510})")
    near = np.array(tab.data("over-time", error, "x"))
    assert 1 < near[-1] - near[0] < 12
    assert len(near) > 30  # of the hundred scans in these ten seconds, those that are on the page
    other = tab.js("document.getElementById('orientation').layout.xaxis.range")
    assert other == pytest.approx([500, 510])  # plots over time are zoomed together
    tab.do("Plotly.relayout('orientation', {'xaxis.autorange': true})")
    assert len(tab.data("over-time", error, "y")) == len(whole)


def test_a_pair_is_chosen_and_drawn_alone(opened):
    rng = np.random.default_rng(4)
    tracks = [belief(remembering(rng, n, 0.5), S, name=f"of {n}") for n in (60, 70, 80)]
    tab = opened(page.pairs_page(compare_all(tracks), command=""))
    tab.choose("chosen", 2)
    named = [name for name in tab.names("over-time") if "difference" in name]
    assert named == ["of 70 and of 80: difference"]
    assert len(tab.data("over-time", tab.names("over-time").index(named[0]), "x")) == 70
    assert tab.complaints == []


def test_a_checked_track_is_drawn_with_its_sigma_and_pointing_marks_the_scan(opened, rng):
    track = belief(normal(rng, 80), S, name=LOUD)
    tab = opened(page.check_page(examine(track), command=""))
    x = tab.data("scene", 0, "x")
    assert x == pytest.approx(track.position[:, 0], abs=1e-4)
    eigenvalue = np.linalg.eigvalsh(track.position_covariance)
    drawn = [tab.data("over-time", n, "y") for n in (0, 1)]
    assert drawn[0] == pytest.approx(np.sqrt(eigenvalue[:, -1]), rel=1e-5)
    assert drawn[1] == pytest.approx(np.sqrt(eigenvalue[:, 0]), rel=1e-5)
    tab.point_at_the_middle("over-time")
    instant = "Number(document.querySelector('.cursor').dataset.instant)"
    tab.wait(f"{instant} > 1")
    scan = round(10 * tab.js(instant))
    assert scan == pytest.approx(40, abs=2)  # of 80
    mark = [tab.data("scene", len(tab.names("scene")) - 1, c)[0] for c in "xyz"]
    assert mark == pytest.approx(track.position[scan].tolist(), abs=1e-4)
    assert tab.complaints == []


def test_the_marks_of_a_sweep_have_the_value_of_the_knob(opened):
    swept = sweep_of([*line(0.1, estimator=NASTY), *line(0.0, estimator="b")], name="turned")
    tab = opened(page.sweep_page(swept, command=""))
    first = [point for point in swept.points if point.estimator == NASTY]
    assert tab.data("knob-0", 1, "text") == [dict(point.settings)["R"] for point in first]
    assert tab.data("knob-0", 1, "y") == pytest.approx([p.nees_median.value for p in first])
    assert tab.data("knob-0", 3, "y") == pytest.approx([p.mae.value for p in first])
    assert tab.complaints == []
