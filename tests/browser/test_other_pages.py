import numpy as np
import pytest

from smfeval.compare import compare_all
from smfeval.show import page
from support.evaluations import FAST, evaluated, gapped, particle_evaluation, plain
from support.known_errors import S, belief, remembering

NASTY = "<script>alert(1)</script>"
LOUD = "<b>loud&lt;"


def test_names_are_text_everywhere_and_run_nothing(opened, rng):
    both = [evaluated(rng, name=name, options=FAST) for name in (NASTY, LOUD)]
    tab = opened(page.score_page(both, command=NASTY))
    assert NASTY in tab.js("document.querySelector('.verdict').innerText")
    assert NASTY in tab.js("document.querySelector('footer').innerText")
    legend = "document.querySelector('#curve .legend')"
    assert LOUD in tab.js(f"{legend}.textContent")
    assert tab.js(f"{legend}.querySelectorAll('tspan[style*=bold]').length") == 0
    assert tab.complaints == []


def test_poses_particles_gaps_and_a_lone_scan_are_drawn(opened, rng):
    several = [
        plain(rng),
        particle_evaluation(rng, n=30),
        evaluated(rng, name="gapped", keep=gapped(), options=FAST),
        evaluated(rng, name="lone", keep=np.array([7]), options=FAST),
    ]
    tab = opened(page.score_page(several, command=""))
    names = tab.names("over-time")
    assert [
        len(tab.data("over-time", names.index(f"{n}: error"), "x")) for n in ("poses", "cloud")
    ] == [60, 30]
    gapped_x = tab.data("over-time", names.index("gapped: error"), "x")
    assert len(gapped_x) == 51
    assert gapped_x[20] is None
    assert tab.js(
        f"document.getElementById('over-time').data[{names.index('lone: error')}].mode"
    ) == ("lines+markers")
    assert tab.complaints == []


def test_poses_have_words_for_a_close_up_and_leave_the_honest_band_to_others(opened, rng):
    tab = opened(page.score_page([plain(rng), evaluated(rng, options=FAST)], command=""))
    shown = "[...document.querySelectorAll('#close-up, .instead')].map((e) => e.offsetHeight > 0)"
    assert tab.js(shown) == [False, True]
    assert "NEES if honest: 95 %" in tab.names("over-time")
    tab.choose("chosen", 1)
    assert tab.js(shown) == [True, False]
    assert tab.complaints == []


def test_one_of_several_is_chosen(opened, rng):
    several = [evaluated(rng, n, name=f"of {n}", options=FAST) for n in (40, 70)]
    tab = opened(page.score_page(several, command=""))
    visible = (
        "[...document.querySelectorAll('.panel')].filter((p) => !p.hidden).map((p) => p.dataset.of)"
    )
    assert set(tab.js(visible)) == {"0"}
    tab.choose("chosen", 1)
    assert set(tab.js(visible)) == {"1"}
    assert tab.js("document.getElementById('scan').max") == "69"
    assert "of 70" in tab.js("document.getElementById('readout').textContent")
    last = len(tab.names("scene")) - 1
    centre = np.nanmean(np.array(tab.data("scene", last, "x"), dtype=float))
    assert centre == pytest.approx(several[1].position.estimate.position[0, 0], abs=0.5)


def test_a_hundred_thousand_scans_are_thinned_and_show_more_when_zoomed(opened):
    rng = np.random.default_rng(5)
    long = evaluated(rng, 100_000, name="long", options=FAST)
    html = page.score_page([long], command="")
    assert len(html.encode()) < 15e6
    tab = opened(html)
    error = tab.names("over-time").index("long: error")
    whole = np.array(tab.data("over-time", error, "y"))
    assert 2_000 < len(whole) < 10_000
    peaks = long.position.series["ape"].astype(np.float32).reshape(100, -1).max(axis=1)
    assert np.isin(peaks, whole.astype(np.float32)).mean() > 0.95  # a column may cross a boundary
    tab.do("Plotly.relayout('over-time', {'xaxis.range[0]': 1000, 'xaxis.range[1]': 1010})")
    near = np.array(tab.data("over-time", error, "x"))
    assert 1 < near[-1] - near[0] < 12
    assert len(near) > 30  # of the hundred scans in these ten seconds, those that are on the page


def test_a_pair_is_chosen_and_drawn_alone(opened):
    rng = np.random.default_rng(4)
    tracks = [belief(remembering(rng, n, 0.5), S, name=f"of {n}") for n in (60, 70, 80)]
    tab = opened(page.pairs_page(compare_all(tracks), command=""))
    tab.choose("chosen", 2)
    named = [name for name in tab.names("over-time") if "difference" in name]
    assert named == ["of 70 and of 80: difference"]
    assert len(tab.data("over-time", tab.names("over-time").index(named[0]), "x")) == 70
    assert tab.complaints == []
