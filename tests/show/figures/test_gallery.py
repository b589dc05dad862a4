import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image
from matplotlib.figure import Figure
from matplotlib.text import Text

from smfeval import Options, evaluate, read, read_extrinsic
from smfeval.compare import compare_all
from smfeval.errors import OptionError
from smfeval.show.figures import draw, figure_paths, gallery_of, gallery_of_pairs, save
from support.evaluations import EXACT, evaluated, line_of, plain
from support.known_errors import S, belief, normal

OF_ONE = ["error", "nees", "coverage", "log", "track", "rotation", "axes", "pit", "autocorrelation"]
OF_SEVERAL = [*OF_ONE[:3], "boxes", *OF_ONE[3:]]


def test_an_evaluation_has_all_its_figures(rng):
    assert list(gallery_of(evaluated(rng)).figures) == OF_ONE


def test_several_evaluations_have_every_figure_once(rng, tmp_path):
    pair = [evaluated(rng, name="runs/a.txt"), evaluated(rng, name="b $2$")]
    figures = gallery_of(pair).figures
    assert list(figures) == OF_SEVERAL
    for name in ("error", "rotation", "track", "pit", "autocorrelation"):
        titles = [axes.get_title(loc="left").split(":")[0] for axes in figures[name].axes[:2]]
        assert titles == ["a", r"b \$2\$"], name
    made = save(figures, tmp_path / "out.svg")
    assert [path.name for path in made] == [f"out_{name}.svg" for name in OF_SEVERAL]


def test_an_estimate_that_a_figure_cannot_be_drawn_of_is_left_out_and_named(rng):
    unoriented = replace(evaluated(rng, name="gnss"), rotation=None)
    gallery = gallery_of([evaluated(rng, name="a"), unoriented, evaluated(rng, name="b")])
    panels = [axes.get_title(loc="left").split(":")[0] for axes in gallery.figures["rotation"].axes]
    assert panels == ["a", "b"]
    assert gallery.notes == ("gnss: its rotation is not scored: not in rotation",)
    assert "rotation" not in gallery.refusals


@pytest.fixture(scope="module")
def everything():
    """Each figure of two long, gapped estimates."""
    rng = np.random.default_rng(3)
    keep = np.r_[0:250, 300:400]
    names = ("a_rather_long_name_of_a_filter", "b")
    found = [evaluated(rng, n=400, name=name, keep=keep, options=EXACT) for name in names]
    figures = gallery_of(found).figures
    for figure in figures.values():
        figure.draw_without_rendering()
    return figures


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_every_letter_is_large_enough_and_on_the_page(name, everything):
    figure = everything[name]
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert len(shown) > 10
    assert min(text.get_fontsize() for text in shown) >= 8
    page = figure.bbox.padded(1)
    labels = [axes.xaxis.label for axes in figure.axes] + [axes.yaxis.label for axes in figure.axes]
    titles = [axes._left_title for axes in figure.axes]
    legends = figure.legends[0].get_texts() if figure.legends else []
    for text in filter(Text.get_text, (*labels, *titles, *legends, figure._suptitle)):
        box = text.get_window_extent()
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, text


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_a_figure_is_one_or_two_columns_wide_and_its_title_names_the_alignment(name, everything):
    assert everything[name].get_figwidth() in (3.5, 7.16)
    assert everything[name].get_suptitle().endswith(" without alignment")


def test_lines_of_estimates_differ_without_colour(rng):
    found = [evaluated(rng, name=f"no{i}") for i in range(5)]
    axes = draw("nees", found).axes[0]
    assert len({str(line_of(axes, f"no{i}")._dash_pattern) for i in range(5)}) == 5


def test_figures_that_cannot_be_are_named_with_the_reason(rng):
    gallery = gallery_of(plain(rng))
    assert set(gallery.figures) == {"error", "track"}
    assert set(gallery.refusals) == {*OF_ONE, "k_over_horizon"} - {"error", "track"}
    assert all("reports no uncertainty" in reason for reason in gallery.refusals.values())


def test_one_scan_has_no_figure(rng):
    gallery = gallery_of(evaluated(rng, keep=np.r_[3:4]))
    assert not gallery.figures
    assert all("1 scored scan makes no line" in reason for reason in gallery.refusals.values())


def test_a_comparison_has_its_figures(rng):
    tracks = [belief(normal(rng, 100), S, name=name) for name in "ab"]
    assert set(gallery_of_pairs(compare_all(tracks)).figures) == {
        "pairs",
        "alignment",
        "time_offset",
    }


def test_an_unknown_figure_is_refused_with_those_that_are_known():
    with pytest.raises(OptionError, match=r"figure 'pie' is unknown; it is one of error, nees"):
        draw("pie", None)


def test_the_caller_may_make_the_figures(rng):
    mine = []
    figure = draw("nees", evaluated(rng), make=lambda: mine.append(Figure()) or mine[-1])
    assert figure is mine[0]


def test_pdf_holds_all_figures_and_embeds_its_fonts(rng, tmp_path):
    figures = gallery_of(evaluated(rng)).figures
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
    assert (width, height) == (1050, pytest.approx(300 * figures["error"].get_figheight(), abs=1))
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
        "smfeval.show.figures.draw('time_offset', [(0, 2), (1, 3)]).draw_without_rendering()\n"
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
    assert len(save(gallery_of(found).figures, tmp_path / "out.png")) == len(OF_ONE)


def test_what_the_shared_figures_leave_out_is_named(rng):
    gallery = gallery_of([evaluated(rng), plain(rng)])
    assert {"error", "nees", "coverage", "log"} <= set(gallery.figures)
    first, second = gallery.notes
    assert first == "poses reports no uncertainty: not in nees, coverage and log"
    assert second.endswith("not in rotation, axes, pit and autocorrelation")
    assert gallery_of(evaluated(rng)).notes == ()


def test_letters_that_the_font_lacks_are_told_once_and_warn_nobody(rng, tmp_path):
    gallery = gallery_of(evaluated(rng, name="\u6674\u308c.square"))
    assert gallery.notes == (
        "the font of the figures has no \u6674 \u308c; boxes are drawn instead",
    )
    save({"nees": gallery.figures["nees"]}, tmp_path / "out.png")
    assert gallery_of(evaluated(rng, name="\u00e9\u03c3")).notes == ()
