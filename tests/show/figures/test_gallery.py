import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image
from matplotlib.figure import Figure

from smfeval import Options, evaluate, read, read_extrinsic
from smfeval.compare import compare_all
from smfeval.errors import OptionError, SmfevalError
from smfeval.show.figures import draw, figure_paths, figures_of, figures_of_pairs, gallery_of, save
from support.evaluations import evaluated, plain
from support.known_errors import S, belief, normal

OF_ONE = {"error", "nees", "coverage", "log"} | {
    "divergence",
    "track",
    "axes",
    "pit",
    "autocorrelation",
    "rotation",
    "nees_of_spaces",
}


def test_an_evaluation_has_all_its_figures(rng):
    assert set(figures_of(evaluated(rng))) == OF_ONE


def test_several_evaluations_share_some_and_have_others_each(rng):
    pair = [evaluated(rng, name="runs/a.txt"), evaluated(rng, name="b $2$")]
    names = list(figures_of(pair))
    assert names[:5] == ["error", "nees", "coverage", "log", "tracks"]
    assert set(names[5:]) == {
        f"{name}_{tail}" for name in OF_ONE - set(names[:5]) for tail in ("1_a", "2_b_2")
    }


def test_figures_that_cannot_be_are_named_with_the_reason(rng):
    gallery = gallery_of(plain(rng))
    assert set(gallery.figures) == {"track"}
    assert set(gallery.refusals) == (OF_ONE | {"k_over_horizon"}) - {"track"}
    assert all("reports no uncertainty" in reason for reason in gallery.refusals.values())


def test_an_evaluation_without_any_figure_raises(rng):
    with pytest.raises(SmfevalError, match="1 scored scan makes no line"):
        figures_of(evaluated(rng, keep=np.r_[3:4]))


def test_a_comparison_has_its_figures(rng):
    tracks = [belief(normal(rng, 100), S, name=name) for name in "ab"]
    assert set(figures_of_pairs(compare_all(tracks))) == {"pairs", "gauge", "clock"}


def test_an_unknown_figure_is_refused_with_those_that_are_known():
    with pytest.raises(OptionError, match=r"figure 'pie' is unknown; it is one of error, nees"):
        draw("pie", None)


def test_the_caller_may_make_the_figures(rng):
    mine = []
    figure = draw("nees", evaluated(rng), make=lambda: mine.append(Figure()) or mine[-1])
    assert figure is mine[0]


def test_pdf_holds_all_figures_and_embeds_its_fonts(rng, tmp_path):
    figures = figures_of(evaluated(rng))
    assert save(figures, tmp_path / "out.pdf") == [tmp_path / "out.pdf"]
    content = (tmp_path / "out.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", content)) == len(figures)
    assert b"/FontFile2" in content
    assert b"/Subtype /Type3" not in content
    assert b"CreationDate" not in content


def test_png_and_svg_are_one_file_each(rng, tmp_path):
    figures = {name: draw(name, evaluated(rng)) for name in ("error", "pit")}
    made = save(figures, tmp_path / "out.png")
    assert [path.name for path in made] == ["out_error.png", "out_pit.png"]
    assert sorted(tmp_path.iterdir()) == sorted(made)
    height, width, _ = image.imread(made[0]).shape
    assert (width, height) == (2100, 720)
    assert save({"error": figures["error"]}, tmp_path / "one.svg") == [tmp_path / "one.svg"]
    assert (tmp_path / "one.svg").read_text().startswith("<?xml")


def test_the_same_figure_gives_the_same_svg(tmp_path):
    for name in ("a", "b"):
        figure = draw("track", evaluated(np.random.default_rng(1)))
        save({"track": figure}, tmp_path / f"{name}.svg")
    first = (tmp_path / "a.svg").read_text()
    assert first == (tmp_path / "b.svg").read_text()
    assert "<dc:date>" not in first


def test_endings_that_are_not_figures_and_empty_sets_are_refused(rng, tmp_path):
    with pytest.raises(OptionError, match=r"out\.jpg: figures are written as pdf, png, svg"):
        save({"a": Figure()}, tmp_path / "out.jpg")
    with pytest.raises(OptionError, match="no figure to write"):
        save({}, tmp_path / "out.pdf")
    with pytest.raises(OptionError, match="cannot be written"):
        save({"a": Figure()}, tmp_path / "nowhere" / "out.pdf")
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_known_before_they_are_written():
    assert figure_paths(["a", "b"], "x.PDF") == [Path("x.PDF")]
    assert figure_paths(["a", "b"], "d/x.svg") == [Path("d/x_a.svg"), Path("d/x_b.svg")]


def test_drawing_leaves_the_settings_of_the_user_alone(rng):
    before = dict(mpl.rcParams)
    draw("error", evaluated(rng))
    assert dict(mpl.rcParams) == before


def test_figures_need_no_window_and_only_figures_need_matplotlib():
    script = (
        "import sys\nimport smfeval.cli.score, smfeval.cli.pair, smfeval.show.score\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import smfeval.show.figures\n"
        "smfeval.show.figures.draw('clock', [(0.0, 2.0), (1.0, 3.0)]).draw_without_rendering()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
def test_real_odometry_has_all_figures(shared_data, tmp_path):
    folder = shared_data / "spires"
    options = Options(extrinsic=read_extrinsic(folder / "imu_to_lidar.json"))
    found = evaluate(
        read(folder / "fast_lio2.square"),
        read(folder / "fast_lio2_ref.tum", body="lidar"),
        options=options,
    )
    assert len(save(figures_of(found), tmp_path / "out.png")) == len(OF_ONE)


def test_what_the_shared_figures_leave_out_is_named(rng):
    gallery = gallery_of([evaluated(rng), plain(rng)])
    assert {"error", "nees", "coverage", "log"} <= set(gallery.figures)
    (note,) = gallery.notes
    assert note.startswith("poses reports no uncertainty: not in nees, coverage and log")
    assert gallery_of(evaluated(rng)).notes == ()


def test_letters_that_the_font_lacks_are_told_once_and_warn_nobody(rng, tmp_path):
    gallery = gallery_of(evaluated(rng, name="\u6674\u308c.square"))
    assert gallery.notes == (
        "the font of the figures has no \u6674 \u308c; boxes are drawn instead",
    )
    save({"nees": gallery.figures["nees"]}, tmp_path / "out.png")
    assert gallery_of(evaluated(rng, name="\u00e9\u03c3")).notes == ()
